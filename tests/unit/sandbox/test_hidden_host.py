"""What submitted code finds of the host: nothing to read, nobody to talk to."""

import contextlib
import json
import os
import socket
import threading
from pathlib import Path

import pytest

from native_bench.sandbox import Bind

pytestmark = pytest.mark.sandbox

READ = """
import sys
for path in sys.argv[1:]:
    try:
        print(path, open(path, "rb").read(64))
    except OSError as error:
        print("refused", path, error.errno)
"""

FOREIGN = """
import os
print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()))
"""

CONNECT = """
import socket, sys, json
name, port = sys.argv[1], int(sys.argv[2])
tries = {
    "loopback": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
    "loopback 6": (socket.AF_INET6, socket.SOCK_STREAM, ("::1", port)),
    "outside": (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
    "path": (socket.AF_UNIX, socket.SOCK_STREAM, name),
    "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + name),
    "vsock": (40, socket.SOCK_STREAM, (2, port)),
    "packet": (17, socket.SOCK_RAW, ("eth0", 0)),
    "netlink": (16, socket.SOCK_RAW, (0, 0)),
}
told = {}
for what, (family, kind, address) in tries.items():
    try:
        made = socket.socket(family, kind, 12 if what == "netlink" else 0)
        made.settimeout(3)
        made.connect(address)
        told[what] = "connected"
    except OSError as error:
        told[what] = error.errno
print(json.dumps(told))
"""


def test_it_shows_no_file_of_the_host(inside, folder):
    secret = folder / "secret"
    secret.write_text("token")
    secret.chmod(0o644)
    paths = ["/etc/shadow", "/etc/passwd", "/root/.bashrc", "/proc/1/root/etc/shadow", "/proc/kcore", "/dev/vda"]
    paths += ["/dev/mem", "/proc/keys", "/sys/kernel/uevent_seqnum", "/home", "/var/lib", "/run/docker.sock"]
    paths += [str(secret), f"/proc/{os.getpid()}/environ", f"/proc/1/root{secret}", __file__]
    end = inside(READ, *paths)
    lines = end.stdout.decode().splitlines()
    assert len(lines) == len(paths)
    assert all(line.startswith("refused") or line.endswith("b''") for line in lines), lines


def test_it_shows_neither_our_environment_nor_our_command_line(inside, monkeypatch, folder):
    monkeypatch.setenv("HARNESS_TOKEN", "swordfish")
    hidden = folder / "name-of-a-host-folder"
    hidden.mkdir()
    code = """
import glob
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    print(open(path, "rb").read())
"""
    end = inside(code, binds=[Bind(hidden, "/data")], env={"VISIBLE": "yes"})
    assert end.is_ok, end.stderr
    assert b"VISIBLE=yes" in end.stdout
    assert b"swordfish" not in end.stdout
    assert b"name-of-a-host-folder" not in end.stdout


def test_it_shows_no_process_but_its_own(inside):
    assert len(json.loads(inside(FOREIGN).stdout)) <= 3


def test_it_passes_no_descriptor_it_was_not_asked_to(inside, folder):
    with (folder / "kept open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        code = """
import os
for process in ("self", "1"):
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            print(os.readlink(f"/proc/{process}/fd/{name}"))
        except OSError:
            pass
"""
        seen = set(inside(code).stdout.decode().splitlines())
    assert {name.partition(":")[0] for name in seen} <= {"/dev/null", "pipe", "anon_inode"}
    assert not [name for name in seen if "sandbox-options" in name]


def test_it_reaches_no_socket_of_the_host(inside, folder):
    name = str(folder / "door")
    with contextlib.ExitStack() as opened:
        tcp = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in (name, "\0" + name):
            listener = opened.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        Path(name).chmod(0o777)
        told = json.loads(inside(CONNECT, name, str(tcp.getsockname()[1])).stdout)
    assert "connected" not in told.values(), told
    assert (told["vsock"], told["packet"], told["netlink"]) == (97, 97, 97)


def test_it_still_lets_code_talk_to_itself(inside):
    code = """
import multiprocessing, socket, threading
a, b = socket.socketpair()
a.send(b"x")
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname())
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(b.recv(1), pool.map(abs, [-1, -2]))
"""
    end = inside(code)
    assert end.stdout == b"b'x' [1, 2]\n", end.stderr


def test_it_can_be_started_from_a_thread_that_ends(real, limits):
    cells = []
    starter = threading.Thread(target=lambda: cells.append(real.start(["/bin/sleep", "0.6"], limits())))
    starter.start()
    starter.join()
    with cells[0] as cell:
        assert cell.wait().is_ok
