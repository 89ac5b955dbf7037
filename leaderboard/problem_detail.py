"""What pages and API show of a problem: its contract, its boards, and how to send an implementation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from leaderboard.models import Kernel, MirrorState, Problem
from submissions import store
from submissions.kernel_package.names import BASELINE_NAME, BoardId, KernelId, ProblemId


@dataclass(frozen=True)
class ProblemSummary:
    """One problem in the list."""

    problem_id: str
    op_class: str
    version: int
    title: str
    description: str
    archs: tuple[str, ...]
    kernels: int
    measured: int


@dataclass(frozen=True)
class ProblemView:
    """One problem: contract as data, its reference as text, its boards, and a source to start from for each."""

    problem_id: str
    version: int
    title: str
    document: Mapping[str, Any]
    reference_py: str
    boards: tuple[str, ...]
    starter_sources: Mapping[str, Mapping[str, str]]
    how_to_submit: Mapping[str, str]


def problems_overview() -> tuple[ProblemSummary, ...]:
    """Return every problem in the order of its name. Two queries."""
    archs: dict[str, dict[str, tuple[int, int]]] = {}
    counted = Kernel.objects.order_by("problem_id", "arch").values_list("problem_id", "arch")
    for problem_id, arch, kernels, measured in counted.annotate(
        kernels=Count("id"), measured=Count("id", Q(status="measured"))
    ):
        archs.setdefault(problem_id, {})[arch] = (kernels, measured)
    return tuple(_summary(problem, archs.get(problem.problem_id, {})) for problem in Problem.objects.all())


def problem_view(problem_id: str) -> ProblemView | None:
    """Return one problem, or None where the mirror has none. Three queries, and the store for its sources."""
    problem = Problem.objects.filter(problem_id=problem_id).first()
    if problem is None:
        return None
    boards = Kernel.objects.filter(problem_id=problem_id, name=BASELINE_NAME).values_list("board_id", flat=True)
    head = MirrorState.objects.values_list("head", flat=True).first() or ""
    reader = store.reader()
    files = reader.problem_files(head, ProblemId.parse(problem_id))
    return ProblemView(
        problem_id=problem_id,
        version=problem.version,
        title=problem.title,
        document=problem.document,
        reference_py=files.reference_py.decode(errors="replace") if files else "",
        boards=tuple(boards),
        starter_sources={board_id: _starter(reader, head, board_id) for board_id in boards},
        how_to_submit=_how_to_submit(problem_id),
    )


def _summary(problem: Problem, archs: Mapping[str, tuple[int, int]]) -> ProblemSummary:
    return ProblemSummary(
        problem_id=problem.problem_id,
        op_class=problem.problem_id.split("/", 1)[0],
        version=problem.version,
        title=problem.title,
        description=str(problem.document.get("description", "")),
        archs=tuple(archs),
        kernels=sum(kernels for kernels, _ in archs.values()),
        measured=sum(measured for _, measured in archs.values()),
    )


def _starter(reader: Any, head: str, board_id: str) -> Mapping[str, str]:
    files = reader.files(head, KernelId(BoardId.parse(board_id), BASELINE_NAME))
    return text_files(files)


def text_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the files that are text, as text."""
    texts = {}
    for path, content in sorted(files.items()):
        try:
            texts[path] = content.decode()
        except UnicodeDecodeError:
            continue
    return texts


def _how_to_submit(problem_id: str) -> Mapping[str, str]:
    return {
        "kernel_id": f"<arch>/{problem_id}/<name>",
        "package": "a .tar.gz with .kernel_package/desc.yaml and src/…, as in starter_sources",
        "validate": "kernel_zoo-validate-package PATH",
        "submit": "POST /api/submissions, multipart: kernel_id, package, mode (check, benchmark or ranked)",
        "follow": "GET /api/submissions/<uuid>/status?wait=30",
    }
