"""What the bench leaves behind: one JSON document with every value, and its table."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from native_bench.bench_cpu.campaign import Measured
from native_bench.bench_cpu.figures import rows_of
from native_bench.bench_cpu.goals import FULL_GOALS, QUICK_GOALS, Judged, judge
from native_bench.bench_cpu.plan import Plan
from native_bench.bench_cpu.table import table_text
from native_bench.host import host_record

_ROOT = Path(__file__).parents[2]
PART = "cpu"


def report_of(
    plan: Plan, measured: Sequence[Measured], missing: Sequence[str], isolation: str
) -> tuple[dict[str, Any], str]:
    """Return the document, with everything that was measured in it, and the table."""
    rows = rows_of(measured, plan.sittings)
    busy_before = {under.condition.name: under.busy_before for under in measured}
    judged = judge(rows, QUICK_GOALS if plan.is_quick else FULL_GOALS, plan.is_quick)
    document: dict[str, Any] = {
        "part": PART,
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "is_quick": plan.is_quick,
        "machine": {**host_record(), "isolation": isolation},
        "commit": commit(),
        "busy_before": busy_before,
        "missing": [*missing, *_failed_peers(measured)],
        "rows": [one.as_json() for one in judged if isinstance(one, Judged)],
        "left_out": [one.as_json() for one in judged if not isinstance(one, Judged)],
        "figures": [row.as_json() for row in rows],
        "measured": [_measured_json(under) for under in measured],
    }
    return document, table_text(document, rows, judged)


def store(document: Mapping[str, Any], table: str, table_path: Path) -> None:
    """Write the table, and the document beside it under the same name with `.json`."""
    table_path.parent.mkdir(parents=True, exist_ok=True)
    table_path.write_text(table)
    write_document(document, table_path.with_suffix(".json"))


def write_document(document: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")


def dated_path(folder: Path, document: Mapping[str, Any]) -> Path:
    """Return where a report of this moment lies."""
    moment = str(document["measured_at"]).replace(":", "")
    return folder / f"{PART}-{moment}.md"


def commit() -> str:
    """Return the checkout's commit, with `+changes` where its files differ from it; `unknown` outside of git."""
    head = _git("rev-parse", "HEAD")
    return head + ("+changes" if _git("status", "--porcelain") else "") if head else "unknown"


def _git(*words: str) -> str:
    try:
        ended = subprocess.run(
            ["git", "-C", str(_ROOT), *words], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ended.stdout.strip()


def _failed_peers(measured: Sequence[Measured]) -> list[str]:
    return [
        f"{under.condition.name}: {message} (×{count})"
        for under in measured
        for series in under.peers.values()
        for message, count in series.failures.items()
    ]


def _measured_json(measured: Measured) -> dict[str, Any]:
    return {
        "condition": asdict(measured.condition),
        "seconds": round(measured.seconds, 1),
        "ours": {kernel: asdict(series) for kernel, series in measured.ours.items()},
        "peers": {tool: asdict(series) for tool, series in measured.peers.items()},
    }
