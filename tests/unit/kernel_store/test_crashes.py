"""A writer killed at any instant loses nothing and shows no half."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from submissions.kernel_package.names import KernelId
from submissions.kernel_store.faults import POINTS, crashing
from submissions.kernel_store.git import Git
from submissions.kernel_store.publication import Moved
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.upkeep import clear_stale
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import RECEIVED, assert_consistent, make_publication, push_file

PREPARED = {"prepare:stored", "advance:checked", "advance:committing"}
SHOWN = {"advance:moved", "advance:followed"}


def killed_in_a_child(work: Callable[[], object], point: str) -> None:
    """Run `work` in a forked child that kills itself with SIGKILL when it comes by `point`."""

    def kill(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            with crashing(kill):
                work()
        finally:
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, f"{point} was never reached"


def recover(path: Path) -> None:
    """What the site does at its start: finish what can be finished, undo the rest."""
    clear_stale(Git(path), stale_seconds=-1)
    with StoreWriter(path, "Zoo", "zoo@example.org") as writer, writer.exclusive():
        for prepared in writer.pending():
            try:
                if prepared.is_complete:
                    writer.advance(prepared)
                else:
                    writer.drop(prepared.uuid)
            except Moved:
                writer.drop(prepared.uuid)


def publish(path: Path, uuid: str) -> None:
    with StoreWriter(path, "Zoo", "zoo@example.org") as writer:
        writer.publish(make_publication(uuid=uuid))


def heads(path: Path) -> tuple[str, str]:
    with StoreReader(path) as reader:
        return reader.main_head(), reader.ledger_head()


@pytest.mark.parametrize("point", POINTS)
def test_it_loses_nothing_at_any_fault_point(store: Path, point: str) -> None:
    uuid, before = str(uuid4()), heads(store)
    killed_in_a_child(lambda: publish(store, uuid), point)
    assert (heads(store) == before) is (point not in SHOWN)
    assert_consistent(store)
    recover(store)
    was_prepared = point in PREPARED
    assert (heads(store) != before) is (point in SHOWN or was_prepared)
    if heads(store) == before:
        publish(store, uuid)
    with StoreWriter(store, "Zoo", "zoo@example.org") as writer:
        assert writer.pending() == []
        assert "decision.json" in writer.reader.ledger_entry(RECEIVED, uuid)
    assert_consistent(store)


@pytest.mark.parametrize("point", sorted(PREPARED))
def test_it_undoes_a_prepared_write_that_a_push_has_overtaken(store: Path, clone: Path, point: str) -> None:
    uuid = str(uuid4())
    killed_in_a_child(lambda: publish(store, uuid), point)
    push_file(clone, "README.md", "by hand\n")
    recover(store)
    assert_consistent(store)
    publish(store, uuid)
    assert_consistent(store)


@pytest.mark.parametrize("point", POINTS)
def test_it_releases_the_lock_of_a_dead_writer(store: Path, point: str) -> None:
    killed_in_a_child(lambda: publish(store, str(uuid4())), point)
    with StoreWriter(store, "Zoo", "zoo@example.org", lock_timeout_seconds=0.0) as writer, writer.exclusive():
        pass


LOOP = """
import sys
from uuid import uuid4
from submissions.kernel_package.names import KernelId
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import make_publication
with StoreWriter(sys.argv[1], "Zoo", "zoo@example.org") as writer:
    print("ready", flush=True)
    for number in range(10_000):
        kernel = KernelId.parse(f"x86_64/Vector/saxpy/fp32/k{number % 3}")
        done = writer.publish(make_publication(kernel, source=b"int x%d;" % number))
        print(done.uuid, flush=True)
"""


def test_it_survives_kills_of_the_writer_and_its_gits_at_random_times(store: Path) -> None:
    dice = random.Random(20260131)
    acknowledged: list[str] = []
    for _ in range(6):
        command = [sys.executable, "-c", LOOP, str(store)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(dice.uniform(0.02, 0.3))
            os.killpg(child.pid, signal.SIGKILL)
            acknowledged += child.stdout.read().split()
        recover(store)
        assert_consistent(store)
    assert acknowledged
    with StoreReader(store) as reader:
        kept = {uuid for uuid, _ in reader.ledger_entries("", reader.ledger_head())}
        assert set(acknowledged) <= kept
        assert {kernel.name for kernel in reader.kernel_ids(reader.main_head())} <= {"k0", "k1", "k2"}
        assert KernelId.parse("x86_64/Vector/saxpy/fp32/k0") in reader.kernel_ids(reader.main_head())
