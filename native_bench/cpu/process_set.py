"""One set of fresh processes: a timer and a worker per contestant, and in them every case, round by round."""

import math
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from native_bench.bench import Bench, Deadline
from native_bench.cpu.arena import Place, SharedArena, arena_bytes, lay_out, write_plan
from native_bench.cpu.case_times import CaseTimes, Rounds, most_sets, usable_rounds
from native_bench.cpu.check import Item, judge_output
from native_bench.cpu.draws import DrawnSet, Draws
from native_bench.cpu.timer import Timer, TimerSilent
from native_bench.cpu.worker import Worker, WorkerTerms, death_of, seat, start_worker
from native_bench.outcome import RunEnded, infra
from native_bench.surroundings import Surroundings, involuntary_switches
from submissions.evaluation.verdicts import Verdict

_BATCH_NS = 100_000
_CASE_BUDGET_NS = 250_000_000
_PILOT_CALLS = 40
_NULL_TRIES = 3
_MOST_NULL_NS = 5_000.0
_DTYPES = ("fp64", "fp32", "fp16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


@dataclass(frozen=True)
class Contest:
    """What is timed and with what; `libraries` by role: candidate, baseline, and incumbent where there is one."""

    bench: Bench
    libraries: Mapping[str, Path]
    draws: Draws
    surroundings: Surroundings
    deadline: Deadline


class ProcessSet:
    """A timer and its workers, with other roles, pages, offsets and load order than the set before."""

    def __init__(self, contest: Contest, label: str) -> None:
        """`label` seeds the coin of all that differs between the sets."""
        self._bench = contest.bench
        self._libraries = contest.libraries
        self._draws = contest.draws
        self._surroundings = contest.surroundings
        self._deadline = contest.deadline
        self._coin: random.Random = contest.bench.coin(label)
        self._workers: list[Worker] = []
        self._handshake_ns: float | None = None
        self._is_cold = contest.bench.problem.mode == "cold"

    def measure(self, cases: Sequence[CaseTimes], rounds: Rounds) -> None:
        """Time all cases, adding one value per process to each; raises RunEnded."""
        with ExitStack() as stack:
            timer = self._start(cases, stack)
            begin = timer.clocks()
            for times in cases:
                self._measure_case(timer, times, rounds)
            self._surroundings.tick_rates_mhz.append(begin.mhz_until(timer.clocks()))
            pids = [timer.pid, *(worker.pid for worker in self._workers)]
            self._surroundings.switches += sum(map(involuntary_switches, pids))

    def _start(self, cases: Sequence[CaseTimes], stack: ExitStack) -> Timer:
        problem = self._bench.problem
        room = max(arena_bytes(problem, times.case.dims, len(times.sets)) for times in cases)
        arena = stack.enter_context(SharedArena(room))
        pool = self._draws.memory
        memories = (*arena.memories, pool)
        # After the timer, whose tracees they are: nobody else can bury them while it lives.
        stack.callback(self._close_workers)
        timer = stack.enter_context(Timer(self._bench.programs.timer, self._bench.timer_core, memories))
        timer.ask_ok(arena.timer_command())
        timer.ask_ok(f"pool {pool.fd} {pool.size}")
        self._seat_all(timer, arena)
        self._memory = arena
        return timer

    def _close_workers(self) -> None:
        for worker in self._workers:
            worker.close()

    def _seat_all(self, timer: Timer, arena: SharedArena) -> None:
        roles = list(self._libraries)
        self._coin.shuffle(roles)
        layout = self._coin.getrandbits(62)
        # Behind the deadline: of two workers started one after the other neither is ended by its limit before it.
        seconds = 60 + 2 * self._deadline.seconds
        for role in roles:
            library = self._libraries[role]
            terms = WorkerTerms(
                self._bench.programs.worker, library, arena, self._bench.worker_core, seconds, layout
            )
            worker = start_worker(role, terms, self._bench.sandbox)
            self._workers.append(worker)
            seat(timer, worker, "time")

    def _measure_case(self, timer: Timer, times: CaseTimes, wanted: Rounds) -> None:
        if times.batch == 0:
            self._open(timer, times, 1, wanted)
            times.batch = 1 if self._is_cold else self._pilot(timer, times)
        self._open(timer, times, times.batch, wanted)
        if self._handshake_ns is None:
            self._handshake_ns = self._null_ns(timer, times)
        timer.send("run")
        rounds: dict[tuple[int, int], list[int]] = {}
        try:
            for words in timer.lines(self._deadline.left):
                if words[0] == "flaw":
                    raise self._flaw(words, times)
                if words[0] == "batch":
                    round_number, _, contestant, elapsed_ns = map(int, words[1:])
                    rounds.setdefault((round_number, contestant), []).append(elapsed_ns)
        except TimerSilent:
            raise self._late() from None
        self._audit(timer, times)
        self._keep(times, rounds, self._handshake_ns)

    def _index(self, role: str) -> int:
        return next(at for at, worker in enumerate(self._workers) if worker.role == role)

    def _open(self, timer: Timer, times: CaseTimes, batch: int, wanted: Rounds) -> None:
        """Lay out the slots of a batch, write the plan, tell the timer the case."""
        arena = lay_out(self._bench.problem, times.case.dims, batch, self._coin)
        write_plan(self._memory.plan, self._bench.problem, arena, times.case.dims)
        self._slots = arena.slots
        first = times.sets[0]
        words: list[object] = [
            "case", self._coin.getrandbits(62), wanted.wanted, wanted.least, _CASE_BUDGET_NS,
            wanted.patience_ns * len(self._workers), self._bench.timeout_ns, batch,
            first.begin, first.end - first.begin, len(times.sets), len(first.inputs),
        ]  # fmt: skip
        for span in first.inputs:
            words += [span.index, span.nbytes, span.offset - first.begin]
        words.append(len(first.outputs))
        for span in first.outputs:
            words += [span.index, _DTYPES.index(span.tensor.dtype), span.elements]
            words += [span.offset - first.begin, span.terms_offset - first.begin]
        timer.ask_ok(" ".join(map(str, words)))

    def _pilot(self, timer: Timer, times: CaseTimes) -> int:
        """Choose the batch from the baseline's time alone: nobody can choose it for the others by being slow."""
        base_ns = float(self._ask(timer, f"pilot {self._index('baseline')} {_PILOT_CALLS}", times))
        self._handshake_ns = self._null_ns(timer, times)
        call_ns = max(1.0, base_ns - self._handshake_ns)
        wanted = round(_BATCH_NS / call_ns)
        set_bytes = self._bench.problem.tensor_bytes_of(times.case.dims)
        return max(1, min(wanted, most_sets(set_bytes), len(times.sets)))

    def _null_ns(self, timer: Timer, times: CaseTimes) -> float:
        """Return what an empty batch takes in this set: the door is the same for all contestants and cases.

        Raises RunEnded where other work comes between again and again: the batch's time would be made of that.
        """
        for _ in range(_NULL_TRIES):
            null_ns = float(self._ask(timer, f"null {self._index('baseline')}", times))
            if null_ns <= _MOST_NULL_NS:
                return null_ns
        message = f"an empty batch takes {null_ns / 1000:.1f} µs here: other work has the machine"
        raise RunEnded(Verdict.UNSTABLE, "time:contended", message)

    def _audit(self, timer: Timer, times: CaseTimes) -> None:
        """Judge the candidate on inputs of every kind, in batches that it can't tell from timed ones."""
        for number, drawn in enumerate(times.audits, start=len(times.sets)):
            slot = int(self._ask(timer, f"audit {self._index('candidate')} {number}", times))
            self._judge_audit(times, drawn, self._slots[slot])

    def _judge_audit(self, times: CaseTimes, drawn: DrawnSet, places: Sequence[Place]) -> None:
        problem = self._bench.problem
        item = Item(times.case.id, drawn.draw)
        outputs = {span.index: self._memory.output_bytes(places[span.index]) for span in drawn.outputs}
        try:
            for span in drawn.outputs:
                judge_output(problem, item, self._draws.truth(drawn, span), span, outputs)
        except RunEnded as end:
            message = f"in a batch like the timed ones: {end.message}"
            raise RunEnded(end.verdict, "time:wrong-result", message, **end.details) from None

    def _ask(self, timer: Timer, command: str, times: CaseTimes) -> str:
        """Return the value of the timer's answer, which stands behind its name; raises RunEnded for a flaw."""
        try:
            words = timer.ask(command, self._deadline.left)
        except TimerSilent:
            raise self._late() from None
        if words[0] == "flaw":
            raise self._flaw(words, times)
        return words[1]

    def _keep(self, times: CaseTimes, rounds: Mapping[tuple[int, int], list[int]], handshake_ns: float) -> None:
        """Per round each side counts with the lesser of its two batches, the process with its median round.

        Cold calls have no floor to reach: there both batches count, and a time is the median of the rounds.
        """
        sides: dict[str, dict[int, float]] = {worker.role: {} for worker in self._workers}
        batches_ns: dict[str, list[list[int]]] = {worker.role: [] for worker in self._workers}
        for (round_number, contestant), taken in rounds.items():
            batches_ns[self._workers[contestant].role].append(taken)
            counted = math.sqrt(math.prod(taken)) if self._is_cold else min(taken)
            net_ns = counted - handshake_ns
            sides[self._workers[contestant].role][round_number] = net_ns / times.batch
        usable = usable_rounds(times, sides)
        own = sides["candidate"]
        for role, side in sides.items():
            taken_ns = [side[number] for number in usable]
            times.least_ns.setdefault(role, []).append(median(taken_ns) if self._is_cold else min(taken_ns))
            if role != "candidate":
                ratios = [math.log(side[number] / own[number]) for number in usable]
                times.log_ratios.setdefault(role, []).append(median(ratios))
        times.batches_ns.append(batches_ns)
        times.rounds.append(len(usable))
        times.handshake_ns.append(handshake_ns)

    def _late(self) -> RunEnded:
        seconds = self._deadline.seconds
        message = f"timing was not done after {seconds:g} s: the kernel is far too slow beside the baseline"
        return RunEnded(Verdict.TIMED_OUT, "time:too-slow", message, limit=f"{seconds:g} s")

    def _flaw(self, words: Sequence[str], times: CaseTimes) -> RunEnded:
        """Return how the run ends after a flaw the timer found."""
        what, contestant, tensor, element = words[1], int(words[2]), int(words[3]), int(words[4])
        worker = self._workers[contestant]
        if what == "died":
            return death_of(worker, words[5:], "time")
        name = self._bench.problem.tensors[tensor].name
        case = times.case.id
        limit_s = self._bench.problem.timeout_s
        verdict, code, message = {
            "late": (Verdict.TIMED_OUT, "timed-out", f"a batch took more than {limit_s:g} s"),
            "early": (Verdict.CHEAT_SUSPECTED, "done-before-go", "done was written before the batch had begun"),
            "wrong": (
                Verdict.WRONG_RESULT,
                "wrong-result",
                f"{name} is wrong at element {element} of a timed call",
            ),
            "wrong_at_done": (
                Verdict.CHEAT_SUSPECTED,
                "wrong-at-done",
                f"{name} was not finished (element {element}) when the kernel said it was done",
            ),
            "red_zone": (Verdict.WRONG_RESULT, "out-of-bounds", f"a timed call wrote outside of {name}"),
        }[what]
        if worker.role != "candidate":
            return infra(f"time:{worker.role}-{code}", f"the {worker.role} itself failed: {message}")
        limit = {"limit": f"{limit_s:g} s"} if what == "late" else {}
        return RunEnded(verdict, f"time:{code}", f"case {case}: {message}", case=case, **limit)
