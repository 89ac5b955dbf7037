"""Control groups for one sandbox at a time: bound memory and processes of a whole tree, pin it, and end it.

Hybrid or plain version 1 and version 2 are driven behind one face; none of it needs systemd.
"""

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from native_bench.sandbox.interface import Limits

ROOT = Path("/sys/fs/cgroup")
PREFIX = "kernel-zoo-"
# bubblewrap's monitor and reaper count too.
OWN_PROCESSES = 2
_WANTED = ("memory", "pids", "cpuset")
_PATIENCE_SECONDS = 5.0
_TICK_SECONDS = 0.002


@dataclass(frozen=True)
class Hierarchy:
    """Where new groups may be made: one folder for each controller, and what is missing."""

    version: int
    folders: Mapping[str, Path]
    reasons: tuple[str, ...] = ()

    @property
    def bounds_trees(self) -> bool:
        return {"memory", "pids"} <= self.folders.keys()


@dataclass
class Group:
    """The folders of one sandbox. `remove` ends what is left in it."""

    name: str
    version: int
    folders: dict[str, Path]
    descriptors: list[int] = field(default_factory=list)

    @property
    def joins(self) -> list[Path]:
        return [folder / "cgroup.procs" for folder in _distinct(self.folders.values())]

    def out_of_memory_kills(self) -> int:
        return _count(self.folders["memory"], self.version)

    def kill(self) -> None:
        """Kill every process inside. One that forks faster than it is listed is caught by the next round."""
        for folder in _distinct(self.folders.values()):
            _kill_folder(folder)

    def watch_memory(self) -> int | None:
        """A descriptor that becomes readable when the tree runs out of memory, where that takes asking.

        Version 2 kills the whole tree by itself; version 1 only one process, and says so here.
        """
        if self.version == 2:
            return None
        folder = self.folders["memory"]
        event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.descriptors.append(event)
        control = os.open(folder / "memory.oom_control", os.O_RDONLY | os.O_CLOEXEC)
        try:
            (folder / "cgroup.event_control").write_text(f"{event} {control}")
        except OSError:
            return None
        finally:
            os.close(control)
        return event

    def remove(self) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()
        for folder in _distinct(self.folders.values()):
            while not _removed(folder) and time.monotonic() < deadline:
                _kill_folder(folder)
                time.sleep(_TICK_SECONDS)


def find_hierarchy(root: Path = ROOT, membership: Path = Path("/proc/self/cgroup")) -> Hierarchy:
    """Look for controllers this process may make groups with; what is missing is told in `reasons`."""
    own = _own_paths(membership.read_text()) if membership.exists() else {}
    if (root / "cgroup.controllers").exists():
        return _version_2(root, own.get("", "/"))
    return _version_1(root, own)


def create_group(hierarchy: Hierarchy, limits: Limits) -> Group:
    name = f"{PREFIX}{owner_tag(os.getpid())}-{secrets.token_hex(4)}"
    group = Group(name, hierarchy.version, {})
    try:
        for controller, parent in hierarchy.folders.items():
            folder = parent / name
            folder.mkdir(exist_ok=True)
            group.folders[controller] = folder
        _set_limits(group, limits)
    except OSError:
        group.remove()
        raise
    return group


def sweep(hierarchy: Hierarchy) -> int:
    """Remove the groups of owners that have died, and what still runs in them; returns how many."""
    swept = 0
    for parent in _distinct(hierarchy.folders.values()):
        for folder in parent.glob(f"{PREFIX}*"):
            owner = folder.name.removeprefix(PREFIX).rpartition("-")[0]
            if not _is_alive(owner):
                Group(folder.name, hierarchy.version, {"": folder}).remove()
                swept += 1
    return swept


def owner_tag(pid: int) -> str:
    """A process by number and birth, so that a number used again is not mistaken for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return f"{pid}-{fields[19]}"


def _is_alive(tag: str) -> bool:
    try:
        return owner_tag(int(tag.partition("-")[0])) == tag
    except (OSError, ValueError):
        return False


def _own_paths(text: str) -> dict[str, str]:
    paths = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _version_1(root: Path, own: Mapping[str, str]) -> Hierarchy:
    folders: dict[str, Path] = {}
    reasons = []
    unified = root / "unified" / own.get("", "/").lstrip("/")
    if os.access(unified / "cgroup.procs", os.W_OK):
        folders["unified"] = unified  # first: it kills a whole tree in one go
    for controller in _WANTED:
        # Under our own group: the machine's root group may hold more than we were given.
        place = root / controller / own.get(controller, "/").lstrip("/")
        if not place.is_dir():
            place = root / controller
        if place.is_dir() and os.access(place, os.W_OK):
            folders[controller] = place
        else:
            reasons.append(f"cgroup: no writable {controller} controller under {root}")
    return Hierarchy(1, folders, tuple(reasons))


def _version_2(root: Path, own: str) -> Hierarchy:
    reasons: list[str] = []
    # A group with processes of its own can't hand controllers down, so ours is no place for children;
    # the root group of the machine (or of a container's view) is, if it may be written.
    for place in (root / own.lstrip("/"), root):
        reasons = _lend(place, _WANTED)
        if not any("memory" in reason or "pids" in reason for reason in reasons):
            lent = (place / "cgroup.subtree_control").read_text().split()
            return Hierarchy(2, dict.fromkeys(set(_WANTED) & set(lent), place), tuple(reasons))
    return Hierarchy(2, {}, tuple(reasons))


def _lend(place: Path, controllers: Iterable[str]) -> list[str]:
    reasons = []
    for controller in controllers:
        try:
            control = place / "cgroup.subtree_control"
            if controller not in control.read_text().split():
                control.write_text(f"+{controller}")
        except OSError as error:
            reasons.append(f"cgroup: {place} does not lend {controller}: {error.strerror}")
    return reasons


def _set_limits(group: Group, limits: Limits) -> None:
    memory, pids = group.folders["memory"], group.folders["pids"]
    (pids / "pids.max").write_text(str(limits.processes + OWN_PROCESSES))
    if group.version == 2:
        (memory / "memory.max").write_text(str(limits.memory_bytes))
        (memory / "memory.oom.group").write_text("1")
        _try_write(memory / "memory.swap.max", "0")
    else:
        (memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
        _try_write(memory / "memory.memsw.limit_in_bytes", str(limits.memory_bytes))
    cpuset = group.folders.get("cpuset")
    if cpuset is not None and (limits.cpus or group.version == 1):
        _pin(cpuset, limits.cpus)


def _pin(cpuset: Path, cpus: tuple[int, ...]) -> None:
    # In version 1 both files start empty, and a group without them admits nobody.
    for kind, wanted in (("cpuset.cpus", ",".join(map(str, cpus))), ("cpuset.mems", "")):
        inherited = cpuset.parent / kind
        value = wanted or (inherited.read_text().strip() if inherited.exists() else "")
        if value:
            (cpuset / kind).write_text(value)


def _try_write(path: Path, value: str) -> None:
    # Absent where the kernel does not account swap.
    with contextlib.suppress(OSError):
        path.write_text(value)


def _count(memory: Path, version: int) -> int:
    path = memory / ("memory.events" if version == 2 else "memory.oom_control")
    for line in path.read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return 0


def _kill_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if (folder / "cgroup.kill").exists():
            (folder / "cgroup.kill").write_text("1")
            return
        for pid in (folder / "cgroup.procs").read_text().split():
            # Zero stands for a process outside our view; as an argument of kill it would mean ourselves.
            if int(pid) > 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _distinct(folders: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(folders))
