"""The loop with a real child process: each way a run can end, and that nothing is left of it."""

from dataclasses import replace

import pytest

from runners.daemon import drive, execution, run_one
from runners.protocol import Order, Registered
from submissions.kernel_package.archive import write_archive
from tests.unit.runners.fake_port import SECRET, FakePort
from tests.unit.runners.processes import is_running

REGISTERED = Registered(1, 0.2, 60.0)


def never():
    return False


def run(port, config, should_stop=never):
    assert run_one(port, REGISTERED, config, should_stop)
    assert not list((config.workdir / "runs").iterdir())
    return port.results


def test_it_runs_all_that_is_queued_and_then_ends(config, registration):
    port = FakePort(["ok", "wrong"])
    (config.workdir / "runs" / "left-behind").mkdir(parents=True)
    assert drive(port, registration, config, never) == 2
    assert port.registrations == [registration]
    assert [result.verdict for result in port.results] == ["ok", "wrong_result"]
    assert port.stages == ["build", "time", "build"]
    assert port.logs[1] == "compiled\n"
    assert not list((config.workdir / "runs").iterdir())


def test_it_claims_nothing_when_told_to_stop(config, registration):
    port = FakePort(["ok"])
    assert drive(port, registration, config, lambda: True) == 0
    assert drive(port, registration, replace(config, drive_seconds=0.0), never) == 0
    assert port.behaviours == ["ok"]


def test_it_gives_the_engine_its_folder_its_secret_and_a_bare_environment(config):
    [result] = run(FakePort(["ok"]), config)
    assert result.contestants["candidate"] == result.contestants["baseline"] is not None
    assert result.contestants["incumbent"] is None
    assert result.details == {"hidden": 1}
    assert set(result.environment["files"]) == {"job.json", "problem", "candidate", "baseline", "tmp"}
    assert {"HOME", "TMPDIR", "PATH"} <= set(result.environment["variables"])
    assert not [name for name in result.environment["variables"] if name.startswith(("KERNEL_ZOO", "DJANGO"))]


@pytest.mark.parametrize(
    ("behaviour", "code", "words"),
    [
        ("dies", "run:engine-died", "killed by SIGKILL"),
        ("exits", "run:engine-died", "ended with status 3"),
        ("garbage", "run:engine-broken", "no JSON"),
        ("odd_event", "run:engine-broken", "progress event"),
        ("flood", "run:engine-broken", "without an end of line"),
    ],
)
def test_it_takes_a_broken_engine_for_a_fault_of_ours(config, pids, caplog, behaviour, code, words):
    [result] = run(FakePort([behaviour]), config)
    assert (result.verdict, result.code) == ("infra_error", code)
    assert words in result.message
    assert result.stage == "build"
    assert pids.are_gone("engine")
    assert SECRET not in caplog.text


def test_it_refuses_a_package_with_another_digest(config):
    port = FakePort(["ok"])
    port.package = lambda digest: write_archive({"behaviour.txt": b"another"})
    [result] = run(port, config)
    assert result.code == "runner:package-digest"


def test_it_forwards_head_and_tail_of_a_long_log(config):
    port = FakePort(["chatty"])
    run(port, config)
    whole = "".join(port.logs[number] for number in sorted(port.logs))
    assert list(port.logs) == list(range(1, len(port.logs) + 1))
    assert len(whole) < 270_000
    assert "characters left out" in whole
    assert whole.endswith("the very end\n")


def test_it_sends_a_lost_log_chunk_again_under_its_number(config):
    port = FakePort(["ok"], unreachable_logs=1)
    run(port, config)
    assert port.logs == {1: "compiled\n"}


def test_it_stops_a_cancelled_run_and_says_so(config, pids):
    port = FakePort(["stubborn"], order=Order(keep=False, reason="cancelled"), order_at="time")
    [result] = run(port, config)
    assert (result.verdict, result.code) == ("cancelled", "run:cancelled")
    assert pids.are_gone("engine", "grandchild")


def test_it_gives_a_run_back_when_the_runner_stops(config, pids):
    port = FakePort(["stubborn"])
    [result] = run(port, config, lambda: bool(pids.folder.joinpath("grandchild").exists()))
    assert (result.verdict, result.code) == ("runner_lost", "run:runner-stopping")
    assert pids.are_gone("engine", "grandchild")


def test_it_obeys_a_stop_it_has_no_word_for(config):
    [result] = run(FakePort(["slow"], order=Order(keep=False, reason="preempted")), config)
    assert result.code == "run:stopped"
    assert "preempted" in result.message


@pytest.mark.parametrize("behaviour", ["slow", "closes_streams"])
def test_it_ends_a_run_that_takes_too_long(config, behaviour):
    [result] = run(FakePort([behaviour]), replace(config, run_seconds=0.5))
    assert (result.verdict, result.code) == ("infra_error", "run:overran")


def test_it_forgets_a_run_whose_lease_is_lost(config, pids):
    port = FakePort(["slow"], order=Order(keep=False, reason="lost"))
    assert run(port, config) == []
    assert pids.are_gone("engine")
    port = FakePort(["stubborn"], is_lost=True)
    assert run(port, config) == []


def test_it_kills_its_own_run_when_heartbeats_stay_unanswered(config, pids):
    port = FakePort(["stubborn"], are_beats_lost=True)
    assert run_one(port, Registered(1, 0.2, 2.0), config, never)
    assert pids.are_gone("engine", "grandchild")
    assert port.results == []
    assert len(port.beats) > 2


def test_it_leaves_no_grandchild_of_a_run_that_ended_well(config, pids):
    [result] = run(FakePort(["leaves_grandchild"]), config)
    assert result.verdict == "ok"
    assert not is_running(pids.of("grandchild"))


def test_it_sends_a_result_until_it_is_taken(config):
    port = FakePort(["ok"], unreachable_results=2)
    [result] = run(port, config)
    assert result.verdict == "ok"


def test_it_shows_progress_soon(config, monkeypatch):
    port = FakePort(["slow"])
    monkeypatch.setattr(execution, "_TICK_SECONDS", 0.05)
    run_one(port, Registered(1, 0.3, 60.0), config, lambda: ("build", 0.25) in port.beats)
    assert ("build", 0.25) in port.beats
