from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from native_bench import starter as starter_zoo
from native_bench.host import native_arch
from submissions.models import State, Submission, SubmitterToken
from submissions.starter import seed_store, submit_starters
from submissions.store import reader
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


def test_it_seeds_and_submits_by_command(site):
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
