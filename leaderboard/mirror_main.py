"""Main as rows: reads what changed between two commits, refuses what is broken, writes it in one go."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from django.db.models import Model

from leaderboard.mirror_rows import BenchResults, kernel_row, point_row, problem_row
from leaderboard.models import BenchPoint, Kernel, Problem
from submissions.kernel_package.errors import Broken, ZooError
from submissions.kernel_package.files import BENCH_RESULT_PATH, PACKAGE_FOLDER
from submissions.kernel_package.names import PROBLEMS_FOLDER, KernelId, ProblemId
from submissions.kernel_store.layout import package_folder
from submissions.kernel_store.reading import StoreReader

BENCH_SUBJECT = "bench: "

_ROWS_AT_ONCE = 500
_KERNEL_COLUMNS = [
    column.name
    for column in Kernel._meta.concrete_fields
    if column.name not in ("id", "kernel_id", "rank", "is_tied", "index_entry")
]
_POINT_COLUMNS = [
    column.name for column in BenchPoint._meta.concrete_fields if column.name not in ("id", "commit", "is_record")
]

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class MainChange:
    """Everything that changes in the rows when the mirror goes to a commit; `is_whole`: what is not named goes."""

    is_whole: bool
    problems: Sequence[Problem] = field(default_factory=list)
    gone_problems: Sequence[str] = field(default_factory=list)
    kernels: Sequence[Kernel] = field(default_factory=list)
    gone_kernels: Sequence[str] = field(default_factory=list)
    points: Sequence[BenchPoint] = field(default_factory=list)


def read_main(reader: StoreReader, old: str, new: str) -> MainChange:
    """Read what to change from `old` ("": everything) to `new`; raises Broken `mirror:invalid`.

    Problems and kernels are read as they are at `new` only, so that a broken push is cured by a later one.
    """
    problem_ids, kernel_ids = touched_names(reader.changed_paths(old, new))
    problems = {problem_id: _problem(reader, new, problem_id) for problem_id in sorted(problem_ids)}
    results = BenchResults()
    kernels = {kernel_id: _kernel(reader, new, kernel_id, results) for kernel_id in sorted(kernel_ids)}
    change = MainChange(
        is_whole=not old,
        problems=[problem for problem in problems.values() if problem],
        gone_problems=[str(problem_id) for problem_id, problem in problems.items() if problem is None],
        kernels=[kernel for kernel in kernels.values() if kernel],
        gone_kernels=[str(kernel_id) for kernel_id, kernel in kernels.items() if kernel is None],
        points=list(_points(reader, old, new, results)),
    )
    _refuse_orphans(change, new)
    return change


def write_main(change: MainChange) -> set[str]:
    """Write the rows, in the caller's transaction; return the boards whose ranking may have changed."""
    gone = set(change.gone_kernels)
    if change.is_whole:
        gone |= _others(Kernel, "kernel_id", (kernel.kernel_id for kernel in change.kernels))
        _delete(
            Problem, "problem_id", _others(Problem, "problem_id", (each.problem_id for each in change.problems))
        )
        _delete(BenchPoint, "commit", _others(BenchPoint, "commit", (point.commit for point in change.points)))
    touched = {name.rsplit("/", 1)[0] for name in gone} | {kernel.board_id for kernel in change.kernels}
    changed_problems = [*change.gone_problems, *(problem.problem_id for problem in change.problems)]
    touched |= _boards_of(changed_problems)
    touched |= {point.board_id for point in change.points}
    _delete(Kernel, "kernel_id", gone)
    _delete(Problem, "problem_id", change.gone_problems)
    _upsert(change.points, BenchPoint, "commit", _POINT_COLUMNS)
    _set_acceptance(change)
    _upsert(change.problems, Problem, "problem_id", ["version", "title", "document"])
    _upsert(change.kernels, Kernel, "kernel_id", _KERNEL_COLUMNS)
    return touched


def touched_names(paths: Iterable[str]) -> tuple[set[ProblemId], set[KernelId]]:
    """Return the problems and kernels in whose folders the paths lie; other files of main are nobody's."""
    problem_ids: set[ProblemId] = set()
    kernel_ids: set[KernelId] = set()
    for path in paths:
        segments = path.split("/")
        try:
            if segments[0] == PROBLEMS_FOLDER and len(segments) > 4:
                problem_ids.add(ProblemId.parse("/".join(segments[1:4])))
            elif segments[0] != PROBLEMS_FOLDER and len(segments) > 5:
                kernel_ids.add(KernelId.parse("/".join(segments[:5])))
        except ZooError:
            continue
    return problem_ids, kernel_ids


