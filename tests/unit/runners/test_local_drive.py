"""The local runner from the queue's nudge to the run's end: real store, real rows, real child process."""

import os
import signal
import threading
from dataclasses import replace

import pytest
from django_q.models import OrmQ

from runners import leases, local, packages, tasks
from runners.models import Lease, Runner
from submissions import cancel, spool
from submissions.kernel_package.archive import write_archive
from submissions.models import Run, RunState, State
from submissions.upload import Upload, receive_upload
from tests.unit.runners.conftest import a_registration
from tests.unit.submissions import zoo


@pytest.fixture
def machine(transactional_db, store, settings, config, monkeypatch, tmp_path):
    settings.PACKAGES_DIR, settings.RUN_DIR = tmp_path / "packages", tmp_path / "run"
    lives = iter(range(100))
    monkeypatch.setattr(local, "registration", lambda kind: a_registration(life=str(next(lives))))
    monkeypatch.setattr(local, "config", lambda kind, held_fds: replace(config, held_fds=held_fds))
    return config


def send(behaviour, mode="check"):
    files = {**zoo.package_files(), "src/behaviour.txt": behaviour.encode()}
    submission = receive_upload(zoo.ALICE, Upload(zoo.KERNEL, write_archive(files), mode=mode))
    zoo.work()
    return submission


def before_heartbeat(monkeypatch, action, stage="build"):
    """Let something happen in the middle of a run, once."""
    real, pending = leases.heartbeat, [action]

    def heartbeat(token, epoch, at, progress):
        if at == stage and pending:
            pending.pop()()
        return real(token, epoch, at, progress)

    monkeypatch.setattr(leases, "heartbeat", heartbeat)


def test_it_wakes_the_cluster_of_the_queue_that_got_a_run(machine):
    send("ok")
    [row] = OrmQ.objects.filter(key="cpu")
    assert (row.task["func"], row.task["args"]) == ("runners.tasks.drive_local", ("cpu",))


def test_it_runs_what_is_queued_to_its_end(machine, settings):
    first, second = send("ok"), send("wrong")
    assert tasks.drive_local("cpu") == 2
    zoo.work()
    assert (zoo.fresh(first).state, zoo.fresh(second).state) == (State.CHECKED, State.FAILED)
    run = Run.objects.get(submission=first)
    assert (run.state, run.verdict, run.log) == (RunState.FINISHED, "ok", "compiled\n")
    assert run.record["runner"]["name"] == "cpu0"
    assert not Lease.objects.live().exists()
    assert Runner.objects.get().is_alive
    assert len(list(settings.PACKAGES_DIR.iterdir())) == 3
    assert tasks.drive_local("cpu") == 0


def test_it_stops_a_run_that_its_entrant_cancels(machine, monkeypatch, pids):
    submission = send("slow")
    before_heartbeat(monkeypatch, lambda: cancel.request_cancel(submission.pk, "alice"))
    assert tasks.drive_local("cpu") == 1
    zoo.work()
    assert zoo.fresh(submission).state == State.CANCELLED
    assert Run.objects.get().verdict == "cancelled"
    assert pids.are_gone("engine")


def test_it_forgets_a_run_that_was_taken_away(machine, monkeypatch, pids):
    submission = send("slow")

    def take_away():
        Lease.objects.update(ends_at=Lease.objects.get().claimed_at)
        assert tasks.expire_leases() == 1
        cancel.request_cancel(submission.pk, "alice")

    before_heartbeat(monkeypatch, take_away)
    assert tasks.drive_local("cpu") == 1
    assert pids.are_gone("engine")
    assert Run.objects.get().verdict == "cancelled"
    assert not Lease.objects.live().exists()


def test_it_gives_its_run_back_on_sigterm_and_then_lets_the_signal_through(machine, monkeypatch, pids):
    send("slow")
    before_heartbeat(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGTERM))
    got = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
    try:
        assert tasks.drive_local("cpu") == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    assert got == [signal.SIGTERM]
    run = Run.objects.get()
    assert (run.state, run.attempt) == (RunState.QUEUED, 2)
    assert Runner.objects.get().infra_failures == 0
    assert pids.are_gone("engine")


def test_it_ends_a_run_that_nobody_can_be_given(machine):
    submission = send("ok")
    spool.discard(submission.pk)
    assert tasks.drive_local("cpu") == 0
    assert Run.objects.get().code == "spool:missing"
    assert zoo.fresh(submission).ending == State.ERRORED
    assert set(Lease.objects.values_list("end_reason", flat=True)) == {"unanswerable"}
    assert Runner.objects.get().infra_failures == 0


def test_it_lets_nobody_drive_a_runner_twice(machine, monkeypatch, caplog):
    send("ok")
    monkeypatch.setattr(local, "LOCK_WAIT_SECONDS", 0.0)
    with local.sole_driver("cpu") as lock:
        assert lock is not None
        assert tasks.drive_local("cpu") == 0
    assert "being driven already" in caplog.text
    assert tasks.drive_local("cpu") == 1


def test_it_drives_nothing_where_the_engine_has_no_part_for_the_device(machine, monkeypatch):
    monkeypatch.setattr(local, "registration", lambda kind: None)
    assert tasks.drive_local("gpu") == 0
    assert not Runner.objects.exists()


def test_it_heals_a_damaged_package_at_the_next_claim(machine, settings):
    send("ok")
    tasks.drive_local("cpu")
    for path in settings.PACKAGES_DIR.iterdir():
        path.write_bytes(b"damaged")
    send("ok")
    assert tasks.drive_local("cpu") == 1
    assert all(packages.is_kept(path.name.removesuffix(".tar.gz")) for path in settings.PACKAGES_DIR.iterdir())


def test_it_looks_at_every_queue_that_this_machine_can_serve(db, monkeypatch):
    monkeypatch.setattr(local, "has_gpu", lambda: True)
    tasks.nudge_queues()
    assert [row.key for row in OrmQ.objects.order_by("id")] == ["cpu", "gpu"]
    monkeypatch.setattr(local, "has_gpu", lambda: False)
    tasks.nudge_queues()
    assert OrmQ.objects.count() == 3


def test_it_survives_a_nudge_that_cannot_be_sent(monkeypatch, caplog):
    def fails(*_, **__):
        raise RuntimeError("no broker")

    monkeypatch.setattr(tasks, "async_task", fails)
    tasks.nudge("cpu")
    assert "could not nudge" in caplog.text


def test_it_installs_no_signal_handler_outside_the_main_thread(machine):
    counts = []
    thread = threading.Thread(target=lambda: counts.append(stops()))
    thread.start()
    thread.join()
    assert counts == [False]


def stops():
    with tasks._stop_on_sigterm() as stop:
        return stop.is_set()
