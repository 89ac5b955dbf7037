"""The filter, run by a small interpreter of its own, for machines other than this one too."""

import re
import struct
from pathlib import Path

import pytest

from native_bench.sandbox.seccomp import UnknownArchitecture, seccomp_filter
from native_bench.sandbox.syscalls import NEWEST_CALL, TABLES

ALLOW, KILL = 0x7FFF0000, 0x80000000
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
MACHINES = sorted(TABLES)


def refused(number):
    return 0x00050000 | number


def judge(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would answer: a classic BPF machine with the five instructions we use."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, arch, 0, *(value & (1 << 64) - 1 for value in padded))
    code = list(struct.iter_unpack("<HBBI", program))
    at, word = 0, 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        if operation == 0x20:
            word = int.from_bytes(data[value : value + 4], "little")
        elif operation == 0x06:
            return value
        else:
            is_true = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[operation]
            at += yes if is_true else no


@pytest.fixture(params=MACHINES)
def machine(request):
    return request.param


@pytest.fixture
def ask(machine):
    arch, calls = TABLES[machine]
    program = seccomp_filter(machine)

    def call(name, *arguments):
        return judge(program, arch, calls[name] if isinstance(name, str) else name, *arguments)

    return call


def test_it_names_the_numbers_of_the_kernel_headers(machine):
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip("no kernel headers")
    told = {name: int(n) for name, n in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())}
    ours = TABLES[machine][1]
    assert {name: told.get(name, ours[name]) for name in ours} == ours
    assert len(ours.keys() & told.keys()) > 55


def test_it_refuses_each_named_call(machine, ask):
    judged = {"clone", "clone3", "ioctl", "socket"}
    for name in TABLES[machine][1].keys() - judged:
        assert ask(name) == refused(1), name


def test_it_allows_every_other_call_it_knows(machine, ask):
    named = set(TABLES[machine][1].values())
    assert {ask(number) for number in range(NEWEST_CALL + 1) if number not in named} == {ALLOW}


def test_it_does_not_know_calls_of_the_future(ask):
    assert ask(NEWEST_CALL + 1) == ask(1000) == refused(38)


def test_it_kills_calls_of_another_architecture(machine):
    program = seccomp_filter(machine)
    for arch in (0x40000003, 0x40000028, 0):
        assert judge(program, arch, 1) == KILL


def test_it_kills_calls_of_the_x32_kind(ask):
    assert ask(0x40000000 | 1) == KILL


@pytest.mark.parametrize(
    "flag", [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
)
def test_it_refuses_a_new_namespace(ask, flag):
    assert ask("clone", flag | 17) == refused(1)
    assert ask("clone", flag | 17 | 1 << 40) == refused(1)


def test_it_allows_threads_and_forks_but_not_clone3(ask):
    assert ask("clone", 0x003D0F00) == ask("clone", 0x01200011) == ALLOW
    assert ask("clone3") == refused(38)


@pytest.mark.parametrize(
    ("family", "protocol", "answer"),
    [(1, 0, ALLOW), (2, 0, ALLOW), (10, 6, ALLOW), (16, 0, ALLOW), (16, 12, refused(97)), (40, 0, refused(97)),
     (17, 3, refused(97)), (38, 0, refused(97)), (44, 0, refused(97)), ((1 << 32) | 40, 0, refused(97))],
)  # fmt: skip
def test_it_judges_sockets_by_family(ask, family, protocol, answer):
    assert ask("socket", family, 1, protocol) == answer


def test_it_refuses_to_type_into_terminals(ask):
    assert ask("ioctl", 0, 0x5412) == ask("ioctl", 0, 0x541C) == ask("ioctl", 0, (7 << 32) | 0x5412) == refused(1)
    assert ask("ioctl", 0, 0x5401) == ALLOW


def test_it_has_no_filter_for_an_unknown_machine():
    with pytest.raises(UnknownArchitecture, match="riscv64"):
        seccomp_filter("riscv64")
