"""Answer a lease with its Assignment, and have its packages ready; a run that cannot be given is put back."""

from django.db import transaction

from runners import leases, packages
from runners.claims import claim
from runners.models import Lease
from runners.protocol import Assignment, Contestant
from submissions.assignment import AssignmentParts, assignment_for
from submissions.board import Contender
from submissions.kernel_package.errors import ZooError
from submissions.results import run_lost


def next_assignment(runner_id: int) -> Assignment | None:
    """Claim for the runner until a run can be given to it; None where nothing fits."""
    while (lease := claim(runner_id)) is not None:
        try:
            return _assignment(lease)
        except ZooError as error:
            _give_back(lease, error)
    return None


def _assignment(lease: Lease) -> Assignment:
    parts = assignment_for(lease.run)
    for party in (parts.candidate, parts.baseline, parts.incumbent):
        if party is not None:
            packages.keep(party.digest, party.files)
    return _as_protocol(lease, parts)


def _as_protocol(lease: Lease, parts: AssignmentParts) -> Assignment:
    return Assignment(
        lease=lease.token,
        epoch=lease.epoch,
        run=str(lease.run_id),
        kind=parts.kind,
        mode=parts.mode,
        problem_id=parts.problem_id,
        problem_version=parts.problem_version,
        problem_yaml=parts.problem_yaml,
        reference_py=parts.reference_py,
        processes=parts.processes,
        secret=parts.secret,
        hidden_dims=parts.hidden_dims,
        candidate=Contestant(parts.candidate.kernel_id, parts.candidate.digest),
        baseline=_contestant(parts.baseline),
        incumbent=_contestant(parts.incumbent),
        best_speedup=parts.best_speedup,
    )


def _contestant(party: Contender | None) -> Contestant | None:
    return Contestant(party.kernel_id, party.digest) if party else None


def _give_back(lease: Lease, error: ZooError) -> None:
    # Not the runner's fault: it is not counted against it.
    with transaction.atomic():
        if leases.close(lease.pk, "unanswerable"):
            run_lost(lease.run_id, lease.epoch, error.message, code=error.code)
