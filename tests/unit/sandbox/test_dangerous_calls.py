"""System calls that would open a way out, tried one by one from inside."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import native_bench.sandbox
from native_bench.sandbox import Bind
from native_bench.sandbox.syscalls import TABLES

pytestmark = pytest.mark.sandbox

TRY = """
import ctypes, json, os, platform, sys
sys.path.insert(0, "/tables")
from syscalls import TABLES
libc = ctypes.CDLL(None, use_errno=True)
table = TABLES[platform.machine()][1]
told = {}
def call(what, name, *arguments):
    ctypes.set_errno(0)
    number = table[name] if isinstance(name, str) else name
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if type(a) is int else a for a in arguments])
    told[what] = "done" if result >= 0 else ctypes.get_errno()
for name in sys.argv[1:]:
    call(name, name, 0, 0, 0, 0, 0)
call("ptrace parent", "ptrace", 16, os.getppid(), 0, 0)
call("clone user namespace", "clone", 0x10000000 | 17, 0, 0, 0, 0)
call("clone network", "clone", 0x40000000 | 17, 0, 0, 0, 0)
call("clone3", "clone3", ctypes.create_string_buffer(88), 88)
call("type for the user", "ioctl", 0, 0x5412, b"x")
call("paste for the user", "ioctl", 0, 0x541C, b"x")
call("vsock", "socket", 40, 1, 0)
call("tomorrow's call", 470, 0, 0, 0)
print(json.dumps(told))
"""

REMOUNT = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for target in (b"/usr", b"/", b"/dev", b"/proc/sys"):
    print(libc.mount(None, target, None, 4096 | 32, None))
for path in ("/usr/zoo", "/zoo", "/dev/zoo", "/etc/zoo", "/proc/sys/kernel/hostname", "/data/zoo"):
    try:
        open(path, "w")
        print("wrote", path)
    except OSError as error:
        print(error.errno)
for program in ("su", "mount -t tmpfs x /tmp", "unshare -Ur true", "nsenter -t 1 -m true"):
    print(program, os.system(program + " >/dev/null 2>&1 </dev/null") != 0)
"""


def test_it_refuses_every_call_of_the_table(sandbox, limits):
    judged = {"clone", "clone3", "ioctl", "socket"}
    names = sorted(TABLES[os.uname().machine][1].keys() - judged)
    tables = Bind(Path(native_bench.sandbox.__file__).with_name("syscalls.py"), "/tables/syscalls.py")
    end = sandbox.run(["/usr/bin/python3", "-B", "-c", TRY, *names], limits(), [tables])
    told = json.loads(end.stdout)
    assert {told[name] for name in names} == {1}, told
    special = {name: value for name, value in told.items() if name not in names}
    assert special == {
        "ptrace parent": 1, "clone user namespace": 1, "clone network": 1, "clone3": 38, "type for the user": 1,
        "paste for the user": 1, "vsock": 97, "tomorrow's call": 38,
    }  # fmt: skip


def test_it_stays_read_only_where_it_was(inside, folder):
    end = inside(REMOUNT, binds=[Bind(folder, "/data")])
    lines = end.stdout.decode().splitlines()
    assert lines[:4] == ["-1"] * 4
    assert not [line for line in lines[4:10] if line.startswith("wrote")], lines
    assert [line.rsplit(" ", 1)[1] for line in lines[10:]] == ["True"] * 4, lines
    assert list(folder.iterdir()) == []


def test_it_holds_no_capability_and_gains_none(inside):
    code = "print(open('/proc/self/status').read())"
    told = dict(line.split(":\t", 1) for line in inside(code).stdout.decode().splitlines() if ":\t" in line)
    assert {told[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (told["NoNewPrivs"], told["Seccomp"]) == ("1", "2")
    assert "0" not in told["Uid"].split()


def test_it_can_signal_nobody_outside(inside):
    with subprocess.Popen(["/bin/sleep", "60"]) as bystander:
        code = f"""
import os
for pid in ({bystander.pid}, {os.getpid()}, {os.getppid()}):
    try:
        os.kill(pid, 9)
        print("sent")
    except OSError as error:
        print(error.errno)
os.kill(1, 9)
os.kill(-1, 0)
"""
        end = inside(code)
        assert end.stdout.decode().splitlines() == ["3", "3", "3"], end
        assert bystander.poll() is None
        bystander.send_signal(signal.SIGKILL)


def test_it_kills_a_program_of_another_architecture(inside):
    code = """
import ctypes, mmap, platform
assert platform.machine() == "x86_64"
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes([0xB8, 0x14, 0, 0, 0, 0xCD, 0x80, 0xC3]))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""
    if os.uname().machine != "x86_64":
        pytest.skip("int 0x80 exists on x86 only")
    assert inside(code).signal == "SIGSYS"
