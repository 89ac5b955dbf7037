from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.models import Kernel
from submissions.models import RunState, State
from tests.unit.pages import cast
from tests.unit.pages.conftest import BOARD


def test_it_opens_empty(db, page):
    text = page("/")

    assert "There is no board yet" in text
    assert "Every runner is free" in text


def test_it_shows_each_board_with_its_leader_and_interval(board, page):
    text = page("/")

    assert f'href="/boards/{board}"' in text
    assert "1.30×" in text
    assert "tie of 2" in text
    assert 'class="bar bar-faster"' in text
    assert "no board fits" not in text.casefold()


def test_it_filters_boards_by_text_arch_and_class(board, page):
    assert f"/boards/{board}" in page("/?q=SAXPY&arch=x86_64&op=Vector")
    assert "No board fits this filter" in page("/?q=gemm")
    assert "No board fits this filter" in page("/?arch=sm_90")


def test_it_shows_what_runs_now(board, page):
    submission = cast.add_submission(f"{board}/next", State.RUNNING)
    cast.add_run(submission, RunState.LEASED, stage="time", progress=0.5)

    text = page("/?fragment=now")

    assert "<html" not in text
    assert f"/submissions/{submission.pk}" in text
    assert "time on cpu0" in text


def test_it_asks_a_fixed_number_of_queries(board, page, django_assert_num_queries):
    for number in range(30):
        cast.add_kernel(f"{BOARD}/more{number}", 1.5 + number / 10)
    cast.add_problem("GEMM/nn/fp32", "Matrix product")
    cast.add_kernel("x86_64/GEMM/nn/fp32/reference_impl", 1.0)
    cast.rank_boards()

    with django_assert_num_queries(8):
        page("/")


def test_it_ranks_a_board_with_ties_and_says_why_others_have_no_rank(board, page):
    text = page(f"/boards/{board}")

    assert text.count("shared</span>") == 2
    assert "not measured yet: there is no figure to rank by" in text
    assert 'class="rank rank-1"' in text
    assert "bar-slower" in text
    assert "<code>n4k</code>" in text


def test_it_asks_a_fixed_number_of_queries_for_a_board(board, page, django_assert_num_queries):
    for number in range(30):
        cast.add_kernel(f"{BOARD}/more{number}", 1.5 + number / 10)
    cast.rank_boards()

    with django_assert_num_queries(4):
        page(f"/boards/{board}")


def test_it_says_that_nothing_is_ranked_without_a_baseline(db, page):
    cast.add_problem("Vector/dot/fp64", "Dot product")
    cast.add_kernel("x86_64/Vector/dot/fp64/reference_impl", None)
    cast.rank_boards()

    assert "Nothing is ranked here yet" in page("/boards/x86_64/Vector/dot/fp64")
    assert "not measured yet" in page("/")


def test_it_shows_another_device_in_its_own_table(board, page):
    row = cast.add_kernel(f"{board}/elsewhere", 2.0)
    Kernel.objects.filter(pk=row.pk).update(device="Another CPU")
    cast.rank_boards()

    text = page(f"/boards/{board}")

    assert "On another device or version" in text
    assert "Another CPU, problem version 1" in text


@pytest.mark.parametrize("path", ["/boards/x86_64/No/such/board", "/kernels/a/b/c/d/e", "/problems/No/such/one"])
def test_it_says_what_is_not_there(db, page, path):
    text = page(path, status=404)

    assert "Nothing lives here" in text
    assert f"There is no {path.split('/')[1].removesuffix('s')} {path.split('/', 2)[2]}." in text


def test_it_lists_problems_and_shows_a_contract(board, page):
    assert "/problems/Vector/saxpy/fp32" in page("/problems/")

    text = page("/problems/Vector/saxpy/fp32")

    arguments = ",\n    ".join(["const float* x", "float* z", "float a", "int64_t n"])
    assert f"extern &quot;C&quot; void kernel(\n    {arguments});" in text
    assert "vectors &lt;of&gt; any length" in text
    assert "n = 1\u202f024" in text


def test_it_shows_a_problem_that_has_no_board(db, page):
    cast.add_problem("Vector/dot/fp64", "Dot product")

    assert "No arch has a board" in page("/problems/Vector/dot/fp64")


def test_it_shows_a_kernel_with_cases_history_and_attempts(kernel, page):
    cast.add_point(kernel, 1.1, 0.02, timezone.now() - timedelta(days=1))
    submission = cast.add_submission(kernel.kernel_id, State.DECLINED, reason="not faster")

    text = page(f"/kernels/{kernel.kernel_id}")

    assert "1.31×" in text
    assert "rank 1, shared" in text
    assert "2 accepted measurings" in text
    assert text.count('<td class="draw">') == 3
    assert f"/submissions/{submission.pk}" in text


def test_it_shows_an_unmeasured_kernel(board, page):
    text = page(f"/kernels/{board}/fresh")

    assert "not measured" in text
    assert "Why is it not ranked?" in text


def test_it_redirects_short_addresses(db, client):
    assert client.get("/boards/").headers["Location"] == "/"
    assert client.get("/problems").headers["Location"] == "/problems/"
    assert client.get("/submissions?state=open").headers["Location"] == "/submissions/?state=open"


@pytest.mark.parametrize("name", ["nothing", "../base", "now.html", ""])
def test_it_has_no_other_fragments(db, client, name):
    assert client.get("/", {"fragment": name}).status_code == 404


def test_it_takes_no_post_where_it_only_reads(db, client):
    assert client.post("/").status_code == 405
