"""`calibrate`: measure this machine's limits and print them."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from native_bench.bench import Reporter
from native_bench.cache import ContentCache
from native_bench.cpu.trusted import trusted_programs
from native_bench.host import core_pair, usable_cores
from native_bench.outcome import RunEnded
from native_bench.roofline import Roofline, measure
from submissions.evaluation.roofline import Level

_KINDS = ("read", "write", "copy", "triad")


def calibrate(cache_dir: Path, as_json: bool, reporter: Reporter) -> int:
    """Measure the core that kernels are timed on, whatever the cache holds; return 0, or 1 if it can't be done."""
    cache = ContentCache(cache_dir)
    core = (core_pair() or usable_cores())[-1]
    try:
        reporter.stage("prepare")
        programs = trusted_programs(cache)
        reporter.stage("calibrate")
        roofline = measure(programs, core, cache, renew=True, progress=reporter.progress)
    except RunEnded as end:
        print(f"{end.code}: {end.message}", file=sys.stderr)
        return 1
    print(json.dumps(roofline.as_json(), indent=1) if as_json else roofline_text(roofline))
    return 0


def roofline_text(roofline: Roofline) -> str:
    """Return two tables: GB/s by level and kind of traffic, GFLOP/s (or GOP/s) by unit."""
    limits = roofline.limits
    lines = [
        f"{roofline.cpu}, core {roofline.core}",
        "",
        f"{'GB/s':<10} {'holds':>10} {'measured':>10} " + " ".join(f"{kind:>8}" for kind in _KINDS),
        *(_level_row(level) for level in limits.levels),
        "",
        f"{'unit':<10} {'Gop/s':>10}",
        *(f"{unit:<10} {rate / 1e9:>10.1f}" for unit, rate in limits.operations_per_second.items()),
    ]
    return "\n".join(lines)


def _level_row(level: Level) -> str:
    holds = "" if level.capacity_bytes is None else _size(level.capacity_bytes)
    rates: Sequence[str] = [f"{level.bytes_per_second.get(kind, 0.0) / 1e9:>8.1f}" for kind in _KINDS]
    return f"{level.name:<10} {holds:>10} {_size(level.measured_bytes):>10} " + " ".join(rates)


def _size(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
