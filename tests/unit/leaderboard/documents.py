"""Documents of the store that keep their schemas, with what a test wants to be different."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from submissions.evaluation.canonical import canonical_json
from submissions.kernel_store.writing import LedgerEntry

BOARD = "x86_64/Vector/saxpy/fp32"
SHA = "a" * 64
COMMIT = "c" * 40
RECEIVED = datetime(2026, 1, 31, 11, 59, 30, 123456, tzinfo=UTC)


def problem_document(**changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "version": 1,
        "title": "Scaled vector addition",
        "description": "z = a*x + y",
        "parameters": [{"name": "n", "label": "Length", "min": 1, "max": 1 << 28, "default": 1 << 20}],
        "tensors": [
            {"name": "x", "role": "in", "dtype": "fp32", "shape": ["n"]},
            {"name": "z", "role": "out", "dtype": "fp32", "shape": ["n"]},
        ],
        "scalars": [
            {"name": "a", "dtype": "fp32", "value": 2.5},
            {"name": "n", "dtype": "i64", "value": "n"},
        ],
        "cases": [{"id": "n1m", "dims": {"n": 1 << 20}, "distribution": "uniform", "weight": 1}],
        "dry_run": {"dims": {"n": 1000}},
        "hidden": {"count": 2, "ranges": {"n": [1, 100000]}},
        "tolerance": {"kind": "bound", "terms": 2, "accumulate": "fp32", "c": 4},
        "flops": "2*n",
        "bytes_min": "12*n",
        "unit": "fp32_fma",
        "mode": "hot",
        "threads": 1,
        "timeout_s": 10,
        "memory_bytes": "12*n",
        "must_fail": ["zeros", "nan_one"],
    } | changes


def desc_document(kernel_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "kernel_id": kernel_id,
        "title": f"Saxpy called {kernel_id.rsplit('/', 1)[1]}",
        "summary": "",
        "language": "cpp",
        "harness": "native",
        "entry": {"source": "src/saxpy.cpp", "symbol": "saxpy"},
        "build": {"sources": ["src/saxpy.cpp"], "include_dirs": ["src"], "defines": {}},
        "authors": ["entrant-a"],
        "license": "MIT",
        "tags": [],
        "created": "2026-01-31",
    } | changes


def interval(value: float, half: float = 0.001) -> dict[str, float]:
    return {"value": value, "lo": value * (1 - half), "hi": value * (1 + half)}


def bench_document(kernel_id: str, speedup: float, half: float = 0.001, **changes: Any) -> dict[str, Any]:
    figure = interval(speedup, half)
    submission = changes.get("submission")
    return {
        "schema_version": 1,
        "kernel_id": kernel_id,
        "problem_version": 1,
        "status": "measured",
        "evidence": "measured",
        "mode": "hot",
        "source_commit": COMMIT,
        "submission": None,
        "submitter": "entrant-a",
        "harness_version": SHA,
        "measured_at": "2026-01-31T12:00:00Z",
        "runner": {"name": "cpu0", "device": "cpu-a", "driver": None, "isolation": "full"},
        "speedup": figure,
        "processes": 5,
        "cases": [
            {
                "id": "n1m",
                "t_ns": interval(1000 / speedup, half),
                "base_t_ns": interval(1000, half),
                "speedup": figure,
                "achieved_gbs": 10.0,
                "achieved_gflops": 2.0,
                "sol_fraction": 0.5,
                "max_scaled_error": 0.1,
            }
        ],
        "best": {"submission": submission, "speedup": figure},
        "current": {"submission": submission, "speedup": figure},
    } | changes


def submission_document(uuid: UUID, kernel_id: str, state: str = "failed", **changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "uuid": str(uuid),
        "kernel_id": kernel_id,
        "submitter": "entrant-a",
        "submitter_is_verified": True,
        "mode": "ranked",
        "message": "",
        "idempotency_key": "",
        "package_sha256": SHA,
        "package_bytes": 1000,
        "tree_digest": SHA,
        "problem_version": 1,
        "received_at": "2026-01-31T11:59:30.123456Z",
        "finished_at": "2026-01-31T12:00:05.5Z",
        "state": state,
        "code": "run:wrong-result",
        "reason": "case n1m is wrong",
        "details": {"first_wrong": {"case": "n1m", "index": [3]}},
        "runs": [],
    } | changes


def run_document(uuid: UUID, kernel_id: str, submission: UUID | None, **changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "uuid": str(uuid),
        "kind": "measure",
        "submission": str(submission) if submission else None,
        "mode": "ranked",
        "attempt": 1,
        "epoch": 1,
        "kernel_id": kernel_id,
        "problem_id": kernel_id.split("/", 1)[1].rsplit("/", 1)[0],
        "problem_version": 1,
        "runner": {"name": "cpu0", "device": "cpu-a", "driver": None, "isolation": "full"},
        "evidence": "measured",
        "verdict": "wrong_result",
        "code": "check:wrong-result",
        "message": "case n1m is wrong",
        "stage": "check",
        "stages_ms": {"prepare": 1, "build": 700, "check": 90},
        "secret_sha256": SHA,
        "artifacts": {},
        "contestants": {"candidate": SHA, "baseline": SHA, "incumbent": None},
        "cases": [],
        "processes": 0,
        "harness_version": SHA,
        "finished_at": "2026-01-31T12:00:04Z",
        "details": {},
        "environment": {},
        "log": "",
    } | changes


def ledger_entry(uuid: UUID, records: dict[str, Any]) -> LedgerEntry:
    return LedgerEntry(
        uuid=str(uuid),
        received_at=RECEIVED,
        records={name: canonical_json(record) for name, record in records.items()},
        source=None,
        subject=f"entry {uuid}",
        trailers={"Zoo-Submission": str(uuid)},
    )
