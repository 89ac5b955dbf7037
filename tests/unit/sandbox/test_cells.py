"""Long-lived sandboxes, and what is left when they, or we, are killed: nothing."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from native_bench.sandbox import Bind
from native_bench.sandbox.cgroup import PREFIX, ROOT, sweep
from tests.unit.sandbox import ordinary_user

pytestmark = pytest.mark.sandbox

DAEMON = """
import os, signal, sys, time
for number in (1, 2, 15):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        sys.stdin.close()
        time.sleep(300)
    os._exit(0)
os.wait()
print("ready", flush=True)
if len(sys.argv) > 1:
    time.sleep(300)
"""


def running(mark: str) -> list[int]:
    """Pids of the processes of this machine with `mark` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def mark():
    return f"# {uuid.uuid4().hex}\n"


def test_it_knows_the_processes_inside(real, limits, mark):
    with real.start(["/usr/bin/python3", "-c", mark + DAEMON, "stay"], limits()) as cell:
        assert wait_until(lambda: len(cell.payload_pids()) == 2 and set(cell.payload_pids()) <= set(running(mark)))
        assert cell.poll() is None
        assert Path(f"/proc/{cell.payload_pids()[0]}/comm").read_text() == "python3\n"
    assert cell.payload_pids() == ()


def test_it_leaves_no_daemon_when_killed(real, limits, mark):
    cell = real.start(["/usr/bin/python3", "-c", mark + DAEMON, "stay"], limits())
    assert wait_until(lambda: len(cell.payload_pids()) == 2)
    end = cell.kill()
    assert running(mark) == []
    assert (end.status, end.signal) == ("signalled", "SIGKILL")
    assert cell.kill() is cell.wait() is cell.poll() is end


def test_it_leaves_no_daemon_when_the_program_ends(real, limits, mark):
    assert real.run(["/usr/bin/python3", "-c", mark + DAEMON], limits()).stdout == b"ready\n"
    assert running(mark) == []


def test_it_leaves_no_daemon_at_the_wall_time(real, limits, mark):
    end = real.run(["/usr/bin/python3", "-c", mark + DAEMON, "stay"], limits(wall_seconds=1))
    assert end.status == "timed_out"
    assert running(mark) == []


def test_it_waits_no_longer_than_asked(real, limits):
    with real.start(["/bin/sleep", "30"], limits()) as cell, pytest.raises(TimeoutError, match=r"0\.05 s"):
        cell.wait(0.05)


def test_it_keeps_cells_apart(real, limits):
    code = (
        "import os; open('/tmp/x', 'x'); print(os.getuid(), len([p for p in os.listdir('/proc') if p.isdigit()]))"
    )
    cells = [real.start(["/usr/bin/python3", "-c", code], limits()) for _ in range(3)]
    told = [cell.wait().stdout.decode().split() for cell in cells]
    assert {count for _, count in told} == {"2"}
    if os.geteuid() == 0:
        assert len({uid for uid, _ in told}) == 3


def test_it_closes_what_it_opened(real, limits):
    real.run(["/usr/bin/true"], limits())
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        real.run(["/usr/bin/true"], limits())
        real.run(["/usr/bin/no-such-program"], limits())
        real.start(["/bin/sleep", "9"], limits()).kill()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_it_leaves_no_group_behind(real, limits):
    real.run(["/usr/bin/true"], limits())
    assert own_groups(os.getpid()) == []


def own_groups(pid: int) -> list[Path]:
    return list(ROOT.glob(f"**/{PREFIX}{pid}-*"))


def start_engine(code: str, folder: Path, as_user: bool) -> subprocess.Popen:
    who = [*ordinary_user._AS_USER, ordinary_user.PYTHON, "-B"] if as_user else [sys.executable]
    command = [*who, "-m", "tests.unit.sandbox.engine", code, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ordinary_user.ROOT)


@pytest.mark.parametrize("as_user", [False, True], ids=["here", "ordinary user"])
def test_it_dies_with_its_engine(folder, mark, as_user):
    if as_user and (os.geteuid() != 0 or not ordinary_user.is_possible()):
        pytest.skip("only root can also become an ordinary user, who must be able to read the checkout")
    with start_engine(mark + DAEMON.replace("len(sys.argv) > 1", "True"), folder, as_user) as engine:
        assert engine.stdout.readline() == b"open\n"
        pids = [int(pid) for pid in engine.stdout.readline().split()]
        assert len(pids) >= 3
        engine.send_signal(signal.SIGKILL)
        engine.wait()
    assert wait_until(lambda: running(mark) == [])
    assert wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in pids))


@pytest.mark.parametrize("as_user", [False, True], ids=["here", "ordinary user"])
def test_it_dies_with_an_engine_killed_while_it_starts(folder, mark, as_user):
    if as_user and (os.geteuid() != 0 or not ordinary_user.is_possible()):
        pytest.skip("only root can also become an ordinary user, who must be able to read the checkout")
    for delay in range(0, 60, 5):
        with start_engine(mark + DAEMON.replace("len(sys.argv) > 1", "True"), folder, as_user) as engine:
            assert engine.stdout.readline() == b"open\n"
            time.sleep(delay / 1000)
            engine.send_signal(signal.SIGKILL)
            engine.wait()
        assert wait_until(lambda: running(mark) == []), f"killed after {delay} ms"


def test_it_sweeps_the_groups_of_a_dead_engine(folder, mark, real):
    if real.isolation != "full":
        pytest.skip("no groups without root")
    with start_engine(mark + DAEMON.replace("len(sys.argv) > 1", "True"), folder, False) as engine:
        engine.stdout.readline()
        engine.stdout.readline()
        engine.send_signal(signal.SIGKILL)
        engine.wait()
    left = own_groups(engine.pid)
    assert left
    sweep(real.equipment.hierarchy)
    assert own_groups(engine.pid) == []


def test_it_leaves_no_mount_behind(real, limits, folder):
    before = Path("/proc/self/mountinfo").read_text()
    with real.start(["/bin/sleep", "30"], limits(), [Bind(folder, "/out", writable=True)]):
        assert Path("/proc/self/mountinfo").read_text() == before
    assert Path("/proc/self/mountinfo").read_text() == before
