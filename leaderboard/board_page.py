"""A board's tables: rows with ties marked, one axis for the drawn intervals, every kernel's cases."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.board import BoardView, CaseFigures, Standing
from leaderboard.svg import Scale, scale_over


@dataclass(frozen=True)
class RankedRow:
    """One kernel of a ranking; `gap` is how far its time lies behind the first's, 0.06 for 6 %."""

    standing: Standing
    opens_group: bool
    gap: float | None


@dataclass(frozen=True)
class CaseRow:
    """One kernel's figures in the order of the table's cases; None where it has none."""

    standing: Standing
    cells: tuple[CaseFigures | None, ...]


@dataclass(frozen=True)
class BoardTable:
    """One ranking as it is shown: by device and problem version."""

    device: str
    problem_version: int
    is_main: bool
    rows: tuple[RankedRow, ...]
    scale: Scale | None
    case_ids: tuple[str, ...]
    case_rows: tuple[CaseRow, ...]
    has_roofline: bool


def board_tables(board: BoardView) -> tuple[BoardTable, ...]:
    """Return one table for each ranking of the board, the main one first."""
    return tuple(
        BoardTable(
            device=tab.device,
            problem_version=tab.problem_version,
            is_main=tab.is_main,
            rows=_ranked(tab.rows),
            scale=scale_over(row.speedup for row in tab.rows),
            case_ids=_case_ids(tab.rows),
            case_rows=_case_rows(tab.rows),
            has_roofline=any(row.sol_fraction for row in tab.rows),
        )
        for tab in board.tabs
    )


def _ranked(rows: Sequence[Standing]) -> tuple[RankedRow, ...]:
    first = max((row.speedup.value for row in rows if row.speedup), default=None)
    return tuple(
        RankedRow(
            standing=row,
            opens_group=index > 0 and row.rank != rows[index - 1].rank,
            gap=first / row.speedup.value - 1 if first and row.speedup else None,
        )
        for index, row in enumerate(rows)
    )


def _case_ids(rows: Sequence[Standing]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(case.case_id for row in rows for case in row.cases))


def _case_rows(rows: Sequence[Standing]) -> tuple[CaseRow, ...]:
    case_ids = _case_ids(rows)
    return tuple(CaseRow(row, _cells(row, case_ids)) for row in rows)


def _cells(row: Standing, case_ids: Sequence[str]) -> tuple[CaseFigures | None, ...]:
    by_id = {case.case_id: case for case in row.cases}
    return tuple(by_id.get(case_id) for case_id in case_ids)
