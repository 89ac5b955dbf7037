"""What pages read of the boards: the overview, a board, a kernel; in a fixed number of queries."""

import pytest

from leaderboard import mirror
from leaderboard.board import board_view, boards_overview, kernel_view

from .documents import BOARD

FAST, OTHER, BASE = f"{BOARD}/fast", f"{BOARD}/other", f"{BOARD}/reference_impl"


def test_it_shows_what_leads_each_board(board):
    board.measured(FAST, 1.5)
    board.kernel(OTHER)
    mirror.bring_to_head()
    (summary,) = boards_overview()
    assert (summary.board_id, summary.op_class, summary.title) == (BOARD, "Vector", "Scaled vector addition")
    assert (summary.kernels, summary.measured, summary.device) == (3, 2, "cpu-a")
    assert summary.best.kernel_id == FAST
    assert summary.baseline.kernel_id == BASE
    assert [point.kernel_id for point in summary.records] == [BASE, FAST]
    assert summary.last_accepted_at is not None


def test_it_shows_every_leader_of_a_tie_the_earliest_first(board):
    board.measured(FAST, 1.5, 0.02)
    board.measured(OTHER, 1.51, 0.02)
    mirror.bring_to_head()
    (summary,) = boards_overview()
    assert {leader.kernel_id for leader in summary.leaders} == {FAST, OTHER}
    assert all(leader.is_tied and leader.rank == 1 for leader in summary.leaders)
    assert summary.best == summary.leaders[0]


def test_it_shows_a_board_that_nobody_measured(zoo):
    zoo.problem()
    zoo.kernel(BASE)
    mirror.bring_to_head()
    (summary,) = boards_overview()
    assert (summary.best, summary.device, summary.measured) == (None, "", 0)
    view = board_view(BOARD)
    assert view.tabs == ()
    assert (view.ranking, view.best) == (None, None)
    assert [row.why_not_ranked_code for row in view.unranked] == ["rank:unmeasured"]


@pytest.mark.parametrize("kernels", [1, 6])
def test_it_asks_a_fixed_number_of_queries(board, django_assert_num_queries, kernels):
    for at in range(kernels):
        board.measured(f"{BOARD}/k{at}", 1 + at)
    board.problem("Vector/dot/fp32")
    board.measured("x86_64/Vector/dot/fp32/reference_impl", 1.0)
    mirror.bring_to_head()
    with django_assert_num_queries(4):
        boards_overview()
    with django_assert_num_queries(4):
        board_view(BOARD)
    with django_assert_num_queries(6):
        kernel_view(f"{BOARD}/k0")


def test_it_narrows_the_overview(board):
    board.problem("GEMM/nn/fp32")
    board.measured("aarch64/GEMM/nn/fp32/reference_impl", 1.0)
    mirror.bring_to_head()
    assert len(boards_overview()) == 2
    (gemm,) = boards_overview(op_class="GEMM")
    assert gemm.board_id == "aarch64/GEMM/nn/fp32"
    assert [point.kernel_id for point in gemm.records] == ["aarch64/GEMM/nn/fp32/reference_impl"]
    assert [each.board_id for each in boards_overview(arch="x86_64")] == [BOARD]
    assert boards_overview(arch="sm_90") == ()


def test_it_gives_other_devices_and_versions_a_tab_of_their_own(board):
    board.measured(FAST, 1.5)
    board.measured(OTHER, 9.0, runner={"name": "r", "device": "cpu-b", "driver": None, "isolation": "full"})
    mirror.bring_to_head()
    view = board_view(BOARD)
    assert [(tab.device, tab.is_main) for tab in view.tabs] == [("cpu-a", True), ("cpu-b", False)]
    assert [row.kernel_id for row in view.ranking.rows] == [FAST, BASE]
    assert view.best.kernel_id == FAST
    (elsewhere,) = view.tabs[1].rows
    assert (elsewhere.kernel_id, elsewhere.rank, elsewhere.why_not_ranked) == (OTHER, 1, "")
    assert kernel_view(OTHER).standing.why_not_ranked_code == "rank:device"


def test_it_names_the_boards_of_the_same_problem_on_other_archs(board):
    board.measured("aarch64/Vector/saxpy/fp32/reference_impl", 1.0)
    mirror.bring_to_head()
    assert board_view(BOARD).sibling_boards == ("aarch64/Vector/saxpy/fp32", BOARD)


def test_it_knows_no_board_and_no_kernel_that_is_not_there(board):
    mirror.bring_to_head()
    assert board_view("x86_64/Vector/axpby/fp32") is None
    assert kernel_view(f"{BOARD}/nobody") is None


def test_it_shows_a_kernel_with_its_figures_history_parent_and_children(board):
    board.measured(FAST, 1.5)
    board.bench(FAST, 1.7)
    parent = {"kernel_id": FAST, "commit": "c" * 40}
    board.kernel(OTHER, parent=parent)
    mirror.bring_to_head()
    view = kernel_view(FAST)
    assert view.standing.speedup.value == 1.7
    assert view.standing.rank == 1
    assert view.standing.sol_fraction == pytest.approx(0.5)
    assert view.standing.t_ns_geomean == pytest.approx(1000 / 1.7)
    (case,) = view.standing.cases
    assert (case.case_id, case.achieved_gbs, case.base_t_ns.value) == ("n1m", 10.0, 1000)
    assert [point.speedup.value for point in view.history] == [1.5, 1.7]
    assert view.children == (OTHER,)
    assert kernel_view(OTHER).parent == FAST
    assert view.attempts == ()
