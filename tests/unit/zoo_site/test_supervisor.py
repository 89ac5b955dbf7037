"""The supervisor on real processes: it restarts, it stops all that was started, it ends a dead predecessor's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zoo_site import supervisor as supervising
from zoo_site.process_family import Families
from zoo_site.supervisor import Service, Supervisor, end_leftover_groups

FAMILY = (
    "import signal, subprocess, sys, time, os\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN if 'waiting' in sys.argv[1] else signal.SIG_DFL)\n"
    "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
    "time.sleep(600)\n"
)

# As a cluster, the guard of a run and its engine, none of which heeds SIGTERM: the guard has a session of its own.
STUBBORN_FAMILY = (
    "import os, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    engine = os.fork()\n"
    "    if engine:\n"
    "        open(sys.argv[1] + '.new', 'w').write(f'{os.getppid()} {os.getpid()} {engine}')\n"
    "        os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
    "elif 'hasty' in sys.argv[1]:\n"
    "    signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
    "time.sleep(600)\n"
)


def family(tmp_path, name="web", code=FAMILY, **options):
    return Service(name, (sys.executable, "-c", code, str(tmp_path / f"{name}.pids")), dict(os.environ), **options)


def pids(tmp_path, name="web"):
    path = tmp_path / f"{name}.pids"
    wait_for(lambda: path.exists() and len(path.read_text().split()) >= 2)
    return [int(pid) for pid in path.read_text().split()]


def wait_for(is_true, seconds=15):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(autouse=True)
def _signals():
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def test_it_stops_whole_groups(tmp_path):
    supervisor = Supervisor([family(tmp_path)], tmp_path)
    supervisor.start()
    group = pids(tmp_path)
    supervisor.stop()
    wait_for(lambda: not any(is_running(pid) for pid in group))
    assert not (tmp_path / "groups.json").exists()


def test_it_stops_everything_in_less_than_five_seconds():
    assert supervising.STOP_SECONDS + supervising.KILL_SECONDS < 5


@pytest.mark.parametrize("name", ["stubborn", "hasty"])
def test_it_kills_what_does_not_heed_sigterm_in_any_session(tmp_path, monkeypatch, name):
    monkeypatch.setattr(supervising, "STOP_SECONDS", 0.3)
    supervisor = Supervisor([family(tmp_path, name, STUBBORN_FAMILY)], tmp_path)
    supervisor.start()
    group = pids(tmp_path, name)
    assert len({os.getsid(pid) for pid in group}) == 2
    supervisor.stop()
    assert not [pid for pid in group if is_running(pid)]
    assert not (tmp_path / "groups.json").exists()


def test_it_waits_for_no_leader_of_a_pool_that_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "STOP_SECONDS", 20)
    monkeypatch.setattr(Families, "kill_within", lambda families, seconds: False)
    supervisor = Supervisor([family(tmp_path, "waiting", is_pool=True)], tmp_path)
    supervisor.start()
    group = pids(tmp_path, "waiting")
    supervisor.stop()
    assert not [pid for pid in group if is_running(pid)]


def test_it_stops_while_its_round_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(supervising, "STOP_SECONDS", 0.3)
    supervisor = Supervisor([family(tmp_path, "web", STUBBORN_FAMILY)], tmp_path)
    supervisor.start()
    group = pids(tmp_path)

    def on_round():
        os.kill(os.getpid(), signal.SIGTERM)
        wait_for(lambda: not any(is_running(pid) for pid in group))

    supervisor.watch(0.01, on_round)
    supervisor.stop()
    assert not supervisor.is_alive("web")


def test_it_starts_nothing_once_it_stops(tmp_path):
    supervisor = Supervisor([family(tmp_path)], tmp_path)
    supervisor.start()
    pids(tmp_path)
    supervisor.stop()
    supervisor._restart_fallen()
    supervisor._launch(family(tmp_path, "late"))
    assert supervisor.restarts == {}
    assert not supervisor.is_alive("web") and not supervisor.is_alive("late")


def test_it_gives_up_on_what_outlives_sigkill_and_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(supervising, "STOP_SECONDS", 0.1)
    monkeypatch.setattr(supervising, "KILL_SECONDS", 0.1)
    supervisor = Supervisor([family(tmp_path, "web", STUBBORN_FAMILY)], tmp_path)
    supervisor.start()
    group = pids(tmp_path)
    with monkeypatch.context() as patched:
        # As for a process that hangs in the kernel, which no signal reaches.
        patched.setattr(Families, "kill_within", Families.are_gone_within)
        supervisor.stop()
    assert all(str(pid) in caplog.text for pid in group)
    Supervisor([], tmp_path).end_predecessor()
    assert not [pid for pid in group if is_running(pid)]
    wait_for(lambda: not supervisor.is_alive("web"))


def test_it_ends_in_order_when_told_to_stop_while_it_starts(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.unit.zoo_site.test_supervisor import family\n"
        "from zoo_site.supervisor import Supervisor\n"
        "folder = Path(sys.argv[1])\n"
        "def services():\n"
        "    yield family(folder, 'first')\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    yield family(folder, 'second')\n"
        "supervisor = Supervisor(services(), folder)\n"
        "supervisor.start()\n"
        "supervisor.watch(0.01, lambda: print('a round'))\n"
        "supervisor.stop()\n"
        "print(supervisor.is_alive('first'), list(supervisor._running))\n"
    )
    # To a file: what is left running would hold a pipe open, and the test with it.
    printed = tmp_path / "printed"
    with printed.open("w") as output:
        ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, stdout=output)
    assert (ended.returncode, printed.read_text()) == (0, "False ['first']\n")


def test_it_restarts_a_killed_process_with_its_group(tmp_path):
    supervisor = Supervisor([family(tmp_path)], tmp_path)
    supervisor.start()
    first, child = pids(tmp_path)
    (tmp_path / "web.pids").unlink()
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not supervisor.is_alive("web"))
    supervisor._restart_fallen()
    second, _ = pids(tmp_path)
    assert second != first and supervisor.restarts == {"web": 1}
    wait_for(lambda: not is_running(child))
    supervisor.stop()


def test_it_restarts_a_process_that_hangs(tmp_path):
    supervisor = Supervisor([family(tmp_path, is_stuck=lambda started: True)], tmp_path)
    supervisor.start()
    first, _ = pids(tmp_path)
    supervisor._restart_fallen()
    wait_for(lambda: not is_running(first))
    supervisor.stop()
    assert supervisor.restarts == {"web": 1}


def test_it_watches_until_a_signal(tmp_path):
    supervisor = Supervisor([family(tmp_path)], tmp_path)
    supervisor.start()
    rounds = []

    def on_round():
        rounds.append(1)
        os.kill(os.getpid(), signal.SIGTERM)

    supervisor.watch(0.01, on_round)
    assert rounds == [1] and supervisor.is_stopping
    supervisor.stop()


@pytest.mark.parametrize("name", ["web", "stubborn"])
def test_it_ends_what_a_killed_supervisor_left(tmp_path, name):
    code = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from tests.unit.zoo_site.test_supervisor import FAMILY, STUBBORN_FAMILY, family\n"
        "from zoo_site.supervisor import Supervisor\n"
        "code = STUBBORN_FAMILY if 'stubborn' in sys.argv[2] else FAMILY\n"
        "Supervisor([family(Path(sys.argv[1]), sys.argv[2], code)], Path(sys.argv[1])).start()\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name])
    group = pids(tmp_path, name)
    process.kill()
    process.wait()
    assert all(is_running(pid) for pid in group)
    Supervisor([], tmp_path).end_predecessor()
    assert not [pid for pid in group if is_running(pid)]


def test_it_spares_a_process_that_only_has_the_pid(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    (tmp_path / "groups.json").write_text(f'{{"web": [{other.pid}, 1]}}')
    end_leftover_groups(tmp_path / "groups.json")
    assert other.poll() is None
    other.kill()
    other.wait()


def test_it_ignores_a_torn_file(tmp_path):
    (tmp_path / "groups.json").write_text("{")
    end_leftover_groups(tmp_path / "groups.json")
