"""A small real zoo: one problem, its baseline, packages to send, and what a runner would do with them."""

import json
from datetime import timedelta

from django.utils import timezone
from django_q.models import OrmQ

from submissions import secrets
from submissions.assignment import assignment_for
from submissions.authentication import Submitter
from submissions.evaluation.bench_result import unmeasured_bench_result
from submissions.evaluation.records import empty_result
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.files import BENCH_RESULT_PATH
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.package import check_package
from submissions.kernel_package.strict_yaml import dump_yaml
from submissions.kernel_store import faults
from submissions.lifecycle import submission_started
from submissions.models import Run, RunState, Submission
from submissions.publish import publish
from submissions.results import record_result
from submissions.store import reader, writer
from submissions.upload import Upload, receive_upload

PROBLEM = "Vector/saxpy/fp32"
BOARD = f"x86_64/{PROBLEM}"
BASELINE = f"{BOARD}/reference_impl"
KERNEL = f"{BOARD}/unrolled"
ALICE = Submitter("alice", is_verified=True)
BOB = Submitter("bob", is_verified=True)
RUNNER = {"name": "cpu0", "device": "a CPU", "isolation": "full", "driver": None}

PROBLEM_DOCUMENT = {
    "schema_version": 1,
    "version": 1,
    "title": "Scaled vector addition",
    "description": "z = a*x + y",
    "parameters": [{"name": "n", "label": "Vector length", "min": 1, "max": 268435456, "default": 1048576}],
    "tensors": [
        {"name": "x", "role": "in", "dtype": "fp32", "shape": ["n"]},
        {"name": "y", "role": "in", "dtype": "fp32", "shape": ["n"]},
        {"name": "z", "role": "out", "dtype": "fp32", "shape": ["n"]},
    ],
    "scalars": [
        {"name": "a", "dtype": "fp32", "value": 2.5},
        {"name": "n", "dtype": "i64", "value": "n"},
    ],
    "cases": [{"id": "n1k", "dims": {"n": 1024}, "distribution": "uniform", "weight": 1}],
    "dry_run": {"dims": {"n": 1000}},
    "hidden": {"count": 3, "ranges": {"n": [1, 100000]}},
    "tolerance": {"kind": "bound", "terms": 2, "accumulate": "fp32", "c": 4},
    "flops": "2*n",
    "bytes_min": "12*n",
    "unit": "fp32_fma",
    "mode": "hot",
    "threads": 1,
    "timeout_s": 10,
    "memory_bytes": "12*n",
    "must_fail": ["zeros"],
}


def problem_yaml(version=1):
    return dump_yaml({**PROBLEM_DOCUMENT, "version": version})


def package_files(kernel_id=KERNEL, body="z[i] = a * x[i] + y[i];"):
    description = {
        "schema_version": 1,
        "kernel_id": kernel_id,
        "title": "A saxpy",
        "summary": "",
        "language": "cpp",
        "harness": "native",
        "entry": {"source": "src/saxpy.cpp", "symbol": "saxpy"},
        "build": {"sources": ["src/saxpy.cpp"], "include_dirs": ["src"], "defines": {}},
        "authors": ["entrant-a"],
        "license": "MIT",
        "tags": [],
        "created": "2026-01-31",
    }
    source = f'extern "C" void saxpy(const float* x, const float* y, float* z, float a, long n) {{ {body} }}\n'
    return {".kernel_package/desc.yaml": dump_yaml(description), "src/saxpy.cpp": source.encode()}


def package(kernel_id=KERNEL, body="z[i] = a * x[i] + y[i];"):
    return write_archive(package_files(kernel_id, body))


def seed_board(arch="x86_64", files=None):
    """Put the problem and an unmeasured baseline on main, as a maintainer does."""
    baseline = KernelId.parse(f"{arch}/{PROBLEM}/reference_impl")
    content = dict(check_package(files or package_files(str(baseline)), baseline).files)
    content[BENCH_RESULT_PATH] = dump_yaml(unmeasured_bench_result(baseline, 1))
    seeded = {
        f"problems/{PROBLEM}/problem.yaml": problem_yaml(),
        f"problems/{PROBLEM}/reference.py": b"def reference(inputs, scalars):\n    return {}\n",
        **{f"{baseline}/{path}": data for path, data in content.items()},
    }
    writer().commit_files(seeded, "seed: saxpy", "")


def send(submitter=ALICE, kernel_id=KERNEL, body="z[i] = a * x[i] + y[i];", **fields):
    return receive_upload(submitter, Upload(kernel_id, package(kernel_id, body), **fields))


def work():
    """Do what waits in the queue of cluster default, as its workers would, until nothing waits."""
    done = 0
    while (row := OrmQ.objects.filter(key="default").order_by("id").first()) is not None:
        task = row.task
        row.delete()
        run_task(task["func"], task["args"])
        done += 1
    return done


def run_task(path, args):
    module, name = path.rsplit(".", 1)
    getattr(__import__(module, fromlist=[name]), name)(*args)


def claim(submission):
    """Lease the submission's waiting run, as a runner's claim does."""
    run = Run.objects.get(submission=submission, state=RunState.QUEUED)
    Run.objects.filter(pk=run.pk).update(state=RunState.LEASED, epoch=run.epoch + 1, runner_name="cpu0")
    assert submission_started(submission.pk)
    return Run.objects.select_related("submission").get(pk=run.pk)


