"""Requests that no client library sends, to a real server: what it refuses by itself, what reaches the site."""

import json
import os
import socket
import subprocess
import sys
from http.client import HTTPResponse
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
FORM = "Content-Type: multipart/form-data; boundary=B"
FIELD = b'--B\r\nContent-Disposition: form-data; name="kernel_id"\r\n\r\nx\r\n--B--\r\n'
PATIENCE_SECONDS = 60


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        assert self.headers["Content-Type"] == "application/json"
        error = json.loads(self.body)["error"]
        assert error["request_id"] == self.headers["X-Request-Id"]
        return error["code"]


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of a server like the site's own, whose requests queue up until it is ready."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("KERNEL_ZOO_")}
    environ["KERNEL_ZOO_HOME"] = str(tmp_path_factory.mktemp("home"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.getsockname()[1]
        argv = [sys.executable, "-m", "daphne", "--fd", str(listener.fileno()), "--no-server-name"]
        argv += ["--verbosity", "0", "zoo_site.asgi:application"]
        server = subprocess.Popen(argv, cwd=CHECKOUT, env=environ, pass_fds=[listener.fileno()])
    # Ours is closed by now: a server that ended would refuse connections, not leave them waiting.
    with server:
        yield number
        server.terminate()


def sent(port: int, content: bytes) -> bytes:
    """Return all that the server says until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
        connection.sendall(content)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def request(method: str, path: str, *headers: str, body: bytes | None = None, host: str = "127.0.0.1") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    lines += [] if body is None else [f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def asked(port: int, method: str, path: str, *headers: str, **more) -> Answer:
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
        connection.sendall(request(method, path, *headers, **more))
        with HTTPResponse(connection, method=method) as response:
            response.begin()
            return Answer(response.status, dict(response.getheaders()), response.read())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        FIELD[:20],
        FIELD[:-8],
        FIELD + b"and more",
        FIELD.replace(b"kernel_id", b"\xff\xfe"),
        FIELD.replace(b'; name="kernel_id"', b""),
        FIELD.replace(b"Content-Disposition: form-data; ", b""),
        FIELD.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n!"),
    ],
)
def test_it_answers_a_broken_form_that_reaches_the_site(port, body):
    answer = asked(port, "POST", "/api/submissions", FORM, body=body)

    assert (answer.status, answer.code) in ((400, "request:invalid"), (401, "auth:required"))


def test_it_says_that_a_form_needs_its_length(port):
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(FIELD), FIELD)
    said = sent(port, request("POST", "/api/submissions", FORM, "Transfer-Encoding: chunked") + chunked)

    assert said.startswith(b"HTTP/1.1 400 ")
    assert b'"request:length"' in said


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (["Content-Type: multipart/form-data"], FIELD),
        (["Content-Type: multipart/form-data; boundary=C"], FIELD),
        ([FORM], b"no form at all"),
        ([FORM], FIELD.replace(b'name="kernel_id"', b"name*=utf-8''kernel_id")),
    ],
)
def test_the_server_refuses_by_itself_what_it_can_not_split_into_parts(port, headers, body):
    said = sent(port, request("POST", "/api/submissions", *headers, body=body))

    assert said in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize(
    "content",
    [
        b"no request line\r\n\r\n",
        request("GET", "/api/\xe9"),
        request("GET", "/api/problems", "no header"),
        request("GET", "/api/problems", "X-Submitter-Id: a\0b"),
        request("POST", "/api/submissions", f"Content-Length: {'9' * 5000}"),
        request("POST", "/api/submissions", "Content-Length: -1"),
    ],
)
def test_the_server_refuses_by_itself_what_is_no_request(port, content):
    said = sent(port, content)

    assert said == b"" or said.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b'"error"' not in said


@pytest.mark.parametrize("path", ["/api/submissions", "/api/kernels?limit=0"])
def test_it_answers_head_as_get_without_a_body(port, path):
    read, only_asked = asked(port, "GET", path), asked(port, "HEAD", path)

    assert only_asked.body == b""
    assert only_asked.status == read.status
    assert int(only_asked.headers["Content-Length"]) == len(read.body)
    assert only_asked.headers.keys() == read.headers.keys()


@pytest.mark.parametrize("host", ["elsewhere.example", "not a host", ""])
def test_it_answers_for_another_host_in_the_envelope(port, host):
    answer = asked(port, "GET", "/api/problems", host=host)

    assert (answer.status, answer.code) == (400, "request:host")


@pytest.mark.parametrize("charset", ["charset*=odd''x", "charset*=idna''x"])
def test_it_answers_a_charset_that_django_fails_on(port, charset):
    said = sent(port, request("GET", "/api/problems", f"Content-Type: text/plain; {charset}"))

    assert said.startswith(b"HTTP/1.1 415 ")
    assert b'"request:charset"' in said
