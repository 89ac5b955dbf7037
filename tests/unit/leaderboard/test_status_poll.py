"""The long poll: answers at once what the caller does not know, else waits for it; one look serves all waits."""

import asyncio
import json
import time
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import HttpCommunicator
from django.db import OperationalError, transaction

from leaderboard import event_watch, status_poll
from leaderboard.routing import http_urlpatterns
from submissions.models import Event, Run, State, Submission

from .documents import BOARD, RECEIVED, SHA

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

FAST = f"{BOARD}/fast"


@pytest.fixture(autouse=True)
def fresh_watch(monkeypatch):
    monkeypatch.setattr(status_poll, "_watch", event_watch.EventWatch())
    monkeypatch.setattr(event_watch, "LOOK_SECONDS", 0.01)


def make_submission(state: State = State.QUEUED) -> Submission:
    return Submission.objects.create(
        kernel_id=FAST,
        submitter="entrant-a",
        package_sha256=SHA,
        package_bytes=1,
        state=state,
        received_at=RECEIVED,
    )


def move(submission: Submission, state: State) -> None:
    """Write as a worker does; the tests' database makes no writer wait for a reader, so it is tried again."""
    for tries_left in reversed(range(100)):
        try:
            with transaction.atomic():
                Submission.objects.filter(pk=submission.pk).update(state=state)
                Event.objects.create(submission=submission, topic="t", kind="state", text=state, at=RECEIVED)
            return
        except OperationalError:
            if not tries_left:
                raise
            time.sleep(0.01)


async def call(uuid, query: str = "", etag: str = "", method: str = "GET", receive=None):
    sent: list[dict] = []

    async def send(message):
        sent.append(message)

    async def stay_connected():
        await asyncio.Event().wait()

    scope = {
        "type": "http",
        "method": method,
        "query_string": query.encode(),
        "headers": [(b"if-none-match", etag.encode())] if etag else [],
        "url_route": {"kwargs": {"uuid": str(uuid)}},
    }
    await status_poll.submission_status(scope, receive or stay_connected, send)
    if not sent:
        return None
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = json.loads(sent[1]["body"]) if sent[1]["body"] else None
    return sent[0]["status"], headers, body


async def test_it_answers_at_once_without_wait():
    submission = await sync_to_async(make_submission)()
    status, headers, body = await call(submission.pk)
    assert (status, headers["content-type"], body["state"]) == (200, "application/json", "queued")
    assert headers["etag"].startswith('"')


async def test_it_answers_the_place_in_the_queue():
    submission = await sync_to_async(make_submission)()
    await Run.objects.acreate(submission=submission, kernel_id=FAST, arch="x86_64", queued_at=RECEIVED)
    _, _, body = await call(submission.pk)
    assert body["queue"] == {"arch": "x86_64", "position": 1, "waiting": 1, "running": 0, "eta_seconds": None}
    assert body["run"]["state"] == "queued"


async def test_it_waits_for_the_next_change():
    submission = await sync_to_async(make_submission)()
    waiting = asyncio.create_task(call(submission.pk, "wait=20"))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await sync_to_async(move)(submission, State.RUNNING)
    _, _, body = await asyncio.wait_for(waiting, 10)
    assert body["state"] == "running"


async def test_it_answers_at_once_what_the_caller_does_not_know():
    submission = await sync_to_async(make_submission)()
    _, headers, _ = await call(submission.pk)
    await sync_to_async(move)(submission, State.RUNNING)
    status, _, body = await asyncio.wait_for(call(submission.pk, "wait=20", headers["etag"]), 10)
    assert (status, body["state"]) == (200, "running")


async def test_it_answers_not_modified_when_the_time_is_over():
    submission = await sync_to_async(make_submission)()
    _, headers, _ = await call(submission.pk)
    status, again, body = await call(submission.pk, "wait=0.05", f"W/{headers['etag']}")
    assert (status, again["etag"], body) == (304, headers["etag"], None)


