"""Is the kernel right? Every public and hidden case on fresh inputs, with poisoned outputs, judged elsewhere."""

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_bench.bench import Bench, Deadline, seed_of
from native_bench.cpu.arena import (
    RED_ZONE_BYTES,
    Arena,
    Place,
    SharedArena,
    arena_bytes,
    lay_out,
    write_order,
    write_plan,
)
from native_bench.cpu.bounds import FirstWrong, Judge
from native_bench.cpu.draws import Draw, DrawnSet, Draws, Span
from native_bench.cpu.timer import Timer, TimerSilent
from native_bench.cpu.worker import Worker, WorkerTerms, death_of, seat, start_worker
from native_bench.hidden import fresh_dims
from native_bench.memory import SharedMemory
from native_bench.outcome import RunEnded
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Problem

HIDDEN_CASE = "check:hidden-case"
_HIDDEN_MESSAGE = (
    "the kernel fails a hidden case: try 1, primes, and sizes just below and above a power of two "
    "or a multiple of its vectors and tiles"
)
_PLACES = 2


@dataclass(frozen=True)
class Item:
    """One check: a set of inputs, and its public case (None: a hidden one, of which nothing is told)."""

    case_id: str | None
    draw: Draw


def check_items(
    problem: Problem,
    hidden_dims: Sequence[Mapping[str, int]],
    known: tuple[tuple[str, ...], frozenset[str]],
    secret: bytes,
) -> list[Item]:
    """Return what is checked: each public case, the smallest with every distribution, then hidden shapes.

    To those of the version come half as many, drawn for this run.
    """
    distributions, exact = known
    wanted: list[tuple[str | None, Mapping[str, int], str]] = [
        (case.id, case.dims, case.distribution) for case in problem.cases
    ]
    smallest = min(problem.cases, key=lambda case: problem.tensor_bytes_of(case.dims))
    wanted += [(smallest.id, smallest.dims, name) for name in distributions if name != smallest.distribution]
    hidden = [*hidden_dims, *fresh_dims(problem, secret, (len(hidden_dims) + 1) // 2)]
    # In another order each time: how long a check took would tell how far it came.
    random.Random(seed_of(secret, "order of hidden cases")).shuffle(hidden)
    wanted += [(None, dims, distributions[at % len(distributions)]) for at, dims in enumerate(hidden)]
    return [
        Item(case_id, Draw(dims, name, seed_of(secret, f"check {at}"), name in exact, case_id is None))
        for at, (case_id, dims, name) in enumerate(wanted)
    ]


def check(
    bench: Bench, library: Path, items: Sequence[Item], draws: Draws, deadline: Deadline
) -> dict[str, float]:
    """Return the greatest scaled error of each public case; raises RunEnded on the first thing wrong.

    `draws` begins with the items' sets, in order.
    """
    room = max(arena_bytes(bench.problem, item.draw.dims, _PLACES) for item in items)
    seconds = 60 + 2 * len(items) * bench.problem.timeout_s
    with ExitStack() as stack:
        arena = stack.enter_context(SharedArena(room))
        # The worker closes after the timer, whose tracee it is: nobody else can bury it while that lives.
        ends = stack.enter_context(ExitStack())
        timer = stack.enter_context(Timer(bench.programs.timer, bench.timer_core, arena.memories))
        timer.ask_ok(arena.timer_command())
        layout = bench.seed("layout of the check")
        terms = WorkerTerms(bench.programs.worker, library, arena, bench.worker_core, seconds, layout)
        worker = start_worker("candidate", terms, bench.sandbox)
        ends.callback(worker.close)
        seat(timer, worker, "check")
        return _check_all(_Table(bench, timer, worker, arena, draws, deadline), items)


def _check_all(table: "_Table", items: Sequence[Item]) -> dict[str, float]:
    errors: dict[str, float] = {}
    for at, item in enumerate(items):
        try:
            worst = table.check(item, table.draws.sets[at])
        except RunEnded as end:
            raise _as_told(item, end) from None
        if item.case_id is not None:
            errors[item.case_id] = max(worst, errors.get(item.case_id, 0.0))
            table.bench.reporter.progress((at + 1) / len(items))
    table.bench.reporter.progress(1.0)
    return errors


def _as_told(item: Item, end: RunEnded) -> RunEnded:
    """Return the end as the entrant may hear it: whatever differs between hidden failures tells of their sizes."""
    if item.case_id is not None or end.verdict.is_infra:
        return end
    is_cheat = end.verdict is Verdict.CHEAT_SUSPECTED
    verdict = Verdict.CHEAT_SUSPECTED if is_cheat else Verdict.WRONG_RESULT
    return RunEnded(verdict, HIDDEN_CASE, _HIDDEN_MESSAGE, hidden="failed")


@dataclass(frozen=True)
class _Table:
    """One worker with its timer and memory, checked item by item."""

    bench: Bench
    timer: Timer
    worker: Worker
    memory: SharedArena
    draws: Draws
    deadline: Deadline

    def check(self, item: Item, drawn: DrawnSet) -> float:
        """Run the item at two places with two poisons; return the greatest scaled error."""
        problem = self.bench.problem
        coin = self.bench.coin(f"places {drawn.begin}")
        arena = lay_out(problem, item.draw.dims, _PLACES, coin)
        write_plan(self.memory.plan, problem, arena, item.draw.dims)
        # Copied: numpy views of the shared pages would outlive their closing.
        outputs = [self._run(item, drawn, arena, slot, coin) for slot in range(_PLACES)]
        return judge_outputs(problem, item, drawn, self.draws, outputs)

    def _run(
        self, item: Item, drawn: DrawnSet, arena: Arena, slot: int, coin: random.Random
    ) -> dict[int, NDArray[np.uint8]]:
        # As the timer writes it: a kernel can't tell a check from a timed call by what lies around its outputs.
        red = np.frombuffer(coin.randbytes(8), np.uint8)
        self.memory.outputs.bytes.view("<u8")[:] = red.view("<u8")[0]
        for span in drawn.inputs:
            _bytes_at(self.memory.inputs, arena.slots[slot][span.index])[:] = self.draws.input_bytes(span)
        for span in drawn.outputs:
            _poison(_bytes_at(self.memory.outputs, arena.slots[slot][span.index]), coin)
        write_order(self.memory.plan, [slot])
        self._call(item, arena)
        for span in drawn.inputs:
            if not np.array_equal(
                _bytes_at(self.memory.inputs, arena.slots[slot][span.index]), self.draws.input_bytes(span)
            ):
                raise _refused(
                    item, Verdict.CHEAT_SUSPECTED, "input-changed", f"the input {span.tensor.name} changed"
                )
        for span in drawn.outputs:
            self._check_red_zones(item, span, arena.slots[slot][span.index], red)
        return {
            span.index: _bytes_at(self.memory.outputs, arena.slots[slot][span.index]).copy()
            for span in drawn.outputs
        }

    def _call(self, item: Item, arena: Arena) -> None:
        seconds = self.bench.problem.timeout_s
        if self.deadline.is_over:
            limit = f"{self.deadline.seconds:g} s"
            raise _refused(item, Verdict.TIMED_OUT, "too-slow", f"all calls took more than {limit}", limit)
        try:
            reply, *obituary = self.timer.ask(f"call 0 {self.bench.timeout_ns}", 3 * seconds + 10)
        except TimerSilent:
            reply, obituary = "late", []
        if reply == "late":
            raise _refused(
                item, Verdict.TIMED_OUT, "timed-out", f"one call took more than {seconds:g} s", f"{seconds:g} s"
            )
        if reply == "early":
            raise _refused(
                item, Verdict.CHEAT_SUSPECTED, "done-before-go", "the kernel wrote to the harness's flags"
            )
        if reply == "died":
            raise death_of(self.worker, obituary, "check", self.bench.problem, arena)

    def _check_red_zones(self, item: Item, span: Span, place: Place, red: NDArray[np.uint8]) -> None:
        memory = self.memory.outputs.bytes
        begins = {"before": place.offset - RED_ZONE_BYTES, "behind": place.offset + place.bytes}
        for where, begin in begins.items():
            expected = red[np.arange(begin, begin + RED_ZONE_BYTES) % red.size]
            if np.array_equal(memory[begin : begin + RED_ZONE_BYTES], expected):
                continue
            message = f"the kernel wrote {where} the output {span.tensor.name}"
            raise _refused(item, Verdict.WRONG_RESULT, "out-of-bounds", message)


def judge_outputs(
    problem: Problem,
    item: Item,
    drawn: DrawnSet,
    draws: Draws,
    runs: Sequence[Mapping[int, NDArray[np.uint8]]],
) -> float:
    """Return the greatest scaled error of the first of two runs on one input; outputs by their tensor's index.

    Raises RunEnded where an element is wrong, or the runs differ.
    """
    first, second = runs
    worst = max(
        (judge_output(problem, item, draws.truth(drawn, span), span, first) for span in drawn.outputs), default=0.0
    )
    for span in drawn.outputs:
        if not np.array_equal(first[span.index], second[span.index]):
            message = f"{span.tensor.name} differs between two runs on the same input at other addresses"
            raise _refused(item, Verdict.NONDETERMINISTIC, "nondeterministic", message)
    return worst


def judge_output(
    problem: Problem, item: Item, judge: Judge, span: Span, outputs: Mapping[int, NDArray[np.uint8]]
) -> float:
    """Return the greatest scaled error of one output; raises RunEnded where an element, or the whole, is wrong."""
    output = outputs[span.index]
    wrong = judge.first_wrong(output)
    if wrong is not None:
        raise _wrong_element(problem, item, span, wrong)
    if judge.breaks_guard(output):
        message = f"{span.tensor.name} as a whole is farther off than rounding explains"
        raise _refused(item, Verdict.WRONG_RESULT, "wrong-result", message)
    return judge.scaled_error(output)


def _bytes_at(memory: SharedMemory, place: Place) -> NDArray[np.uint8]:
    return np.frombuffer(memory.map, np.uint8, place.bytes, place.offset)


def _poison(target: NDArray[np.uint8], coin: random.Random) -> None:
    """Fill with bytes that are NaN in every floating type."""
    halves = np.array([0x7FF0 | coin.randrange(1, 16) | coin.choice((0, 0x8000)) for _ in range(4)], "<u2")
    target[:] = np.resize(halves.view(np.uint8), target.size)


def _wrong_element(problem: Problem, item: Item, span: Span, wrong: FirstWrong) -> RunEnded:
    shape = problem.shapes(item.draw.dims)[span.tensor.name]
    index = [int(part) for part in np.unravel_index(wrong.index, shape)]
    first: dict[str, Any] = {
        "case": item.case_id,
        "distribution": item.draw.distribution,
        "tensor": span.tensor.name,
        "index": index,
        "got": _finite(wrong.got),
        "expected": wrong.expected,
        "allowed": wrong.allowed,
    }
    message = (
        f"case {item.case_id} ({item.draw.distribution}): {span.tensor.name}{index} is {wrong.got:.9g}, "
        f"expected {wrong.expected:.9g}, allowed error {wrong.allowed:.3g}"
    )
    return RunEnded(Verdict.WRONG_RESULT, "check:wrong-result", message, first_wrong=first)


def _finite(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)


def _refused(item: Item, verdict: Verdict, code: str, message: str, limit: str | None = None) -> RunEnded:
    details = {} if limit is None else {"limit": limit}
    return RunEnded(verdict, f"check:{code}", f"case {item.case_id}: {message}", case=item.case_id, **details)
