import pytest

from submissions import publish as publishing
from submissions import spool
from submissions.assignment import assignment_for
from submissions.kernel_package.errors import Broken
from submissions.kernel_store.publication import Moved
from submissions.models import Run, State, Submission
from submissions.publish import publish
from submissions.requeue import refuse_held, release_held, requeue_submission
from submissions.results import record_result
from submissions.store import reader, writer
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")

OTHER_BODY = "z[i] = y[i] + a * x[i];"


def test_it_accepts_a_new_kernel_in_two_commits_and_one_ledger_entry():
    submission = zoo.measure(zoo.send())
    assert (submission.state, submission.code) == (State.ACCEPTED, "decision:new-kernel")
    store = reader()
    bench_commit, source_commit = list(reversed(store.commits("", store.main_head())))[:2]
    assert source_commit.subject == f"source: {zoo.KERNEL}"
    assert bench_commit.subject.startswith(f"bench: {zoo.KERNEL} 1.284×")
    assert bench_commit.trailers["Zoo-Submission"] == str(submission.pk)
    assert bench_commit.trailers["Zoo-Submitter"] == "alice"
    assert bench_commit.trailers["Zoo-Runner"] == "cpu0"
    assert bench_commit.trailers["Zoo-Run"] == str(submission.runs.get().pk)
    figures = zoo.bench()
    assert figures["source_commit"] == source_commit.id
    assert figures["submission"] == str(submission.pk)
    assert figures["status"] == "measured"
    entry = zoo.ledger(submission)
    assert entry["submission.json"]["state"] == "accepted"
    assert entry["decision.json"] == submission.decision
    assert entry["run-1.json"] == submission.runs.get().record
    assert list(spool.waiting()) == []
    assert writer().pending() == []


def test_it_does_nothing_when_delivered_twice():
    submission = zoo.measure(zoo.send())
    head = reader().main_head()
    publish(submission.pk)
    assert reader().main_head() == head


def test_it_measures_the_baseline_without_touching_its_source():
    submission = zoo.measure(zoo.send(kernel_id=zoo.BASELINE), speedup_log=0.0)
    assert (submission.state, submission.code) == (State.ACCEPTED, "decision:baseline-measured")
    assert [subject.split()[0] for subject in zoo.main_subjects()].count("source:") == 0
    figures = zoo.bench(zoo.BASELINE)
    assert figures["status"] == "measured"
    commits = {commit.id: commit for commit in reader().commits("", reader().main_head())}
    assert commits[figures["source_commit"]].subject == "seed: saxpy"


def test_it_accepts_a_version_that_is_surely_faster():
    zoo.measure(zoo.send())
    submission = zoo.measure(zoo.send(body=OTHER_BODY), versus_log=0.1)
    assert (submission.state, submission.code) == (State.ACCEPTED, "decision:faster")
    assert zoo.bench()["submission"] == str(submission.pk)
    assert OTHER_BODY.encode() in zoo.on_main()["src/saxpy.cpp"]


def test_it_declines_a_version_that_is_not_surely_faster():
    first = zoo.measure(zoo.send())
    head = reader().main_head()
    submission = zoo.measure(zoo.send(body=OTHER_BODY), versus_log=0.0)
    assert (submission.state, submission.code) == (State.DECLINED, "decision:not-faster")
    assert "not surely faster" in submission.reason
    entry = zoo.ledger(submission)
    assert entry["decision.json"]["versus_incumbent"]["value"] == pytest.approx(1.0)
    assert entry["submission.json"]["state"] == "declined"
    assert reader().main_head() == head
    assert zoo.bench()["submission"] == str(first.pk)


def test_it_measures_again_when_another_version_was_accepted_meanwhile():
    slow, quick = zoo.send(), zoo.send(zoo.BOB, body=OTHER_BODY)
    zoo.work()
    run = zoo.claim(slow)
    result = zoo.good_result(run)
    winner = zoo.measure(quick)
    record_result(run.pk, run.epoch, result, zoo.RUNNER)
    zoo.work()
    assert zoo.fresh(slow).state == State.QUEUED
    assert zoo.bench()["submission"] == str(winner.pk)
    submission = zoo.measure(slow, versus_log=0.2)
    assert submission.state == State.ACCEPTED
    assert set(zoo.ledger(submission)) >= {"run-1.json", "run-2.json"}


