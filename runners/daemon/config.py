"""What a daemon needs to know of its machine; the only file of the daemon that reads the environment."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import native_bench

# The engine and its compilers see these and nothing else of the daemon's environment: no key, no token.
_PASSED_ON = ("PATH", "LANG", "LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CONDA_PREFIX")


def engine_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of the engine: where programs and the engine's package are, and no secret."""
    source = os.environ if environ is None else environ
    passed = {name: source[name] for name in _PASSED_ON if name in source}
    checkout = str(Path(native_bench.__file__).resolve().parent.parent)
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **passed, "PYTHONPATH": checkout, "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class DaemonConfig:
    """Folders, limits and the engine's command of one runner."""

    workdir: Path
    cache_dir: Path
    cache_bytes: int = 2 << 30
    backend: str = "bwrap"
    slot: int = 0
    run_seconds: float = 600.0
    drive_seconds: float = 1800.0
    claim_wait_seconds: float = 0.0
    engine: tuple[str, ...] = (sys.executable, "-P", "-m", "native_bench", "execute")
    environment: Mapping[str, str] = field(default_factory=engine_environment)
    # Kept open by the guard too: a lock on such a file holds until the last run's processes are gone.
    held_fds: tuple[int, ...] = ()