def _problem(reader: StoreReader, commit: str, problem_id: ProblemId) -> Problem | None:
    try:
        files = reader.problem_files(commit, problem_id)
        return problem_row(files) if files else None
    except ZooError as error:
        raise _invalid(commit, f"problem {problem_id}", error) from error


def _kernel(reader: StoreReader, commit: str, kernel_id: KernelId, results: BenchResults) -> Kernel | None:
    files = reader.files(commit, kernel_id)
    if not any(path.startswith(f"{PACKAGE_FOLDER}/") for path in files):
        return None
    try:
        return kernel_row(kernel_id, files, results)
    except ZooError as error:
        raise _invalid(commit, f"kernel {kernel_id}", error) from error


def _invalid(commit: str, what: str, error: ZooError) -> Broken:
    message = f"main at {commit[:12]}, {what}: {error}; push a commit that repairs it"
    return Broken("mirror:invalid", message, commit=commit)


def _points(reader: StoreReader, old: str, new: str, results: BenchResults) -> Iterator[BenchPoint]:
    for commit in reader.commits(old, new):
        if not commit.subject.startswith(BENCH_SUBJECT):
            continue
        try:
            kernel_id = KernelId.parse(commit.subject.removeprefix(BENCH_SUBJECT).split(" ", 1)[0])
        except ZooError:
            continue
        content = reader.read(commit.id, f"{package_folder(kernel_id)}/{BENCH_RESULT_PATH}")
        point = point_row(kernel_id, commit, content, results)
        if point:
            yield point


def _refuse_orphans(change: MainChange, commit: str) -> None:
    """Refuse a kernel whose problem is not there: no page could say what its figures mean."""
    there = {problem.problem_id for problem in change.problems}
    if not change.is_whole:
        there |= set(Problem.objects.values_list("problem_id", flat=True))
    there -= set(change.gone_problems)
    needed = {kernel.problem_id: kernel.kernel_id for kernel in change.kernels}
    staying = Kernel.objects.filter(problem_id__in=change.gone_problems).exclude(kernel_id__in=change.gone_kernels)
    needed.update(staying.values_list("problem_id", "kernel_id"))
    for problem_id, kernel_id in sorted(needed.items()):
        if problem_id not in there:
            error = Broken("mirror:unknown-problem", f"its problem {problem_id} is not in the store")
            raise _invalid(commit, f"kernel {kernel_id}", error)


def _set_acceptance(change: MainChange) -> None:
    """Give each kernel the commit and time of the last of its history; the points are written already."""
    rows = {kernel.kernel_id: kernel for kernel in change.kernels}
    names = list(rows)
    for start in range(0, len(names), _ROWS_AT_ONCE):
        points = BenchPoint.objects.filter(kernel_id__in=names[start : start + _ROWS_AT_ONCE])
        for kernel_id, commit, at in points.values_list("kernel_id", "commit", "accepted_at"):
            rows[kernel_id].bench_commit = commit
            rows[kernel_id].accepted_at = at


def _boards_of(problem_ids: Sequence[str]) -> set[str]:
    boards: set[str] = set()
    for start in range(0, len(problem_ids), _ROWS_AT_ONCE):
        chosen = Kernel.objects.filter(problem_id__in=problem_ids[start : start + _ROWS_AT_ONCE])
        boards |= set(chosen.order_by().values_list("board_id", flat=True).distinct())
    return boards


def _others(model: type[Model], column: str, kept: Iterable[str]) -> set[str]:
    return set(model._default_manager.values_list(column, flat=True)) - set(kept)


def _delete(model: type[Model], column: str, values: Iterable[str]) -> None:
    ordered = sorted(values)
    for start in range(0, len(ordered), _ROWS_AT_ONCE):
        model._default_manager.filter(**{f"{column}__in": ordered[start : start + _ROWS_AT_ONCE]}).delete()


def _upsert(rows: Sequence[Row], model: type[Row], key: str, columns: Sequence[str]) -> None:
    model._default_manager.bulk_create(
        rows, update_conflicts=True, unique_fields=[key], update_fields=columns, batch_size=_ROWS_AT_ONCE
    )
