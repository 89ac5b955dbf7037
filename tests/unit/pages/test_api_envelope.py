"""Whatever the site refuses under /api is the one envelope, from the outermost layer that Django gives us."""

import re

import pytest
from django.http import HttpResponse, HttpResponseNotAllowed
from django.test import Client, override_settings
from django.urls import path
from rest_framework import exceptions
from rest_framework.decorators import api_view, authentication_classes
from rest_framework.views import APIView

from submissions.answers import answer
from submissions.authentication import BearerAuthentication

KINDS = {
    kind.__name__: kind
    for kind in vars(exceptions).values()
    if isinstance(kind, type) and issubclass(kind, exceptions.APIException)
}
NEEDED = {"MethodNotAllowed": ("BREW",), "UnsupportedMediaType": ("text/odd",)}


@api_view(["GET"])
@authentication_classes([BearerAuthentication])
def raising(request, kind):
    raise KINDS[kind](*NEEDED.get(kind, ()))


@api_view(["GET"])
def reading(request):
    return answer(request, {"fine": True})


class Writing(APIView):
    def post(self, request):
        return answer(request, {})


def bare(request, status):
    return HttpResponse(status=status)


def strict(request):
    return HttpResponseNotAllowed(["POST"])


urlpatterns = [
    path("api/raise/<kind>", raising),
    path("api/read", reading),
    path("api/write", Writing.as_view()),
    path("api/bare/<int:status>", bare),
    path("api/strict", strict),
    path("page", bare, {"status": 200}),
]


@pytest.fixture
def client():
    with override_settings(ROOT_URLCONF=__name__):
        yield Client(raise_request_exception=False)


def error(response):
    assert response.headers["Content-Type"] == "application/json"
    return response.json()["error"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_words_for_everything_the_framework_raises(client, kind):
    response = client.get(f"/api/raise/{kind}")
    assert response.status_code == KINDS[kind].status_code
    if response.status_code != 400:
        assert error(response)["code"] != "request:invalid"
    assert error(response)["message"] != "The request failed."


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 429, 500, 503])
def test_it_has_words_of_its_own_for_every_status_of_the_api(client, status):
    assert (error(client.get(f"/api/bare/{status}"))["code"] == "request:invalid") == (status == 400)


@pytest.mark.parametrize(("status", "code"), [(418, "request:invalid"), (502, "internal:error")])
def test_it_says_whose_fault_a_status_without_words_is(client, status, code):
    assert error(client.get(f"/api/bare/{status}"))["code"] == code


def test_it_answers_who_accepts_nothing_that_it_has(client):
    response = client.get("/api/read", headers={"Accept": "image/png"})
    assert (response.status_code, error(response)["code"]) == (406, "request:not-acceptable")
    assert "JSON" in error(response)["message"]


def test_it_answers_a_condition_that_does_not_hold(client):
    response = client.get("/api/read", headers={"If-Match": '"another"'})
    assert (response.status_code, error(response)["code"]) == (412, "request:precondition")


@pytest.mark.parametrize("address", ["/api/read", "/api/nowhere", "/api", "/api/"])
@pytest.mark.parametrize("host", ["elsewhere.example", "not a host", "127.0.0.1:port", "", "a" * 300])
def test_it_answers_a_host_that_is_not_the_sites(client, address, host):
    response = client.get(address, headers={"Host": host})
    assert response.status_code == 400
    assert error(response)["request_id"] == response.headers["X-Request-Id"]
    assert error(response)["code"] == "request:host"
    assert "KERNEL_ZOO_ALLOWED_HOSTS" in error(response)["message"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src" in response.headers["Content-Security-Policy"]


def test_it_words_what_another_layer_of_the_site_refuses(db, settings):
    settings.DISALLOWED_USER_AGENTS = [re.compile("scraper")]
    response = Client().get("/api/health", headers={"User-Agent": "scraper/1"})
    assert (response.status_code, error(response)["code"]) == (403, "forbidden:not-allowed")


def test_it_answers_the_bare_address_of_the_api(db):
    assert error(Client().get("/api"))["code"] == "missing:not-found"
    assert Client().get("/apiary").headers["Content-Type"].startswith("text/html")


def test_it_keeps_what_an_answer_said_beside_its_page(client):
    assert client.get("/api/strict").headers["Allow"] == "POST"


@pytest.mark.parametrize("address", ["read", "nowhere", "write", "bare/404", "raise/Throttled"])
def test_it_answers_head_as_get_without_a_body(client, address):
    read, asked = client.get(f"/api/{address}"), client.head(f"/api/{address}")
    assert asked.content == b""
    assert asked.status_code == read.status_code
    assert {**asked.headers, "X-Request-Id": ""} == {**read.headers, "X-Request-Id": ""}


def test_it_lets_head_read_only(client):
    response = client.head("/api/write")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST, OPTIONS")


@pytest.mark.parametrize("address", ["/api/read?cursor=a%00b", "/api/read?%00", "/api/bare/%00"])
def test_it_refuses_a_nul_in_the_address(client, address):
    response = client.get(address)
    assert (response.status_code, error(response)["code"]) == (400, "request:nul")
    assert error(response)["request_id"] == response.headers["X-Request-Id"]


def test_it_refuses_a_nul_in_a_cookie(client):
    response = client.get("/api/read", headers={"Cookie": r'sessionid="\000aaaaaaaaaaa"'})
    assert (response.status_code, error(response)["code"]) == (400, "request:nul")


def test_it_refuses_an_odd_encoding(client):
    response = client.post("/api/write", b"x", content_type="text/plain; charset=utf-7")
    assert (response.status_code, error(response)["code"]) == (415, "request:charset")


def test_it_refuses_on_pages_in_plain_words(client):
    response = client.get("/page?q=%00")
    assert response.status_code == 400
    assert response.headers["Content-Type"].startswith("text/plain")
    assert b"NUL" in response.content
    assert client.get("/page?q=%2500").status_code == 200
