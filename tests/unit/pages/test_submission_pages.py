import pytest

from leaderboard.submission_list import PAGE_SIZE
from submissions.models import Mode, RunState, State, Submission
from tests.unit.pages import cast
from tests.unit.pages.conftest import BOARD

KERNEL = f"{BOARD}/mine"


@pytest.mark.parametrize("state", list(State))
def test_it_has_a_page_for_every_state(board, page, state):
    submission = cast.add_submission(KERNEL, state, code="area:what", reason="a reason in words")

    text = page(f"/submissions/{submission.pk}")

    assert "a reason in words" in text
    assert 'class="steps"' in text
    assert ("Cancel…" in text) == (state in ("received", "validated", "queued", "running"))


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("build_failed", "It did not compile"), ("wrong_result", "Its result is wrong"), ("crashed", "It crashed")],
)
def test_it_says_the_verdict_first(board, page, verdict, words):
    submission = cast.add_submission(KERNEL, State.FAILED, code="run:failed", reason="it failed")
    cast.add_run(submission, RunState.FINISHED, verdict)

    text = page(f"/submissions/{submission.pk}")

    assert text.index(words) < text.index("The walk")
    assert "verdict is-bad" in text


def test_it_shows_the_first_wrong_element(board, page):
    submission = cast.add_submission(KERNEL, State.FAILED, code="check:wrong", reason="n4k is wrong")
    wrong = {"case": "n4k", "index": [4095], "got": 0.0, "expected": 1.75}
    cast.add_run(submission, RunState.FINISHED, "wrong_result", details={"first_wrong": wrong, "signal": "SIGFPE"})

    text = page(f"/submissions/{submission.pk}")

    assert "First wrong element" in text
    assert "<code>[4095]</code>" in text
    assert "SIGFPE" in text


def test_it_shows_the_place_in_the_queue(board, page):
    for name in ("first", "second"):
        submission = cast.add_submission(f"{BOARD}/{name}", State.QUEUED)
        cast.add_run(submission, RunState.QUEUED)

    assert "of 2</strong> in the queue of x86_64" in page(f"/submissions/{submission.pk}")


def test_it_shows_stage_and_log_of_what_runs_as_a_fragment(board, page):
    submission = cast.add_submission(KERNEL, State.RUNNING)
    cast.add_run(submission, RunState.LEASED, stage="time", progress=0.62, log="check: <all> right\n")

    text = page(f"/submissions/{submission.pk}?fragment=walk")

    assert "<html" not in text
    assert "Running: time" in text
    assert "62\u00a0%" in text
    assert "check: &lt;all&gt; right" in text


def test_it_answers_why_a_benchmark_is_not_ranked(board, page):
    submission = cast.add_submission(KERNEL, State.CHECKED, mode=Mode.BENCHMARK)

    text = page(f"/submissions/{submission.pk}")

    assert "Why am I not ranked?" in text
    assert "only mode &#x27;ranked&#x27; can reach the board" in text


def test_it_says_by_how_much_a_declined_one_differs(board, page):
    decision = {"speedup": cast.interval(1.32, 0.02), "versus_incumbent": cast.interval(1.004, 0.009)}
    submission = cast.add_submission(KERNEL, State.DECLINED, decision=decision, reason="not faster")

    text = page(f"/submissions/{submission.pk}")

    assert "1.32×" in text
    assert "Against what stood under this name" in text


def test_it_lists_submissions_by_state_submitter_and_board(db, page):
    open_one = cast.add_submission(KERNEL, State.QUEUED)
    done = cast.add_submission("sm_90/GEMM/nn/fp32/x", State.REJECTED, submitter="mira")

    assert f"/submissions/{done.pk}" in page("/submissions/")
    for query in ("state=open", "submitter=entrant-a", "kernel_id=x86_64/Vector"):
        text = page(f"/submissions/?{query}")
        assert f"/submissions/{open_one.pk}" in text
        assert f"/submissions/{done.pk}" not in text
    assert "Nothing here" in page("/submissions/?state=published")


def test_it_pages_the_list_in_a_fixed_number_of_queries(db, page, django_assert_num_queries):
    for number in range(PAGE_SIZE + 3):
        cast.add_submission(f"{BOARD}/k{number}", State.QUEUED)

    with django_assert_num_queries(1):
        first = page("/submissions/?state=queued")
    assert first.count('<th scope="row">') == PAGE_SIZE
    assert 'href="?state=queued&amp;page=2"' in first
    second = page("/submissions/?state=queued&page=2")
    assert second.count('<th scope="row">') == 3
    assert 'rel="prev"' in second
    assert "Nothing here" in page("/submissions/?page=9999")


def test_it_knows_no_submission_by_a_made_up_name(db, client):
    assert client.get("/submissions/0e0e0e0e-0000-4000-8000-000000000000").status_code == 404
    assert client.get("/submissions/not-a-uuid").status_code == 404
    assert not Submission.objects.exists()


def test_it_keeps_the_notes_of_a_good_run_to_itself(board, page):
    submission = cast.add_submission(KERNEL, State.PUBLISHED)
    cast.add_run(submission, RunState.FINISHED, "ok", details={"build_cached": True})

    assert "What helps" not in page(f"/submissions/{submission.pk}")
