"""The fields of an upload arrive in any shape a client can write; each wrong one is named, with what to send."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from submissions.authentication import issue_token
from submissions.models import Submission
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")

URL = "/api/submissions"
TEXTS = {"kernel_id": zoo.KERNEL, "message": "first try", "mode": "check", "submitter_id": "alice"}


@pytest.fixture
def alice():
    return Client(headers={"Authorization": f"Bearer {issue_token('alice')[1]}"})


def form(**changes):
    package = SimpleUploadedFile("k.tar.gz", zoo.package())
    return {**TEXTS, "package": package, **changes}


def refusal(response):
    assert not Submission.objects.exists()
    error = response.json()["error"]
    return response.status_code, error["code"], error["details"].get("field"), error["message"]


def test_it_takes_every_field_as_text(alice):
    assert alice.post(URL, form()).status_code == 202


@pytest.mark.parametrize("name", TEXTS)
def test_it_refuses_text_sent_as_a_file(alice, name):
    as_file = SimpleUploadedFile("field.txt", TEXTS[name].encode())
    status, code, field, message = refusal(alice.post(URL, form(**{name: as_file})))
    assert (status, code, field) == (400, "upload:field", name)
    assert f"-F {name}=" in message
    assert "UploadedFile" not in message


@pytest.mark.parametrize("name", TEXTS)
def test_it_refuses_a_field_that_comes_twice(alice, name):
    status, code, field, message = refusal(alice.post(URL, form(**{name: [TEXTS[name], TEXTS[name]]})))
    assert (status, code, field) == (400, "upload:field", name)
    assert "once" in message


@pytest.mark.parametrize("name", TEXTS)
def test_it_refuses_a_field_as_text_and_as_a_file(alice, name):
    both = [TEXTS[name], SimpleUploadedFile("field.txt", b"x")]
    assert refusal(alice.post(URL, form(**{name: both})))[:3] == (400, "upload:field", name)


@pytest.mark.parametrize("name", TEXTS)
def test_it_refuses_a_nul(alice, name):
    status, code, field, message = refusal(alice.post(URL, form(**{name: f"{TEXTS[name]}\0"})))
    assert (status, code, field) == (400, "upload:field", name)
    assert "NUL" in message
    assert "\0" not in message


@pytest.mark.parametrize("name", ["kernel_id", "mode", "submitter_id"])
def test_it_refuses_a_value_too_long_without_repeating_it(alice, name):
    status, code, field, message = refusal(alice.post(URL, form(**{name: "a" * 5000})))
    assert (status, code, field) == (400, "upload:field", name)
    assert "at most" in message
    assert "aaaa" not in message


def test_it_keeps_the_code_of_a_message_too_long(alice):
    assert refusal(alice.post(URL, form(message="a" * 5000)))[:3] == (400, "upload:message", "message")


def test_it_refuses_the_archive_as_text(alice):
    status, code, field, message = refusal(alice.post(URL, form(package="H4sIAAAA")))
    assert (status, code, field) == (400, "upload:field", "package")
    assert "-F package=@" in message


def test_it_refuses_two_archives(alice):
    two = [SimpleUploadedFile("a.tar.gz", zoo.package()), SimpleUploadedFile("b.tar.gz", zoo.package())]
    assert refusal(alice.post(URL, form(package=two)))[:3] == (400, "upload:field", "package")


def test_it_says_that_an_archive_is_missing(alice):
    fields = form()
    del fields["package"]
    assert refusal(alice.post(URL, fields))[:3] == (400, "upload:package-missing", "package")
    assert refusal(alice.post(URL, form(package="")))[:3] == (400, "upload:package-missing", "package")


def test_it_says_that_nothing_was_sent(alice):
    response = alice.generic("POST", URL)
    assert refusal(response)[:3] == (400, "upload:package-missing", "package")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", b"--B\r\n"),
        ("multipart/form-data; boundary=B", b"no multipart at all"),
        ("multipart/form-data; boundary=B", b'--B\r\nContent-Disposition: form-data; name="kernel_id"\r\n\r\nx'),
        (
            "multipart/form-data; boundary=B",
            b"--B\r\nContent-Disposition: form-data; name*=odd''x\r\n\r\nx\r\n--B--",
        ),
    ],
)
def test_it_answers_a_broken_form_in_words(alice, content_type, body):
    response = alice.generic("POST", URL, body, content_type=content_type)
    assert refusal(response)[0] == 400


@pytest.mark.parametrize("charset", ["utf-7", "idna", "punycode", "unicode_escape", "rot13", "base64", "utf-16"])
def test_it_refuses_text_in_an_encoding_that_is_none_of_the_web(alice, charset):
    body = b'--B\r\nContent-Disposition: form-data; name="message"\r\n\r\n+2AA- \\ud800\r\n--B--\r\n'
    response = alice.generic("POST", URL, body, content_type=f"multipart/form-data; boundary=B; charset={charset}")
    assert refusal(response)[:2] == (415, "request:charset")


def test_it_takes_text_in_the_encodings_of_the_web(alice):
    head = b'--B\r\nContent-Disposition: form-data; name="'
    parts = [f'kernel_id"\r\n\r\n{zoo.KERNEL}', 'message"\r\n\r\ncafé', 'package"; filename="k"\r\n\r\n']
    body = b"".join(head + part.encode("latin-1") for part in (parts[0] + "\r\n", parts[1] + "\r\n", parts[2]))
    body += zoo.package() + b"\r\n--B--\r\n"
    kind = "multipart/form-data; boundary=B; charset=ISO-8859-1"
    assert alice.generic("POST", URL, body, content_type=kind).status_code == 202
    assert Submission.objects.get().message == "café"
