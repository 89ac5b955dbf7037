"""How a run can end, and who is at fault."""

from enum import StrEnum


class Verdict(StrEnum):
    """The last word on a run; a reason code `area:what` says more."""

    OK = "ok"
    BUILD_FAILED = "build_failed"
    INSPECT_REFUSED = "inspect_refused"
    WRONG_RESULT = "wrong_result"
    NONDETERMINISTIC = "nondeterministic"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    CHEAT_SUSPECTED = "cheat_suspected"
    UNSTABLE = "unstable"
    THROTTLED = "throttled"
    RUNNER_LOST = "runner_lost"
    INFRA_ERROR = "infra_error"
    CANCELLED = "cancelled"

    @property
    def is_infra(self) -> bool:
        """True where the fault is ours: the run is tried again, the entrant is not charged."""
        return self in _INFRA

    @property
    def is_entrant_fault(self) -> bool:
        return self not in _INFRA and self not in (Verdict.OK, Verdict.CANCELLED)


_INFRA = frozenset({Verdict.UNSTABLE, Verdict.THROTTLED, Verdict.RUNNER_LOST, Verdict.INFRA_ERROR})

MAX_ATTEMPTS = 3


class Evidence(StrEnum):
    """What stands behind a run: facts read off, an emulation, or a measuring."""

    STATIC = "static"
    EMULATED = "emulated"
    MEASURED = "measured"


STAGES = ("prepare", "build", "inspect", "check", "time", "report")
