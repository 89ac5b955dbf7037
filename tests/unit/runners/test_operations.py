"""What an operator does to a runner, by verb and by POST to the admin's list."""

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from runners.models import Runner, RunnerState
from runners.operations import operate
from submissions.models import Event

STEPS = [
    ("pause", "active", "paused"),
    ("resume", "paused", "active"),
    ("clear_quarantine", "quarantined", "active"),
    ("retire", "active", "retired"),
    ("retire", "paused", "retired"),
    ("retire", "quarantined", "retired"),
]
REFUSED = [
    ("pause", "paused"),
    ("pause", "retired"),
    ("resume", "quarantined"),
    ("clear_quarantine", "paused"),
    ("retire", "retired"),
]


@pytest.mark.parametrize(("verb", "old", "new"), STEPS)
def test_it_changes_the_state_and_tells(make_runner, verb, old, new):
    runner = make_runner(state=old, infra_failures=3)
    assert operate(runner.pk, verb, "ada", "a reason")
    runner.refresh_from_db()
    assert (runner.state, runner.state_reason) == (new, "a reason")
    assert runner.infra_failures == (0 if new == "active" else 3)
    event = Event.objects.get(topic="runners")
    assert event.text.startswith("cpu0: ")
    assert event.text.endswith("by ada: a reason")


@pytest.mark.parametrize(("verb", "old"), REFUSED)
def test_it_refuses_a_step_that_does_not_exist(make_runner, verb, old):
    runner = make_runner(state=old)
    assert not operate(runner.pk, verb, "ada")
    runner.refresh_from_db()
    assert runner.state == old
    assert not Event.objects.exists()


@pytest.mark.parametrize(("verb", "old", "new"), STEPS)
def test_it_acts_from_the_admins_list(admin_client, make_runner, verb, old, new):
    runner = make_runner(state=old)
    response = post(admin_client, verb, runner)
    assert response.status_code == 200
    assert Runner.objects.get().state == new
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user.username) == (str(runner.pk), "admin")


def test_it_says_in_the_admin_what_it_did_not_do(admin_client, make_runner):
    response = post(admin_client, "resume", make_runner())
    assert "Runner cpu0 is not paused: nothing was changed." in response.content.decode()
    assert Runner.objects.get().state == RunnerState.ACTIVE
    assert not LogEntry.objects.exists()


def test_it_lets_only_staff_act(client, make_runner):
    make_runner()
    post(client, "pause", Runner.objects.get())
    assert Runner.objects.get().state == RunnerState.ACTIVE


def test_it_shows_a_runner_with_its_leases_and_lets_nobody_edit_them(admin_client, make_runner, make_run):
    from runners.claims import claim

    make_run()
    runner = make_runner()
    claim(runner.pk)
    page = admin_client.get(reverse("admin:runners_runner_change", args=[runner.pk])).content.decode()
    assert "epoch 1" in page
    assert '<input type="text"' not in page
    assert admin_client.get(reverse("admin:runners_runner_add")).status_code == 403
    assert admin_client.get(reverse("admin:runners_runner_delete", args=[runner.pk])).status_code == 403


def post(client, verb, runner):
    data = {"action": verb, "_selected_action": [runner.pk]}
    return client.post(reverse("admin:runners_runner_changelist"), data, follow=True)
