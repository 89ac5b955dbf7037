"""The real transactions against a small model of them, in random order: claims, beats, results, crashes."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runners import leases
from runners.claims import claim
from runners.delivery import deliver
from runners.models import Lease, Runner
from runners.operations import operate
from runners.protocol import LeaseLost
from runners.registration import register
from submissions.cancel import cancel_run
from submissions.models import Run, RunState, State, Submission
from tests.unit.runners.conftest import a_registration, create_run
from tests.unit.runners.test_delivery import a_result

RUNNERS = ("cpu0", "cpu1")
VERDICTS = ("ok", "wrong_result", "infra_error")


class Modelled:
    """What the model knows of one run."""

    def __init__(self, is_canary=False):
        self.state, self.attempt, self.epoch, self.verdict = "queued", 1, 0, ""
        self.holder, self.last_holder, self.is_cancelled = None, None, False
        self.is_canary = is_canary

    def back(self):
        """A fault of ours: another try, or the end."""
        self.holder = None
        if self.is_cancelled:
            self.state, self.verdict = "finished", "cancelled"
        elif self.attempt < 3:
            self.state, self.attempt = "queued", self.attempt + 1
        else:
            self.state, self.verdict = "finished", "infra_error"


class QueueMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.runs, self.order = {}, []
        self.states = dict.fromkeys(RUNNERS, "active")
        self.failing = {name: [] for name in RUNNERS}
        self.canaries = dict.fromkeys(RUNNERS)
        self.lives = dict.fromkeys(RUNNERS, 0)
        self.leases = []
        for name in RUNNERS:
            register(a_registration(name, life="0"))

    def teardown(self):
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    @initialize()
    def starts_with_work(self):
        for _ in range(2):
            self.queue()

    @rule()
    def everybody_claims(self):
        for name in RUNNERS:
            self.claims(name)

    @rule()
    def queue(self):
        run = create_run(mode="check", kind="check")
        self.runs[run.pk] = Modelled()
        self.order.append(run.pk)

    @rule(name=st.sampled_from(RUNNERS))
    def claims(self, name):
        lease = claim(self._id(name))
        held = [pk for pk, run in self.runs.items() if run.holder == name]
        expected = held or ([] if self.states[name] != "active" else self._fitting(name)[:1])
        given = [lease.run_id] if lease else []
        assert given == expected
        if lease and not held:
            run = self.runs[lease.run_id]
            run.state, run.epoch, run.holder, run.last_holder = "leased", run.epoch + 1, name, name
            self.leases.append(lease)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def beats(self, data):
        lease = data.draw(st.sampled_from(self.leases))
        run = self.runs[lease.run_id]
        order = leases.heartbeat(lease.token, lease.epoch, "build", 0.5)
        assert order.keep == (self._is_live(lease) and not run.is_cancelled)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), verdict=st.sampled_from(VERDICTS))
    def delivers(self, data, verdict):
        lease = data.draw(st.sampled_from(self.leases))
        run, name = self.runs[lease.run_id], lease.runner.name
        is_live = self._is_live(lease)
        try:
            deliver(lease.token, lease.epoch, a_result(lease, verdict, "run:test"))
        except LeaseLost:
            assert not is_live
            return
        if not is_live:
            return
        if run.is_cancelled:
            run.back()
        elif verdict == "infra_error":
            run.back()
            self._count_failure(name, lease.run_id)
        else:
            run.state, run.holder, run.verdict = "finished", None, verdict
            if self.canaries[name] == lease.run_id and verdict != "ok":
                self._count_failure(name, lease.run_id)
            else:
                self.failing[name] = []

    @precondition(lambda self: any(run.holder for run in self.runs.values()))
    @rule(data=st.data())
    def falls_silent(self, data):
        pk = data.draw(st.sampled_from([pk for pk, run in self.runs.items() if run.holder]))
        run = self.runs[pk]
        name = run.holder
        Lease.objects.live().filter(run=pk).update(ends_at=timezone.now() - timedelta(seconds=1))
        assert leases.expire() == 1
        run.back()
        self._count_failure(name, pk)

    @rule(name=st.sampled_from(RUNNERS))
    def starts_anew(self, name):
        self.lives[name] += 1
        register(a_registration(name, life=str(self.lives[name])))
        for run in self.runs.values():
            if run.holder == name:
                run.back()

    @rule(name=st.sampled_from(RUNNERS), verb=st.sampled_from(["pause", "resume", "clear_quarantine"]))
    def is_operated(self, name, verb):
        old, new = {
            "pause": ("active", "paused"),
            "resume": ("paused", "active"),
            "clear_quarantine": ("quarantined", "active"),
        }[verb]
        assert operate(self._id(name), verb, "ada") == (self.states[name] == old)
        if self.states[name] == old:
            self.states[name] = new
            self.failing[name] = [] if new == "active" else self.failing[name]

    @precondition(lambda self: any(run.state != "finished" for run in self.runs.values()))
    @rule(data=st.data())
    def is_cancelled(self, data):
        pk = data.draw(st.sampled_from([pk for pk, run in self.runs.items() if run.state != "finished"]))
        run = self.runs[pk]
        cancel_run(pk, "ada")
        if run.state == "queued":
            run.state, run.verdict = "finished", "cancelled"
        else:
            run.is_cancelled = True

    @invariant()
    def rows_say_what_the_model_says(self):
        rows = {run.pk: run for run in Run.objects.all()}
        assert rows.keys() == self.runs.keys()
        for pk, run in self.runs.items():
            row = rows[pk]
            assert (row.state, row.attempt, row.epoch) == (run.state, run.attempt, run.epoch)
            assert row.verdict == (run.verdict if run.state == "finished" else row.verdict)
        assert dict(Runner.objects.values_list("name", "state")) == self.states

    @invariant()
    def nobody_holds_two(self):
        live = list(Lease.objects.live().values_list("run_id", "runner__name", "epoch"))
        holders = [(pk, run.holder, run.epoch) for pk, run in self.runs.items() if run.holder]
        assert sorted(live) == sorted(holders)
        assert len({name for _, name, _ in live}) == len(live)

    @invariant()
    def submissions_follow_their_runs(self):
        for submission in Submission.objects.prefetch_related("runs"):
            [run] = submission.runs.all()
            if submission.ending:
                assert run.state == RunState.FINISHED
            else:
                expected = {RunState.QUEUED: State.QUEUED, RunState.LEASED: State.RUNNING}
                assert submission.state == expected[run.state]

    def _id(self, name):
        return Runner.objects.get(name=name).pk

    def _is_live(self, lease):
        run = self.runs[lease.run_id]
        return run.epoch == lease.epoch and run.state == "leased"

    def _fitting(self, name):
        others = [other for other in RUNNERS if other != name and self.states[other] == "active"]
        kept = [self.canaries[other] for other in others]
        return [
            pk
            for pk in sorted(self.order, key=lambda pk: not self.runs[pk].is_canary)
            if self.runs[pk].state == "queued"
            and pk not in kept
            and not (
                self.runs[pk].attempt > 1
                and self.runs[pk].last_holder == name
                and pk != self.canaries[name]
                and others
            )
        ]

    def _count_failure(self, name, pk):
        if pk not in self.failing[name]:
            self.failing[name].append(pk)
        if self.states[name] != "active":
            return
        canary = self.canaries[name]
        if pk == canary or len(self.failing[name]) >= 3:
            self.states[name] = "quarantined"
        elif len(self.failing[name]) == 2 and (canary is None or self.runs[canary].state == "finished"):
            canary = Runner.objects.get(name=name).canary_id
            assert canary not in self.runs
            self.runs[canary] = Modelled(is_canary=True)
            self.order.append(canary)
            self.canaries[name] = canary


def test_it_keeps_every_promise_in_any_order(store):
    run_state_machine_as_test(
        QueueMachine,
        settings=settings(
            max_examples=50, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
