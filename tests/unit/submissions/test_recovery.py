import os
import time
from datetime import timedelta

import pytest
from django_q.models import OrmQ

from submissions import spool, tasks
from submissions.evaluation.decision import decide
from submissions.models import Event, State, Submission
from submissions.recovery import MAX_FAULTS, recover
from submissions.store import reader, writer
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")

AT_ONCE = timedelta(0)


def forget_tasks():
    OrmQ.objects.all().delete()


def test_it_finds_nothing_on_a_site_that_is_well():
    zoo.measure(zoo.send())
    found = recover(AT_ONCE)
    assert str(found) == (
        "rows restored: 0, uploads discarded: 0, pending finished: 0, pending dropped: 0, nudged: 0, given up: 0"
    )


def test_it_makes_the_row_of_an_upload_that_lost_it():
    submission = zoo.send(message="hello", idempotency_key="k")
    before = {**Submission.objects.values().get()}
    Submission.objects.all().delete()
    forget_tasks()
    assert recover().rows_restored == 1
    assert Submission.objects.values().get() == before
    assert zoo.measure(submission).state == State.ACCEPTED


def test_it_leaves_an_ended_upload_to_the_mirror():
    submission = zoo.send()
    content, meta = spool.package_bytes(submission.pk), spool.meta(submission.pk)
    zoo.measure(submission)
    Submission.objects.all().delete()
    spool.keep(submission.pk, content, meta)
    assert recover().uploads_discarded == 1
    assert not Submission.objects.exists()
    assert list(spool.waiting()) == []


def test_it_discards_an_upload_that_lost_to_another_with_its_key():
    winner = zoo.send(idempotency_key="k")
    meta = spool.meta(winner.pk)
    loser = Submission().pk
    spool.keep(loser, zoo.package(), meta)
    assert recover().uploads_discarded == 1
    assert list(spool.waiting()) == [winner.pk]


def test_it_discards_the_upload_of_a_row_that_ended():
    submission = zoo.send()
    Submission.objects.filter(pk=submission.pk).update(state=State.ACCEPTED)
    assert recover().uploads_discarded == 1


def test_it_ignores_what_is_no_upload_and_drops_old_drafts(site):
    zoo.send()
    (site.QUEUE_DIR / "abc").mkdir()
    old, new = site.QUEUE_DIR / ".draft-old", site.QUEUE_DIR / ".draft-new"
    old.mkdir()
    new.mkdir()
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    recover()
    assert new.exists()
    assert not old.exists()


@pytest.mark.parametrize("lost_after", [0, 1])
def test_it_asks_again_for_a_validation_that_was_lost(lost_after):
    submission = zoo.send()
    if lost_after:
        Submission.objects.filter(pk=submission.pk).update(state=State.VALIDATED)
    forget_tasks()
    assert recover().nudged == 0
    zoo.age(submission)
    assert recover().nudged == 1
    zoo.work()
    assert zoo.fresh(submission).state == State.QUEUED


def test_it_asks_again_for_a_publishing_that_was_lost():
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    assert zoo.record_result(run.pk, run.epoch, zoo.good_result(run), zoo.RUNNER)
    forget_tasks()
    recover(AT_ONCE)
    zoo.work()
    assert zoo.fresh(submission).state == State.ACCEPTED


def test_it_asks_again_for_a_record_that_was_lost():
    submission = zoo.send(kernel_id="x86_64/Vector/nowhere/fp32/a")
    zoo.run_task("submissions.tasks.validate", (str(submission.pk),))
    forget_tasks()
    assert zoo.fresh(submission).ending == State.REJECTED
    recover(AT_ONCE)
    zoo.work()
    assert zoo.fresh(submission).state == State.REJECTED


def test_it_asks_again_for_a_lone_run_that_is_in_no_ledger():
    zoo.measure(zoo.send())
    run = zoo.lone_run()
    zoo.record_result(run.pk, run.epoch, zoo.good_result(run), zoo.RUNNER)
    forget_tasks()
    assert recover().nudged == 1
    zoo.work()
    assert "run-1.json" in zoo.run_ledger(run)
    assert recover().nudged == 0


