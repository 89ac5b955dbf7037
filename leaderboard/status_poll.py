"""`GET /api/submissions/<uuid>/status?wait=`: a long poll as a bare ASGI endpoint.

Beside Django, because Django gives each waiting request a thread; here a wait is one object on the loop.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from django.conf import settings

from leaderboard.event_watch import EventWatch, read
from leaderboard.status import status_document
from submissions.answers import etag_of, json_bytes

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_watch = EventWatch()


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


async def submission_status(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the status at once, or with `wait` as soon as it is another than the caller knows.

    The caller says what it knows by If-None-Match; without it, what stands at the start of the wait counts.
    A terminal state is answered at once. 304 when the time is over and nothing changed.
    """
    try:
        uuid, wait_seconds = _read_request(scope)
        known = _header(scope, b"if-none-match").removeprefix("W/")
        body = await _status(uuid, known, wait_seconds, receive)
    except _Refused as refusal:
        await _answer_refusal(send, refusal)
        return
    if body is not None:
        await _answer(send, body, known)


def _read_request(scope: Scope) -> tuple[UUID, float]:
    # The server leaves the body of an answer to HEAD out.
    if scope["method"] not in ("GET", "HEAD"):
        raise _Refused(405, "request:method", "This address does not answer that method.")
    text = scope["url_route"]["kwargs"]["uuid"]
    try:
        uuid = UUID(text)
    except ValueError as error:
        raise _Refused(404, "missing:submission", f"there is no submission {text!r}") from error
    wait = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("wait", ["0"])[-1]
    try:
        wait_seconds = float(wait)
    except ValueError:
        wait_seconds = -1.0
    if not 0 <= wait_seconds < float("inf"):
        raise _Refused(400, "request:invalid", f"wait must be a number of seconds from 0, not {wait!r}")
    return uuid, min(wait_seconds, settings.LONGPOLL_TIMEOUT_SECONDS)


async def _status(uuid: UUID, known: str, wait_seconds: float, receive: Receive) -> bytes | None:
    """Return the body to answer; None where the caller went away."""
    deadline = time.monotonic() + wait_seconds
    with _watch.wait_on(uuid) as changed:
        body, is_terminal = await _read_status(uuid)
        seen = known or etag_of(body)
        if is_terminal or not wait_seconds or etag_of(body) != seen:
            return body
        gone = asyncio.create_task(_until_disconnected(receive))
        try:
            while etag_of(body) == seen and time.monotonic() < deadline:
                if not await _woken(changed, gone, deadline - time.monotonic()):
                    return None if gone.done() else (await _read_status(uuid))[0]
                changed.clear()
                body, _ = await _read_status(uuid)
        finally:
            gone.cancel()
    return body


async def _woken(changed: asyncio.Event, gone: asyncio.Task[None], seconds: float) -> bool:
    waking = asyncio.create_task(changed.wait())
    try:
        await asyncio.wait({waking, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waking.cancel()
    return changed.is_set() and not gone.done()


async def _read_status(uuid: UUID) -> tuple[bytes, bool]:
    document = await read(status_document, uuid)
    if document is None:
        raise _Refused(404, "missing:submission", f"there is no submission {str(uuid)!r}")
    return json_bytes(document), bool(document["is_terminal"])


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope.get("headers", ()) if key.lower() == name), "")


async def _answer(send: Send, body: bytes, known: str) -> None:
    etag = etag_of(body)
    headers = {"etag": etag, "cache-control": "no-cache"}
    if known == etag:
        await _send(send, 304, headers, b"")
    else:
        await _send(send, 200, headers, body)


async def _answer_refusal(send: Send, refusal: _Refused) -> None:
    identity = secrets.token_hex(8)
    error = {"code": refusal.code, "message": refusal.message, "details": {}, "request_id": identity}
    headers = {"x-request-id": identity, "cache-control": "no-store"}
    if refusal.status == 405:
        headers["allow"] = "GET, HEAD"
    await _send(send, refusal.status, headers, json_bytes({"error": error}))


async def _send(send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    if status != 304:
        fields += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})
