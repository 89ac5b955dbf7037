import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from leaderboard import sent_cookie
from submissions.authentication import issue_token
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.limits import DEFAULT_LIMITS
from submissions.models import RunState, State, Submission
from tests.unit.pages import cast, wellformed
from tests.unit.pages.conftest import BOARD

KERNEL = f"{BOARD}/mine"


def form(**changes):
    package = SimpleUploadedFile("package.tar.gz", write_archive({"src/a.cpp": b"int a;\n"}))
    return {"kernel_id": KERNEL, "package": package, "mode": "check", "submitter": "entrant-a", **changes}


def refused(client, **changes):
    response = client.post("/submit", form(**changes))
    text = response.content.decode()
    wellformed.check(text)
    assert response.status_code == 200
    assert not Submission.objects.exists()
    return text


def test_it_shows_the_form_with_the_boards_and_what_was_asked_for(board, page):
    text = page(f"/submit?kernel_id={BOARD}/")

    assert f'<option value="{BOARD}/">' in text
    assert f'value="{BOARD}/"' in text
    assert '<label for="submitter">Submitter</label>' in text


def test_it_sends_a_package_and_leads_to_its_page(db, client):
    response = client.post("/submit", form(message="first try"))
    sent = Submission.objects.get()

    assert response.headers["Location"] == f"/submissions/{sent.pk}"
    assert (sent.kernel_id, sent.mode, sent.message) == (KERNEL, "check", "first try")
    assert (sent.submitter, sent.submitter_is_verified) == ("entrant-a", False)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"kernel_id": "saxpy"}, "kernel_id", "is not of the form"),
        ({"package": ""}, "package", "send a tar.gz"),
        ({"submitter": "no spaces please"}, "submitter", "name has letters"),
        ({"token": "kz_forged"}, "token", "unknown or revoked"),
        ({"message": "x" * 501}, "message", "exceeds 500"),
    ],
)
def test_it_shows_each_error_beside_its_field(db, client, changes, field, words):
    text = refused(client, **changes)

    assert f'id="{field}-error"' in text
    assert words in text
    assert 'aria-invalid="true"' in text


def test_it_refuses_an_unknown_mode(db, client):
    assert "is no mode" in refused(client, mode="fastest")


def test_it_refuses_a_package_over_the_limit(db, client):
    big = SimpleUploadedFile("package.tar.gz", b"x" * (DEFAULT_LIMITS.packed_bytes + 1))

    assert 'id="package-error"' in refused(client, package=big)


def test_it_takes_a_token_for_a_name(db, client, settings):
    settings.OPEN_SUBMISSIONS = False
    _, token = issue_token("entrant-a")

    client.post("/submit", form(token=token, submitter=""))

    assert Submission.objects.get().submitter_is_verified


def test_it_wants_a_token_where_the_site_is_closed(db, client, settings):
    settings.OPEN_SUBMISSIONS = False

    assert 'id="token-error"' in refused(client)


def test_it_sends_as_the_signed_in_user(db, client, page):
    client.force_login(User.objects.create_user("mira"))
    assert "Sent as <strong>mira</strong>" in page("/submit")

    client.post("/submit", form(submitter=""))

    assert Submission.objects.get().submitter == "mira"


def queued(**changes):
    submission = cast.add_submission(KERNEL, State.QUEUED, **changes)
    cast.add_run(submission, RunState.QUEUED)
    return submission


def sent_from(client, **changes):
    """A submission that this browser made through the form."""
    address = client.post("/submit", form(**changes)).headers["Location"]
    return Submission.objects.get(pk=address.rpartition("/")[2])


def refused_cancel(client, submission, **fields):
    response = client.post(f"/submissions/{submission.pk}/cancel", fields)
    wellformed.check(response.content.decode())
    assert 'role="alert"' in response.content.decode()
    before = submission.state
    submission.refresh_from_db()
    assert (submission.state, submission.ending) == (before, "")
    return response.status_code


def is_cancelled(client, submission, **fields):
    response = client.post(f"/submissions/{submission.pk}/cancel", fields)
    submission.refresh_from_db()
    led_back = response.headers.get("Location") == f"/submissions/{submission.pk}"
    return led_back and State.CANCELLED in (submission.state, submission.ending)


def test_it_cancels_what_this_browser_sent_under_a_bare_name(db, client, page):
    submission = sent_from(client)

    assert "Stop it for good?" in page(f"/submissions/{submission.pk}")
    assert is_cancelled(client, submission)
    assert submission.reason == "cancelled by entrant-a before it ran"


def test_it_keeps_what_was_sent_where_no_script_reads_it(db, client):
    client.post("/submit", form())
    (name,) = [name for name in client.cookies if name not in ("csrftoken", "sessionid")]
    kept = client.cookies[name]

    assert kept["httponly"] is True
    assert kept["samesite"] == "Lax"
    assert kept["path"] == "/"
    assert kept["secure"] == ""
    assert client.post("/submit", form(), secure=True).cookies[name]["secure"] is True


@pytest.mark.parametrize("name", ["entrant-a", "carol"])
def test_it_lets_nobody_else_cancel_what_a_bare_name_sent(db, client, name):
    submission = sent_from(client)
    other = Client()
    sent_from(other, submitter=name)

    for stranger in (other, Client(headers={"X-Submitter-Id": "entrant-a"})):
        assert "Cancel…" not in stranger.get(f"/submissions/{submission.pk}").content.decode()
        assert refused_cancel(stranger, submission) == 403


