"""The accept rule: what a correct, ranked sitting means for the kernel's standing version. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from submissions.evaluation.speedup import Other, speedup_over
from submissions.evaluation.statistics import Interval
from submissions.evaluation.verdicts import Evidence, Verdict
from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId

ACCEPTED = "accepted"
DECLINED = "declined"


@dataclass(frozen=True)
class Standing:
    """The version now under the kernel_id in the store; `is_measured` at the problem version at hand."""

    digest: str
    is_measured: bool
    commit: str = ""


@dataclass(frozen=True)
class Decision:
    """What became of a submission; `speedup` is over the baseline."""

    outcome: str
    code: str
    message: str
    speedup: Interval | None = None
    versus_incumbent: Interval | None = None

    @property
    def is_accepted(self) -> bool:
        return self.outcome == ACCEPTED

    def as_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "code": self.code,
            "message": self.message,
            "speedup": self.speedup.as_json() if self.speedup else None,
            "versus_incumbent": self.versus_incumbent.as_json() if self.versus_incumbent else None,
        }


def why_not_for_decision(record: Mapping[str, Any], is_cleared: bool = False) -> str:
    """Return why a run record cannot decide anything, "" if it can: only a ranked, correct measuring does.

    `is_cleared` says that staff looked at the integrity findings and let them pass.
    """
    if record["verdict"] != Verdict.OK:
        return f"its verdict is {record['verdict']}"
    if record["kind"] != "measure":
        return f"it is a {record['kind']} run"
    if record.get("mode", "ranked") != "ranked":
        return f"its mode is {record['mode']}"
    if record["evidence"] != Evidence.MEASURED:
        return f"its evidence is {record['evidence']}"
    if record["runner"]["isolation"] not in ("full", "user"):
        return "its runner isolates nothing"
    if integrity_findings(record) and not is_cleared:
        return "it has an integrity finding"
    return ""


def integrity_findings(record: Mapping[str, Any]) -> list[Any]:
    """Return what the engine found suspicious in a run that is otherwise ok: the submission is held for staff."""
    findings = record.get("details", {}).get("integrity", [])
    return findings if isinstance(findings, list) else [findings]


def before_any_run(candidate_digest: str, standing: Standing | None) -> Decision | None:
    """Return the decision that needs no run: the same source as the measured incumbent is declined."""
    if standing is None or not standing.is_measured or standing.digest != candidate_digest:
        return None
    return Decision(
        DECLINED,
        "decision:same-source",
        "the source is that of the version that stands; nothing was run",
    )


def decide(
    record: Mapping[str, Any], weights: Mapping[str, float], standing: Standing | None, is_cleared: bool = False
) -> Decision:
    """Return the decision on a ranked sitting; `weights` of the public cases, `standing` as the store has it now.

    Raises Broken `decision:not-for-decision`, `decision:no-figures`, or, when the sitting compared with another
    version than the one that stands (measure again), `decision:incumbent-moved`.
    """
    reason = why_not_for_decision(record, is_cleared)
    if reason:
        raise Broken("decision:not-for-decision", f"run {record['uuid']} decides nothing: {reason}")
    speedup = _figure(record, weights, "baseline")
    early = before_any_run(record["contestants"]["candidate"], standing)
    if early is not None:
        return early
    is_baseline = KernelId.parse(record["kernel_id"]).is_baseline
    if standing is None or not standing.is_measured:
        return _first(speedup, is_baseline)
    if is_baseline:
        message = "the board's baseline is measured already; it changes only by a maintainer's commit"
        return Decision(DECLINED, "decision:baseline-stands", message, speedup)
    if record["contestants"]["incumbent"] != standing.digest:
        raise Broken("decision:incumbent-moved", f"run {record['uuid']} measured against another incumbent")
    return _against_incumbent(speedup, _figure(record, weights, "incumbent"))


def _figure(record: Mapping[str, Any], weights: Mapping[str, float], other: Other) -> Interval:
    figure = speedup_over(record["cases"], weights, other)
    if figure is None:
        raise Broken("decision:no-figures", f"run {record['uuid']} has no complete figures against the {other}")
    return figure


def _first(speedup: Interval, is_baseline: bool) -> Decision:
    if is_baseline:
        message = f"the board's baseline is measured: {_shown(speedup)} against a second copy of itself"
        return Decision(ACCEPTED, "decision:baseline-measured", message, speedup)
    return Decision(ACCEPTED, "decision:new-kernel", f"a new kernel: {_shown(speedup)} over the baseline", speedup)


def _against_incumbent(speedup: Interval, versus: Interval) -> Decision:
    if versus.lies_above(1.0):
        message = f"{_shown(versus)} over the version that stood"
        return Decision(ACCEPTED, "decision:faster", message, speedup, versus)
    if versus.hi < 1.0:
        message = f"correct, but slower than the version that stands: {_shown(versus)}"
    else:
        shown = _shown(versus)
        message = f"correct, but not surely faster than the version that stands: {shown} is not all above 1"
    return Decision(DECLINED, "decision:not-faster", message, speedup, versus)


def _shown(figure: Interval) -> str:
    return f"{figure.value:.4g}× [{figure.lo:.4g}, {figure.hi:.4g}]"