def test_it_gives_up_a_step_that_fails_again_and_again(monkeypatch):
    def broken(submission_id):
        raise RuntimeError("poison")

    monkeypatch.setattr("submissions.validation.validate", broken)
    submission = zoo.send()
    for _ in range(MAX_FAULTS):
        zoo.work()
        recover(AT_ONCE)
    zoo.work()
    submission = zoo.fresh(submission)
    assert (submission.state, submission.code) == (State.ERRORED, "internal:step-failed")
    assert Event.objects.filter(kind=tasks.FAULT).count() == MAX_FAULTS


def test_it_never_fails_an_upload_because_the_queue_is_away(monkeypatch, caplog):
    def away(*given, **options):
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks, "async_task", away)
    submission = zoo.send()
    assert "recovery will" in caplog.text
    monkeypatch.undo()
    recover(AT_ONCE)
    zoo.work()
    assert zoo.fresh(submission).state == State.QUEUED


def _pending():
    """A submission whose commits are prepared, as a crash before the advance leaves it."""
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    zoo.record_result(run.pk, run.epoch, zoo.good_result(run), zoo.RUNNER)
    forget_tasks()
    with pytest.raises(KeyboardInterrupt):
        zoo.die_before_advance(submission)
    assert len(writer().pending()) == 1
    return submission


def test_it_finishes_what_was_prepared():
    submission = _pending()
    assert zoo.on_main() == {}
    assert recover().pending_finished == 1
    assert zoo.fresh(submission).state == State.ACCEPTED
    assert zoo.bench()["submission"] == str(submission.pk)
    assert writer().pending() == []


def test_it_finishes_what_was_prepared_also_without_a_row():
    submission = _pending()
    Submission.objects.all().delete()
    spool.discard(submission.pk)
    assert recover().pending_finished == 1
    assert zoo.bench()["submission"] == str(submission.pk)


def test_it_drops_what_was_prepared_on_an_older_main():
    submission = _pending()
    writer().commit_files({"README.md": b"hello\n"}, "readme", "")
    found = recover(AT_ONCE)
    assert (found.pending_finished, found.pending_dropped) == (0, 1)
    zoo.work()
    assert zoo.fresh(submission).state == State.ACCEPTED
    assert reader().read(reader().main_head(), "README.md") == b"hello\n"


def test_it_never_finishes_a_decision_that_main_has_overtaken(monkeypatch):
    """The commits stand on the present main, but the decision was made before another version came there."""
    rival, submission = zoo.send(zoo.BOB, body="z[i] = y[i] + a * x[i];"), zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    result = zoo.good_result(run)
    assert zoo.measure(rival).state == State.ACCEPTED
    zoo.record_result(run.pk, run.epoch, result, zoo.RUNNER)
    forget_tasks()
    monkeypatch.setattr("submissions.publish._is_outdated", lambda *given: False)
    monkeypatch.setattr("submissions.publish.decide", lambda record, weights, _: decide(record, weights, None))
    with pytest.raises(KeyboardInterrupt):
        zoo.die_before_advance(submission)
    monkeypatch.undo()
    forget_tasks()
    assert len(writer().pending()) == 1
    found = recover(AT_ONCE)
    assert (found.pending_finished, found.pending_dropped) == (0, 1)
    zoo.work()
    assert zoo.fresh(submission).state == State.QUEUED
    assert zoo.bench()["submission"] == str(rival.pk)


def test_it_drops_what_was_prepared_for_a_submission_that_ended_otherwise():
    submission = _pending()
    Submission.objects.filter(pk=submission.pk).update(state=State.FAILED)
    assert recover().pending_dropped == 1
    assert zoo.on_main() == {}


def test_it_believes_the_ledger_over_the_row():
    submission = zoo.measure(zoo.send())
    Submission.objects.filter(pk=submission.pk).update(state=State.MEASURED, decision=None, code="")
    recover(AT_ONCE)
    zoo.work()
    again = zoo.fresh(submission)
    assert (again.state, again.code, again.decision) == (submission.state, submission.code, submission.decision)
    assert len([subject for subject in zoo.main_subjects() if subject.startswith("bench:")]) == 1


def test_it_believes_the_ledger_of_a_decided_end_too():
    submission = zoo.fail(zoo.send(), "crashed", "run:crashed")
    head = reader().ledger_head()
    Submission.objects.filter(pk=submission.pk).update(state=State.RUNNING, ending=State.ERRORED, code="x:y")
    recover(AT_ONCE)
    zoo.work()
    again = zoo.fresh(submission)
    assert (again.state, again.code) == (State.FAILED, "run:crashed")
    assert reader().ledger_head() == head