def test_it_takes_no_cookie_that_it_did_not_sign(db, client):
    submission = sent_from(client)
    (name,) = client.cookies
    value = client.cookies[name].value
    forged = [submission.pk.hex, str(submission.pk), value[:-1], f"{submission.pk.hex}{value[32:]}x", "::", "\xff"]

    for cookie in forged:
        stranger = Client()
        stranger.cookies[name] = cookie
        assert refused_cancel(stranger, submission) == 403


def test_it_takes_no_cookie_that_was_signed_for_something_else(db, client):
    submission = sent_from(client)
    (name,) = client.cookies
    elsewhere = HttpResponse()
    elsewhere.set_signed_cookie(name, submission.pk.hex, salt="another")
    stranger = Client()
    stranger.cookies[name] = elsewhere.cookies[name].value

    assert refused_cancel(stranger, submission) == 403


def test_it_remembers_the_newest_that_a_browser_sent(db, client):
    first = sent_from(client)
    sent = [sent_from(client) for _ in range(sent_cookie.MOST_KEPT)]
    (name,) = client.cookies

    assert len(client.cookies[name].value) < 3000
    assert refused_cancel(client, first) == 403
    assert is_cancelled(client, sent[0])
    assert is_cancelled(client, sent[-1])


def test_it_cancels_what_this_browser_sent_with_a_token(db, client):
    _, token = issue_token("entrant-a")
    submission = sent_from(client, token=token, submitter="")

    assert is_cancelled(client, submission)


def test_it_cancels_with_the_owners_token_only(db, client, page):
    submission = queued()
    _, token = issue_token("entrant-a")
    _, other = issue_token("mira")
    assert "token of entrant-a" in page(f"/submissions/{submission.pk}")

    for wrong in ("", other, "kz_forged"):
        assert refused_cancel(client, submission, token=wrong) == 403
    assert is_cancelled(client, submission, token=token)


def test_it_takes_no_token_for_what_a_bare_name_sent(db, client):
    submission = queued(submitter_is_verified=False)
    _, token = issue_token("entrant-a")

    assert refused_cancel(client, submission, token=token) == 403


def test_it_lets_the_signed_in_owner_cancel(db, client, page):
    client.force_login(User.objects.create_user("entrant-a"))
    submission = queued()

    assert "Stop it for good?" in page(f"/submissions/{submission.pk}")
    assert is_cancelled(client, submission)


def test_it_lets_no_other_signed_in_user_cancel(db, client, page):
    client.force_login(User.objects.create_user("mira"))

    for submission in (queued(), queued(submitter_is_verified=False)):
        assert "Cancel…" not in page(f"/submissions/{submission.pk}")
        assert refused_cancel(client, submission) == 403


def test_it_leaves_nothing_of_a_signed_in_user_to_the_next_one(db, client):
    client.force_login(User.objects.create_user("mira"))
    submission = sent_from(client, submitter="")
    client.post("/logout")

    assert refused_cancel(client, submission) == 403


def test_it_lets_staff_cancel_any(db, client, page):
    client.force_login(User.objects.create_user("ada", is_staff=True))

    for submission in (queued(), queued(submitter_is_verified=False)):
        assert "Stop it for good?" in page(f"/submissions/{submission.pk}")
        assert is_cancelled(client, submission)
        assert submission.reason == "cancelled by ada before it ran"


def test_it_takes_a_cookie_also_after_the_site_was_closed(db, client, settings):
    submission = sent_from(client)
    settings.OPEN_SUBMISSIONS = False

    assert is_cancelled(client, submission)


def test_it_says_that_it_is_too_late_to_cancel(db, client):
    submission = sent_from(client)
    Submission.objects.filter(pk=submission.pk).update(state=State.CHECKED)
    submission.refresh_from_db()

    assert "Cancel…" not in client.get(f"/submissions/{submission.pk}").content.decode()
    response = client.post(f"/submissions/{submission.pk}/cancel")
    assert response.status_code == 409
    assert "can be cancelled while it waits or runs" in response.content.decode()


def test_it_keeps_pages_of_different_browsers_apart(db, client):
    submission = sent_from(client)

    assert "Cookie" in client.get(f"/submissions/{submission.pk}").headers["Vary"]


def test_it_knows_no_submission_that_is_not_there(db, client):
    assert client.post("/submissions/0e0e0e0e-0000-4000-8000-000000000000/cancel").status_code == 404


def test_it_wants_the_pages_own_token_of_the_browser(db, client):
    submission = sent_from(client)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies

    assert strict.post(f"/submissions/{submission.pk}/cancel").status_code == 403
    submission.refresh_from_db()
    assert submission.state == State.RECEIVED


def test_it_cancels_nothing_by_reading(db, client):
    submission = queued()

    assert client.get(f"/submissions/{submission.pk}/cancel").status_code == 405


def test_it_says_when_the_quota_is_used_up(db, client, settings):
    settings.SUBMISSIONS_PER_DAY = 0

    assert "submissions a day are all used" in refused(client)
