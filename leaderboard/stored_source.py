"""Files of kernels and submissions as the store has them; nothing where the store has nothing."""

from submissions import spool
from submissions.kernel_package.archive import read_archive
from submissions.kernel_package.errors import ZooError
from submissions.kernel_package.names import KernelId
from submissions.models import Submission
from submissions.store import reader


def kernel_files(kernel_id: str, commit: str) -> dict[str, bytes]:
    """Return the kernel's files at a commit of main; empty without a commit."""
    return reader().files(commit, KernelId.parse(kernel_id)) if commit else {}


def submitted_files(submission: Submission) -> dict[str, bytes]:
    """Return what was sent: from the ledger, or from the spool while the submission is not over."""
    files = reader().ledger_source(submission.received_at, str(submission.uuid))
    if files:
        return files
    try:
        return read_archive(spool.package_bytes(submission.uuid))
    except ZooError:
        return {}
