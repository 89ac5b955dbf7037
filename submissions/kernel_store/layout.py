"""Where everything lies in the store: branches, private refs, folders and file names."""

import re
import uuid as uuid_module
from collections.abc import Iterable
from datetime import UTC, datetime

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import PROBLEMS_FOLDER, KernelId, ProblemId

MAIN = "refs/heads/main"
LEDGER = "refs/heads/ledger"
PENDING = "refs/zoo/pending"
SCRATCH = "refs/zoo/scratch"

ZOO_FILE = "zoo.yaml"
DESCRIPTION = ".kernel_package/desc.yaml"
BENCH_RESULT = ".kernel_package/bench_result.yaml"
GRADER_SCRIPTS = (".kernel_package/build_test_env.py", ".kernel_package/benchmark.py")
PROBLEM_FILE = "problem.yaml"
REFERENCE_FILE = "reference.py"
MODERATION_FOLDER = "moderation"
SOURCE_FOLDER = "source"

_RECORD_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}\.json")
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def package_folder(kernel_id: KernelId) -> str:
    return str(kernel_id)


def problem_folder(problem_id: ProblemId) -> str:
    return f"{PROBLEMS_FOLDER}/{problem_id}"


def ledger_folder(received_at: datetime, uuid: str) -> str:
    """Return `yyyy/mm/dd/uuid`; the day is the UTC day on which the submission was received."""
    if received_at.tzinfo is None:
        raise ValueError("received_at has no time zone: the ledger's day would depend on the machine")
    return f"{received_at.astimezone(UTC):%Y/%m/%d}/{check_uuid(uuid)}"


def moderation_path(uuid: str) -> str:
    return f"{MODERATION_FOLDER}/{check_uuid(uuid)}.json"


def pending_ref(uuid: str, branch: str) -> str:
    """Return the private ref under which a prepared commit waits; `branch` is MAIN or LEDGER."""
    return f"{PENDING}/{check_uuid(uuid)}/{branch.rsplit('/', 1)[1]}"


def check_uuid(uuid: str) -> str:
    """Return the uuid if it is in its canonical form; anything else could name another folder or ref."""
    try:
        is_canonical = str(uuid_module.UUID(uuid)) == uuid
    except (ValueError, AttributeError, TypeError):
        is_canonical = False
    if not is_canonical:
        raise Broken("store:bad-uuid", f"{uuid!r} is not a uuid in its canonical lower-case form")
    return uuid


def check_record_name(name: str) -> str:
    if not _RECORD_NAME.fullmatch(name):
        raise Broken("store:bad-path", f"{name!r} is not the name of a ledger record, such as run-1.json")
    return name


def check_paths(paths: Iterable[str]) -> None:
    """Refuse what git would refuse or misread: absolute, dotted, .git*, control characters, file under file."""
    seen = set(paths)
    for path in seen:
        parts = path.split("/")
        if any(_is_bad_segment(part) for part in parts) or _UNWRITABLE.search(path):
            raise Broken("store:bad-path", f"{path!r} cannot be stored in git; rename that file", path=path)
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in seen:
                raise Broken("store:bad-path", f"{path!r} lies under another file", path=path)


def _is_bad_segment(part: str) -> bool:
    # .gitattributes and .gitmodules change what git itself does with a work tree; NTFS spells .git as git~1.
    folded = part.casefold().rstrip(". ")
    return part in ("", ".", "..") or folded.startswith((".git", "git~")) or "\\" in part
