"""Following main and ledger, the publishing it ends in, and what a broken push does."""

from uuid import UUID, uuid4

import pytest

from leaderboard import mirror
from leaderboard.models import BenchPoint, Kernel, MirrorState, Problem
from submissions.kernel_package.errors import Broken
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.strict_yaml import dump_yaml
from submissions.kernel_store.publication import Publication
from submissions.models import Event, Run, State, Submission

from .documents import (
    BOARD,
    RECEIVED,
    SHA,
    bench_document,
    desc_document,
    ledger_entry,
    run_document,
    submission_document,
)

FAST, OTHER, BASE = f"{BOARD}/fast", f"{BOARD}/other", f"{BOARD}/reference_impl"


def accepted_submission(uuid: UUID, kernel_id: str = FAST) -> Submission:
    return Submission.objects.create(
        uuid=uuid,
        kernel_id=kernel_id,
        submitter="entrant-a",
        submitter_is_verified=True,
        package_sha256=SHA,
        package_bytes=1000,
        tree_digest=SHA,
        state=State.ACCEPTED,
        received_at=RECEIVED,
    )


def accepted_record(uuid: UUID, kernel_id: str = FAST):
    record = submission_document(
        uuid, kernel_id, "accepted", code="decision:new-kernel", reason="new kernel", details={}
    )
    return ledger_entry(uuid, {"submission.json": record})


def test_it_mirrors_an_empty_store(zoo):
    head = mirror.bring_to_head()
    assert MirrorState.objects.get().head == head
    assert not Kernel.objects.exists()


def test_it_mirrors_problems_kernels_and_history(board):
    bench_commit = board.measured(FAST, 1.5)
    assert mirror.bring_to_head() == bench_commit
    problem = Problem.objects.get()
    assert (problem.problem_id, problem.version, problem.title) == (
        "Vector/saxpy/fp32",
        1,
        "Scaled vector addition",
    )
    kernel = Kernel.objects.get(kernel_id=FAST)
    assert (kernel.status, kernel.speedup, kernel.device, kernel.submitter) == (
        "measured",
        1.5,
        "cpu-a",
        "entrant-a",
    )
    assert (kernel.bench_commit, kernel.rank, kernel.is_tied) == (bench_commit, 1, False)
    assert len(kernel.tree_digest) == 64
    assert list(BenchPoint.objects.values_list("kernel_id", "is_record")) == [(BASE, True), (FAST, True)]


def test_it_follows_one_commit_at_a_time_to_the_same_rows_as_all_at_once(board, settings):
    for step in (
        lambda: board.measured(FAST, 1.5),
        lambda: board.measured(OTHER, 1.6),
        lambda: board.bench(FAST, 2),
    ):
        step()
        mirror.bring_to_head()
    followed = [list(model.objects.order_by("pk").values()) for model in (Problem, Kernel, BenchPoint)]
    content = settings.INDEX_PATH.read_bytes()
    mirror.rebuild()
    assert [list(model.objects.order_by("pk").values()) for model in (Problem, Kernel, BenchPoint)] == followed
    assert settings.INDEX_PATH.read_bytes() == content


def test_it_gives_the_same_index_bytes_from_an_empty_database(board, settings):
    board.measured(FAST, 1.5)
    board.kernel(OTHER)
    mirror.bring_to_head()
    before = settings.INDEX_PATH.read_bytes()
    for model in (Problem, Kernel, BenchPoint, MirrorState):
        model.objects.all().delete()
    settings.INDEX_PATH.unlink()
    mirror.bring_to_head()
    assert settings.INDEX_PATH.read_bytes() == before


def test_it_does_nothing_when_nothing_moved(board, django_assert_num_queries):
    mirror.bring_to_head()
    followed_at = MirrorState.objects.get().followed_at
    with django_assert_num_queries(3):
        mirror.bring_to_head()
    assert MirrorState.objects.get().followed_at == followed_at


def test_it_writes_the_index_again_when_the_file_is_lost(board, settings):
    mirror.bring_to_head()
    settings.INDEX_PATH.unlink()
    mirror.bring_to_head()
    assert settings.INDEX_PATH.exists()


def test_it_forgets_a_kernel_that_main_lost_but_keeps_its_history(board):
    board.measured(FAST, 1.5)
    mirror.bring_to_head()
    board.remove(FAST)
    mirror.bring_to_head()
    assert not Kernel.objects.filter(kernel_id=FAST).exists()
    assert BenchPoint.objects.filter(kernel_id=FAST).exists()


def test_it_ranks_a_board_anew_when_its_problem_gets_a_new_version(board):
    board.measured(FAST, 1.5)
    mirror.bring_to_head()
    board.problem(version=2)
    mirror.bring_to_head()
    assert set(Kernel.objects.values_list("rank", flat=True)) == {None}


