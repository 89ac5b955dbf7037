"""Rows for the pages: boards with kernels, runs and submissions in every state."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from leaderboard import index
from leaderboard.mirror_rows import fill_figures
from leaderboard.models import BenchPoint, Kernel, Problem
from runners.models import Lease, Runner
from submissions.models import Event, Run, RunState, State, Submission

CPU = "AMD EPYC 9654, 2 cores"


def interval(value: float, half: float) -> dict[str, float]:
    return {"value": value, "lo": value - half, "hi": value + half}


def document(title: str, case_ids: tuple[str, ...]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "version": 1,
        "title": title,
        "description": "z = a*x + y over vectors <of> any length",
        "tensors": [
            {"name": "x", "role": "in", "dtype": "fp32", "shape": ["n"]},
            {"name": "z", "role": "out", "dtype": "fp32", "shape": ["n"]},
        ],
        "scalars": [{"name": "a", "dtype": "fp32", "value": 2.5}, {"name": "n", "dtype": "i64", "value": "n"}],
        "cases": [
            {"id": each, "dims": {"n": 1024 * 4**place}, "distribution": "uniform", "weight": 1}
            for place, each in enumerate(case_ids)
        ],
        "hidden": {"count": 6, "ranges": {"n": [1, 100000]}},
        "tolerance": {"kind": "bound", "terms": 2, "accumulate": "fp32", "c": 4},
        "flops": "2*n",
        "bytes_min": "12*n",
        "unit": "fp32_fma",
        "mode": "hot",
        "threads": 1,
        "timeout_s": 10,
        "memory_bytes": "12*n",
        "must_fail": ["zeros", "off_by_one"],
    }


def add_problem(problem_id: str, title: str, case_ids: tuple[str, ...] = ("n1k", "n4k", "n16k")) -> Problem:
    return Problem.objects.create(
        problem_id=problem_id, version=1, title=title, document=document(title, case_ids)
    )


def bench_of(kernel_id: str, speedup: float, half: float, problem: Problem, device: str = CPU) -> dict[str, Any]:
    cases = []
    for place, case in enumerate(problem.document["cases"]):
        ratio = speedup * (1 + 0.04 * (place - 1))
        base_ns = 900.0 * 5**place
        cases.append(
            {
                "id": case["id"],
                "t_ns": interval(base_ns / ratio, base_ns / ratio * half / speedup),
                "base_t_ns": interval(base_ns, base_ns * 0.002),
                "speedup": interval(ratio, half),
                "achieved_gbs": 11.5 * ratio,
                "achieved_gflops": 1.9 * ratio,
                "sol_fraction": min(0.11 * ratio, 0.97),
                "max_scaled_error": 0.00031,
            }
        )
    return {
        "kernel_id": kernel_id,
        "problem_version": 1,
        "status": "measured",
        "evidence": "measured",
        "mode": "hot",
        "source_commit": _hex(kernel_id, 40),
        "submitter": "entrant-a",
        "runner": {"name": "cpu0", "device": device, "isolation": "full"},
        "speedup": interval(speedup, half),
        "processes": 5,
        "cases": cases,
    }


def add_kernel(
    kernel_id: str,
    speedup: float | None,
    half: float = 0.02,
    age: timedelta = timedelta(hours=3),
    **changes: Any,
) -> Kernel:
    board_id, name = kernel_id.rsplit("/", 1)
    arch, problem_id = board_id.split("/", 1)
    problem = Problem.objects.get(problem_id=problem_id)
    row = Kernel(
        kernel_id=kernel_id,
        board_id=board_id,
        problem_id=problem_id,
        arch=arch,
        name=name,
        title=changes.pop("title", name.replace("_", " ").capitalize()),
        description={"authors": ["entrant-a"], "license": "MIT", "harness": "native", "summary": "four lanes"},
        tree_digest=_hex(name, 64),
        bench_commit=_hex("bench" + kernel_id, 40),
        submitter=changes.pop("submitter", "" if name == "reference_impl" else "entrant-a"),
        language="cpp",
    )
    bench = {"status": "unmeasured"} if speedup is None else bench_of(kernel_id, speedup, half, problem)
    fill_figures(row, bench)
    row.accepted_at = None if speedup is None else timezone.now() - age
    for name_of, value in changes.items():
        setattr(row, name_of, value)
    row.save()
    if speedup is not None:
        add_point(row, speedup, half, timezone.now() - age)
    return row


def add_point(kernel: Kernel, speedup: float, half: float, at: datetime) -> BenchPoint:
    problem = Problem.objects.get(problem_id=kernel.problem_id)
    commit = _hex(f"{kernel.kernel_id}{at}", 40)
    point = BenchPoint(kernel_id=kernel.kernel_id, board_id=kernel.board_id, commit=commit)
    fill_figures(point, bench_of(kernel.kernel_id, speedup, half, problem))
    point.accepted_at = at
    point.save()
    return point


def add_submission(kernel_id: str, state: State, **changes: Any) -> Submission:
    now = timezone.now()
    values: dict[str, Any] = {
        "submitter": "entrant-a",
        "submitter_is_verified": True,
        "package_sha256": _hex(kernel_id, 64),
        "package_bytes": 2300,
        "received_at": now - timedelta(minutes=4),
        **changes,
    }
    submission = Submission.objects.create(kernel_id=kernel_id, state=state, **values)
    if submission.is_terminal and submission.finished_at is None:
        submission.finished_at = now - timedelta(minutes=1)
        submission.save()
    for place, name in enumerate(("received", "validated", "queued", "running", "measured")):
        Event.objects.create(
            submission=submission,
            topic=submission.topic,
            kind="state",
            text=name,
            at=submission.received_at + timedelta(seconds=place * 2),
        )
        if name == state:
            break
    return submission


def add_run(submission: Submission, state: RunState, verdict: str = "", **changes: Any) -> Run:
    now = timezone.now()
    values: dict[str, Any] = {
        "kernel_id": submission.kernel_id,
        "arch": submission.arch,
        "queued_at": now - timedelta(minutes=3),
        "verdict": verdict,
        **changes,
    }
    if state != RunState.QUEUED:
        values = {"runner_name": "cpu0", "started_at": now - timedelta(minutes=2), **values}
    if state == RunState.FINISHED:
        values = {"finished_at": now - timedelta(minutes=1), "record": record_of(values), **values}
    return Run.objects.create(submission=submission, state=state, **values)


def record_of(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "evidence": "measured",
        "runner": {"name": "cpu0", "device": CPU, "isolation": "full"},
        "stage": "report",
        "finished_at": timezone.now().isoformat(),
        "started_at": (timezone.now() - timedelta(seconds=3)).isoformat(),
        "queued_at": (timezone.now() - timedelta(minutes=1)).isoformat(),
        "stages_ms": {"prepare": 2, "build": 740, "inspect": 3, "check": 96, "time": 1840, "report": 2},
        "cases": [],
        "details": values.pop("details", {}),
    }


def add_runner(name: str = "cpu0", **changes: Any) -> Runner:
    now = timezone.now()
    values: dict[str, Any] = {
        "kind": "cpu",
        "archs": ["x86_64"],
        "device": CPU,
        "isolation": "full",
        "version": "0.1.0",
        "hardware": {
            "cores": 2,
            "governor": "performance",
            "caches": {"L1": 49152},
            "compilers": {"g++": "14.2.0"},
        },
        "registered_at": now - timedelta(days=2),
        "last_seen_at": now - timedelta(seconds=3),
        **changes,
    }
    return Runner.objects.create(name=name, **values)


def lease(runner: Runner, run: Run) -> Lease:
    now = timezone.now()
    return Lease.objects.create(
        token=_hex(str(run.pk), 64), run=run, runner=runner, epoch=1, claimed_at=now, ends_at=now
    )


def rank_boards() -> None:
    index.refresh(Kernel.objects.values_list("board_id", flat=True).distinct())


def _hex(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
