"""index.json: its shape, its order, and that it is written in one step."""

import json

from leaderboard import index, mirror
from leaderboard.models import BenchPoint, Kernel

from .documents import BOARD

FAST, OTHER, BASE = f"{BOARD}/fast", f"{BOARD}/other", f"{BOARD}/reference_impl"


def test_it_lists_every_kernel_sorted_with_figures_and_facets(board):
    board.measured(FAST, 1.5)
    board.kernel(OTHER)
    head = mirror.bring_to_head()
    document = index.index_document()
    assert (document["schema_version"], document["head"]) == (1, head)
    assert [each["kernel_id"] for each in document["kernels"]] == [FAST, OTHER, BASE]
    fast, other, base = document["kernels"]
    assert (fast["rank"], fast["is_tied"], fast["not_ranked"]) == (1, False, None)
    assert fast["speedup"] == {"value": 1.5, "lo": 1.5 * 0.999, "hi": 1.5 * 1.001}
    assert (fast["arch"], fast["problem"], fast["device"]) == ("x86_64", "Vector/saxpy/fp32", "cpu-a")
    assert fast["cases"][0]["id"] == "n1m"
    assert (other["status"], other["rank"], other["speedup"]) == ("unmeasured", None, None)
    assert other["not_ranked"] == "rank:unmeasured"
    assert base["rank"] == 2


def test_it_is_one_kernel_a_line_and_ends_with_a_newline(board):
    mirror.bring_to_head()
    lines = index.index_bytes().decode().splitlines()
    assert [line for line in lines if BASE in line] == [lines[2]]
    assert json.loads(lines[2])["kernel_id"] == BASE
    assert index.index_bytes().endswith(b"}\n")


def test_it_is_valid_json_when_there_is_nothing(zoo):
    assert index.index_document() == {"head": "", "kernels": [], "schema_version": 1}


def test_it_writes_the_file_only_when_it_differs(board, settings):
    mirror.bring_to_head()
    stamp = settings.INDEX_PATH.stat().st_mtime_ns
    assert index.write_index() is False
    assert settings.INDEX_PATH.stat().st_mtime_ns == stamp
    settings.INDEX_PATH.write_bytes(b"{}")
    assert not index.is_index_current()
    assert index.write_index() is True
    assert index.is_index_current()
    assert [path.name for path in settings.INDEX_PATH.parent.glob(".index*")] == []


def test_it_gives_ranks_up_when_the_baseline_is_withdrawn(board):
    board.measured(FAST, 1.5)
    mirror.bring_to_head()
    board.bench(BASE, 1.0, status="withdrawn")
    mirror.bring_to_head()
    assert set(Kernel.objects.values_list("rank", flat=True)) == {None}
    assert not BenchPoint.objects.filter(is_record=True).exists()


def test_it_ranks_only_the_touched_boards(board, django_assert_max_num_queries):
    board.problem("Vector/dot/fp32")
    board.measured("x86_64/Vector/dot/fp32/reference_impl", 1.0)
    mirror.bring_to_head()
    Kernel.objects.filter(name="reference_impl").update(rank=7)
    board.measured(FAST, 1.5)
    with django_assert_max_num_queries(40):
        mirror.bring_to_head()
    assert list(Kernel.objects.values_list("rank", flat=True)) == [7, 1, 2]
