"""Junk for every address of the API, in all that a caller can fill in: refused or ignored, never our failure."""

import base64
import json
from urllib.parse import quote
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import HttpCommunicator
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from leaderboard import mirror
from leaderboard.api_kernels import FILTERS
from leaderboard.routing import http_urlpatterns
from runners.models import Runner
from submissions.models import Run, State, Submission

from .documents import BOARD, RECEIVED, SHA

KNOWN = UUID("0e0e0e0e-0000-4000-8000-000000000000")
NAMES = ("x86_64", "Vector", "saxpy", "fp32", "fast")
PARAMETERS = [*FILTERS, "limit", "cursor", "wait", "since", "page", "state", "kernel_id", "runner", "from", "to"]
# A refusal for one of the first ends a request before the others are looked at.
DECISIVE = ["Host", "Content-Type", "Accept", "Authorization", "X-Submitter-Id", "Cookie"]
HEADERS = ["Accept-Encoding", "Accept-Language", "Idempotency-Key", "If-Modified-Since", "If-None-Match", "Range"]


def packed(text: bytes) -> str:
    return base64.b64encode(text).decode()


JUNK = {
    "empty": "",
    "zero": "0",
    "negative": "-1",
    "infinite": "1e309",
    "huge": "9" * 5000,
    "beyond-64-bits": str(1 << 64),
    "other-digits": "٣²",
    "words": "'; DROP TABLE kernels; --",
    "markup": "application/json; q*=odd''x, text/plain;charset*=idna''x",
    "above-the-plane": "\U0001f980\uffff",
    "path": "../../../etc/passwd",
    "escape": r'sessionid="\377\200aaaaaaaa"; theme="\012"',
    "cursor-of-a-word": "cD1h",
    "cursor-of-no-text": packed(b"\xff\xfe\x00"),
    "cursor-of-a-nul": packed(b"a\0b"),
    "cursor-of-no-day": packed(b"p=2026-13-45"),
    "cursor-before-time": packed(b"p=0001-01-01 00:00:00%2B23:59"),
    "cursor-far-away": packed(b"o=999999999999999999999"),
}
BYTES = {"not-utf-8": "%FF%C0%AF", "a-surrogate": "%ED%A0%80", "a-nul": "%00", "cut-off": "%", "no-hex": "%ZZ"}


