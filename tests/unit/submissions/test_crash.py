"""Kill the site at each step of its walk, start it anew, and look whether anything is lost or half there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from submissions.kernel_store.faults import POINTS
from tests.unit.submissions.crash_site import DIED

ROOT = Path(__file__).parents[3]

PUBLISH_POINTS = [
    "<submissions.publish:_publication",
    *POINTS,
    "<submissions.publish:enter",
    ">submissions.ending:enter_recorded",
    ">submissions.spool:discard",
]
LEDGER_POINTS = ["advance:moved", ">submissions.spool:discard"]


def run_site(home, *words):
    environment = {**os.environ, "KERNEL_ZOO_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.unit.submissions.crash_site", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def recovered(home):
    done = run_site(home, "recover")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def measured_site(tmp_path_factory):
    home = tmp_path_factory.mktemp("measured")
    done = run_site(home, "prepare")
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture
def home(measured_site, tmp_path):
    return Path(shutil.copytree(measured_site, tmp_path / "home"))


@pytest.mark.parametrize("point", PUBLISH_POINTS)
def test_it_publishes_exactly_once_wherever_it_was_killed(home, point):
    died = run_site(home, "crash", point)
    assert died.returncode == DIED, died.stdout + died.stderr
    site = recovered(home)
    (submission,) = site["submissions"]
    assert submission["state"] == "accepted"
    assert submission["decision"]["code"] == "decision:new-kernel"
    assert {"submission.json", "run-1.json", "decision.json"} <= set(submission["ledger"])
    assert site["bench"]["status"] == "measured"
    assert "src/saxpy.cpp" in site["files"]
    kinds = [subject.split()[0] for subject in site["subjects"]]
    assert (kinds.count("source:"), kinds.count("bench:")) == (1, 1)
    assert (site["pending"], site["spool"]) == (0, 0)
    assert "nudged: 0" in site["found_again"]


@pytest.mark.parametrize(
    "point", ["<submissions.ending:ending_entry", "<submissions.ending:enter", *LEDGER_POINTS]
)
def test_it_ends_a_failed_submission_exactly_once_wherever_it_was_killed(home, point):
    died = run_site(home, "fail", point)
    assert died.returncode == DIED, died.stdout + died.stderr
    site = recovered(home)
    failed = site["submissions"][1]
    assert failed["state"] == "failed"
    assert {"submission.json", "run-1.json", "source/src/saxpy.cpp"} <= set(failed["ledger"])
    assert [subject.split()[0] for subject in site["ledger_subjects"]].count("failed:") == 1
    assert (site["pending"], site["spool"]) == (0, 0)


@pytest.mark.parametrize(
    ("point", "uploads"),
    [
        ("<submissions.spool:_write", 0),
        (">submissions.spool:_write", 0),
        (">submissions.spool:keep", 1),
        ("<submissions.upload:note", 1),
        (">submissions.upload:insert_row", 1),
    ],
)
def test_it_loses_no_upload_that_was_answered_or_could_have_been(home, point, uploads):
    died = run_site(home, "upload", point)
    assert died.returncode == DIED, died.stdout + died.stderr
    site = recovered(home)
    states = [submission["state"] for submission in site["submissions"]]
    assert states == ["accepted"] + ["queued"] * uploads


def test_it_lets_one_of_many_racers_move_a_submission(home):
    done = run_site(home, "race")
    assert done.returncode == 0, done.stderr
    race = json.loads(done.stdout.splitlines()[-1])
    assert race["won"] == [race["kept"]]
    assert race["events"] == ["received", "validated"]
