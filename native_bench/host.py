"""The machine that measures: what stands in every run's environment."""

import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

CPU_FOLDER = Path("/sys/devices/system/cpu")


def native_arch() -> str:
    """Return the arch that native kernels are built for here: `x86_64` or `aarch64`."""
    machine = platform.machine()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.lower(), machine)


def usable_cores() -> tuple[int, ...]:
    """Return the cores this process may run on, lowest first."""
    return tuple(sorted(os.sched_getaffinity(0)))


def core_pair() -> tuple[int, int] | None:
    """Return the cores of timer and workers, on two physical cores if possible; None without two."""
    cores = usable_cores()
    if len(cores) < 2:
        return None
    worker = cores[-1]
    siblings = _siblings(worker)
    others = [core for core in cores[:-1] if core not in siblings]
    return (others or cores[:-1])[-1], worker


def cpu_model() -> str:
    """Return the processor's name as the kernel tells it."""
    text = read_text(Path("/proc/cpuinfo"))
    for label in ("model name", "Model", "CPU part"):
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if name.strip() == label:
                return value.strip()
    return platform.machine()


def caches() -> dict[str, int]:
    """Return the data caches of one core in bytes, e.g. {"L1": 49152, "L2": 2097152}."""
    found: dict[str, int] = {}
    for index in sorted((CPU_FOLDER / "cpu0" / "cache").glob("index*")):
        if read_text(index / "type").strip() != "Instruction":
            found[f"L{read_text(index / 'level').strip()}"] = _size(read_text(index / "size").strip())
    return found


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """Return the first line of `g++ --version`, or an empty string without g++."""
    try:
        answer = subprocess.run(["g++", "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.splitlines()[0]


def host_record() -> dict[str, Any]:
    """Return what the run record says of this machine; JSON data."""
    return {
        "cpu": cpu_model(),
        "cores": len(usable_cores()),
        "caches": caches(),
        "kernel": platform.release(),
        "compilers": {"g++": compiler_version()},
    }


def _siblings(core: int) -> frozenset[int]:
    listed = read_text(CPU_FOLDER / f"cpu{core}" / "topology" / "thread_siblings_list").strip()
    found: set[int] = {core}
    for part in filter(None, listed.split(",")):
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return frozenset(found)


def _size(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text and text[-1] in units else int(text or 0)


def read_text(path: Path) -> str:
    """Return what a file of the system says, an empty string where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""