def addresses(patterns=None, before=""):
    """Yield each address of Django's under /api, its parts still open."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns, route)
        elif isinstance(each, URLPattern) and route.startswith("api/"):
            yield route


ADDRESSES = sorted(addresses())


def filled(route: str, text: str = "") -> str:
    """Return an address with its parts filled in: with what is there, or with one text throughout."""
    parts = dict(zip(("arch", "op_class", "sub_class", "quant", "name"), NAMES, strict=True))
    for name, known in parts.items():
        route = route.replace(f"<str:{name}>", text or known)
    route = route.replace("<uuid:uuid>", str(KNOWN))
    assert "<" not in route, f"tell this test what to fill into {route}"
    return f"/{route}"


@pytest.fixture
def site(board, settings, tmp_path):
    """A board with two kernels, and one submission that waits with its run."""
    settings.OPEN_SUBMISSIONS = True
    settings.QUEUE_DIR = tmp_path / "queue"
    board.measured("/".join(NAMES), 1.5)
    board.kernel(f"{BOARD}/other")
    mirror.bring_to_head()
    submission = Submission.objects.create(
        uuid=KNOWN, kernel_id="/".join(NAMES), submitter="entrant-a", package_sha256=SHA, package_bytes=1,
        state=State.QUEUED, received_at=RECEIVED,
    )  # fmt: skip
    Run.objects.create(
        uuid=KNOWN, submission=submission, kernel_id=submission.kernel_id, arch="x86_64", queued_at=RECEIVED
    )
    Runner.objects.create(name="cpu0", kind="cpu", archs=["x86_64"], registered_at=RECEIVED, last_seen_at=RECEIVED)
    return Client(raise_request_exception=False, headers={"X-Submitter-Id": "entrant-a"})


def failures(answers):
    """Return what was sent wherever the answer is a failure of ours, or an error without its envelope."""
    found = []
    for sent, response in answers:
        is_worded = response.status_code < 400 or not response.content or "error" in json.loads(response.content)
        if response.status_code >= 500 or not is_worded:
            found.append((sent, response.status_code))
    return found


def test_it_knows_the_addresses_of_every_app():
    assert {"api/health", "api/kernels", "api/queue", "api/submissions", "api/runs/<uuid:uuid>"} <= {*ADDRESSES}


@pytest.mark.parametrize("route", ADDRESSES)
def test_it_withstands_junk_in_every_parameter(site, route):
    plain = site.get(filled(route)).status_code
    assert plain in (200, 405)
    asked = []
    for text in [*(quote(text, safe="") for text in JUNK.values()), *BYTES.values()]:
        alone = [f"{name}={text}" for name in PARAMETERS]
        # What is ignored when all of it comes at once is ignored alone; what is refused may hide another fault.
        together = ("&".join(alone), site.get(f"{filled(route)}?{'&'.join(alone)}"))
        queries = [text, f"format={text}", *(alone if together[1].status_code != plain else ())]
        asked += [together, *((query, site.get(f"{filled(route)}?{query}")) for query in queries)]
    assert failures(asked) == []


def test_it_withstands_more_parameters_than_it_reads(site):
    many = "&".join(f"{number}=" for number in range(2000))
    assert failures((route, site.get(f"{filled(route)}?{many}")) for route in ADDRESSES) == []


def test_it_withstands_junk_in_every_header(site):
    texts = [text.encode("latin-1", "replace").decode("latin-1") for text in JUNK.values()]
    headers = [dict.fromkeys(HEADERS, text) for text in texts]
    # A charset by RFC 2231 makes Django fail before anything of the site is called.
    headers += [{name: text} for name in DECISIVE for text in texts if name != "Content-Type" or "*=" not in text]
    asked = (((route, each), site.get(filled(route), headers=each)) for route in ADDRESSES for each in headers)
    assert failures(asked) == []


def test_it_withstands_junk_in_the_address(site):
    texts = [quote(text, safe="") for text in JUNK.values() if text] + [*BYTES.values()]
    named = [route for route in ADDRESSES if "<str:" in route]
    asked = (((route, text), site.get(filled(route, text))) for route in named for text in texts)
    assert failures(asked) == []


def test_it_withstands_junk_as_a_body(site):
    field = b'--B\r\nContent-Disposition: form-data; name="kernel_id"\r\n\r\n\xff\0\r\n--B--\r\n'
    bodies = [b"", b"\0", b"{", b"[" * 5000, b"\xff\xfe", b"--B\r\n", b"a=%FF&a=%00", field]
    form = "multipart/form-data; boundary=B"
    kinds = ["", "application/json", "application/x-www-form-urlencoded", "multipart/form-data", form, "/;="]
    kinds += [f"{form}; charset=idna", "text/odd; charset=utf-7"]
    posted = (
        ((route, body, kind), site.generic("POST", filled(route), body, content_type=kind))
        for route in ADDRESSES
        for body in bodies
        for kind in kinds
    )
    assert failures(posted) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["wait", "since", "other"])
async def test_the_long_poll_withstands_junk(site, name):
    application = URLRouter(http_urlpatterns)
    for text in [quote(text, safe="") for text in JUNK.values()] + [*BYTES.values()]:
        path = f"/api/submissions/{KNOWN}/status?{name}={text}"
        await sync_to_async(Submission.objects.filter(pk=KNOWN).update)(state=State.FAILED)
        answer = await HttpCommunicator(application, "GET", path).get_response()
        assert answer["status"] in (200, 400), text
        assert ("error" in json.loads(answer["body"])) == (answer["status"] == 400)
