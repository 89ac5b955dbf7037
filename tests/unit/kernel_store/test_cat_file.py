"""The persistent reader: shared by threads, renewed after forks and deaths, and always reaped."""

import gc
import os
import signal
import threading
from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.cat_file import CatFile
from submissions.kernel_store.git import Git
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import SAXPY, make_publication


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cat_file_pid(objects: CatFile) -> int:
    assert objects._conversation is not None
    return objects._conversation._process.pid


def test_it_serves_many_threads(writer: StoreWriter, reader: StoreReader) -> None:
    head = writer.publish(make_publication()).main_new
    wrong: list[object] = []

    def read_often() -> None:
        for _ in range(150):
            if reader.read(head, f"{SAXPY}/src/a.cpp") != b"int x;\n" or len(reader.files(head, SAXPY)) != 3:
                wrong.append(head)

    threads = [threading.Thread(target=read_often) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_it_starts_again_after_its_process_died(store: Path) -> None:
    objects = CatFile(Git(store))
    first = objects.get("refs/heads/main")
    os.kill(cat_file_pid(objects), signal.SIGKILL)
    assert objects.get("refs/heads/main") == first
    objects.close()


def test_it_gives_up_when_git_dies_each_time(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = CatFile(Git(store))
    monkeypatch.setattr(objects._git, "command", lambda *_: ["false"])
    with pytest.raises(Broken, match=r"store:git-failed.*fsck"):
        objects.get("refs/heads/main")
    objects.close()


def test_it_uses_its_own_process_after_a_fork(reader: StoreReader) -> None:
    head = reader.main_head()
    parents_process = cat_file_pid(reader._objects)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answers = [reader.main_head() == head for _ in range(50)]
            is_own = cat_file_pid(reader._objects) != parents_process
            reader.close()
            os.write(send, b"ok" if all(answers) and is_own else b"no")
        finally:
            os._exit(0)
    parents = [reader.main_head() == head for _ in range(50)]
    os.waitpid(child, 0)
    assert os.read(receive, 2) == b"ok" and all(parents)
    assert cat_file_pid(reader._objects) == parents_process
    os.close(receive)
    os.close(send)


def test_it_survives_a_fork_while_another_thread_reads(reader: StoreReader) -> None:
    with reader._objects._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if reader.main_head() else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_it_leaves_no_process_behind(store: Path) -> None:
    before = children_of(os.getpid())
    opened = [StoreReader(store) for _ in range(2)]
    for reader in opened:
        reader.main_head()
    assert len(children_of(os.getpid())) == len(before) + 2
    opened[0].close()
    opened.clear()
    del reader
    gc.collect()
    assert children_of(os.getpid()) == before


def test_it_stays_in_step_after_an_interrupted_read(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = CatFile(Git(store))
    right = objects.get("refs/heads/main")
    conversation = objects._conversation
    assert conversation is not None

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(conversation, "_fill", interrupt)
    with pytest.raises(KeyboardInterrupt):
        objects.get("refs/heads/ledger")
    assert objects.get("refs/heads/main") == right
    objects.close()


@pytest.mark.parametrize("name", ["refs/heads/main\nrefs/heads/ledger", "a\0b"])
def test_it_refuses_names_that_are_two_questions(reader: StoreReader, name: str) -> None:
    with pytest.raises(Broken, match="store:bad-path"):
        reader.history.head(name)


def test_it_reads_more_than_a_pipe_holds(writer: StoreWriter, reader: StoreReader) -> None:
    files = {f"docs/{number:03}.md": bytes([number % 256]) * 20_000 for number in range(300)}
    head = writer.commit_files(files, "Many files")
    assert {f"docs/{path}": content for path, content in reader.trees.files(head, "docs").items()} == files


def test_it_answers_long_names_one_by_one(reader: StoreReader) -> None:
    names = [f"{reader.main_head()}:{'x' * 3000}{number}" for number in range(30)]
    assert list(reader._objects.get_all([*names, "refs/heads/main"]))[:-1] == [None] * 30
