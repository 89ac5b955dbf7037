import hashlib
import json
import re

import pytest
from django.apps import apps

from submissions import artifacts, secrets
from submissions.assignment import assignment_for
from submissions.kernel_package.errors import Broken
from submissions.models import Run, RunState, State
from submissions.results import record_result, run_lost
from submissions.signals import run_queued
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def run():
    submission = zoo.send()
    zoo.work()
    return zoo.claim(submission)


def give(run, result, **changes):
    return record_result(run.pk, run.epoch, {**result, **changes}, zoo.RUNNER)


def fresh(run):
    return Run.objects.select_related("submission").get(pk=run.pk)


def test_it_takes_a_measuring(run):
    assert give(run, zoo.good_result(run))
    run = fresh(run)
    assert (run.state, run.verdict, run.code) == (RunState.FINISHED, "ok", "run:ok")
    assert run.submission.state == State.MEASURED
    assert run.record["runner"] == zoo.RUNNER
    assert run.record["secret_sha256"] == secrets.run_secret_sha256(run.pk, 1)
    for name, content in {"log": b"compiled\n", "samples": b'{"unit":"ns","cases":[]}'}.items():
        digest = run.record["artifacts"][name]
        assert artifacts.read(digest) == content
        assert digest == hashlib.sha256(content).hexdigest()


def test_it_takes_one_result_ever(run):
    assert give(run, zoo.good_result(run))
    assert give(run, zoo.bad_result("crashed", "run:crashed"))
    assert fresh(run).verdict == "ok"
    assert not record_result(run.pk, run.epoch + 1, zoo.bad_result("crashed", "run:crashed"), zoo.RUNNER)


def test_it_takes_nothing_for_a_run_that_nobody_leased():
    submission = zoo.send()
    zoo.work()
    waiting = submission.runs.get()
    assert not record_result(waiting.pk, 0, zoo.bad_result("crashed", "run:crashed"), zoo.RUNNER)
    assert not run_lost(waiting.pk, 0, "gone")


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        ("wrong_result", "check:wrong-result"),
        ("build_failed", "run:build-failed"),
        ("cheat_suspected", "run:cheat"),
        ("timed_out", "run:timed-out"),
    ],
)
def test_it_ends_failed_in_the_ledger_and_never_on_main(verdict, code):
    submission = zoo.fail(zoo.send(), verdict, code, first_wrong={"case": "n1k", "index": [3], "got": 1.0})
    assert (submission.state, submission.code) == (State.FAILED, code)
    assert submission.details["first_wrong"]["index"] == [3]
    entry = zoo.ledger(submission)
    assert entry["submission.json"]["state"] == "failed"
    assert entry["run-1.json"]["verdict"] == verdict
    assert "source/src/saxpy.cpp" in entry
    assert "decision.json" not in entry
    assert zoo.on_main() == {}


def test_it_says_of_a_hidden_case_only_that_it_failed(run):
    details = {"first_wrong": {"case": "hidden-2", "index": [77], "got": 1.0}}
    assert give(run, zoo.bad_result("wrong_result", "check:hidden-case"), details=details)
    run = fresh(run)
    assert run.record["details"] == {}
    assert run.submission.details == {}


def test_it_keeps_no_figures_of_hidden_cases(run):
    result = zoo.good_result(run)
    result["cases"].append({**result["cases"][0], "id": "hidden-1"})
    assert give(run, result)
    assert [case["id"] for case in fresh(run).record["cases"]] == ["n1k"]


def test_it_keeps_no_secret_that_a_kernel_printed(run):
    secret = assignment_for(run).secret
    assert give(run, zoo.good_result(run), log=f"seed {secret}\n", message=f"it was {secret.upper()}")
    run = fresh(run)
    kept = json.dumps(run.record) + artifacts.read(run.record["artifacts"]["log"]).decode() + run.message
    assert secret not in kept.lower()
    assert "[secret]" in kept


