import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

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


def test_it_cancels_what_a_bare_name_sent(db, client):
    submission = queued(submitter_is_verified=False)

    response = client.post(f"/submissions/{submission.pk}/cancel")

    submission.refresh_from_db()
    assert response.headers["Location"] == f"/submissions/{submission.pk}"
    assert State.CANCELLED in (submission.state, submission.ending)


def test_it_cancels_with_the_owners_token_only(db, client, page):
    submission = queued()
    _, token = issue_token("entrant-a")
    _, other = issue_token("mira")
    assert "token of entrant-a" in page(f"/submissions/{submission.pk}")

    for wrong in ("", other, "kz_forged"):
        response = client.post(f"/submissions/{submission.pk}/cancel", {"token": wrong})
        assert response.status_code == 409
        assert 'role="alert"' in response.content.decode()
    assert client.post(f"/submissions/{submission.pk}/cancel", {"token": token}).status_code == 302


def test_it_says_that_it_is_too_late_to_cancel(db, client):
    submission = cast.add_submission(KERNEL, State.CHECKED, submitter_is_verified=False)

    response = client.post(f"/submissions/{submission.pk}/cancel")

    assert response.status_code == 409
    assert "can be cancelled while it waits or runs" in response.content.decode()


def test_it_cancels_nothing_by_reading(db, client):
    submission = queued()

    assert client.get(f"/submissions/{submission.pk}/cancel").status_code == 405


def test_it_says_when_the_quota_is_used_up(db, client, settings):
    settings.SUBMISSIONS_PER_DAY = 0

    assert "submissions a day are all used" in refused(client)
