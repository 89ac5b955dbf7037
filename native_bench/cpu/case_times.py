"""What is measured of one case: how many rounds it gets, and which of them say anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from native_bench.cpu.draws import DrawnSet
from native_bench.outcome import RunEnded
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Case

_MAX_BATCH = 64
# More sets than 48 make a batch surer only while they lie near the core.
_MANY_SETS, _NEAR_BYTES = 48, 3 << 19
# Twice the spread of an empty batch: less than this beyond the handshake is no time at all.
_RESOLUTION_NS = 100.0


@dataclass(frozen=True)
class Rounds:
    """How many rounds a case is given, and how few it may be left with when its budget is spent.

    Beyond them a case whose ratios spread goes on for up to `patience_ns` for each contestant.
    """

    wanted: int
    least: int
    patience_ns: int = 0


HOT = Rounds(40, 8, 300_000_000)
# Single calls on memory in no cache spread by half their size: it takes more of them.
COLD = Rounds(200, 50)
SELF_TEST = Rounds(24, 8)


@dataclass
class CaseTimes:
    """What was measured of one case: one value per process in every list.

    `batches_ns` are the samples: by role, the two batches of each round, with the handshake in them. `audits` are
    sets of any distribution, drawn behind `sets`, on which the candidate is judged in batches that nobody times.
    """

    case: Case
    sets: Sequence[DrawnSet]
    batch: int = 0
    rounds: list[int] = field(default_factory=list)
    handshake_ns: list[float] = field(default_factory=list)
    log_ratios: dict[str, list[float]] = field(default_factory=dict)
    least_ns: dict[str, list[float]] = field(default_factory=dict)
    batches_ns: list[dict[str, list[list[int]]]] = field(default_factory=list)
    audits: Sequence[DrawnSet] = ()


def most_sets(set_bytes: int) -> int:
    """Return how many sets of this size a batch may have at most: every call has its own."""
    return min(_MAX_BATCH, max(_MANY_SETS, _NEAR_BYTES // max(1, set_bytes)))


def usable_rounds(times: CaseTimes, sides: Mapping[str, Mapping[int, float]]) -> list[int]:
    """Return the rounds in which every side took time beyond an empty batch: ns per call, by role and round.

    Raises RunEnded when they are fewer than half: nothing can be said of such a case.
    """
    rounds = list(sides["candidate"])
    least_ns = _RESOLUTION_NS / times.batch
    usable = [number for number in rounds if all(side[number] >= least_ns for side in sides.values())]
    if 2 * len(usable) >= len(rounds):
        return usable
    case = times.case.id
    if median(sides["candidate"].values()) < least_ns <= median(sides["baseline"].values()) / 10:
        message = f"case {case}: the candidate's batch takes no time: no machine computes it that fast"
        raise RunEnded(Verdict.CHEAT_SUSPECTED, "time:too-fast", message, case=case)
    message = f"case {case}: its batches are too short to be timed on this machine; it needs larger sizes"
    raise RunEnded(Verdict.UNSTABLE, "time:too-short", message, case=case)
