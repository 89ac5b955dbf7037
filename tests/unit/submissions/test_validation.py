import pytest

from submissions import spool
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.errors import Broken
from submissions.models import Run, State, Submission
from submissions.upload import Upload, receive_upload
from submissions.validation import validate
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")


def test_it_queues_a_run_for_a_valid_package():
    submission = zoo.send()
    zoo.work()
    submission = zoo.fresh(submission)
    run = Run.objects.get()
    assert submission.state == State.QUEUED
    assert len(submission.tree_digest) == 64
    assert (run.kind, run.arch, run.number, run.problem_version) == ("measure", "x86_64", 1, 1)
    assert list(submission.events.values_list("text", flat=True)) == ["received", "validated", "queued"]


def test_it_queues_a_check_for_mode_check():
    zoo.send(mode="check")
    zoo.work()
    assert Run.objects.get().kind == "check"


def test_it_does_nothing_when_delivered_twice():
    submission = zoo.send()
    validate(submission.pk)
    validate(submission.pk)
    assert Run.objects.count() == 1


def test_it_resumes_between_validated_and_queued():
    submission = zoo.send()
    Submission.objects.filter(pk=submission.pk).update(state=State.VALIDATED)
    validate(submission.pk)
    assert zoo.fresh(submission).state == State.QUEUED


def _send(kernel_id, package):
    return receive_upload(zoo.ALICE, Upload(kernel_id, package))


@pytest.mark.parametrize(
    ("kernel_id", "package", "code"),
    [
        (zoo.KERNEL, b"not an archive", "package:not-an-archive"),
        (zoo.KERNEL, write_archive({"src/a.cpp": b"int a;"}), "package:missing-description"),
        (f"{zoo.BOARD}/other", zoo.package(), "package:kernel-id-mismatch"),
        (
            "x86_64/Vector/nowhere/fp32/a",
            zoo.package("x86_64/Vector/nowhere/fp32/a"),
            "package:unknown-problem",
        ),
        ("aarch64/Vector/saxpy/fp32/a", zoo.package("aarch64/Vector/saxpy/fp32/a"), "package:unknown-board"),
        (zoo.BASELINE, zoo.package(zoo.BASELINE, "z[i] = 0;"), "package:baseline-modified"),
        (
            zoo.KERNEL,
            write_archive({**zoo.package_files(), ".kernel_package/benchmark.py": b"print('fast')\n"}),
            "package:grader-modified",
        ),
    ],
)
def test_it_rejects_with_a_record_and_no_source(kernel_id, package, code):
    submission = _send(kernel_id, package)
    zoo.work()
    submission = zoo.fresh(submission)
    assert (submission.state, submission.code) == (State.REJECTED, code)
    entry = zoo.ledger(submission)
    assert list(entry) == ["submission.json"]
    assert entry["submission.json"]["state"] == "rejected"
    assert entry["submission.json"]["code"] == code
    assert list(spool.waiting()) == []
    assert not Run.objects.exists()


def test_it_declines_the_source_that_stands_before_any_run():
    zoo.measure(zoo.send())
    again = zoo.send(zoo.BOB)
    zoo.work()
    again = zoo.fresh(again)
    assert (again.state, again.code) == (State.DECLINED, "decision:same-source")
    assert again.decision["outcome"] == "declined"
    assert not again.runs.exists()
    entry = zoo.ledger(again)
    assert entry["decision.json"]["code"] == "decision:same-source"
    assert "source/src/saxpy.cpp" in entry


def test_it_runs_the_source_that_stands_where_no_rank_is_asked():
    zoo.measure(zoo.send())
    again = zoo.send(zoo.BOB, mode="benchmark")
    zoo.work()
    assert zoo.fresh(again).state == State.QUEUED


def test_it_errs_where_the_spool_has_lost_the_package():
    submission = zoo.send()
    spool.discard(submission.pk)
    zoo.work()
    submission = zoo.fresh(submission)
    assert (submission.state, submission.code) == (State.ERRORED, "spool:missing")
    assert zoo.ledger(submission)["submission.json"]["state"] == "errored"


def test_it_waits_for_a_store_that_is_away(monkeypatch):
    submission = zoo.send()

    def away():
        raise Broken("store:missing", "not there")

    monkeypatch.setattr("submissions.validation.reader", away)
    with pytest.raises(Broken):
        validate(submission.pk)
    assert zoo.fresh(submission).state == State.RECEIVED
