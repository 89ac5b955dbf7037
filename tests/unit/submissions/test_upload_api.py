import uuid

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from submissions.authentication import issue_token, revoke_token, unverified
from submissions.kernel_package.errors import Rejected
from submissions.models import State, Submission, SubmitterToken
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")

URL = "/api/submissions"


@pytest.fixture
def token():
    return issue_token("alice")[1]


@pytest.fixture
def alice(token):
    return Client(headers={"Authorization": f"Bearer {token}"})


def form(**fields):
    content = fields.pop("content", None)
    package = SimpleUploadedFile("k.tar.gz", zoo.package() if content is None else content)
    return {"kernel_id": zoo.KERNEL, "package": package, **fields}


def error(response):
    return response.status_code, response.json()["error"]["code"]


def test_it_answers_202_with_where_to_look(alice):
    response = alice.post(URL, form(message="hello", mode="benchmark"))
    submission = Submission.objects.get()
    assert response.status_code == 202
    assert response.json() == {
        "uuid": str(submission.pk),
        "state": "received",
        "url": f"/api/submissions/{submission.pk}",
        "status_url": f"/api/submissions/{submission.pk}/status",
        "page_url": f"/submissions/{submission.pk}",
    }
    assert response["Location"] == response.json()["url"]
    assert response["RateLimit-Remaining"] == "1999"
    assert (submission.submitter, submission.submitter_is_verified) == ("alice", True)
    assert (submission.message, submission.mode) == ("hello", "benchmark")


def test_it_honours_the_idempotency_key(alice):
    key = {"Idempotency-Key": "k"}
    first = alice.post(URL, form(), headers=key)
    again = alice.post(URL, form(), headers=key)
    assert first.json()["uuid"] == again.json()["uuid"]
    assert again.status_code == 202
    assert error(alice.post(URL, form(mode="check"), headers=key)) == (422, "upload:idempotency-conflict")


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"kernel_id": "nonsense"}, 422, "package:kernel-id"),
        ({"mode": "race"}, 400, "upload:mode"),
        ({"package": ""}, 400, "upload:package-missing"),
        ({"package": "text"}, 400, "upload:field"),
        ({"content": b"x" * ((1 << 20) + 1)}, 413, "package:too-large"),
        ({"content": b"x" * (3 << 20)}, 413, "package:too-large"),
        ({"submitter_id": "bob"}, 403, "forbidden:submitter-id"),
    ],
)
def test_it_refuses_bad_uploads_in_words(alice, fields, status, code):
    assert error(alice.post(URL, form(**fields))) == (status, code)
    assert not Submission.objects.exists()


def test_it_takes_multipart_only(alice):
    response = alice.post(URL, {"kernel_id": zoo.KERNEL}, content_type="application/json")
    assert response.status_code == 415


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer kz_wrong"}, {"Authorization": "Basic YTpi"}])
def test_it_wants_a_known_token(headers):
    response = Client(headers=headers).post(URL, form())
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert not Submission.objects.exists()


def test_it_takes_no_revoked_token(alice):
    revoke_token(SubmitterToken.objects.get().pk)
    assert alice.post(URL, form()).status_code == 401


def test_it_keeps_only_a_tokens_hash_and_notes_its_use(alice, token):
    alice.get(URL)
    row = SubmitterToken.objects.get()
    assert token not in str(vars(row))
    assert token.startswith(row.prefix)
    first_use = row.last_used_at
    alice.get(URL)
    assert SubmitterToken.objects.get().last_used_at == first_use


def test_it_takes_a_bare_name_only_where_the_site_is_open(settings):
    client = Client(headers={"X-Submitter-Id": "carol"})
    assert error(client.post(URL, form())) == (401, "auth:token-required")
    settings.OPEN_SUBMISSIONS = True
    assert client.post(URL, form()).status_code == 202
    assert Client().post(URL, form(submitter_id="dave")).status_code == 202
    shown = Submission.objects.order_by("submitter").values_list("submitter", "submitter_is_verified")
    assert list(shown) == [("carol", False), ("dave", False)]


@pytest.mark.parametrize("name", ["kernel-zoo", "alice"])
def test_it_lets_nobody_borrow_a_name_that_has_an_owner(settings, token, name):
    settings.OPEN_SUBMISSIONS = True
    response = Client(headers={"X-Submitter-Id": name}).post(URL, form())
    assert error(response) == (401, "auth:token-required")