def test_it_measures_again_when_the_problem_got_a_new_version():
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    result = zoo.good_result(run)
    writer().commit_files({f"problems/{zoo.PROBLEM}/problem.yaml": zoo.problem_yaml(2)}, "problem: saxpy 2", "")
    record_result(run.pk, run.epoch, result, zoo.RUNNER)
    zoo.work()
    waiting = Run.objects.get(submission=submission, state="queued")
    assert (waiting.number, waiting.problem_version) == (2, 2)
    assert zoo.measure(submission).state == State.ACCEPTED
    assert zoo.bench()["problem_version"] == 2


def test_it_declines_the_same_source_that_was_accepted_while_it_ran():
    twin, winner = zoo.send(zoo.BOB), zoo.send()
    zoo.work()
    run = zoo.claim(twin)
    result = zoo.good_result(run)
    assert zoo.measure(winner).state == State.ACCEPTED
    record_result(run.pk, run.epoch, result, zoo.RUNNER)
    zoo.work()
    assert zoo.fresh(twin).code == "decision:same-source"
    assert zoo.fresh(twin).state == State.DECLINED


def test_it_publishes_over_a_maintainers_push_between_look_and_advance(monkeypatch):
    pushed = []
    real = publishing._publication

    def publication(*given):
        if not pushed:
            pushed.append(writer().commit_files({"README.md": b"hello\n"}, "readme", ""))
        return real(*given)

    monkeypatch.setattr(publishing, "_publication", publication)
    submission = zoo.measure(zoo.send())
    assert submission.state == State.ACCEPTED
    assert reader().read(reader().main_head(), "README.md") == b"hello\n"
    assert writer().pending() == []


def test_it_leaves_a_submission_measured_when_main_never_stands_still(monkeypatch, caplog):
    def never(*given):
        raise Moved("always")

    monkeypatch.setattr(publishing, "_publish", never)
    submission = zoo.measure(zoo.send())
    assert submission.state == State.MEASURED
    assert "main moved 5 times" in caplog.text


def test_it_goes_on_with_a_held_submission_only_by_staff():
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    result = {**zoo.good_result(run), "details": {"integrity": ["clock"]}}
    record_result(run.pk, run.epoch, result, zoo.RUNNER)
    assert zoo.work() == 0
    publish(submission.pk)
    assert zoo.fresh(submission).state == State.HELD
    release_held(submission.pk)
    zoo.work()
    assert zoo.fresh(submission).state == State.ACCEPTED
    assert zoo.ledger(submission)["run-1.json"]["details"] == {"integrity": ["clock"]}


def test_it_fails_a_held_submission_that_staff_refuses():
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    result = {**zoo.good_result(run), "details": {"integrity": ["clock"]}, "code": "run:suspicious"}
    record_result(run.pk, run.epoch, result, zoo.RUNNER)
    refuse_held(submission.pk)
    zoo.work()
    assert zoo.fresh(submission).state == State.FAILED
    assert zoo.ledger(submission)["submission.json"]["code"] == "run:suspicious"


def test_it_says_when_a_measured_submission_has_no_measuring():
    submission = zoo.send()
    Submission.objects.filter(pk=submission.pk).update(state=State.MEASURED)
    with pytest.raises(Broken) as broken:
        publish(submission.pk)
    assert broken.value.code == "publish:no-sitting"


def test_it_sends_what_ended_again_as_a_new_submission():
    submission = zoo.fail(zoo.send(), "crashed", "run:crashed")
    again = requeue_submission(submission.pk)
    assert again.pk != submission.pk
    assert (again.submitter, again.message) == ("alice", f"requeued from {submission.pk}")
    assert requeue_submission(submission.pk).pk == again.pk
    assert zoo.measure(again).state == State.ACCEPTED
    assert zoo.fresh(submission).state == State.FAILED


def test_it_compares_a_second_sitting_with_the_same_packages_as_the_first():
    zoo.measure(zoo.send())
    submission = zoo.send(body=OTHER_BODY)
    zoo.work()
    run = zoo.claim(submission)
    assert assignment_for(run).incumbent.digest == zoo.fresh(submission).runs.get().incumbent_digest