def test_it_rebuilds_when_main_was_pushed_by_force(board):
    board.measured(FAST, 1.5)
    mirror.bring_to_head()
    MirrorState.objects.update(head="d" * 40)
    board.bench(FAST, 2.0)
    mirror.bring_to_head()
    assert Kernel.objects.get(kernel_id=FAST).speedup == 2.0


def test_it_refuses_a_broken_push_keeps_the_last_mirror_and_goes_on_once_repaired(board):
    good = mirror.bring_to_head()
    board.put({"problems/Vector/saxpy/fp32/problem.yaml": b"title: [unclosed"})
    for _ in range(2):
        with pytest.raises(Broken, match="Vector/saxpy/fp32") as refusal:
            mirror.bring_to_head()
        assert refusal.value.code == "mirror:invalid"
    state = MirrorState.objects.get()
    assert state.head == good
    assert "problem Vector/saxpy/fp32" in state.error
    assert Problem.objects.get().version == 1
    board.problem(version=2)
    mirror.bring_to_head()
    assert MirrorState.objects.get().error == ""
    assert Problem.objects.get().version == 2


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("desc.yaml", b"kernel_id: x\n", "desc.yaml"),
        ("bench_result.yaml", b"status: fast\n", "bench_result.yaml"),
    ],
)
def test_it_refuses_a_broken_package(board, name, content, told):
    mirror.bring_to_head()
    board.put({f"{BASE}/.kernel_package/{name}": content})
    with pytest.raises(Broken, match=told):
        mirror.bring_to_head()


@pytest.mark.parametrize("is_followed", [True, False])
def test_it_refuses_a_package_without_a_description(board, is_followed):
    if is_followed:
        mirror.bring_to_head()
    board.remove(f"{BASE}/.kernel_package/desc.yaml")
    with pytest.raises(Broken, match=r"desc\.yaml is missing"):
        mirror.bring_to_head()


@pytest.mark.parametrize("name", ["desc.yaml", "bench_result.yaml"])
def test_it_refuses_a_document_that_names_another_kernel(board, name):
    mirror.bring_to_head()
    document = desc_document(FAST) if name == "desc.yaml" else bench_document(FAST, 1.0)
    board.put({f"{BASE}/.kernel_package/{name}": dump_yaml(document)})
    with pytest.raises(Broken, match=f"names {FAST}"):
        mirror.bring_to_head()


def test_it_passes_over_files_and_subjects_that_are_no_kernels(board):
    mirror.bring_to_head()
    path = f"{BASE}/.kernel_package/bench_result.yaml"
    board.put({"docs/a/b/c/d/e.md": b"text", "x86 64/Vector/saxpy/fp32/k/f": b"text"}, "bench: of everything")
    board.put({path: dump_yaml(bench_document(BASE, 1.0, status="withdrawn"))}, f"bench: {BASE} withdrawn")
    mirror.bring_to_head()
    assert Kernel.objects.get().status == "withdrawn"
    assert BenchPoint.objects.count() == 1


def test_it_ranks_a_measured_result_that_came_by_hand_from_its_own_time(board):
    board.kernel(FAST)
    board.put(
        {f"{FAST}/.kernel_package/bench_result.yaml": dump_yaml(bench_document(FAST, 1.5))}, "move results here"
    )
    mirror.bring_to_head()
    kernel = Kernel.objects.get(kernel_id=FAST)
    assert (kernel.rank, kernel.bench_commit) == (1, "")
    assert kernel.accepted_at.isoformat() == "2026-01-31T12:00:00+00:00"


def test_it_refuses_a_kernel_whose_problem_is_not_there(board):
    mirror.bring_to_head()
    board.kernel("x86_64/Vector/axpby/fp32/reference_impl")
    with pytest.raises(Broken, match="Vector/axpby/fp32 is not in the store"):
        mirror.bring_to_head()


def test_it_refuses_the_loss_of_a_problem_that_has_kernels(board):
    mirror.bring_to_head()
    board.remove("problems/Vector/saxpy/fp32")
    with pytest.raises(Broken, match="is not in the store"):
        mirror.bring_to_head()


def test_it_leaves_a_broken_bench_commit_out_of_the_history_once_repaired(board):
    path = f"{BASE}/.kernel_package/bench_result.yaml"
    board.put({path: b"status: odd\n"}, f"bench: {BASE} 1.000")
    board.bench(BASE, 1.0)
    mirror.bring_to_head()
    assert BenchPoint.objects.count() == 2


