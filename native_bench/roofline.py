"""What this runner's core can do at most, measured, and kept for a day."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from native_bench.cache import ContentCache, digest_of
from native_bench.cpu.trusted import TrustedPrograms
from native_bench.host import caches, cpu_model
from native_bench.outcome import RunEnded, infra
from submissions.evaluation.records import parse_timestamp, timestamp
from submissions.evaluation.roofline import Level, Limits, floor, sol_time_ns
from submissions.kernel_package.problem import Case, Problem

_FRESH = timedelta(days=1)
_FILE = "roofline.json"
_DEFAULT_CACHES = {"L1": 32 << 10, "L2": 512 << 10}
_LEAST_MEMORY_BYTES = 64 << 20
_MOST_MEMORY_BYTES = 256 << 20
# A cache that others share, or a hypervisor only tells of, has for us less room than it is said to have.
_MOST_SHARED_BYTES = 16 << 20

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Roofline:
    """The limits of one core, and when they were measured."""

    cpu: str
    core: int
    measured_at: datetime
    limits: Limits

    def is_fresh(self) -> bool:
        return timedelta(0) <= datetime.now(UTC) - self.measured_at < _FRESH

    def as_json(self) -> dict[str, Any]:
        named = {"cpu": self.cpu, "core": self.core, "measured_at": timestamp(self.measured_at)}
        return {**named, **self.limits.as_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `as_json` wrote; raises ValueError on anything else."""
        try:
            named = (
                str(document["cpu"]),
                int(document["core"]),
                parse_timestamp(document["measured_at"]).astimezone(UTC),
            )
        except (KeyError, TypeError) as fault:
            raise ValueError(f"this is no roofline: {fault!r}") from None
        return cls(*named, Limits.from_json(document))


def measure(
    programs: TrustedPrograms,
    core: int,
    cache: ContentCache,
    *,
    renew: bool = False,
    progress: Progress | None = None,
) -> Roofline:
    """Return the roofline of `core`: the one in the cache while it is fresh, else (or to `renew` it) a new one.

    Measuring takes up to two seconds, in which nothing else should run. Raises RunEnded infra_error.
    """
    key = _key(programs, core)
    kept = None if renew else _kept(cache, key)
    if kept is not None and kept.is_fresh():
        return kept
    return _keep(cache, key, _measured(programs.roofline, core, progress))


def measure_again(programs: TrustedPrograms, core: int, cache: ContentCache) -> Roofline:
    """Measure anew and keep of each rate the greater one: the second look before a floor is held against a kernel.

    A roof measured beside a busy neighbour is too low, and then an honest kernel seems too fast.
    """
    key = _key(programs, core)
    kept = _kept(cache, key)
    seen = _measured(programs.roofline, core, None)
    if kept is None or not kept.is_fresh():
        return _keep(cache, key, seen)
    return _keep(cache, key, Roofline(kept.cpu, core, kept.measured_at, seen.limits.greatest(kept.limits)))


def nearness(problem: Problem, case: Case, batch: int, t_ns: float, limits: Limits | None) -> dict[str, Any]:
    """Return what a timed case's record says of the limit, for one call's time; all None where it can't be told.

    The set that has to fit a cache is what the `batch` timed calls touch: the worker reads all of it, and nothing
    else, just before the clock starts.
    """
    sol = sol_time_ns(
        problem.bytes_min_of(case.dims),
        problem.flops_of(case.dims),
        problem.unit,
        batch * problem.tensor_bytes_of(case.dims),
        problem.mode,
        limits,
    )
    return {
        "t_sol_ns": sol and sol.ns,
        "bound": sol and sol.bound,
        "sol_level": sol and sol.level,
        "sol_floor": floor(t_ns, sol),
    }


def levels_to_measure(sizes: Mapping[str, int], physical_bytes: int) -> tuple[Level, ...]:
    """Choose the levels and their working sets from the cache sizes that the system tells (none: common ones).

    A set fits its own level with room to spare and is twice as large as the level before; a cache in which no set
    does both is left out. The last level is memory, its set several times as large as all caches.
    """
    levels: list[Level] = []
    previous = 0
    for name, capacity in sorted((sizes or _DEFAULT_CACHES).items()):
        is_shared = name not in ("L1", "L2")
        share = min(capacity // 4, _MOST_SHARED_BYTES) if is_shared else capacity // 2
        measured = max(share, 2 * previous)
        if 0 < measured <= capacity * 3 // 4:
            levels.append(Level(name, capacity, measured, {}))
            previous = capacity
    most = min(_MOST_MEMORY_BYTES, physical_bytes // 8)
    memory = min(max(3 * previous, _LEAST_MEMORY_BYTES), most)
    return (*levels, Level("DRAM", None, memory, {}))


def _key(programs: TrustedPrograms, core: int) -> str:
    return digest_of(b"roofline 1", programs.roofline.read_bytes(), cpu_model().encode(), str(core).encode())


def _kept(cache: ContentCache, key: str) -> Roofline | None:
    folder = cache.get(key)
    if folder is None:
        return None
    try:
        return Roofline.from_json(json.loads((folder / _FILE).read_bytes()))
    except (OSError, ValueError):
        # Another run is just replacing it, or it was written by another version of us.
        return None


def _keep(cache: ContentCache, key: str, roofline: Roofline) -> Roofline:
    old = cache.get(key)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    cache.put(key, {_FILE: json.dumps(roofline.as_json(), allow_nan=False).encode()})
    return roofline


def _measured(program: Path, core: int, progress: Progress | None) -> Roofline:
    physical_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    planned = levels_to_measure(caches(), physical_bytes)
    rates = _rates(program, core, planned, progress or (lambda fraction: None))
    levels = tuple(
        Level(level.name, level.capacity_bytes, level.measured_bytes, _of(f"{level.name}.", rates))
        for level in planned
    )
    peaks = {name: rate for name, rate in rates.items() if "." not in name}
    return Roofline(cpu_model(), core, datetime.now(UTC), Limits(levels, peaks))


def _rates(program: Path, core: int, levels: Sequence[Level], progress: Progress) -> dict[str, float]:
    command = [str(program), str(core), *(f"{level.name}={level.measured_bytes}" for level in levels)]
    rates: dict[str, float] = {}
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={}, start_new_session=True) as process:
            for name, value in _answers(process):
                if name == "progress":
                    progress(value)
                else:
                    rates[name] = value
    except (OSError, ValueError) as fault:
        raise _failed(core, str(fault)) from None
    if process.returncode != 0:
        raise _failed(core, f"its program ended with {process.returncode}")
    return rates


def _answers(process: "subprocess.Popen[bytes]") -> Iterator[tuple[str, float]]:
    assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
    for line in process.stdout:
        name, _, value = line.decode("ascii", "replace").partition(" ")
        yield name, float(value)


def _failed(core: int, why: str) -> RunEnded:
    return infra("time:roofline", f"the limits of core {core} were not measured: {why}")


def _of(prefix: str, rates: Mapping[str, float]) -> dict[str, float]:
    return {name.removeprefix(prefix): rate for name, rate in rates.items() if name.startswith(prefix)}
