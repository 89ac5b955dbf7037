import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from submissions import spool, upload
from submissions.authentication import STARTER_SUBMITTER, Submitter
from submissions.kernel_package.errors import Broken, Rejected
from submissions.models import State, Submission
from submissions.upload import Upload, receive_upload
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("site")


def test_it_keeps_the_bytes_and_the_row_and_asks_for_validation():
    submission = zoo.send(message="hello")
    assert submission.state == State.RECEIVED
    assert spool.package_bytes(submission.pk) == zoo.package()
    assert spool.meta(submission.pk)["message"] == "hello"
    assert [row.task["func"] for row in OrmQ.objects.all()] == ["submissions.tasks.validate"]
    assert list(submission.events.values_list("kind", "text")) == [("state", "received")]


def test_it_syncs_files_and_folders_before_the_row_exists(monkeypatch):
    synced = []
    real = os.fsync

    def fsync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        assert not Submission.objects.exists()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    zoo.send()
    assert synced[:2] == ["package.tar.gz", "meta.json"]
    assert synced[2].startswith(".draft-")
    assert synced[3] == "queue"


def test_it_has_no_row_when_the_disk_is_full(monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        zoo.send()
    assert not Submission.objects.exists()
    assert list(spool.waiting()) == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"kernel_id": "nonsense"}, "package:kernel-id"),
        ({"kernel_id": "problems/a/b/c/d"}, "package:kernel-id"),
        ({"mode": "race"}, "upload:mode"),
        ({"package": b""}, "upload:package-missing"),
        ({"package": b"x" * ((1 << 20) + 1)}, "package:too-large"),
        ({"message": "x" * 501}, "upload:message"),
        ({"idempotency_key": "x" * 201}, "upload:idempotency-key"),
        ({"message": "a\0b"}, "upload:message"),
        ({"idempotency_key": "a\0b"}, "upload:idempotency-key"),
    ],
)
def test_it_refuses_bad_fields_before_anything_is_kept(fields, code):
    with pytest.raises(Rejected) as refused:
        receive_upload(zoo.ALICE, Upload(**{"kernel_id": zoo.KERNEL, "package": zoo.package(), **fields}))
    assert refused.value.code == code
    assert not Submission.objects.exists()
    assert list(spool.waiting()) == []


def test_it_returns_the_same_submission_for_the_same_key_and_body():
    first = zoo.send(idempotency_key="k")
    assert zoo.send(idempotency_key="k").pk == first.pk
    assert list(spool.waiting()) == [first.pk]


def test_it_refuses_another_body_under_a_used_key():
    first = zoo.send(idempotency_key="k")
    with pytest.raises(Rejected) as refused:
        zoo.send(idempotency_key="k", body="z[i] = 0;")
    assert refused.value.code == "upload:idempotency-conflict"
    assert refused.value.details["submission"] == str(first.pk)


def test_it_lets_two_submitters_use_the_same_key():
    assert zoo.send(idempotency_key="k").pk != zoo.send(zoo.BOB, idempotency_key="k").pk


def test_it_answers_the_winner_when_a_key_comes_twice_at_once(monkeypatch):
    real = upload._sent_before
    winner = zoo.send(idempotency_key="k")
    monkeypatch.setattr(upload, "_sent_before", _blind_once(real))
    assert zoo.send(idempotency_key="k").pk == winner.pk
    assert list(spool.waiting()) == [winner.pk]


def _blind_once(real):
    seen = []

    def sent_before(submitter, sent):
        seen.append(sent)
        return None if len(seen) == 1 else real(submitter, sent)

    return sent_before


def test_it_keeps_the_upload_when_recovery_made_its_row_first(monkeypatch):
    real = spool.keep

    def keep(submission_id, package, meta):
        real(submission_id, package, meta)
        upload.insert_row(submission_id, meta)

    monkeypatch.setattr(spool, "keep", keep)
    submission = zoo.send()
    assert list(spool.waiting()) == [submission.pk]
    assert Submission.objects.count() == 1


def test_it_says_so_when_the_database_refuses_the_row_for_good(monkeypatch):
    zoo.send(idempotency_key="k")
    monkeypatch.setattr(upload, "_sent_before", lambda *given: None)
    with pytest.raises(Broken) as broken:
        zoo.send(idempotency_key="k")
    assert broken.value.code == "upload:row-refused"


def test_it_stops_at_the_daily_quota(settings):
    settings.SUBMISSIONS_PER_DAY = 2
    zoo.send()
    zoo.send(body="z[i] = 1;")
    with pytest.raises(Rejected) as refused:
        zoo.send(body="z[i] = 2;")
    assert refused.value.code == "quota:submissions"
    assert 86_000 < refused.value.details["retry_after_seconds"] <= 86_400


def test_it_charges_no_quota_for_what_was_our_fault_or_is_old(settings):
    settings.SUBMISSIONS_PER_DAY = 1
    first = zoo.send()
    Submission.objects.filter(pk=first.pk).update(state=State.ERRORED)
    second = zoo.send()
    Submission.objects.filter(pk=second.pk).update(received_at=timezone.now() - timedelta(days=2))
    zoo.send()


def test_it_sets_the_starter_zoo_no_quota(settings):
    settings.SUBMISSIONS_PER_DAY = 0
    assert zoo.send(Submitter(STARTER_SUBMITTER, is_verified=True)).state == State.RECEIVED
