import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from native_bench import starter as starter_zoo
from native_bench.host import native_arch
from submissions.models import State, Submission, SubmitterToken
from submissions.starter import seed_store, submit_starters
from submissions.store import reader
from tests.unit.native_bench.proved import PROBLEM_YAML, write_problem
from tests.unit.submissions import zoo


def test_it_creates_the_store_with_problems_and_unmeasured_baselines(site):
    assert seed_store() > 0
    store = reader()
    head = store.main_head()
    assert set(store.problem_ids(head)) == {problem_id for problem_id, _ in starter_zoo.problems()}
    baselines = [kernel_id for kernel_id, _ in starter_zoo.kernels(native_arch()) if kernel_id.is_baseline]
    assert sorted(store.kernel_ids(head)) == sorted(baselines)
    assert {store.bench_result(head, kernel_id)["status"] for kernel_id in baselines} == {"unmeasured"}
    assert seed_store() == 0
    assert reader().main_head() == head


def test_it_sends_every_starter_kernel_once_baselines_first(site):
    seed_store()
    kernels = starter_zoo.kernels(native_arch())
    assert submit_starters() == len(kernels)
    assert submit_starters() == 0
    rows = list(Submission.objects.order_by("received_at"))
    are_baselines = [row.kernel_id.endswith("/reference_impl") for row in rows]
    assert are_baselines == sorted(are_baselines, reverse=True)
    assert {(row.submitter, row.submitter_is_verified) for row in rows} == {("kernel-zoo", True)}
    zoo.work()
    assert {row.state for row in Submission.objects.all()} == {State.QUEUED}


@pytest.fixture
def saxpy_zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A starter zoo of one problem that is proved, with the real one's kernels."""
    root = write_problem(tmp_path / "problems", "Vector/saxpy/fp32")
    shutil.copytree(starter_zoo.PROBLEMS / "Vector/saxpy/fp32/kernels", root / "Vector/saxpy/fp32/kernels")
    monkeypatch.setattr(starter_zoo, "PROBLEMS", root)
    return root


@pytest.mark.sandbox
def test_it_registers_no_problem_whose_tolerance_is_not_proved(site, saxpy_zoo):
    loose = PROBLEM_YAML.replace("terms: 2,", 'terms: "2*1000000",')
    write_problem(saxpy_zoo, "Vector/loose/fp32", loose)
    (saxpy_zoo / "Vector/loose/fp32/kernels").mkdir()
    with pytest.raises(
        CommandError, match=r"(?s)Vector/loose/fp32: refused.*tolerance: too loose.*1 of 2 problems"
    ):
        call_command("seed_zoo", "--no-submit", stdout=StringIO())
    assert not list(reader().problem_ids(reader().main_head()))


@pytest.mark.sandbox
def test_it_proves_a_problem_only_when_it_is_new(site, saxpy_zoo, monkeypatch):
    call_command("seed_zoo", "--no-submit", stdout=StringIO())
    assert [str(problem_id) for problem_id in reader().problem_ids(reader().main_head())] == ["Vector/saxpy/fp32"]
    # Without a sandbox nothing could be proved.
    monkeypatch.setenv("PATH", "")
    call_command("seed_zoo", "--no-submit", stdout=StringIO())


@pytest.mark.sandbox
def test_it_seeds_and_submits_by_command(site, saxpy_zoo):
    out = StringIO()
    call_command("seed_zoo", "--no-submit", stdout=out)
    assert "seeded" in out.getvalue()
    assert not Submission.objects.exists()
    call_command("seed_zoo", stdout=out)
    assert Submission.objects.exists()


def test_it_makes_a_token_by_command(site):
    out = StringIO()
    call_command("create_submitter", "alice", stdout=out)
    assert out.getvalue().startswith("kz_")
    assert SubmitterToken.objects.get().submitter == "alice"
    with pytest.raises(CommandError, match="letters, digits"):
        call_command("create_submitter", "a b", stdout=out)


def test_it_recovers_by_command(store):
    out = StringIO()
    submission = zoo.send()
    call_command("recover", stdout=out)
    assert "nudged: 1" in out.getvalue()
    assert zoo.fresh(submission).state == State.RECEIVED
