"""What the guard owes when its daemon can do nothing any more."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from runners.daemon import guard
from runners.daemon.child import EngineChild, describe_exit
from runners.daemon.guard import now_seconds
from runners.daemon.spawn import Child, spawn
from tests.unit.runners.processes import is_running, open_files, wait_for


@pytest.fixture
def daemon(tmp_path, pids):
    started = []

    def start(behaviour, lease_seconds):
        argv = [
            sys.executable,
            "-m",
            "tests.unit.runners.daemon_process",
            behaviour,
            str(lease_seconds),
            str(tmp_path),
        ]
        started.append(subprocess.Popen(argv, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def runs_in(tmp_path):
    return list((tmp_path / "work" / "runs").iterdir())


def test_it_leaves_nothing_of_a_daemon_killed_with_sigkill(daemon, pids, tmp_path):
    process = daemon("stubborn", 60)
    pids.of("grandchild")
    assert runs_in(tmp_path)
    process.kill()
    assert pids.are_gone("engine", "grandchild", seconds=10)
    wait_for(lambda: not runs_in(tmp_path))


def test_it_leaves_nothing_when_the_daemons_whole_group_is_killed(daemon, pids):
    process = daemon("stubborn", 60)
    pids.of("grandchild")
    os.killpg(process.pid, signal.SIGKILL)
    assert pids.are_gone("engine", "grandchild", seconds=10)


def test_it_ends_the_run_of_a_frozen_daemon_at_the_deadline(daemon, pids):
    process = daemon("stubborn", 3)
    pids.of("grandchild")
    process.send_signal(signal.SIGSTOP)
    assert pids.are_gone("engine", "grandchild", seconds=15)


def test_it_dies_with_the_engine_when_the_guard_itself_is_killed(config, pids, tmp_path):
    with started(config, tmp_path, "slow") as child:
        engine = pids.of("engine")
        os.kill(child._guard.pid, signal.SIGKILL)
        wait_for(lambda: not is_running(engine))
        assert child.wait() == 128 + signal.SIGKILL


def test_it_outlives_the_thread_that_started_the_run(config, pids, tmp_path):
    # PR_SET_PDEATHSIG fires when the starting *thread* ends: the guard's own main thread must be the parent.
    children = []
    thread = threading.Thread(target=lambda: children.append(started(config, tmp_path, "slow")))
    thread.start()
    thread.join()
    with children[0] as child:
        engine = pids.of("engine")
        assert child._guard.wait(0.5) is None
        assert is_running(engine)
    assert not is_running(engine)


def test_it_keeps_descriptors_from_the_engine(config, pids, tmp_path):
    held = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    with started(config, tmp_path, "slow", held_fds=(held,)) as child:
        engine = pids.of("engine")
        assert str(tmp_path / "lock") in open_files(child._guard.pid).values()
        assert set(open_files(engine)) == {0, 1, 2}
    os.close(held)


def test_it_says_how_an_engine_ended():
    assert describe_exit(None) == "did not end"
    assert describe_exit(0) == "ended with status 0"
    assert describe_exit(128 + signal.SIGSEGV) == "was killed by SIGSEGV"
    assert describe_exit(guard.EXIT_DEADLINE) == "was stopped at the end of its lease"
    assert describe_exit(255) == "ended with status 255"


def test_it_reports_a_program_that_does_not_start(config, tmp_path):
    missing = replace(config, engine=(str(tmp_path / "no-such-program"),))
    with started(missing, tmp_path, "slow") as child:
        while child.is_there:
            list(child.events(1.0))
        assert child.wait() == guard.EXIT_NOT_STARTED


def test_it_waits_no_longer_than_asked():
    null = os.open(os.devnull, os.O_RDWR)
    child = Child(spawn([sys.executable, "-c", "import time; time.sleep(60)"], os.environ, (null, null, null)))
    assert child.wait(0.05) is None
    child.kill()
    assert child.wait(0) == 128 + signal.SIGKILL
    child.kill()
    child.close()
    os.close(null)


def started(config, tmp_path, behaviour, held_fds=()):
    folder = tmp_path / "run"
    (folder / "candidate").mkdir(parents=True)
    (folder / "candidate" / "behaviour.txt").write_text(behaviour)
    (folder / "job.json").write_text('{"contestants": {}, "processes": 1}')
    first_line = b'{"secret": "00", "hidden_dims": []}\n'
    return EngineChild(replace(config, held_fds=held_fds), folder, first_line, now_seconds() + 60)