async def test_it_answers_a_finished_one_at_once():
    submission = await sync_to_async(make_submission)(State.FAILED)
    status, _, body = await asyncio.wait_for(call(submission.pk, "wait=20"), 10)
    assert (status, body["is_terminal"]) == (200, True)


async def test_it_does_not_wake_for_the_changes_of_others():
    submission, other = await sync_to_async(make_submission)(), await sync_to_async(make_submission)()
    waiting = asyncio.create_task(call(submission.pk, "wait=20"))
    await asyncio.sleep(0.05)
    await sync_to_async(move)(other, State.RUNNING)
    await asyncio.sleep(0.1)
    assert not waiting.done()
    waiting.cancel()


async def test_it_looks_once_for_many_waits(monkeypatch):
    looks = 0
    look = event_watch.EventWatch._new_events

    def counted(self):
        nonlocal looks
        looks += 1
        return look(self)

    monkeypatch.setattr(event_watch.EventWatch, "_new_events", counted)
    monkeypatch.setattr(event_watch, "LOOK_SECONDS", 5.0)
    submission = await sync_to_async(make_submission)()
    answers = await asyncio.gather(*(call(submission.pk, "wait=0.5") for _ in range(20)))
    assert {status for status, _, _ in answers} == {200}
    assert looks == 1


async def test_it_stops_when_the_caller_goes_away():
    submission = await sync_to_async(make_submission)()

    async def leave():
        return {"type": "http.disconnect"}

    assert await asyncio.wait_for(call(submission.pk, "wait=20", receive=leave), 10) is None
    assert not status_poll._watch._waits


async def test_it_caps_the_wait_at_the_sites_limit(settings):
    settings.LONGPOLL_TIMEOUT_SECONDS = 0.05
    submission = await sync_to_async(make_submission)()
    status, _, _ = await asyncio.wait_for(call(submission.pk, "wait=9999"), 10)
    assert status == 200


@pytest.mark.parametrize("wait", ["soon", "-1", "nan", "inf", ""])
async def test_it_refuses_a_wait_that_is_no_number_of_seconds(wait):
    status, _, body = await call(uuid4(), f"wait={wait or '%20'}")
    assert (status, body["error"]["code"]) == (400, "request:invalid")


async def test_it_refuses_other_methods():
    status, headers, body = await call(uuid4(), method="POST")
    assert (status, headers["allow"], body["error"]["code"]) == (405, "GET, HEAD", "request:method")


async def test_it_answers_head_as_get():
    submission = await sync_to_async(make_submission)()
    read, asked = await call(submission.pk), await call(submission.pk, method="HEAD")
    assert asked[:2] == read[:2]


@pytest.mark.parametrize("uuid", ["0" * 36, "x", str(uuid4())])
async def test_it_knows_no_submission_that_is_not_there(uuid):
    status, headers, body = await call(uuid, "wait=20")
    assert (status, body["error"]["code"]) == (404, "missing:submission")
    assert headers["x-request-id"] == body["error"]["request_id"]


async def test_it_goes_on_looking_after_a_failed_look(monkeypatch):
    failures = iter([True])
    look = event_watch.EventWatch._new_events

    def flaky(self):
        if next(failures, False):
            raise RuntimeError("database is locked")
        return look(self)

    submission = await sync_to_async(make_submission)()
    await sync_to_async(move)(submission, State.RUNNING)
    monkeypatch.setattr(event_watch.EventWatch, "_new_events", flaky)
    waiting = asyncio.create_task(call(submission.pk, "wait=20"))
    await asyncio.sleep(0.1)
    await sync_to_async(move)(submission, State.MEASURED)
    _, _, body = await asyncio.wait_for(waiting, 10)
    assert body["state"] == "measured"


async def test_it_is_routed_beside_django():
    submission = await sync_to_async(make_submission)()
    application = URLRouter(http_urlpatterns)
    answer = await HttpCommunicator(application, "GET", f"/api/submissions/{submission.pk}/status").get_response()
    assert (answer["status"], json.loads(answer["body"])["uuid"]) == (200, str(submission.pk))
