"""The accept rule, case by case."""

from typing import Any

import pytest

from submissions.evaluation.decision import (
    Standing,
    before_any_run,
    decide,
    integrity_findings,
    why_not_for_decision,
)
from submissions.kernel_package.errors import Broken
from tests.unit.evaluation.conftest import CANDIDATE, INCUMBENT, timed_case

WEIGHTS = {"small": 1.0, "large": 3.0}
STANDING = Standing(INCUMBENT, is_measured=True, commit="d" * 40)


def against(record: dict[str, Any], *logs: float) -> dict[str, Any]:
    """The record, with these log ratios against the incumbent in every case."""
    record["contestants"]["incumbent"] = INCUMBENT
    record["cases"] = [timed_case(case_id, [0.2] * len(logs), list(logs)) for case_id in WEIGHTS]
    return record


def test_it_accepts_a_new_kernel(record: dict[str, Any]) -> None:
    decision = decide(record, WEIGHTS, None)
    assert (decision.outcome, decision.code) == ("accepted", "decision:new-kernel")
    assert decision.is_accepted
    assert decision.versus_incumbent is None
    assert decision.speedup is not None
    assert decision.message.startswith("a new kernel: 1.35× [")


def test_it_accepts_a_new_kernel_that_is_slower_than_the_baseline(record: dict[str, Any]) -> None:
    record["cases"] = [timed_case(case_id, [-0.5, -0.5]) for case_id in WEIGHTS]
    assert decide(record, WEIGHTS, None).code == "decision:new-kernel"


def test_it_accepts_in_place_of_an_unmeasured_version(record: dict[str, Any]) -> None:
    assert decide(record, WEIGHTS, Standing(CANDIDATE, is_measured=False)).code == "decision:new-kernel"


def test_it_accepts_a_version_wholly_above_the_incumbent(record: dict[str, Any]) -> None:
    decision = decide(against(record, 0.05, 0.051, 0.049), WEIGHTS, STANDING)
    assert (decision.outcome, decision.code) == ("accepted", "decision:faster")
    assert decision.versus_incumbent is not None
    assert decision.versus_incumbent.lo > 1


@pytest.mark.parametrize(
    ("logs", "words"),
    [
        ((0.01, -0.01, 0.02), "not surely faster"),
        ((0.0, 0.0, 0.0), "not surely faster"),
        ((0.04,), "not surely faster"),
        ((0.0004, 0.0004, 0.0004), "not surely faster"),
        ((-0.05, -0.051, -0.049), "but slower than"),
    ],
)
def test_it_declines_what_is_not_surely_faster(
    record: dict[str, Any], logs: tuple[float, ...], words: str
) -> None:
    decision = decide(against(record, *logs), WEIGHTS, STANDING)
    assert (decision.outcome, decision.code) == ("declined", "decision:not-faster")
    assert words in decision.message
    assert "×" in decision.message
    assert decision.versus_incumbent is not None


def test_it_accepts_the_baselines_first_measuring(record: dict[str, Any]) -> None:
    record["kernel_id"] = "x86_64/Vector/saxpy/fp32/reference_impl"
    record["cases"] = [timed_case(case_id, [0.0002, -0.0001, 0.0]) for case_id in WEIGHTS]
    decision = decide(record, WEIGHTS, Standing(CANDIDATE, is_measured=False))
    assert (decision.outcome, decision.code) == ("accepted", "decision:baseline-measured")
    assert decision.speedup is not None
    assert decision.speedup.lo < 1 < decision.speedup.hi


def test_it_declines_to_replace_a_measured_baseline(record: dict[str, Any]) -> None:
    record["kernel_id"] = "x86_64/Vector/saxpy/fp32/reference_impl"
    assert decide(record, WEIGHTS, STANDING).code == "decision:baseline-stands"


def test_it_declines_the_same_source_before_any_run(record: dict[str, Any]) -> None:
    decision = before_any_run(CANDIDATE, Standing(CANDIDATE, is_measured=True))
    assert decision is not None
    assert (decision.outcome, decision.code, decision.speedup) == ("declined", "decision:same-source", None)
    assert before_any_run(CANDIDATE, None) is None
    assert before_any_run(CANDIDATE, STANDING) is None
    assert before_any_run(CANDIDATE, Standing(CANDIDATE, is_measured=False)) is None
    assert decide(record, WEIGHTS, Standing(CANDIDATE, is_measured=True)).code == "decision:same-source"


def test_it_asks_for_a_new_sitting_when_the_incumbent_moved(record: dict[str, Any]) -> None:
    with pytest.raises(Broken) as caught:
        decide(against(record, 0.1, 0.1), WEIGHTS, Standing("e" * 64, is_measured=True))
    assert caught.value.code == "decision:incumbent-moved"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"verdict": "wrong_result"}, "its verdict is wrong_result"),
        ({"mode": "benchmark"}, "its mode is benchmark"),
        ({"mode": "check"}, "its mode is check"),
        ({"kind": "sweep"}, "it is a sweep run"),
        ({"kind": "dry_run"}, "it is a dry_run run"),
        ({"evidence": "emulated"}, "its evidence is emulated"),
        ({"runner": {"name": "x", "device": "y", "isolation": "stub"}}, "isolates nothing"),
        ({"details": {"integrity": ["time:below-the-floor"]}}, "integrity finding"),
        ({"details": {"integrity": "time:below-the-floor"}}, "integrity finding"),
    ],
)
def test_it_decides_nothing_on_other_runs(record: dict[str, Any], change: dict[str, Any], why: str) -> None:
    record |= change
    assert why in why_not_for_decision(record)
    with pytest.raises(Broken, match=why) as caught:
        decide(record, WEIGHTS, None)
    assert caught.value.code == "decision:not-for-decision"


def test_it_decides_on_a_finding_that_staff_cleared(record: dict[str, Any]) -> None:
    record["details"] = {"integrity": ["time:below-the-floor"]}
    assert integrity_findings(record) == ["time:below-the-floor"]
    assert decide(record, WEIGHTS, None, is_cleared=True).is_accepted


@pytest.mark.parametrize("standing", [None, STANDING])
def test_it_needs_complete_figures(record: dict[str, Any], standing: Standing | None) -> None:
    record["contestants"]["incumbent"] = INCUMBENT
    record["cases"][0]["log_ratio"] = {"baseline": [0.1, 0.1, 0.1] if standing else [], "incumbent": []}
    with pytest.raises(Broken) as caught:
        decide(record, WEIGHTS, standing)
    assert caught.value.code == "decision:no-figures"


def test_it_turns_into_json(record: dict[str, Any]) -> None:
    document = decide(record, WEIGHTS, None).as_json()
    assert set(document) == {"outcome", "code", "message", "speedup", "versus_incumbent"}
    assert document["versus_incumbent"] is None
