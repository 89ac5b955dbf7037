"""What a stop, a power cut or a deleted database costs: time, never data."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import starters_are_ranked
from tests.e2e.site import Site, saxpy_package
from tests.e2e.test_walk import source

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    site = Site(
        tmp_path_factory.mktemp("own") / "home",
        KERNEL_ZOO_HEARTBEAT_SECONDS="1",
        KERNEL_ZOO_LEASE_SECONDS="8",
        KERNEL_ZOO_STARTER_PROBLEMS="Vector/saxpy/fp32",
    )
    yield site
    if site.process is not None:
        site.stop()


def is_running(site):
    return any(run["state"] == "leased" for run in site.json("/api/queue")["runs"])


def test_it_loses_nothing_when_everything_is_killed_at_once(own, arch):
    own.start()
    kernel_id, files = saxpy_package("survivor", source(), arch)
    submission = own.submit(kernel_id, files)
    own.wait_for(lambda: is_running(own), 60, "a run under way")
    own.kill_everything()
    assert own.processes() == []
    own.start()
    assert own.finished(submission, 240)["state"] == "published"
    own.wait_for(lambda: starters_are_ranked(own), 480, "every starter kernel ranked")
    assert own.git("for-each-ref", "refs/zoo/pending") == ""
    assert own.git("fsck", "--strict") == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_within_five_seconds_and_leaves_nothing(own, arch, number):
    kernel_id, files = saxpy_package(f"stopped-by-{number.name.lower()}", source(), arch)
    own.submit(kernel_id, files)
    own.wait_for(lambda: is_running(own), 60, "a run under way")
    assert own.stop(number) < 5.5
    assert own.processes() == []
    assert own.git("for-each-ref", "refs/zoo/pending") == ""
    assert own.git("fsck", "--strict") == ""
    own.start()
    own.wait_for(lambda: kernel_id in own.index(), 120, "the interrupted run repeated")


def test_it_restarts_a_killed_worker_and_goes_on(own, arch):
    victims = [pid for pid in own.processes() if b"qcluster" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert victims
    for pid in victims:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    kernel_id, files = saxpy_package("after-the-kill", source(), arch)
    assert own.finished(own.submit(kernel_id, files), 180)["state"] == "published"


def test_it_gives_the_same_index_without_its_database(own):
    before = own.get("/api/index.json")
    submissions = own.git("ls-tree", "-r", "--name-only", "ledger").count("submission.json")
    own.stop()
    own.delete_database()
    own.start()
    own.wait_for(lambda: own.json("/api/health")["mirror"]["is_current"], 60, "the mirror rebuilt")
    assert own.get("/api/index.json") == before
    time.sleep(1)
    assert own.git("ls-tree", "-r", "--name-only", "ledger").count("submission.json") == submissions


def test_it_refuses_a_second_site_on_one_home(own):
    rival = Site(own.home)
    with pytest.raises(AssertionError, match="already runs"):
        rival.start(30)


def test_it_refuses_a_port_that_is_taken(own, tmp_path):
    rival = Site(tmp_path / "home")
    rival.port = own.port
    with pytest.raises(AssertionError, match="KERNEL_ZOO_PORT"):
        rival.start(30)