def good_result(run, speedup_log=0.25, versus_log=0.1, processes=5):
    """What an honest engine reports of a correct run."""
    parts = assignment_for(run)
    spread = [0.001 * (index - processes // 2) for index in range(processes)]
    case = {
        "id": "n1k",
        "batch_n": 3,
        "rounds": 40,
        "log_ratio": {
            "baseline": [speedup_log + step for step in spread],
            "incumbent": [versus_log + step for step in spread] if parts.incumbent else [],
        },
        "t_min_ns": [100.0 + step for step in spread],
        "base_t_min_ns": [130.0 + step for step in spread],
        "max_scaled_error": 0.1,
        "handshake_ns": 400.0,
    }
    return {
        **empty_result("ok", "run:ok", "", "report"),
        "stages_ms": {"build": 700.0, "check": 90.0, "time": 1800.0},
        "evidence": "measured",
        "cases": [] if parts.kind == "check" else [case],
        "contestants": {
            "candidate": parts.candidate.digest,
            "baseline": parts.baseline.digest,
            "incumbent": parts.incumbent.digest if parts.incumbent else None,
        },
        "secret_sha256": secrets.run_secret_sha256(run.pk, run.epoch),
        "harness_version": "a" * 64,
        "processes": processes,
        "environment": {"kernel": "6.1"},
        "log": "compiled\n",
        "samples": '{"unit":"ns","cases":[]}',
    }


def bad_result(verdict, code, message="it failed", **details):
    return {**empty_result(verdict, code, message, "check"), "evidence": "measured", "details": details}


def measure(submission, **figures):
    """Validate, claim and measure a submission, and do all that follows."""
    work()
    run = claim(submission)
    assert record_result(run.pk, run.epoch, good_result(run, **figures), RUNNER)
    work()
    return fresh(submission)


def fail(submission, verdict, code, **details):
    work()
    run = claim(submission)
    assert record_result(run.pk, run.epoch, bad_result(verdict, code, **details), RUNNER)
    work()
    return fresh(submission)


def fresh(submission):
    return Submission.objects.get(pk=submission.pk)


def ledger(submission):
    """The ledger's entry of a submission, records read as JSON."""
    where = (submission.received_at, str(submission.pk))
    records = {name: json.loads(data) for name, data in reader().ledger_entry(*where).items()}
    return records | {f"source/{path}": data for path, data in reader().ledger_source(*where).items()}


def on_main(kernel_id=KERNEL):
    return reader().files(reader().main_head(), KernelId.parse(kernel_id))


def bench(kernel_id=KERNEL):
    return reader().bench_result(reader().main_head(), KernelId.parse(kernel_id))


def main_subjects():
    store = reader()
    return [commit.subject for commit in store.commits("", store.main_head())]


def age(submission, seconds=3600):
    """Make all that happened to a submission old, so that recovery calls it stuck."""
    submission.events.update(at=timezone.now() - timedelta(seconds=seconds))


def cuda_files(kernel_id):
    description = {
        "schema_version": 1,
        "kernel_id": kernel_id,
        "title": "A saxpy",
        "summary": "",
        "language": "cuda",
        "harness": "rawkernel",
        "entry": {"source": "src/saxpy.cu"},
        "build": {"include_dirs": ["src"], "defines": {}},
        "authors": ["entrant-a"],
        "license": "MIT",
        "tags": [],
        "created": "2026-01-31",
        "scratch": [],
        "launches": [
            {
                "kernel": "saxpy",
                "grid": ["ceil_div(n, 256)", 1, 1],
                "block": [256, 1, 1],
                "shared_bytes": 0,
                "args": ["x", "y", "z", "a", "n"],
            }
        ],
    }
    return {
        ".kernel_package/desc.yaml": dump_yaml(description),
        "src/saxpy.cu": b'extern "C" __global__ void saxpy() {}\n',
    }


def send_files(kernel_id, files, submitter=ALICE, **fields):
    return receive_upload(submitter, Upload(kernel_id, write_archive(files), **fields))


def lone_run(kernel_id=KERNEL):
    """A leased recheck: a run that belongs to no submission."""
    return Run.objects.create(
        kind="recheck",
        kernel_id=kernel_id,
        arch="x86_64",
        state=RunState.LEASED,
        epoch=1,
        runner_name="cpu0",
        queued_at=timezone.now(),
    )


def run_ledger(run):
    entry = reader().ledger_entry(run.queued_at, str(run.pk))
    return {name: json.loads(data) for name, data in entry.items()}


def clean(files):
    """A package as it takes part in a sitting: without its figures."""
    return {path: data for path, data in files.items() if path != BENCH_RESULT_PATH}


def hold(submission):
    """Have a submission measured with an integrity finding."""
    work()
    run = claim(submission)
    assert record_result(run.pk, run.epoch, {**good_result(run), "details": {"integrity": ["clock"]}}, RUNNER)
    return fresh(submission)


def die_before_advance(submission):
    """Publish, but be interrupted when everything is prepared."""

    def interrupted(point):
        if point == "advance:checked":
            raise KeyboardInterrupt

    with faults.crashing(interrupted):
        publish(submission.pk)
