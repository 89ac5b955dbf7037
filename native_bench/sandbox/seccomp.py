"""Writes the seccomp filter: classic BPF that refuses the calls no kernel, compiler or numpy needs.

The namespaces already hide the host; this closes what they leave open, vsock (blind to network
namespaces), io_uring, keyrings and ptrace among them.
"""

import errno
import struct

from native_bench.sandbox.syscalls import NEWEST_CALL, TABLES

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENT_BYTES = 0, 4, 8
_X32_BIT = 0x40000000
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_NEW_NAMESPACES = 0x7E020000
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_FREE_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_AF_NETLINK, _NETLINK_ROUTE = 16, 0

Instruction = tuple[int, int, int, int]


class UnknownArchitecture(ValueError):
    """There is no table of system call numbers for this machine."""


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _argument(index: int) -> Instruction:
    # The low half; the kernel reads flags, requests and families as 32 bits. Both machines are little endian.
    return _load(16 + _ARGUMENT_BYTES * index)


def _answer(value: int) -> Instruction:
    return (_RETURN, 0, 0, value)


def _fail(number: int) -> Instruction:
    return _answer(_ERRNO | number)


def _when(operation: int, value: int, body: list[Instruction]) -> list[Instruction]:
    """`body` if the loaded word compares true, else what follows it."""
    return [(operation, 0, len(body), value), *body]


def _head(arch: int) -> list[Instruction]:
    return [
        _load(_ARCH),
        (_EQUAL, 1, 0, arch),
        _answer(_KILL),
        _load(_NUMBER),
        *_when(_AT_LEAST, _X32_BIT, [_answer(_KILL)]),
        *_when(_AT_LEAST, NEWEST_CALL + 1, [_fail(errno.ENOSYS)]),
    ]


def _clone() -> list[Instruction]:
    return [_argument(0), *_when(_ANY_BIT, _NEW_NAMESPACES, [_fail(errno.EPERM)]), _answer(_ALLOW)]


def _ioctl() -> list[Instruction]:
    body = [_argument(1)]
    for request in _TERMINAL_INJECTION:
        body += _when(_EQUAL, request, [_fail(errno.EPERM)])
    return [*body, _answer(_ALLOW)]


def _socket() -> list[Instruction]:
    body = [_argument(0)]
    for family in _FREE_FAMILIES:
        body += _when(_EQUAL, family, [_answer(_ALLOW)])
    routes = [_argument(2), *_when(_EQUAL, _NETLINK_ROUTE, [_answer(_ALLOW)])]
    body += _when(_EQUAL, _AF_NETLINK, routes)
    return [*body, _fail(errno.EAFNOSUPPORT)]


def seccomp_filter(machine: str) -> bytes:
    """The filter as bubblewrap's --seccomp reads it. Raises UnknownArchitecture."""
    if machine not in TABLES:
        raise UnknownArchitecture(f"no system call table for {machine}; known: {', '.join(sorted(TABLES))}")
    arch, calls = TABLES[machine]
    judged = {
        "clone": _clone(),
        # Its flags are in memory, where a filter can't look; libraries fall back to clone.
        "clone3": [_fail(errno.ENOSYS)],
        "ioctl": _ioctl(),
        "socket": _socket(),
    }
    program = _head(arch)
    for name, number in calls.items():
        program += _when(_EQUAL, number, judged.get(name, [_fail(errno.EPERM)]))
    program.append(_answer(_ALLOW))
    return b"".join(struct.pack("<HBBI", code, yes, no, value) for code, yes, no, value in program)
