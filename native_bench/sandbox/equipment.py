"""What this machine offers to build a sandbox from."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from native_bench.sandbox.cgroup import Hierarchy
from native_bench.sandbox.interface import SandboxMissing

INSTALL = "apt-get install -y --no-install-recommends bubblewrap util-linux"
OLDEST_VERSION = (0, 6)
FIRST_UID = 20000
UIDS_PER_SLOT = 64
SLOTS = 256


@dataclass(frozen=True)
class Equipment:
    """`nests`: pid namespaces may be made around bubblewrap. `hierarchy` is None where trees can't be bounded."""

    bwrap: Path
    version: tuple[int, ...]
    prlimit: Path
    seccomp: bytes
    is_root: bool
    nests: bool
    hierarchy: Hierarchy | None

    @property
    def stages(self) -> bool:
        """Whether sources are mounted before root is dropped, so that private folders can be bound."""
        return self.is_root and self.nests


def find_program(name: str) -> Path:
    """Raises SandboxMissing with the line that installs it."""
    found = shutil.which(name, path="/usr/bin:/usr/local/bin:/bin:/usr/sbin:/sbin")
    if found is None:
        raise SandboxMissing(f"{name} is not installed; install it with: {INSTALL}")
    return Path(found).resolve()


def bwrap_version(bwrap: Path) -> tuple[int, ...]:
    """Raises SandboxMissing when it is too old to bound its in-memory folders."""
    said = subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=False, env={}).stdout
    numbers = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    version = tuple(int(part) for part in numbers.groups() if part is not None) if numbers else ()
    if version < OLDEST_VERSION:
        raise SandboxMissing(f"{bwrap} is version {said.strip() or 'unknown'}; 0.6 or later is needed: {INSTALL}")
    return version
