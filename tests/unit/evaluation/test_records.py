"""The ledger's records: valid, byte-stable, and with no room for a secret."""

import json
import math
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from runners.protocol import Result
from submissions.evaluation.canonical import canonical_json
from submissions.evaluation.decision import Decision, Standing, decide
from submissions.evaluation.records import (
    Ending,
    RunFacts,
    RunnerFacts,
    SubmissionFacts,
    decision_record,
    empty_result,
    parse_timestamp,
    run_record,
    submission_record,
    timestamp,
)
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.errors import Broken, Rejected
from submissions.kernel_package.schema import check_schema
from tests.unit.evaluation.conftest import CANDIDATE, INCUMBENT, KERNEL_ID, RUN, SUBMISSION

NOW = datetime(2026, 1, 31, 12, 0, 0, 250_000, UTC)
UPLOAD = SubmissionFacts(
    uuid=SUBMISSION,
    kernel_id=str(KERNEL_ID),
    submitter="entrant-a",
    submitter_is_verified=True,
    mode="ranked",
    message="second try",
    package_sha256="a" * 64,
    package_bytes=1234,
    received_at=NOW,
)
FACTS = RunFacts(
    uuid=RUN,
    kind="measure",
    kernel_id=KERNEL_ID,
    problem_version=3,
    finished_at=NOW,
    submission=SUBMISSION,
    epoch=2,
    runner=RunnerFacts("cpu0", "A CPU", "full"),
    artifacts={"log": "6" * 64},
)


@pytest.fixture
def result(record: dict[str, Any]) -> dict[str, Any]:
    names = set(Result.__dataclass_fields__) & set(record)
    return Result.from_json({name: record[name] for name in names}).as_json()


def test_it_makes_the_record_of_a_run(result: dict[str, Any], record: dict[str, Any]) -> None:
    made = run_record(result, FACTS)
    assert made["runner"] == {"name": "cpu0", "device": "A CPU", "isolation": "full", "driver": None}
    assert made["cases"] == record["cases"]
    assert (made["problem_id"], made["epoch"], made["mode"]) == ("Vector/saxpy/fp32", 2, "ranked")
    assert made["finished_at"] == "2026-01-31T12:00:00.250000Z"
    assert json.loads(canonical_json(made)) == made


def test_it_takes_the_smallest_record_the_contract_shows(record: dict[str, Any]) -> None:
    optional = (
        "mode",
        "problem_id",
        "processes",
        "harness_version",
        "finished_at",
        "details",
        "environment",
        "log",
    )
    for name in optional:
        del record[name]
    record["cases"] = [
        {
            "id": "n1m",
            "batch_n": 3,
            "rounds": 40,
            "log_ratio": {"baseline": [0.27], "incumbent": []},
            "t_min_ns": [1.0],
        }
    ]
    check_schema(record, "run", "example")


@pytest.mark.parametrize("verdict", [Verdict.RUNNER_LOST, Verdict.CANCELLED, Verdict.INFRA_ERROR])
def test_it_makes_the_record_of_a_run_nobody_reported(verdict: Verdict) -> None:
    lost = replace(FACTS, runner=RunnerFacts(), artifacts={})
    made = run_record(empty_result(verdict, "run:ended", "the lease ended"), lost)
    assert (made["verdict"], made["cases"], made["evidence"]) == (verdict, [], "static")


def test_it_keeps_the_logs_tail_and_the_messages_head(result: dict[str, Any]) -> None:
    result["log"] = "x" * 10_000 + "end"
    result["message"] = "start" + "x" * 10_000
    made = run_record(result, FACTS)
    assert len(made["log"]) == 8000
    assert made["log"].endswith("end")
    assert len(made["message"]) == 2000
    assert made["message"].startswith("start")


def test_it_keeps_what_json_cannot_as_text(result: dict[str, Any]) -> None:
    result["details"] = {
        "first_wrong": {"got": math.nan, "expected": -math.inf},
        "text": "a\0b\udcff",
        "t": (1, 2),
    }
    result["cases"][0]["max_scaled_error"] = math.inf
    made = run_record(result, FACTS)
    assert made["details"] == {"first_wrong": {"got": "nan", "expected": "-inf"}, "text": "a\ufffdb?", "t": [1, 2]}
    assert made["cases"][0]["max_scaled_error"] is None
    canonical_json(made)


@pytest.mark.parametrize("name", ["secret", "seed", "seeds", "hidden_dims", "version_secret"])
@pytest.mark.parametrize("where", ["details", "environment"])
def test_it_has_no_room_for_a_secret(result: dict[str, Any], where: str, name: str) -> None:
    result[where] = {"deep": [{"er": {name: [1, 2]}}]}
    with pytest.raises(Broken) as caught:
        run_record(result, FACTS)
    assert caught.value.code == "record:invalid"


