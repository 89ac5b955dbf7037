"""The supervisor on real processes: it restarts, it stops all of a group, it ends a dead predecessor's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zoo_site.supervisor import Service, Supervisor, end_leftover_groups

FAMILY = (
    "import subprocess, sys, time, os\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
    "time.sleep(600)\n"
)


def family(tmp_path, name="web", **options):
    return Service(
        name, (sys.executable, "-c", FAMILY, str(tmp_path / f"{name}.pids")), dict(os.environ), **options
    )


def pids(tmp_path, name="web"):
    path = tmp_path / f"{name}.pids"
    wait_for(lambda: path.exists() and len(path.read_text().split()) == 2)
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


def test_it_ends_what_a_killed_supervisor_left(tmp_path):
    code = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from tests.unit.zoo_site.test_supervisor import family\n"
        "from zoo_site.supervisor import Supervisor\n"
        "Supervisor([family(Path(sys.argv[1]))], Path(sys.argv[1])).start()\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    group = pids(tmp_path)
    process.kill()
    process.wait()
    assert all(is_running(pid) for pid in group)
    Supervisor([], tmp_path).end_predecessor()
    wait_for(lambda: not any(is_running(pid) for pid in group))


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
