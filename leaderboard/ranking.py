"""Ranks, ties and why a kernel has none: the only ranking there is. Pure: pages, API and index all read it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from submissions.evaluation.statistics import Interval
from submissions.evaluation.verdicts import Evidence

# Two kernels nearer than this are one for every reader, however small their intervals are.
SAME_RATIO = 1.005

STUB_ISOLATION = "stub"


@dataclass(frozen=True)
class Entry:
    """What ranking needs of one kernel; `speedup` is over the board's baseline, over all cases, in one sitting."""

    kernel_id: str
    status: str
    evidence: str
    isolation: str
    problem_version: int
    device: str
    speedup: Interval | None
    accepted_at: datetime | None


@dataclass(frozen=True)
class Yardstick:
    """What the entries of one ranking share: the problem's version and the device they were measured on."""

    problem_version: int
    device: str


@dataclass(frozen=True)
class Place:
    """A rank, and whether others share it."""

    kernel_id: str
    rank: int
    is_tied: bool


@dataclass(frozen=True)
class Obstacle:
    """Why a kernel is not ranked: a stable code and a sentence for people."""

    code: str
    text: str


def yardstick_of(baseline: Entry | None, problem_version: int) -> Yardstick | None:
    """Return what the board ranks by: the device of its measured baseline; None until there is one."""
    if baseline is None or _figure_obstacle(baseline) is not None:
        return None
    return Yardstick(problem_version, baseline.device)


def obstacle(entry: Entry, yardstick: Yardstick | None) -> Obstacle | None:
    """Return why the entry has no rank by this yardstick, or None where it has one."""
    return _figure_obstacle(entry) or _yardstick_obstacle(entry, yardstick)


def rank(entries: Iterable[Entry], yardstick: Yardstick | None) -> tuple[Place, ...]:
    """Return the places in the order of the board; entries with an obstacle are left out.

    Going down by value, a kernel joins the group when its interval overlaps that of the group's
    first, or its ratio to it is under 1.005; else it opens a group, with the number of kernels
    above it + 1 as rank. Within a group the earlier acceptance comes first.
    """
    fit = [entry for entry in entries if obstacle(entry, yardstick) is None]
    places: list[Place] = []
    for group in _groups(sorted(fit, key=_by_value)):
        above = len(places)
        ordered = sorted(group, key=_by_acceptance)
        places += [Place(entry.kernel_id, above + 1, len(group) > 1) for entry in ordered]
    return tuple(places)


def records(history: Iterable[Entry], yardstick: Yardstick | None) -> frozenset[int]:
    """Return the places in a history, oldest first, of those faster than all before and not tied with the best."""
    found: list[int] = []
    best: Entry | None = None
    for at, entry in enumerate(history):
        if obstacle(entry, yardstick) is not None:
            continue
        if best is None or (_speedup(entry).value > _speedup(best).value and not _is_same(entry, best)):
            best = entry
            found.append(at)
    return frozenset(found)


def _figure_obstacle(entry: Entry) -> Obstacle | None:
    if entry.status == "withdrawn":
        return Obstacle("rank:withdrawn", "withdrawn: its figures no longer count")
    if entry.status != "measured" or entry.speedup is None or entry.accepted_at is None:
        return Obstacle("rank:unmeasured", "not measured yet: there is no figure to rank by")
    if entry.evidence != Evidence.MEASURED:
        return Obstacle("rank:evidence", f"its evidence is {entry.evidence!r}; only measured figures are ranked")
    if entry.isolation == STUB_ISOLATION:
        return Obstacle("rank:isolation", "it ran without isolation; such figures are never ranked")
    return None


def _yardstick_obstacle(entry: Entry, yardstick: Yardstick | None) -> Obstacle | None:
    if yardstick is None:
        return Obstacle("rank:no-baseline", "the board's baseline is not measured yet")
    if entry.problem_version != yardstick.problem_version:
        text = (
            f"measured on version {entry.problem_version} of the problem, which is now at version "
            f"{yardstick.problem_version}; send it again to be ranked"
        )
        return Obstacle("rank:problem-version", text)
    if entry.device != yardstick.device:
        text = f"measured on {entry.device or 'an unknown device'}; this ranking is of {yardstick.device}"
        return Obstacle("rank:device", text)
    return None


def _groups(descending: Sequence[Entry]) -> list[list[Entry]]:
    groups: list[list[Entry]] = []
    for entry in descending:
        if groups and _is_same(groups[-1][0], entry):
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups


def _is_same(first: Entry, entry: Entry) -> bool:
    head, other = _speedup(first), _speedup(entry)
    return head.overlaps(other) or head.value < SAME_RATIO * other.value


def _speedup(entry: Entry) -> Interval:
    if entry.speedup is None:
        raise ValueError(f"{entry.kernel_id} has no figure")
    return entry.speedup


def _by_value(entry: Entry) -> tuple[float, str]:
    return (-_speedup(entry).value, entry.kernel_id)


def _by_acceptance(entry: Entry) -> tuple[float, float, str]:
    accepted = entry.accepted_at.timestamp() if entry.accepted_at else 0.0
    return (accepted, *_by_value(entry))
