"""Decides the command lines of one sandbox: the launcher's steps and bubblewrap's options. Runs nothing."""

import math
import os
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from native_bench.sandbox.cgroup import OWN_PROCESSES, Group
from native_bench.sandbox.equipment import Equipment
from native_bench.sandbox.interface import MIB, Bind, Limits

STAGE = "/run"
MARK = "/.inside"
_ADDRESS_SLACK_BYTES = 1024 * MIB
_LAUNCHER = Path(__file__).with_name("launcher.py")
_MERGED = ("lib", "lib32", "lib64", "libx32", "bin", "sbin")
_ETC = ("/etc/ld.so.cache", "/etc/alternatives")
_PROC_HIDDEN = ("/proc/keys", "/proc/cmdline")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108


@dataclass(frozen=True)
class Identity:
    """Who the payload is on the host (`uid`), and in which group it runs."""

    uid: int
    group: Group | None


@dataclass(frozen=True)
class Descriptors:
    """The numbers of what bubblewrap reads and writes by descriptor."""

    options: int
    seccomp: int
    status: int
    gate: int | None


class _Sources:
    """Names host paths as bubblewrap will find them: as they are, or staged by number."""

    def __init__(self, is_staged: bool) -> None:
        self._is_staged = is_staged
        self.steps: list[str] = []

    def name(self, source: Path, is_device: bool = False) -> str:
        if not self._is_staged:
            return str(source)
        self.steps.append(f"{'device' if is_device else 'show'}={source}")
        return f"{STAGE}/{len(self.steps) - 1}"


@dataclass(frozen=True)
class Plan:
    """`options` go through a descriptor: on the command line the payload could read them in /proc/1/cmdline."""

    steps: tuple[str, ...]
    options: tuple[str, ...]

    def packed_options(self) -> bytes:
        return b"".join(option.encode() + b"\0" for option in self.options)


def make_plan(
    equipment: Equipment,
    identity: Identity,
    limits: Limits,
    binds: Sequence[Bind],
    env: Mapping[str, str],
) -> Plan:
    """The launcher's steps and bubblewrap's options, but for the descriptors, which `command` adds."""
    sources = _Sources(equipment.stages)
    options = [
        *_namespaces(equipment, identity),
        *_system(sources),
        *_memory_folders(limits),
        *_binds(sources, limits, binds),
        # Last, in this order: both are writable and without bound until here.
        *("--dir", MARK, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"),  # noqa: S108
        *_environment(env),
    ]
    return Plan(tuple(_steps(equipment, identity, limits, sources)), tuple(options))


def command(
    equipment: Equipment, plan: Plan, limits: Limits, descriptors: Descriptors, argv: Sequence[str]
) -> list[str]:
    """The whole command line, which only ever executes the next program and never forks before bubblewrap."""
    payload = list(argv)
    if equipment.hierarchy is None:
        # Counted inside, where the user's other processes are not: before the user namespace they would be.
        count = limits.processes + OWN_PROCESSES
        payload = [str(equipment.prlimit), f"--nproc={count}:{count}", "--", *payload]
    numbered = ["--args", str(descriptors.options), "--seccomp", str(descriptors.seccomp)]
    numbered += ["--json-status-fd", str(descriptors.status)]
    if descriptors.gate is not None:
        numbered += ["--block-fd", str(descriptors.gate)]
    launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), *plan.steps, "--"]
    return [*launcher, str(equipment.bwrap), *numbered, "--", *payload]


def _namespaces(equipment: Equipment, identity: Identity) -> Iterator[str]:
    for name in ("user", "ipc", "pid", "net", "uts", "cgroup"):
        yield f"--unshare-{name}"
    yield from ("--uid", str(identity.uid), "--gid", str(identity.uid), "--hostname", "sandbox")
    if equipment.version >= (0, 8):
        yield "--disable-userns"
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")


def _system(sources: _Sources) -> Iterator[str]:
    yield from ("--ro-bind", sources.name(Path("/usr")), "/usr")
    for name in _MERGED:
        host = Path("/", name)
        if host.is_symlink():
            yield from ("--symlink", str(host.readlink()).lstrip("/"), str(host))
        elif host.is_dir():
            yield from ("--ro-bind", sources.name(host), str(host))
    yield from ("--dir", "/etc")
    for name in _ETC:
        if Path(name).exists():
            yield from ("--ro-bind", sources.name(Path(name)), name)
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    for name in _PROC_HIDDEN:
        if Path(name).exists():
            yield from ("--ro-bind", "/dev/null", name)
    yield from ("--dev", "/dev")


def _memory_folders(limits: Limits) -> Iterator[str]:
    for size, folder in ((limits.shm_bytes, "/dev/shm"), (limits.tmp_bytes, "/tmp")):  # noqa: S108
        yield from ("--size", str(size), "--perms", "1777", "--tmpfs", folder)


def _binds(sources: _Sources, limits: Limits, binds: Sequence[Bind]) -> Iterator[str]:
    for bind in binds:
        if bind.writable:
            yield from ("--size", str(limits.out_bytes), "--perms", "0700", "--tmpfs", bind.target)
        elif bind.device:
            yield from ("--dev-bind", sources.name(bind.source, is_device=True), bind.target)
        else:
            yield from ("--ro-bind", sources.name(bind.source), bind.target)


def _environment(env: Mapping[str, str]) -> Iterator[str]:
    yield "--clearenv"
    for name, value in {**_ENVIRONMENT, **env}.items():
        yield from ("--setenv", name, value)


def _steps(equipment: Equipment, identity: Identity, limits: Limits, sources: _Sources) -> Iterator[str]:
    if limits.nice:
        yield f"nice={limits.nice}"
    yield "oom=500"
    yield f"tie={os.getpid()}"
    if equipment.nests:
        yield f"nest={'root' if equipment.is_root else 'user'}"
    if identity.group is not None:
        for path in identity.group.joins:
            yield f"join={path}"
    if limits.cpus:
        yield f"cpus={','.join(map(str, limits.cpus))}"
    if sources.steps:
        yield from (*sources.steps, f"stage={STAGE}")
    yield from _rlimits(equipment, limits)
    if equipment.is_root:
        yield f"become={identity.uid}"
    yield f"tie={os.getpid()}"


def _rlimits(equipment: Equipment, limits: Limits) -> Iterator[str]:
    cpu = math.ceil(limits.cpu_seconds)
    bounds = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files, limits.open_files),
        (resource.RLIMIT_MEMLOCK, 64 * 1024, 64 * 1024),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        (resource.RLIMIT_RTPRIO, 0, 0),
    ]
    if equipment.hierarchy is None:
        # The only bound left, on each process by itself. Reserved addresses count in the second, hence the slack.
        space = limits.memory_bytes + _ADDRESS_SLACK_BYTES
        bounds.append((resource.RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes))
        bounds.append((resource.RLIMIT_AS, space, space))
    for number, soft, hard in bounds:
        yield f"limit={number}:{soft}:{hard}"
