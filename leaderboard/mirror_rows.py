"""The store's documents as rows, checked: what a maintainer's push may have broken is refused here, by name."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from leaderboard.models import BenchPoint, Figures, Kernel, Problem
from submissions.evaluation.statistics import Interval
from submissions.kernel_package.description import parse_description
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.errors import Broken, ZooError
from submissions.kernel_package.files import BENCH_RESULT_PATH, DESCRIPTION_PATH, Files
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.schema import check_schema
from submissions.kernel_package.strict_yaml import load_yaml
from submissions.kernel_store.history import Commit
from submissions.kernel_store.reading import ProblemFiles

TITLE_CHARACTERS = 200


def problem_row(files: ProblemFiles) -> Problem:
    """Return the problem's row."""
    problem = files.problem
    return Problem(
        problem_id=str(problem.id),
        version=problem.version,
        title=problem.title[:TITLE_CHARACTERS],
        document=load_yaml(files.problem_yaml, "problem.yaml"),
    )


class BenchResults:
    """Reads bench_result.yaml, each content once: what stands at the head is its last commit's too."""

    def __init__(self) -> None:
        self._known: dict[tuple[KernelId, bytes], dict[str, Any]] = {}

    def read(self, kernel_id: KernelId, content: bytes | None) -> dict[str, Any]:
        """Return the document; raises ZooError where it is not valid or another kernel's."""
        if content is None:
            return {"kernel_id": str(kernel_id), "status": "unmeasured"}
        # By digest: the contents themselves would stay in memory for the length of a rebuild.
        key = (kernel_id, hashlib.sha256(content).digest())
        if key not in self._known:
            self._known[key] = _checked_bench(kernel_id, content)
        return self._known[key]


def kernel_row(kernel_id: KernelId, files: Files, results: BenchResults) -> Kernel:
    """Return the kernel's row, without what its history tells; raises ZooError on a broken package."""
    if DESCRIPTION_PATH not in files:
        raise Broken("mirror:missing-description", f"{DESCRIPTION_PATH} is missing")
    description = parse_description(files[DESCRIPTION_PATH])
    if description.kernel_id != kernel_id:
        message = f"{DESCRIPTION_PATH} names {description.kernel_id}, but lies in the folder of {kernel_id}"
        raise Broken("mirror:kernel-id", message)
    row = Kernel(
        kernel_id=str(kernel_id),
        board_id=str(kernel_id.board),
        problem_id=str(kernel_id.problem),
        arch=kernel_id.arch,
        name=kernel_id.name,
        title=description.title[:TITLE_CHARACTERS],
        description=dict(description.document),
        tree_digest=tree_digest(files),
        language=description.language,
        parent=description.parent.kernel_id if description.parent else "",
    )
    bench = results.read(kernel_id, files.get(BENCH_RESULT_PATH))
    row.submitter = str(bench.get("submitter", ""))
    fill_figures(row, bench)
    # A measured result that came by a maintainer's push has no bench commit: its own time stands in.
    row.accepted_at = _time(bench["measured_at"]) if "measured_at" in bench else None
    return row


def point_row(
    kernel_id: KernelId, commit: Commit, content: bytes | None, results: BenchResults
) -> BenchPoint | None:
    """Return the row of one `bench:` commit; None where what it holds is no measured result (any more)."""
    try:
        bench = results.read(kernel_id, content)
    except ZooError:
        return None
    if bench["status"] != "measured":
        return None
    row = BenchPoint(
        kernel_id=str(kernel_id), board_id=str(kernel_id.board), commit=commit.id, accepted_at=commit.time
    )
    fill_figures(row, bench)
    return row


def fill_figures(row: Figures, bench: Mapping[str, Any]) -> None:
    """Put the figures of a bench_result into the row's columns."""
    runner = bench.get("runner", {})
    speedup = Interval.from_json(bench["speedup"]) if "speedup" in bench else None
    row.bench = dict(bench)
    row.status = bench["status"]
    row.source_commit = bench.get("source_commit", "")
    row.submission = UUID(bench["submission"]) if bench.get("submission") else None
    row.evidence = bench.get("evidence", "")
    row.problem_version = bench["problem_version"] if speedup else 0
    row.device = str(runner.get("device") or "")
    row.isolation = str(runner.get("isolation") or "")
    row.speedup = speedup.value if speedup else None
    row.speedup_lo = speedup.lo if speedup else None
    row.speedup_hi = speedup.hi if speedup else None


def _checked_bench(kernel_id: KernelId, content: bytes) -> dict[str, Any]:
    bench: dict[str, Any] = load_yaml(content, BENCH_RESULT_PATH)
    check_schema(bench, "bench_result", BENCH_RESULT_PATH)
    if bench["kernel_id"] != str(kernel_id):
        message = f"{BENCH_RESULT_PATH} names {bench['kernel_id']}, but lies in the folder of {kernel_id}"
        raise Broken("mirror:kernel-id", message)
    return bench


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