def test_it_publishes_what_is_accepted_and_mirrored(board):
    uuid = uuid4()
    accepted_submission(uuid)
    board.measured(FAST, 1.5, submission=str(uuid))
    board.writer.record(accepted_record(uuid))
    mirror.bring_to_head()
    submission = Submission.objects.get()
    assert submission.state == State.PUBLISHED
    assert submission.code == "decision:new-kernel"
    assert submission.finished_at.isoformat() == "2026-01-31T12:00:05.500000+00:00"
    assert Event.objects.filter(submission=submission, text="published").count() == 1
    mirror.bring_to_head()
    assert Event.objects.count() == 1


def test_it_publishes_what_the_walk_advanced(board):
    uuid = uuid4()
    accepted_submission(uuid)
    made = []

    def bench(source_commit: str) -> bytes:
        made.append(source_commit)
        return dump_yaml(bench_document(FAST, 1.5, submission=str(uuid), source_commit=source_commit))

    publication = Publication(
        uuid=str(uuid),
        received_at=RECEIVED,
        kernel_id=KernelId.parse(FAST),
        package_files={DESCRIPTION_PATH: dump_yaml(desc_document(FAST)), "src/saxpy.cpp": b"x"},
        make_bench=bench,
        ledger=accepted_record(uuid),
        speedup_text="1.5x",
    )
    board.writer.publish(publication)
    mirror.bring_to_head()
    assert Submission.objects.get().state == State.PUBLISHED
    kernel = Kernel.objects.get(kernel_id=FAST)
    assert (kernel.source_commit, kernel.rank, kernel.submission) == (made[-1], 1, uuid)
    assert BenchPoint.objects.get(kernel_id=FAST).source_commit == made[-1]


def test_it_does_not_publish_what_main_does_not_have(board):
    uuid = uuid4()
    accepted_submission(uuid)
    board.writer.record(accepted_record(uuid))
    mirror.bring_to_head()
    assert Submission.objects.get().state == State.ACCEPTED


def test_it_publishes_what_a_crash_left_accepted(board):
    uuid = uuid4()
    board.measured(FAST, 1.5, submission=str(uuid))
    board.writer.record(accepted_record(uuid))
    mirror.bring_to_head()
    Submission.objects.all().delete()
    accepted_submission(uuid)
    mirror.bring_to_head()
    assert Submission.objects.get().state == State.PUBLISHED


def test_it_restores_submissions_and_runs_that_sql_lacks(zoo):
    uuid, run = uuid4(), uuid4()
    records = {
        "submission.json": submission_document(uuid, FAST, runs=[str(run)]),
        "run-1.json": run_document(run, FAST, uuid),
    }
    zoo.writer.record(ledger_entry(uuid, records))
    mirror.bring_to_head()
    submission = Submission.objects.get()
    assert (submission.uuid, submission.state, submission.received_at) == (uuid, State.FAILED, RECEIVED)
    assert submission.details["first_wrong"]["case"] == "n1m"
    restored = Run.objects.get()
    assert (restored.uuid, restored.submission_id, restored.number) == (run, uuid, 1)
    assert (restored.verdict, restored.state, restored.arch) == ("wrong_result", "finished", "x86_64")
    assert restored.record == records["run-1.json"]


def test_it_restores_a_sweep_that_has_no_submission(zoo):
    run = uuid4()
    record = run_document(run, FAST, None, kind="sweep")
    zoo.writer.record(ledger_entry(run, {"run-1.json": record}))
    mirror.bring_to_head()
    assert Run.objects.get().submission is None
    assert not Submission.objects.exists()


def test_it_restores_an_accepted_one_as_published_with_its_decision(board):
    uuid = uuid4()
    board.measured(FAST, 1.5, submission=str(uuid))
    decision = {"outcome": "accepted", "speedup": {"value": 1.5, "lo": 1.4, "hi": 1.6}}
    record = submission_document(uuid, FAST, "accepted", code="decision:new-kernel", reason="new")
    board.writer.record(ledger_entry(uuid, {"submission.json": record, "decision.json": decision}))
    mirror.bring_to_head()
    submission = Submission.objects.get()
    assert (submission.state, submission.decision) == (State.PUBLISHED, decision)


def test_it_leaves_rows_that_sql_has_alone(zoo):
    uuid = uuid4()
    row = accepted_submission(uuid)
    zoo.writer.record(ledger_entry(uuid, {"submission.json": submission_document(uuid, FAST)}))
    mirror.bring_to_head()
    row.refresh_from_db()
    assert row.state == State.ACCEPTED


def test_it_says_which_ledger_entry_it_can_not_read(zoo):
    uuid = uuid4()
    zoo.writer.record(ledger_entry(uuid, {"submission.json": {"uuid": str(uuid)}}))
    with pytest.raises(Broken, match=str(uuid)) as refusal:
        mirror.bring_to_head()
    assert refusal.value.code == "mirror:ledger"
