"""Ranks of the touched boards, and index.json: every kernel with its figures, the same bytes after a rebuild."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from django.conf import settings

from leaderboard.board import board_yardstick
from leaderboard.models import BenchPoint, Kernel, MirrorState, Problem
from leaderboard.ranking import Yardstick, obstacle, rank, records

SCHEMA_VERSION = 1

# Boards ranked at once: bounds memory in a rebuild, and the number of values in a query.
_BOARDS_AT_ONCE = 200
_POINTS_AT_ONCE = 500


def refresh(board_ids: Iterable[str]) -> None:
    """Rank the boards anew and mark their records; part of the caller's transaction. Only this writes ranks."""
    ordered = sorted(set(board_ids))
    versions = dict(Problem.objects.values_list("problem_id", "version"))
    for start in range(0, len(ordered), _BOARDS_AT_ONCE):
        _refresh(ordered[start : start + _BOARDS_AT_ONCE], versions)


def index_document() -> dict[str, Any]:
    """Return index.json as data."""
    document: dict[str, Any] = json.loads(index_bytes())
    return document


def index_bytes() -> bytes:
    """Return index.json, one kernel a line, from the mirror."""
    head = MirrorState.objects.values_list("head", flat=True).first() or ""
    entries = Kernel.objects.order_by("kernel_id").values_list("index_entry", flat=True)
    kernels = ",\n".join(entries.iterator(chunk_size=2000))
    tail = f'],\n"schema_version": {SCHEMA_VERSION}}}\n'
    return f'{_first_line(head)}"kernels": [\n{kernels}\n{tail}'.encode()


def write_index() -> bool:
    """Write index.json where the settings say, in one step; False where it was right already."""
    path, content = Path(settings.INDEX_PATH), index_bytes()
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    draft.write_bytes(content)
    # Renamed when whole: a reader has the old index or the new one. No fsync, since it can be written again.
    draft.replace(path)
    return True


def is_index_current() -> bool:
    """Tell whether the file was written for the mirror's head; reads its first line only."""
    head = MirrorState.objects.values_list("head", flat=True).first() or ""
    path = Path(settings.INDEX_PATH)
    if not path.exists():
        return False
    with path.open("rb") as file:
        return file.readline() == _first_line(head).encode()


def _first_line(head: str) -> str:
    return f'{{"head": {json.dumps(head)},\n'


def _refresh(board_ids: Sequence[str], versions: dict[str, int]) -> None:
    boards: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in Kernel.objects.on_boards(board_ids):
        boards[kernel.board_id].append(kernel)
    points: dict[str, list[BenchPoint]] = defaultdict(list)
    for point in BenchPoint.objects.filter(board_id__in=board_ids).defer("bench"):
        points[point.board_id].append(point)
    changed: list[Kernel] = []
    for board_id in board_ids:
        yardstick = board_yardstick(boards[board_id], versions.get(board_id.partition("/")[2], 0))
        changed += _ranked_anew(boards[board_id], yardstick)
        _mark_records(points[board_id], yardstick)
    Kernel.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["kernel_id"],
        update_fields=["rank", "is_tied", "index_entry"],
        batch_size=_POINTS_AT_ONCE,
    )


def _ranked_anew(kernels: Sequence[Kernel], yardstick: Yardstick | None) -> Iterator[Kernel]:
    places = {place.kernel_id: place for place in rank((kernel.as_entry() for kernel in kernels), yardstick)}
    for kernel in kernels:
        place = places.get(kernel.kernel_id)
        before = (kernel.rank, kernel.is_tied, kernel.index_entry)
        kernel.rank = place.rank if place else None
        kernel.is_tied = place.is_tied if place else False
        kernel.index_entry = json.dumps(_entry(kernel, yardstick), sort_keys=True, ensure_ascii=False)
        if before != (kernel.rank, kernel.is_tied, kernel.index_entry):
            yield kernel


def _entry(kernel: Kernel, yardstick: Yardstick | None) -> dict[str, Any]:
    hurdle = obstacle(kernel.as_entry(), yardstick)
    interval = kernel.interval
    return {
        "kernel_id": kernel.kernel_id,
        "title": kernel.title,
        "status": kernel.status,
        "rank": kernel.rank,
        "is_tied": kernel.is_tied,
        "not_ranked": hurdle.code if hurdle else None,
        "speedup": interval.as_json() if interval else None,
        "arch": kernel.arch,
        "problem": kernel.problem_id,
        "op_class": kernel.problem_id.split("/", 1)[0],
        "problem_version": kernel.problem_version,
        "name": kernel.name,
        "language": kernel.language,
        "harness": kernel.description.get("harness", ""),
        "tags": kernel.description.get("tags", []),
        "parent": kernel.parent or None,
        "device": kernel.device,
        "isolation": kernel.isolation,
        "evidence": kernel.evidence,
        "mode": kernel.bench.get("mode", ""),
        "submitter": kernel.submitter,
        "submission": str(kernel.submission) if kernel.submission else None,
        "source_commit": kernel.source_commit,
        "tree_digest": kernel.tree_digest,
        "cases": [
            {name: case.get(name) for name in ("id", "t_ns", "base_t_ns", "speedup", "sol_fraction")}
            for case in kernel.bench.get("cases", ())
        ],
    }


def _mark_records(points: Sequence[BenchPoint], yardstick: Yardstick | None) -> None:
    found = records((point.as_entry() for point in points), yardstick)
    for is_record in (True, False):
        wrong = [
            point.pk
            for at, point in enumerate(points)
            if (at in found) is is_record and point.is_record is not is_record
        ]
        for start in range(0, len(wrong), _POINTS_AT_ONCE):
            chosen = BenchPoint.objects.filter(pk__in=wrong[start : start + _POINTS_AT_ONCE])
            chosen.update(is_record=is_record)
