"""Our own mishaps: an interruption, a lost folder, an exit with sandboxes open. Nothing may be left then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from native_bench.sandbox import Bind, spawning
from native_bench.sandbox import bwrap as backend
from native_bench.sandbox.status import SetupFailed, StatusPipe
from tests.unit.sandbox import ordinary_user
from tests.unit.sandbox.test_cells import own_groups, running, wait_until

pytestmark = pytest.mark.sandbox

LEAVE = """
import sys
from native_bench.sandbox import Limits, open_sandbox
limits = Limits(wall_seconds=60, cpu_seconds=60, memory_bytes=256 << 20, processes=32, file_bytes=1 << 20)
cells = [open_sandbox(slot=10).start(["/bin/sleep", sys.argv[1]], limits) for _ in range(2)]
print([cell.poll() for cell in cells], flush=True)
"""


@pytest.fixture
def descriptors():
    """Checks that as many descriptors are open after the test as before."""
    spawning.spawn(["/bin/true"], (-3, -3, -3), ()).wait()
    before = len(list(Path("/proc/self/fd").iterdir()))
    yield
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("binds", [(), (Bind(Path("/"), "/out", writable=True),)], ids=["plain", "gated"])
def test_it_cleans_up_when_interrupted_while_starting(real, limits, monkeypatch, descriptors, binds):
    def interrupted(self, seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(StatusPipe, "find_processes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        real.start(["/bin/sleep", "301"], limits(), binds)
    assert wait_until(lambda: running("sleep\x00301") == [])
    assert own_groups(os.getpid()) == []


def test_it_cleans_up_when_the_launcher_can_not_be_started(real, limits, monkeypatch, descriptors):
    monkeypatch.setattr(backend, "command", lambda *_: ["/no/such/launcher"])
    with pytest.raises(FileNotFoundError):
        real.start(["/bin/true"], limits(), [Bind(Path("/"), "/out", writable=True)])
    assert own_groups(os.getpid()) == []


def test_it_reports_a_setup_that_takes_too_long(real, limits, monkeypatch, descriptors):
    def impatient(self, seconds):
        raise SetupFailed

    monkeypatch.setattr(StatusPipe, "find_processes", impatient)
    assert real.run(["/bin/sleep", "302"], limits()).status == "setup_failed"
    assert wait_until(lambda: running("sleep\x00302") == [])


def test_it_reports_an_end_before_the_folders_are_open(real, limits, monkeypatch, descriptors, folder):
    monkeypatch.setattr(backend, "MARK", "/never")
    monkeypatch.setattr(backend, "_SETUP_SECONDS", 0.5)
    end = real.run(["/bin/sleep", "303"], limits(), [Bind(folder, "/out", writable=True)])
    assert end.status == "setup_failed"
    assert running("sleep\x00303") == []


def test_it_tells_the_waiting_thread_what_went_wrong_here(real, limits, descriptors, folder):
    lost = folder / "lost"
    lost.mkdir()
    cell = real.start(["/bin/sleep", "0.2"], limits(), [Bind(lost / "deeper", "/out", writable=True)])
    lost.rmdir()
    with pytest.raises(FileNotFoundError):
        cell.wait()
    assert own_groups(os.getpid()) == []


@pytest.mark.parametrize("as_user", [False, True], ids=["here", "ordinary user"])
def test_it_ends_open_sandboxes_when_we_exit(as_user):
    if not as_user:
        command = [sys.executable, "-c", LEAVE, "304"]
        done = subprocess.run(command, capture_output=True, check=False, cwd=ordinary_user.ROOT)
    elif os.geteuid() == 0 and ordinary_user.is_possible():
        done = ordinary_user.as_user(LEAVE, "304")
    else:
        pytest.skip("only root can also become an ordinary user, who must be able to read the checkout")
    assert (done.returncode, done.stdout) == (0, b"[None, None]\n"), done.stderr
    assert running("sleep\x00304") == []
