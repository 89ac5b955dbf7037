"""A sitting's structure: what is measured, how it is told, who is blamed. No test here looks at speed."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from native_bench.cpu import trusted
from native_bench.cpu.case_times import CaseTimes, usable_rounds
from native_bench.job import Job
from native_bench.outcome import RunEnded
from native_bench.run import run_job
from submissions.evaluation.statistics import combine_cases, ratio_interval, time_interval
from submissions.kernel_package.problem import Case, Problem, parse_problem
from submissions.kernel_package.schema import check_schema
from tests.unit.native_bench.conftest import HONEST, PROBLEM_ID, PROBLEM_YAML, Heard, Judge, contestant, kernel

pytestmark = pytest.mark.sandbox


def test_it_times_candidate_baseline_and_incumbent_together(judge: Judge) -> None:
    result = judge(HONEST, mode="ranked", processes=3, incumbent=contestant(kernel("LOOP ;")))
    assert result["verdict"] == "ok", result["message"]
    case = result["cases"][0]
    assert result["processes"] == 3
    assert {role: len(values) for role, values in case["log_ratio"].items()} == {"baseline": 3, "incumbent": 3}
    assert len(case["t_min_ns"]) == len(case["base_t_min_ns"]) == 3
    assert all(math.isfinite(value) and value > 0 for value in case["t_min_ns"] + case["base_t_min_ns"])
    assert 1 <= case["batch_n"] <= 64
    assert case["rounds"] >= 4
    assert case["handshake_ns"] > 0
    interval = ratio_interval(combine_cases([(1.0, case["log_ratio"]["baseline"])]))
    assert 0 < interval.lo <= interval.value <= interval.hi < math.inf
    times = time_interval(case["t_min_ns"])
    assert times.lo <= times.value <= times.hi


def test_it_keeps_the_time_of_every_batch(judge: Judge) -> None:
    result = judge(HONEST, mode="ranked", processes=2)
    samples = json.loads(result["samples"])
    case, [told] = samples["cases"][0], result["cases"]
    assert (samples["unit"], case["id"], case["batch_n"]) == ("ns", told["id"], told["batch_n"])
    assert len(case["sets"]) == len(case["handshake_ns"]) == 2
    for at, batches in enumerate(case["sets"]):
        assert len(batches["candidate"]) == len(batches["baseline"]) >= told["rounds"]
        least = min(min(pair) for pair in batches["candidate"]) - case["handshake_ns"][at]
        assert least / case["batch_n"] == pytest.approx(told["t_min_ns"][at])


def test_its_cold_mode_times_single_calls(judge: Judge) -> None:
    contract = PROBLEM_YAML.replace(b"mode: hot", b"mode: cold").replace(b"dims: {n: 640}", b"dims: {n: 16384}")
    cold = parse_problem(contract, PROBLEM_ID)
    result = judge(HONEST, mode="ranked", problem=cold)
    assert result["verdict"] == "ok", result["message"]
    assert result["cases"][0]["batch_n"] == 1
    assert 25 <= result["cases"][0]["rounds"] <= 200


def test_it_says_what_else_the_machine_did(judge: Judge) -> None:
    environment = judge(HONEST, mode="ranked")["environment"]
    assert 1 <= len(environment["self_test_log_ratio"]) <= 5
    assert environment["tsc_mhz"] > 0
    assert environment["involuntary_switches"] >= 0
    assert 0 <= environment["steal_share"] <= 1


def test_it_measures_a_baseline_against_a_second_copy_of_itself(judge: Judge) -> None:
    result = judge(HONEST, mode="benchmark", baseline=None)
    assert result["verdict"] == "ok", result["message"]
    assert len(result["cases"][0]["log_ratio"]["baseline"]) == 1
    assert result["cases"][0]["log_ratio"]["incumbent"] == []


def test_it_reports_every_stage_and_growing_progress(make_job: Callable[..., Job]) -> None:
    heard = Heard()
    result = run_job(make_job(HONEST, mode="ranked"), heard)
    assert heard.stages == ["prepare", "build", "inspect", "check", "time", "report"]
    assert list(result["stages_ms"]) == heard.stages
    assert heard.fractions[-1] == 1.0


def test_its_result_fits_a_run_record(judge: Judge) -> None:
    result = judge(HONEST, mode="ranked")
    del result["samples"]  # an artifact's
    record = {
        **result,
        "schema_version": 1,
        "uuid": "01234567-89ab-4cde-8f01-23456789abcd",
        "kind": "measure",
        "mode": "ranked",
        "submission": None,
        "attempt": 1,
        "epoch": 1,
        "kernel_id": "x86_64/Vector/scale/fp32/tried",
        "problem_version": 1,
        "runner": {"name": "cpu0", "device": "a CPU", "isolation": "full"},
        "artifacts": {},
    }
    check_schema(record, "run", "run-1.json")


def test_it_blames_itself_when_the_baseline_is_wrong(judge: Judge) -> None:
    result = judge(HONEST, mode="ranked", baseline=contestant(kernel("LOOP z[0] = 0;")))
    assert (result["verdict"], result["code"]) == ("infra_error", "time:baseline-wrong-result")


def test_it_blames_itself_when_the_baseline_does_not_build(judge: Judge) -> None:
    result = judge(HONEST, mode="ranked", baseline=contestant(kernel("undeclared")))
    assert (result["verdict"], result["code"]) == ("infra_error", "build:baseline-failed")


@pytest.mark.parametrize(
    ("fate", "verdict", "code"),
    [
        ("for (volatile int i = 0;; ++i) {}", "timed_out", "time:timed-out"),
        ("*(volatile int*)16 = 1;", "crashed", "time:crashed"),
        ("z[-1] = 0;", "wrong_result", "time:out-of-bounds"),
        ("z[n / 2] += 1;", "wrong_result", "time:wrong-result"),
    ],
)
def test_it_judges_timed_calls_too(judge: Judge, fate: str, verdict: str, code: str) -> None:
    # The second call since the data were put back is a timed one: a check has no second call.
    result = judge(kernel(f"LOOP static int calls; if (++calls == 2) {{ {fate} }}"), mode="ranked")
    assert (result["verdict"], result["code"], result["stage"]) == (verdict, code, "time")


def test_its_timer_and_worker_keep_the_sanitizers_quiet(
    make_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sanitized = tmp_path / "timer"
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1")
    sanitized.write_bytes(trusted.compile_program("timer", flags))
    sanitized.chmod(0o755)
    real = trusted.trusted_programs
    where = "native_bench.native_run.trusted_programs"
    monkeypatch.setattr(where, lambda cache: replace(real(cache), timer=sanitized))
    result = run_job(make_job(HONEST, mode="ranked"), Heard())
    assert result["verdict"] == "ok", result["message"]


def times_of(batch: int, case: Case) -> CaseTimes:
    return CaseTimes(case, [], batch)


@pytest.mark.parametrize(
    ("baseline", "candidate", "code"),
    [(1.0, 500.0, "time:too-short"), (1.0, 1.0, "time:too-short"), (500.0, 1.0, "time:too-fast")],
)
def test_it_gives_no_figure_to_a_batch_without_time(
    problem: Problem, baseline: float, candidate: float, code: str
) -> None:
    times = times_of(10, problem.cases[0])
    with pytest.raises(RunEnded) as ended:
        usable_rounds(times, {"candidate": {0: candidate}, "baseline": {0: baseline}})
    assert ended.value.code == code


def test_it_leaves_out_a_round_that_took_no_time(problem: Problem) -> None:
    sides = {"candidate": {0: 11.0, 1: -3.0, 2: 12.0}, "baseline": {0: 500.0, 1: 500.0, 2: 501.0}}
    assert usable_rounds(times_of(10, problem.cases[0]), sides) == [0, 2]
