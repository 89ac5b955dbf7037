"""A result for a run whose engine gave none: the fault is ours or the operator's, never the entrant's."""

import hashlib

from runners.daemon.workspace import digests
from runners.protocol import Assignment, Result
from submissions.evaluation.verdicts import Evidence, Verdict


def infra_result(
    assignment: Assignment,
    code: str,
    message: str,
    *,
    verdict: Verdict,
    stage: str,
) -> Result:
    """Return a result without figures; of the secret it holds the digest, as every result does."""
    return Result(
        verdict=verdict.value,
        code=code,
        message=message,
        stage=stage,
        stages_ms={},
        evidence=Evidence.STATIC.value,
        details={},
        cases=(),
        contestants=digests(assignment),
        secret_sha256=hashlib.sha256(bytes.fromhex(assignment.secret)).hexdigest(),
        harness_version="",
        processes=0,
        environment={},
    )