def test_it_refuses_names_that_are_none(settings):
    settings.OPEN_SUBMISSIONS = True
    assert error(Client(headers={"X-Submitter-Id": "a b"}).post(URL, form())) == (400, "upload:submitter-id")


@pytest.mark.parametrize("name", ["a b", "a" * 81, "é"])
def test_it_looks_up_no_name_that_is_none(settings, name, django_assert_num_queries):
    settings.OPEN_SUBMISSIONS = True
    with django_assert_num_queries(0), pytest.raises(Rejected, match="upload:submitter-id"):
        unverified(name)


def test_it_takes_the_sites_own_session():
    user = get_user_model().objects.create_user("erin", password="x")
    client = Client()
    client.force_login(user)
    assert client.post(URL, form()).status_code == 202
    assert Submission.objects.get().submitter == "erin"


def test_it_wants_the_csrf_token_of_a_session():
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.create_user("erin", password="x"))
    assert client.post(URL, form()).status_code == 403


def test_it_answers_429_with_when_to_come_again(alice, settings):
    settings.SUBMISSIONS_PER_DAY = 1
    assert alice.post(URL, form()).status_code == 202
    response = alice.post(URL, form(mode="check"))
    assert response.status_code == 429
    assert 86_000 < int(response["Retry-After"]) <= 86_400


def test_it_lists_ones_own_newest_first(alice):
    zoo.send(zoo.BOB)
    first, second = zoo.send(), zoo.send(body="z[i] = 1;")
    zoo.work()
    answer = alice.get(URL).json()
    assert [row["uuid"] for row in answer["results"]] == [str(second.pk), str(first.pk)]
    assert answer["results"][0]["runs"][0]["state"] == "queued"
    assert answer["next"] is None
    assert alice.get(URL, {"state": "received"}).json()["results"] == []
    assert len(alice.get(URL, {"kernel_id": zoo.KERNEL}).json()["results"]) == 2
    assert error(alice.get(URL, {"state": "lost"})) == (400, "request:state")
    assert Client().get(URL).status_code == 401


def test_it_lists_in_pages_with_a_fixed_number_of_queries(alice, django_assert_num_queries):
    for number in range(5):
        zoo.send(body=f"z[i] = {number};")
    page = alice.get(URL, {"limit": 2}).json()
    seen = [row["uuid"] for row in page["results"]]
    while page["next"]:
        with django_assert_num_queries(5):
            page = alice.get(page["next"]).json()
        seen += [row["uuid"] for row in page["results"]]
    assert len(set(seen)) == 5


def test_it_shows_one_of_ones_own_with_an_etag(alice):
    submission = zoo.measure(zoo.send())
    response = alice.get(f"{URL}/{submission.pk}")
    document = response.json()
    assert document["state"] == "accepted"
    assert document["decision"]["code"] == "decision:new-kernel"
    assert document["runs"][0]["verdict"] == "ok"
    again = alice.get(f"{URL}/{submission.pk}", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("verb", ["get", "post"])
def test_it_shows_and_cancels_nobody_elses(alice, verb):
    path = "" if verb == "get" else "/cancel"
    theirs = zoo.send(zoo.BOB)
    assert error(getattr(alice, verb)(f"{URL}/{theirs.pk}{path}")) == (403, "forbidden:not-yours")
    assert error(getattr(alice, verb)(f"{URL}/{uuid.uuid4()}{path}")) == (404, "missing:submission")
    assert getattr(alice, verb)(f"{URL}/nonsense{path}").status_code == 404
    assert getattr(Client(), verb)(f"{URL}/{theirs.pk}{path}").status_code == 401
    assert zoo.fresh(theirs).state == State.RECEIVED


def test_it_cancels_what_waits(alice):
    submission = zoo.send()
    zoo.work()
    response = alice.post(f"{URL}/{submission.pk}/cancel")
    assert response.status_code == 202
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    assert alice.get(f"{URL}/{submission.pk}/cancel").status_code == 405


def test_it_says_that_it_is_too_late_to_cancel(alice):
    submission = zoo.measure(zoo.send())
    assert error(alice.post(f"{URL}/{submission.pk}/cancel")) == (409, "state:not-cancellable")


def test_it_lets_staff_see_and_cancel_everything():
    client = Client()
    client.force_login(get_user_model().objects.create_user("root", password="x", is_staff=True))
    submission = zoo.send()
    assert len(client.get(URL).json()["results"]) == 1
    assert client.post(f"{URL}/{submission.pk}/cancel").status_code == 202
