"""The starter zoo: its problems and baselines onto main, then its kernels through the intake like anybody's."""

import hashlib
import sys
from collections.abc import Mapping

from django.conf import settings

from native_bench import starter
from native_bench.host import native_arch
from native_bench.proof_table import last_line, proof_text
from native_bench.verify import open_prover, verify_problem
from submissions.authentication import STARTER_SUBMITTER, Submitter
from submissions.board import board_of
from submissions.evaluation.bench_result import unmeasured_bench_result
from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import BENCH_RESULT_PATH
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.package import check_package
from submissions.kernel_package.problem import parse_problem
from submissions.kernel_package.strict_yaml import dump_yaml
from submissions.kernel_store.create import create_store
from submissions.kernel_store.layout import package_folder, problem_folder
from submissions.models import State, Submission
from submissions.signals import store_advanced
from submissions.store import reader, writer
from submissions.upload import Upload, receive_upload

TITLE = "Kernel Zoo"

# After one of these the same source would only end the same way again.
_WAS_JUDGED = (State.REJECTED, State.FAILED, State.DECLINED)


def seed_store(*, proves: bool = False) -> int:
    """Create the store where there is none and commit what of the starter zoo main lacks; return how many files.

    What main has is left alone: after the first start the boards are their maintainers'.
    With `proves` the tolerances of the problems it lacks are proved first; raises Rejected
    `store:unproved-problem`, or SandboxMissing. A site's start leaves that out: what comes with a release has been
    proved by its tests.
    """
    if not settings.KERNEL_REPO_PATH.exists():
        create_store(settings.KERNEL_REPO_PATH, TITLE)
    problems = _missing_problems()
    if proves and problems:
        _require_proofs(problems)
    missing = {**_problem_files(problems), **_missing_baselines()}
    if missing:
        writer().commit_files(missing, "seed: starter problems and baselines", "They are measured next.")
        store_advanced.send_robust(sender=Submission)
    return len(missing)


def submit_starters() -> int:
    """Send every starter kernel that is neither measured nor under way, baselines first; return how many."""
    submitter = Submitter(STARTER_SUBMITTER, is_verified=True)
    sent = 0
    for kernel_id, files in sorted(_kernels(), key=lambda item: not item[0].is_baseline):
        package = write_archive(files)
        if not _is_settled(kernel_id, package):
            receive_upload(submitter, Upload(str(kernel_id), package, message="starter zoo"))
            sent += 1
    return sent


def _missing_problems() -> dict[ProblemId, dict[str, bytes]]:
    store = reader()
    present = set(store.problem_ids(store.main_head()))
    return {problem_id: files for problem_id, files in _problems() if problem_id not in present}


def _problems() -> list[tuple[ProblemId, dict[str, bytes]]]:
    return [found for found in starter.problems() if _is_wanted(found[0])]


def _kernels() -> list[tuple[KernelId, dict[str, bytes]]]:
    return [found for found in starter.kernels(native_arch()) if _is_wanted(found[0].problem)]


def _is_wanted(problem_id: ProblemId) -> bool:
    return settings.STARTER_PROBLEMS is None or str(problem_id) in settings.STARTER_PROBLEMS


def _require_proofs(problems: Mapping[ProblemId, Mapping[str, bytes]]) -> None:
    sandbox = open_prover()
    proofs = [
        verify_problem(problem_id, files, sandbox, lambda text: print(text, file=sys.stderr))
        for problem_id, files in problems.items()
    ]
    if not all(proof.holds for proof in proofs):
        raise Rejected("store:unproved-problem", "\n\n".join([*map(proof_text, proofs), last_line(proofs)]))


def _problem_files(problems: Mapping[ProblemId, Mapping[str, bytes]]) -> dict[str, bytes]:
    return {
        f"{problem_folder(problem_id)}/{name}": content
        for problem_id, files in problems.items()
        for name, content in files.items()
    }


def _missing_baselines() -> dict[str, bytes]:
    store = reader()
    head = store.main_head()
    versions = {
        problem_id: parse_problem(files["problem.yaml"], problem_id).version for problem_id, files in _problems()
    }
    missing: dict[str, bytes] = {}
    for kernel_id, files in _kernels():
        if kernel_id.is_baseline and not store.files(head, kernel_id):
            missing |= _seeded(kernel_id, files, versions[kernel_id.problem])
    return missing


def _seeded(kernel_id: KernelId, files: Mapping[str, bytes], problem_version: int) -> dict[str, bytes]:
    complete = dict(check_package(files, kernel_id).files)
    complete[BENCH_RESULT_PATH] = dump_yaml(unmeasured_bench_result(kernel_id, problem_version))
    return {f"{package_folder(kernel_id)}/{path}": content for path, content in complete.items()}


def _is_settled(kernel_id: KernelId, package: bytes) -> bool:
    if board_of(reader(), str(kernel_id)).standing() is not None:
        return True
    same = Submission.objects.by(STARTER_SUBMITTER).filter(
        kernel_id=str(kernel_id), package_sha256=hashlib.sha256(package).hexdigest()
    )
    return same.open().exists() or same.filter(state__in=_WAS_JUDGED).exists()
