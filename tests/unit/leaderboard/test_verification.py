"""verify_mirror names every difference and changes nothing."""

from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from leaderboard import mirror
from leaderboard.models import BenchPoint, Kernel, MirrorState, Problem
from leaderboard.verification import differences
from submissions.models import Run, State, Submission

from .documents import BOARD, RECEIVED, SHA, ledger_entry, run_document, submission_document

FAST = f"{BOARD}/fast"


@pytest.fixture
def mirrored(board):
    board.measured(FAST, 1.5)
    uuid, run = uuid4(), uuid4()
    records = {"submission.json": submission_document(uuid, FAST), "run-1.json": run_document(run, FAST, uuid)}
    board.writer.record(ledger_entry(uuid, records))
    mirror.bring_to_head()
    return board


def tampered(found: list[str], what: str) -> bool:
    return len(found) == 1 and what in found[0]


def test_it_finds_nothing_in_a_good_mirror(mirrored, capsys):
    call_command("verify_mirror")
    assert "the mirror is what the store says" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (lambda: Kernel.objects.filter(kernel_id=FAST).update(rank=7), f"Kernel {FAST}: rank: mirror 7, store 1"),
        (lambda: Kernel.objects.filter(kernel_id=FAST).delete(), f"Kernel {FAST}: in the store only"),
        (lambda: Problem.objects.update(title="x"), "title: mirror 'x'"),
        (lambda: BenchPoint.objects.filter(kernel_id=FAST).update(speedup=9), "speedup: mirror 9.0, store 1.5"),
        (lambda: Submission.objects.update(reason="x"), "reason: mirror 'x'"),
        (lambda: Run.objects.update(verdict="ok"), "verdict: mirror 'ok', store 'wrong_result'"),
        (lambda: Run.objects.all().delete(), "in the store only"),
    ],
)
def test_it_names_a_row_that_differs_and_leaves_it(mirrored, tamper, told):
    tamper()
    before = [list(model.objects.order_by("pk").values()) for model in (Problem, Kernel, BenchPoint, MirrorState)]
    assert tampered(differences(), told)
    assert [
        list(model.objects.order_by("pk").values()) for model in (Problem, Kernel, BenchPoint, MirrorState)
    ] == before


def test_it_names_what_only_the_mirror_has(mirrored):
    Submission.objects.create(
        kernel_id=FAST,
        submitter="x",
        package_sha256=SHA,
        package_bytes=1,
        state=State.FAILED,
        received_at=RECEIVED,
    )
    assert tampered(differences(), "ended, but not in the ledger")


def test_it_leaves_open_submissions_to_the_walk(mirrored):
    Submission.objects.update(state=State.RUNNING)
    assert differences() == []


def test_it_names_a_file_that_is_not_the_index(mirrored, settings):
    settings.INDEX_PATH.write_text("{}")
    assert tampered(differences(), "index.json")


def test_it_names_a_mirror_that_lags(mirrored):
    mirrored.problem(version=2)
    found = differences()
    assert any(line.startswith("MirrorState head") for line in found)
    assert "Problem Vector/saxpy/fp32: version: mirror 1, store 2" in found


def test_it_ends_with_status_1_and_says_how_many(mirrored, capsys):
    Kernel.objects.filter(kernel_id=FAST).update(title="x", rank=3)
    with pytest.raises(CommandError, match="2 differences"):
        call_command("verify_mirror")
    assert capsys.readouterr().out.count(f"Kernel {FAST}") == 2


def test_it_is_cured_by_a_rebuild(mirrored, capsys):
    Kernel.objects.all().delete()
    Problem.objects.update(title="x")
    call_command("rebuild_mirror")
    assert "1 problems, 2 kernels, 2 history points" in capsys.readouterr().out
    assert differences() == []
