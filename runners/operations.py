"""What an operator does with a runner: pause, resume, retire, end its quarantine; each by compare-and-swap."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

from runners.health import tell_runners
from runners.models import Runner, RunnerState


@dataclass(frozen=True)
class Operation:
    """A change of a runner's state: from which states, to which one, and how it is told."""

    verb: str
    told_as: str
    olds: frozenset[RunnerState]
    new: RunnerState
    effect: str


OPERATIONS: Mapping[str, Operation] = {
    operation.verb: operation
    for operation in (
        Operation(
            "pause",
            "paused",
            frozenset({RunnerState.ACTIVE}),
            RunnerState.PAUSED,
            "finishes its run and takes no other",
        ),
        Operation("resume", "resumed", frozenset({RunnerState.PAUSED}), RunnerState.ACTIVE, "takes runs again"),
        Operation(
            "clear_quarantine",
            "released from quarantine",
            frozenset({RunnerState.QUARANTINED}),
            RunnerState.ACTIVE,
            "takes runs again",
        ),
        Operation(
            "retire",
            "retired",
            frozenset({RunnerState.ACTIVE, RunnerState.PAUSED, RunnerState.QUARANTINED}),
            RunnerState.RETIRED,
            "finishes its run and never comes back; its results stay",
        ),
    )
}


def operate(runner_id: int, verb: str, actor: str, reason: str = "") -> bool:
    """Do what the operator asks; False where the runner is not in a state for it."""
    operation = OPERATIONS[verb]
    with transaction.atomic():
        runners = Runner.objects.filter(pk=runner_id, state__in=operation.olds)
        changes: dict[str, object] = {"state": operation.new, "state_reason": reason[:300]}
        if operation.new == RunnerState.ACTIVE:
            changes["infra_failures"] = 0
        if runners.update(**changes) != 1:
            return False
        tell_runners(runner_id, operation.told_as, f"{operation.told_as} by {actor}{reason and ': ' + reason}")
    return True
