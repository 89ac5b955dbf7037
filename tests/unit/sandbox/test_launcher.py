"""The launcher's steps, taken in this process where that changes nothing."""

import os
import resource

import pytest

from native_bench.sandbox import launcher


@pytest.fixture
def executed(monkeypatch):
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call))
    return calls


def test_it_becomes_the_command_with_an_empty_environment(executed, tmp_path):
    group = tmp_path / "cgroup.procs"
    group.write_text("?")
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    cpus = ",".join(map(str, os.sched_getaffinity(0)))
    steps = [f"join={group}", f"cpus={cpus}", f"nice={os.nice(0)}", f"limit={resource.RLIMIT_CORE}:{soft}:{hard}"]
    launcher.main([*steps, "--", "/bin/prog", "--", "x"])
    assert executed == [("/bin/prog", ["/bin/prog", "--", "x"], {})]
    assert group.read_text() == "0"


def test_it_never_asks_for_more_than_it_may_have(monkeypatch):
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda number: (100, 200))
    monkeypatch.setattr(resource, "setrlimit", lambda number, pair: asked.append(pair))
    launcher.limit("7:150:300")
    launcher.limit("7:500:600")
    assert asked == [(150, 200), (200, 200)]


def test_it_names_the_step_that_failed(executed, capsys):
    with pytest.raises(SystemExit) as ended:
        launcher.main(["join=/no/such/group", "--", "/bin/prog"])
    assert ended.value.code == launcher.EXIT_FAILED
    assert capsys.readouterr().err == "sandbox: join /no/such/group: No such file or directory\n"
    assert executed == []


def test_it_tells_why_a_system_call_failed():
    with pytest.raises(OSError, match="mount nothing on /no/such/place"):
        launcher.mount("nothing", "/no/such/place", None, launcher.MS_BIND)