@pytest.mark.parametrize("verdict", ["unstable", "throttled", "runner_lost", "infra_error"])
def test_it_requeues_after_a_fault_of_ours(run, verdict):
    heard = []
    listener = lambda **hint: heard.append((hint["run_id"], hint["arch"]))  # noqa: E731
    run_queued.connect(listener)
    assignment_for(run)
    assert give(run, zoo.bad_result(verdict, "time:unstable", "noisy"))
    run = fresh(run)
    assert (run.state, run.attempt, run.message) == (RunState.QUEUED, 2, "noisy")
    assert run.incumbent_commit == ""
    assert run.submission.state == State.QUEUED
    assert heard == [(run.pk, "x86_64")]


def test_it_errs_after_the_third_try():
    submission = zoo.send()
    zoo.work()
    for _ in range(3):
        run = zoo.claim(submission)
        assert run_lost(run.pk, run.epoch, "the runner fell silent")
        assert not run_lost(run.pk, run.epoch, "the runner fell silent")
    run = fresh(run)
    assert (run.attempt, run.verdict, run.code) == (3, "infra_error", "run:runner-lost")
    zoo.work()
    submission = zoo.fresh(submission)
    assert (submission.state, submission.code) == (State.ERRORED, "run:runner-lost")
    assert zoo.ledger(submission)["run-1.json"]["verdict"] == "infra_error"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"secret_sha256": "b" * 64}, "run:secret-differs"),
        ({"contestants": {"candidate": "b" * 64, "baseline": None, "incumbent": None}}, "run:candidate-differs"),
        ({"cases": []}, "run:figures-missing"),
        ({"verdict": "splendid"}, "run:unknown-verdict"),
        ({"code": "not a code"}, "record:invalid"),
        ({"stages_ms": {"lunch": 1.0}}, "record:invalid"),
    ],
)
def test_it_takes_a_result_that_does_not_fit_its_lease_as_our_fault(run, change, code):
    Run.objects.filter(pk=run.pk).update(attempt=3)
    assert give(run, zoo.good_result(run), **change)
    run = fresh(run)
    assert (run.verdict, run.code) == ("infra_error", code)
    assert run.submission.ending == State.ERRORED


def test_it_takes_another_incumbent_as_our_fault(run):
    result = zoo.good_result(run)
    contestants = {**result["contestants"], "incumbent": "c" * 64}
    assert give(run, result, contestants=contestants)
    assert fresh(run).attempt == 2


def test_it_gives_another_try_to_a_run_that_the_runner_stopped(run):
    assert give(run, zoo.bad_result("cancelled", "run:cancelled"))
    assert (fresh(run).state, fresh(run).attempt) == (RunState.QUEUED, 2)


@pytest.mark.parametrize("mode", ["check", "benchmark"])
def test_it_ends_checked_where_no_rank_is_asked(mode):
    submission = zoo.measure(zoo.send(mode=mode))
    assert (submission.state, submission.code) == (State.CHECKED, "run:ok")
    assert zoo.ledger(submission)["submission.json"]["state"] == "checked"
    assert zoo.on_main() == {}


def test_it_holds_a_measuring_with_an_integrity_finding(run):
    result = zoo.good_result(run)
    assert give(run, result, details={"integrity": [{"kind": "clock"}]})
    assert fresh(run).submission.state == State.HELD


def test_it_never_ranks_a_run_that_nothing_isolated(run):
    assert record_result(run.pk, run.epoch, zoo.good_result(run), {**zoo.RUNNER, "isolation": "stub"})
    zoo.work()
    submission = zoo.fresh(run.submission)
    assert (submission.state, submission.code) == (State.CHECKED, "run:not-rankable")


def test_it_measures_after_the_dry_run_of_a_cuda_board():
    zoo.seed_board("sm_90", files=zoo.cuda_files("sm_90/Vector/saxpy/fp32/reference_impl"))
    submission = zoo.send_files(f"sm_90/{zoo.PROBLEM}/mine", zoo.cuda_files(f"sm_90/{zoo.PROBLEM}/mine"))
    zoo.work()
    run = zoo.claim(submission)
    assert run.kind == "dry_run"
    assert give(run, zoo.good_result(run), evidence="emulated", cases=[])
    assert zoo.fresh(submission).state == State.QUEUED
    assert [(run.number, run.kind) for run in submission.runs.order_by("number")] == [
        (1, "dry_run"),
        (2, "measure"),
    ]


