"""Every error of the API is one envelope with a code, whoever raised it."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.test import Client, override_settings
from django.urls import path
from rest_framework import exceptions
from rest_framework.decorators import api_view

from submissions.kernel_package.errors import Broken, Rejected

ERRORS = {
    "rejected": Rejected("package:schema", "title is missing", where="desc.yaml"),
    "large": Rejected("package:too-large", "over 1 MiB"),
    "strange": Rejected("odd:case", "odd"),
    "state": Rejected("state:finished", "it has ended"),
    "broken": Broken("store:moved", "the store moved"),
    "missing": Http404(),
    "forbidden": PermissionDenied(),
    "wait": exceptions.Throttled(wait=7),
    "field": exceptions.ValidationError({"mode": ["unknown"]}),
    "media": exceptions.UnsupportedMediaType("text/plain"),
    "bug": RuntimeError("a bug"),
}


@api_view(["GET"])
def raising(request, name):
    raise ERRORS[name]


def plain(request):
    return HttpResponse("no", status=405)


urlpatterns = [path("api/raise/<name>", raising), path("api/plain", plain), path("page", plain)]


@pytest.fixture
def client():
    with override_settings(ROOT_URLCONF=__name__):
        yield Client(raise_request_exception=False)


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("rejected", 422, "package:schema"),
        ("large", 413, "package:too-large"),
        ("strange", 400, "odd:case"),
        ("state", 409, "state:finished"),
        ("broken", 503, "store:moved"),
        ("missing", 404, "missing:not-found"),
        ("forbidden", 403, "forbidden:not-allowed"),
        ("wait", 429, "quota:exceeded"),
        ("field", 400, "request:invalid"),
        ("media", 415, "request:media-type"),
        ("bug", 500, "internal:error"),
    ],
)
def test_it_answers_the_envelope(client, name, status, code):
    answer = client.get(f"/api/raise/{name}", headers={"X-Request-Id": "request-0001"})
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == code and error["message"]
    assert error["request_id"] == "request-0001" == answer["X-Request-Id"]


def test_it_says_when_to_come_back(client):
    assert client.get("/api/raise/wait")["Retry-After"] == "7"


def test_it_names_the_wrong_field(client):
    assert client.get("/api/raise/field").json()["error"]["details"]["fields"] == {"mode": ["unknown"]}


def test_it_keeps_the_details_of_our_own_errors(client):
    assert client.get("/api/raise/rejected").json()["error"]["details"] == {"where": "desc.yaml"}


def test_it_wraps_django_s_own_errors_under_the_api(client):
    assert client.get("/api/plain").json()["error"]["code"] == "request:method"


@pytest.mark.django_db
def test_it_answers_an_unknown_address_with_the_envelope():
    answer = Client().get("/api/nowhere")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "missing:not-found")


def test_it_leaves_pages_alone(client):
    assert client.get("/page").content == b"no"


def test_it_makes_a_request_id_and_ignores_a_strange_one(client):
    made = client.get("/page", headers={"X-Request-Id": "a b\n"})["X-Request-Id"]
    assert len(made) == 16


def test_it_forbids_what_is_not_the_site_s_own(client):
    policy = client.get("/page")["Content-Security-Policy"]
    assert "script-src 'self';" in policy and "unsafe" not in policy
