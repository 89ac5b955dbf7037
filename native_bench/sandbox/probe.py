"""Finds out at start how well this machine can isolate, by isolating something. Fails closed."""

import dataclasses
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from native_bench.sandbox.bwrap import BwrapSandbox
from native_bench.sandbox.cgroup import find_hierarchy, sweep
from native_bench.sandbox.equipment import INSTALL, Equipment, bwrap_version, find_program
from native_bench.sandbox.interface import MIB, Exit, Limits, SandboxMissing
from native_bench.sandbox.seccomp import UnknownArchitecture, seccomp_filter

_LIMITS = Limits(
    wall_seconds=30, cpu_seconds=10, memory_bytes=256 * MIB, processes=8, file_bytes=MIB, tmp_bytes=MIB
)
_EXPECTED = {"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0" * 16, "CapPrm": "0" * 16, "CapBnd": "0" * 16}
_PER_PROCESS = "memory bounded per process"
_LATE_TIE = "no outer pid namespace: an engine killed while a sandbox starts may leave it running"
_HINTS = (
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "an AppArmor profile must allow bwrap userns"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "allow it: sysctl -w kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "allow them: sysctl -w user.max_user_namespaces=10000"),
)


@dataclass(frozen=True)
class Isolation:
    """The level reached, and what keeps it from "full"."""

    level: str
    reasons: tuple[str, ...]


def probe() -> Isolation:
    """Raises SandboxMissing with what to install or allow."""
    sandbox = open_bwrap(slot=0)
    return Isolation(sandbox.isolation, sandbox.reasons)


def open_bwrap(slot: int) -> BwrapSandbox:
    """Sweep what dead runs left, then return the strongest sandbox that really works here."""
    failures: list[str] = []
    for equipment, reasons in _candidates():
        if equipment.hierarchy is not None:
            sweep(equipment.hierarchy)
        # A stronger try that failed is a reason too: nobody is weakened without being told.
        told = (*failures, *reasons)
        sandbox = BwrapSandbox(equipment, "full" if equipment.hierarchy else "user", told, slot)
        failure = _fault(sandbox)
        if failure is None:
            return sandbox
        failures.append(failure)
    hints = [hint for path, value, hint in _HINTS if _says(Path(path), value)]
    raise SandboxMissing("; ".join(["no sandbox can be built here", *dict.fromkeys(failures), *hints]))


def _candidates() -> Iterator[tuple[Equipment, tuple[str, ...]]]:
    """From the strongest down, each with the reasons that make it weaker than "full"."""
    plain = _equipment()
    nesting = dataclasses.replace(plain, nests=True)
    old = () if plain.version >= (0, 8) else ("bwrap before 0.8: nested user namespaces refused by seccomp only",)
    if not plain.is_root:
        weaker = (*old, "not root: no uid of its own", _PER_PROCESS)
        yield nesting, weaker
        yield plain, (*weaker, _LATE_TIE)
        return
    hierarchy = find_hierarchy()
    if hierarchy.bounds_trees:
        reasons = () if "cpuset" in hierarchy.folders else hierarchy.reasons
        yield dataclasses.replace(nesting, hierarchy=hierarchy), (*old, *reasons)
    weaker = (*old, *hierarchy.reasons, _PER_PROCESS)
    yield nesting, weaker
    yield plain, (*weaker, _LATE_TIE, "no right to mount: sources must be readable by the sandbox's uid")


def _equipment() -> Equipment:
    if not Path("/proc/thread-self/children").exists():
        raise SandboxMissing(
            "the kernel does not list children in /proc (CONFIG_PROC_CHILDREN): none can be followed"
        )
    bwrap = find_program("bwrap")
    try:
        program = seccomp_filter(platform.machine())
    except UnknownArchitecture as error:
        raise SandboxMissing(str(error)) from error
    return Equipment(
        bwrap=bwrap,
        version=bwrap_version(bwrap),
        prlimit=find_program("prlimit"),
        seccomp=program,
        is_root=os.geteuid() == 0,
        nests=False,
        hierarchy=None,
    )


def _fault(sandbox: BwrapSandbox) -> str | None:
    """Run `cat /proc/self/status` inside and read from it what must hold."""
    try:
        end = sandbox.run(["/usr/bin/cat", "/proc/self/status"], _LIMITS)
    except OSError as error:
        return f"{error.filename or 'sandbox'}: {error.strerror}"
    if not end.is_ok:
        return _complaint(end)
    told = dict(line.split(":", 1) for line in end.stdout.decode().splitlines() if ":" in line)
    for name, expected in _EXPECTED.items():
        if told.get(name, "").strip() != expected:
            return f"{name} is {told.get(name, '').strip()!r} inside, not {expected!r}"
    return None


def _complaint(end: Exit) -> str:
    said = end.stderr.decode(errors="replace").strip() or f"ended as {end.status} {end.code}"
    return f"{said} (bubblewrap is installed by: {INSTALL})" if "execve" in said else said


def _says(path: Path, value: str) -> bool:
    try:
        return path.read_text().strip() == value
    except OSError:
        return False