def test_a_check_on_a_cuda_board_ends_with_the_dry_run():
    zoo.seed_board("sm_90", files=zoo.cuda_files("sm_90/Vector/saxpy/fp32/reference_impl"))
    name = f"sm_90/{zoo.PROBLEM}/mine"
    submission = zoo.send_files(name, zoo.cuda_files(name), mode="check")
    zoo.work()
    run = zoo.claim(submission)
    assert run.kind == "dry_run"
    assert give(run, zoo.good_result(run), evidence="emulated", cases=[])
    zoo.work()
    assert zoo.fresh(submission).state == State.CHECKED
    assert submission.runs.count() == 1


def test_it_records_a_run_without_a_submission_once():
    zoo.measure(zoo.send())
    alone = zoo.lone_run()
    assert give(alone, zoo.good_result(alone))
    assert zoo.work() == 1
    alone = fresh(alone)
    assert alone.is_in_ledger
    entry = zoo.run_ledger(alone)
    assert list(entry) == ["run-1.json"]
    assert entry["run-1.json"]["submission"] is None
    zoo.run_task("submissions.tasks.record_run", (str(alone.pk),))


def test_it_gives_a_repeated_claim_the_same_assignment(run):
    first = assignment_for(run)
    zoo.measure(zoo.send(zoo.BOB, body="z[i] = y[i] + a * x[i];"))
    again = assignment_for(fresh(run))
    assert again == first
    assert again.incumbent is None


def test_it_gives_each_lease_another_secret_and_each_version_its_hidden_cases(run):
    first = assignment_for(run)
    give(run, zoo.bad_result("unstable", "time:unstable"))
    second = assignment_for(zoo.claim(run.submission))
    assert first.secret != second.secret
    assert first.hidden_dims == second.hidden_dims
    assert len(first.hidden_dims) == 3
    assert first.secret not in repr(first)
    assert "hidden_dims" not in repr(first)


def test_it_keeps_neither_secret_nor_hidden_sizes_in_any_row_or_log(run, caplog, tmp_path, settings):
    settings.SECRETS_DIR.mkdir()
    (settings.SECRETS_DIR / "Vector~saxpy~fp32~v1").write_bytes(bytes(31) + b"\x05")
    caplog.set_level("DEBUG")
    parts = assignment_for(run)
    give(run, zoo.good_result(run), log=f"{parts.secret}\n")
    zoo.work()
    run.refresh_from_db()
    rows = [row for model in apps.get_models() for row in model.objects.values()]
    kept = json.dumps([rows, zoo.ledger(run.submission)], default=str) + caplog.text
    assert str(run.pk) in kept
    assert parts.secret not in kept
    # Five digits: no part of a uuid, of a time or of a digest looks like one.
    sizes = {str(dims["n"]) for dims in parts.hidden_dims if 10_000 <= dims["n"] < 100_000}
    assert sizes
    assert not sizes & set(re.findall(r"(?<!\w)\d{5}(?!\w)", kept))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if parts.secret.encode() in path.read_bytes()]


def test_it_compares_with_the_version_that_stands():
    zoo.measure(zoo.send())
    submission = zoo.send(body="z[i] = y[i] + a * x[i];")
    zoo.work()
    run = zoo.claim(submission)
    parts = assignment_for(run)
    assert parts.incumbent.files == zoo.clean(zoo.on_main())
    assert fresh(run).incumbent_digest == parts.incumbent.digest
    assert parts.baseline.kernel_id == zoo.BASELINE


def test_it_cannot_assign_what_main_does_not_have():
    run = zoo.lone_run("x86_64/Vector/nowhere/fp32/a")
    with pytest.raises(Broken) as broken:
        assignment_for(run)
    assert broken.value.code == "store:problem-missing"
    run = zoo.lone_run(f"{zoo.BOARD}/nobody")
    with pytest.raises(Broken) as broken:
        assignment_for(run)
    assert broken.value.code == "store:kernel-missing"
