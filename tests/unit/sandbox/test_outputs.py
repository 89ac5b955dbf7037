"""Results fetched from a folder where submitted code could leave traps."""

import os
import socket

import pytest

from native_bench.sandbox import Bind, OutputRefused, read_output
from native_bench.sandbox.outputs import deliver

LEAVE_TRAPS = """
import os, socket
open("/out/result.json", "w").write("{}")
os.symlink("/etc/shadow", "/out/shadow")
os.symlink("/", "/out/host")
os.makedirs("/out/deep/er")
open("/out/deep/er/data", "w").write("data")
socket.socket(socket.AF_UNIX).bind("/out/socket")
try:
    os.mkfifo("/out/fifo")
    print("made a fifo")
except OSError as error:
    print(error.errno)
os.chmod("/out/result.json", 0o4777)
"""


@pytest.mark.sandbox
def test_it_delivers_regular_files_and_nothing_else(inside, folder):
    end = inside(LEAVE_TRAPS, binds=[Bind(folder, "/out", writable=True)])
    assert end.stdout == b"1\n", end.stderr
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert found == ["deep", "deep/er", "deep/er/data", "result.json"]
    assert read_output(folder, "result.json", 100) == b"{}"
    assert (folder / "result.json").stat().st_mode & 0o7777 == 0o644


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "code",
    [
        "for number in range(300): open(f'/out/{number}', 'w')",
        "import os\nos.makedirs('/out/' + 'd/' * 20)",
        "import os\nfor name in 'abc': os.truncate(os.open('/out/' + name, os.O_CREAT | os.O_WRONLY), 7 << 20)",
    ],
    ids=["many", "deep", "sparse"],
)
def test_it_refuses_more_than_may_be_delivered(inside, folder, code):
    end = inside(code, binds=[Bind(folder, "/out", writable=True)])
    assert end.status == "output_flood", end
    assert b"sandbox: " in end.stderr


@pytest.mark.sandbox
def test_it_delivers_nothing_after_a_kill(inside, folder, limits):
    code = "import time; open('/out/x', 'w').write('x'); time.sleep(60)"
    end = inside(code, limits=limits(wall_seconds=1), binds=[Bind(folder, "/out", writable=True)])
    assert end.status == "timed_out"
    assert list(folder.iterdir()) == []


@pytest.mark.sandbox
def test_it_delivers_to_several_folders(inside, folder):
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    for part in ("a", "b"):
        (folder / part).chmod(0o777)
    binds = [Bind(folder / part, f"/results/{part}", writable=True) for part in ("a", "b")]
    end = inside("for part in 'ab': open(f'/results/{part}/name', 'w').write(part)", binds=binds)
    assert end.is_ok, end
    assert [read_output(folder / part, "name", 1) for part in ("a", "b")] == [b"a", b"b"]


def test_it_reads_a_regular_file(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert read_output(tmp_path, "x", 3) == b"abc"


def test_it_refuses_links_fifos_sockets_folders_and_large_files(tmp_path):
    (tmp_path / "large").write_bytes(b"abcd")
    (tmp_path / "link").symlink_to(tmp_path / "large")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("large", "link", "folder", "fifo", "socket", "absent"):
            with pytest.raises(OutputRefused, match=name):
                read_output(tmp_path, name, 3)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "../x"])
def test_it_refuses_a_name_that_leaves_the_folder(tmp_path, name):
    with pytest.raises(OutputRefused, match="is not the name"):
        read_output(tmp_path, name, 3)


def test_it_never_writes_through_a_link_on_our_side(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "x").write_text("new")
    (tmp_path / "victim").write_text("old")
    (outside / "x").symlink_to(tmp_path / "victim")
    descriptor = os.open(inside, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="symbolic"):
            deliver(descriptor, outside, 10, 10)
    finally:
        os.close(descriptor)
    assert (tmp_path / "victim").read_text() == "old"