@pytest.mark.parametrize(
    "change",
    [
        {"secret": "f" * 64},
        {"hidden_dims": [{"n": 3}]},
        {"cases": [{"id": "a", "seed": 1}]},
        {"cases": [{"id": "a", "dims": {"n": 3}}]},
        {"cases": [{"id": "a", "t_min_ns": [0]}]},
        {"cases": [{"id": "a", "t_min_ns": [-1.0]}]},
        {"verdict": "great"},
        {"stages_ms": {"sleep": 1}},
        {"secret_sha256": "0xff"},
        {"runner": {"name": "x", "device": "y", "isolation": "none"}},
        {"finished_at": "2026-01-31T12:00:00+01:00"},
        {"uuid": "x"},
    ],
)
def test_it_refuses_a_record_with_anything_else(record: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        check_schema(record | change, "run", "x")


def test_it_names_sizes_in_a_sweep_only(record: dict[str, Any]) -> None:
    record["cases"][0]["dims"] = {"n": 3}
    check_schema(record | {"kind": "sweep", "submission": None}, "run", "x")
    with pytest.raises(Rejected):
        check_schema(record, "run", "x")


@pytest.mark.parametrize(
    "field", ["log_ratio", "t_min_ns", "base_t_min_ns", "handshake_ns", "batch_n", "rounds", "t_sol_ns"]
)
def test_it_gives_an_emulated_run_no_time(record: dict[str, Any], field: str) -> None:
    record |= {"evidence": "emulated", "cases": [{"id": "small", "max_scaled_error": 0.1}]}
    check_schema(record, "run", "x")
    record["cases"][0][field] = {} if field == "log_ratio" else [1.0] if field.endswith("min_ns") else 1
    with pytest.raises(Rejected):
        check_schema(record, "run", "x")


def test_it_refuses_a_result_nested_without_end(result: dict[str, Any]) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    result["details"] = {"x": deep}
    with pytest.raises(Broken) as caught:
        run_record(result, FACTS)
    assert caught.value.code == "record:invalid"


def test_it_makes_the_record_of_a_rejected_upload() -> None:
    ending = Ending("rejected", "package:link", "'src/a' is a symbolic link", NOW, {"name": "src/a"})
    made = submission_record(replace(UPLOAD, kernel_id="anything at all"), ending)
    assert (made["tree_digest"], made["runs"], made["state"]) == (None, [], "rejected")
    assert made["reason"] == "'src/a' is a symbolic link"


@pytest.mark.parametrize("state", ["accepted", "checked", "failed", "declined", "cancelled", "errored"])
def test_it_makes_the_record_of_every_end(state: str) -> None:
    facts = replace(UPLOAD, tree_digest=CANDIDATE, problem_version=3, idempotency_key="k")
    made = submission_record(facts, Ending(state, "run:ok", "", NOW, runs=(RUN,)))
    assert set(asdict(facts)) <= set(made)
    assert made["runs"] == [RUN]


@pytest.mark.parametrize("change", [{"mode": "quick"}, {"package_sha256": "x"}, {"message": "x" * 501}])
def test_it_refuses_an_impossible_upload(change: dict[str, Any]) -> None:
    with pytest.raises(Broken):
        submission_record(replace(UPLOAD, **change), Ending("failed", "run:ok", "", NOW))


def test_it_refuses_a_state_that_is_no_end() -> None:
    with pytest.raises(Broken):
        submission_record(UPLOAD, Ending("running", "run:ok", "", NOW))


def test_it_makes_the_record_of_a_decision(record: dict[str, Any]) -> None:
    decision = decide(record, {"small": 1, "large": 3}, None)
    made = decision_record(decision, SUBMISSION, RUN, KERNEL_ID, None, NOW)
    assert (made["outcome"], made["incumbent"], made["run"]) == ("accepted", None, RUN)


def test_it_makes_the_record_of_a_decision_before_any_run() -> None:
    decision = Decision("declined", "decision:same-source", "the same")
    standing = Standing(INCUMBENT, is_measured=True, commit="d" * 40)
    made = decision_record(decision, SUBMISSION, None, KERNEL_ID, standing, NOW)
    assert made["incumbent"] == {"commit": "d" * 40, "digest": INCUMBENT}
    assert made["speedup"] is made["run"] is None


def test_it_writes_times_that_read_back_exactly() -> None:
    moment = datetime(2026, 1, 31, 13, 0, 0, 1, timezone(timedelta(hours=1)))
    assert timestamp(moment) == "2026-01-31T12:00:00.000001Z"
    assert parse_timestamp(timestamp(moment)) == moment


def test_it_writes_canonical_json() -> None:
    assert canonical_json({"b": 1, "a": ["é"]}) == '{\n "a": [\n  "é"\n ],\n "b": 1\n}\n'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": math.nan})


def test_it_knows_who_is_at_fault() -> None:
    assert Verdict.WRONG_RESULT.is_entrant_fault
    assert not Verdict.WRONG_RESULT.is_infra
    assert Verdict.UNSTABLE.is_infra
    assert not Verdict.OK.is_entrant_fault
    assert not Verdict.CANCELLED.is_entrant_fault
