"""No sandbox, no run: the probe says what is wrong, what to do, and what is weaker than it could be."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from native_bench.sandbox import SandboxMissing, open_sandbox, probe
from native_bench.sandbox.cgroup import Hierarchy
from native_bench.sandbox.equipment import bwrap_version, find_program
from native_bench.sandbox.stub import StubSandbox

# The package shows the function of the same name.
probing = importlib.import_module("native_bench.sandbox.probe")


@pytest.mark.sandbox
def test_it_reaches_the_full_level_as_root():
    found = probe()
    if os.geteuid() != 0:
        assert found.level == "user"
        assert found.reasons
    elif not found.reasons:
        assert found.level == "full"


@pytest.mark.sandbox
def test_it_tells_what_a_root_without_groups_lacks(monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("an ordinary user has no groups to lose")
    monkeypatch.setattr(probing, "find_hierarchy", lambda: Hierarchy(1, {}, ("cgroup: no memory controller",)))
    found = probe()
    assert found.level == "user"
    assert found.reasons == ("cgroup: no memory controller", "memory bounded per process")


@pytest.mark.sandbox
def test_it_tells_of_a_group_that_can_not_be_made(monkeypatch, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("an ordinary user has no groups to lose")
    broken = Hierarchy(1, {"memory": tmp_path / "absent", "pids": tmp_path})
    monkeypatch.setattr(probing, "find_hierarchy", lambda: broken)
    found = probe()
    assert found.level == "user"
    assert "absent" in found.reasons[0]


@pytest.mark.sandbox
def test_it_works_without_an_outer_namespace_but_says_so(monkeypatch):
    candidates = list(probing._candidates())
    monkeypatch.setattr(probing, "_candidates", lambda: iter(candidates[-1:]))
    found = probe()
    assert found.level == "user"
    assert [reason for reason in found.reasons if "may leave it running" in reason]


@pytest.mark.sandbox
def test_it_leaves_nothing_without_an_outer_namespace_either(monkeypatch, limits):
    candidates = list(probing._candidates())
    monkeypatch.setattr(probing, "_candidates", lambda: iter(candidates[-1:]))
    sandbox = open_sandbox(slot=8)
    with sandbox.start(["/bin/sh", "-c", "setsid sleep 300 & exec sleep 300"], limits()) as cell:
        while len(cell.payload_pids()) < 2:
            pass
        pids = cell.payload_pids()
    assert not [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()]


@pytest.mark.sandbox
def test_it_fails_closed_when_bubblewrap_fails(monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\n[ $1 = --version ] && echo bubblewrap 0.8.0 && exit\necho no way >&2; exit 1\n")
    broken.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(
        probing, "find_program", lambda name: broken if name == "bwrap" else Path("/usr/bin/prlimit")
    )
    monkeypatch.setattr(
        probing,
        "_HINTS",
        (("/proc/sys/kernel/ostype", "Linux", "try another way"), ("/proc/absent", "1", "not this one")),
    )
    with pytest.raises(SandboxMissing) as refused:
        open_sandbox()
    assert "no sandbox can be built here" in str(refused.value)
    assert "try another way" in str(refused.value)
    assert "not this one" not in str(refused.value)


@pytest.mark.sandbox
def test_it_fails_closed_when_the_filter_does_not_hold(monkeypatch):
    monkeypatch.setitem(probing._EXPECTED, "Seccomp", "3")
    with pytest.raises(SandboxMissing, match="Seccomp is '2' inside"):
        open_sandbox()


def test_it_names_the_package_to_install():
    with pytest.raises(SandboxMissing, match="apt-get install -y --no-install-recommends bubblewrap"):
        find_program("no-such-bwrap")


@pytest.mark.parametrize("said", ["bubblewrap 0.4.0", "what?"])
def test_it_refuses_a_bubblewrap_that_can_not_bound_folders(tmp_path, said):
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    with pytest.raises(SandboxMissing, match=r"0\.6 or later"):
        bwrap_version(program)


def test_it_refuses_a_machine_without_a_filter(monkeypatch):
    monkeypatch.setattr(probing.platform, "machine", lambda: "riscv64")
    with pytest.raises(SandboxMissing, match="riscv64"):
        open_sandbox()


def test_it_isolates_nothing_only_when_asked_by_name():
    assert isinstance(open_sandbox("stub"), StubSandbox)
    with pytest.raises(SandboxMissing, match="unknown sandbox backend"):
        open_sandbox("none")
    with pytest.raises(ValueError, match="slot 256"):
        open_sandbox(slot=256)


def test_it_starts_processes_again_after_a_fork(tmp_path):
    code = """
import os
from native_bench.sandbox.spawning import spawn
assert spawn(["/bin/true"], (-3, -3, -3), ()).wait() == 0
if os.fork() == 0:
    os._exit(spawn(["/bin/true"], (-3, -3, -3), ()).wait())
print(os.wait()[1])
try:
    spawn(["/no/such"], (-3, -3, -3), ())
except OSError as error:
    print(error.errno)
"""
    root = Path(probing.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=root, check=False, timeout=60)
    assert done.stdout == b"0\n2\n", done.stderr
