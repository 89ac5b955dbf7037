import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.urls import reverse

from submissions.authentication import issue_token
from submissions.models import Run, RunState, State, Submission, SubmitterToken
from submissions.results import record_result
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def staff(client):
    client.force_login(get_user_model().objects.create_superuser("root", password="x"))
    return client


def act(client, model, action, *rows):
    url = reverse(f"admin:submissions_{model}_changelist")
    chosen = [str(row.pk) for row in rows]
    return client.post(url, {"action": action, "_selected_action": chosen}, follow=True)


def test_it_cancels_a_submission_and_logs_who_did(staff):
    submission = zoo.send()
    zoo.work()
    assert act(staff, "submission", "cancel", submission).status_code == 200
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id) == ("root", str(submission.pk))
    assert "cancelled" in entry.get_change_message()


def test_it_requeues_a_submission_that_ended(staff):
    submission = zoo.fail(zoo.send(), "crashed", "run:crashed")
    act(staff, "submission", "requeue", submission)
    zoo.work()
    again = Submission.objects.exclude(pk=submission.pk).get()
    assert again.state == State.QUEUED
    assert again.runs.get().state == RunState.QUEUED


def test_it_requeues_a_held_submission(staff):
    submission = zoo.hold(zoo.send())
    act(staff, "submission", "requeue", submission)
    assert zoo.fresh(submission).state == State.QUEUED
    assert submission.runs.filter(state=RunState.QUEUED).get().number == 2


def test_it_releases_and_refuses_held_submissions(staff):
    released, refused = zoo.hold(zoo.send()), zoo.hold(zoo.send(body="z[i] = y[i];"))
    act(staff, "submission", "release", released)
    act(staff, "submission", "refuse", refused)
    zoo.work()
    assert zoo.fresh(released).state == State.ACCEPTED
    assert zoo.fresh(refused).state == State.FAILED
    assert LogEntry.objects.count() == 2


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("requeue", "it is received already"),
        ("release", "only a held submission can be released"),
        ("refuse", "only a held submission can be refused"),
    ],
)
def test_it_tells_why_it_could_not(staff, action, words):
    submission = zoo.send()
    assert words in act(staff, "submission", action, submission).content.decode()
    assert not LogEntry.objects.exists()


def test_it_cannot_requeue_what_was_not_kept(staff):
    submission = zoo.send(kernel_id="x86_64/Vector/nowhere/fp32/a")
    zoo.work()
    assert "was not kept" in act(staff, "submission", "requeue", submission).content.decode()


def test_it_cancels_a_run(staff):
    submission = zoo.send()
    zoo.work()
    act(staff, "run", "cancel", submission.runs.get())
    assert submission.runs.get().verdict == "cancelled"
    assert LogEntry.objects.count() == 1


def test_it_asks_the_runner_of_a_leased_run_to_stop(staff):
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    act(staff, "run", "cancel", run)
    assert Run.objects.get().is_cancel_requested


def test_it_requeues_a_run(staff):
    zoo.measure(zoo.send())
    alone = zoo.lone_run()
    assert "already" in act(staff, "run", "requeue", alone).content.decode()
    record_result(alone.pk, 1, zoo.good_result(alone), zoo.RUNNER)
    act(staff, "run", "requeue", alone)
    again = Run.objects.queued().get()
    assert (again.kind, again.kernel_id, again.submission) == ("recheck", zoo.KERNEL, None)


def test_it_requeues_a_run_by_its_submission(staff):
    submission = zoo.hold(zoo.send())
    act(staff, "run", "requeue", submission.runs.get())
    assert zoo.fresh(submission).state == State.QUEUED


def test_it_shows_every_list_and_row_and_links_to_the_site(staff):
    submission = zoo.measure(zoo.send())
    token, _ = issue_token("alice")
    for row in (submission, submission.runs.get(), submission.events.first(), token):
        name = row._meta.model_name
        assert staff.get(reverse(f"admin:submissions_{name}_changelist")).status_code == 200
        page = staff.get(reverse(f"admin:submissions_{name}_change", args=[row.pk]))
        assert page.status_code == 200
        assert staff.get(reverse(f"admin:submissions_{name}_delete", args=[row.pk])).status_code == 403
    assert submission.get_absolute_url() == f"/submissions/{submission.pk}"
    assert submission.runs.get().get_absolute_url() == f"/submissions/{submission.pk}"


def test_it_revokes_tokens_and_never_shows_their_hash(staff):
    token, _ = issue_token("alice")
    page = staff.get(reverse("admin:submissions_submittertoken_change", args=[token.pk]))
    assert token.token_sha256 not in page.content.decode()
    act(staff, "submittertoken", "revoke", token)
    assert SubmitterToken.objects.get().revoked_at is not None


def test_it_acts_for_those_who_may_change_only(client):
    user = get_user_model().objects.create_user("eve", password="x", is_staff=True)
    client.force_login(user)
    submission = zoo.send()
    assert act(client, "submission", "cancel", submission).status_code == 403
    assert zoo.fresh(submission).ending == ""
