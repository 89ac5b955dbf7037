"""The runners of the site's own machine: what they are, where they work, and that nobody drives one twice."""

import fcntl
import functools
import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from native_bench.gpu.toolchain import supported_archs
from native_bench.harness import harness_version
from native_bench.host import cpu_model, host_record, native_arch
from native_bench.outcome import RunEnded
from native_bench.sandbox.interface import SandboxMissing
from native_bench.sandbox.probe import probe
from runners.capabilities import CPU
from runners.daemon import DaemonConfig
from runners.protocol import Registration

logger = logging.getLogger(__name__)

GPU_CONTROL_DEVICE = Path("/dev/nvidiactl")
LOCK_WAIT_SECONDS = 10.0


def registration(kind: str) -> Registration | None:
    """Describe the local runner of a kind in a new life.

    None where nothing here can isolate, or the engine has no part for the device: the runner does not start.
    """
    if kind != CPU:
        return None
    try:
        return _cpu_registration()
    except SandboxMissing as error:
        logger.error("the local %s runner does not start: %s", kind, error)
        return None


def has_gpu() -> bool:
    """True where a GPU is attached."""
    return GPU_CONTROL_DEVICE.exists()


def config(kind: str, held_fds: tuple[int, ...] = ()) -> DaemonConfig:
    """Return the daemon's configuration of a local runner, as the settings have it."""
    return DaemonConfig(
        workdir=Path(settings.RUNNER_WORKDIR) / runner_name(kind),
        cache_dir=Path(settings.RUNNER_WORKDIR) / "cache",
        cache_bytes=settings.RUNNER_CACHE_BYTES,
        backend=settings.CONTAINER_BACKEND,
        slot=0 if kind == CPU else 1,
        run_seconds=settings.CONTAINER_TIMEOUT_SECONDS,
        held_fds=held_fds,
    )


def runner_name(kind: str) -> str:
    """Return the name of the local runner of a kind."""
    return f"{kind}0"


@contextmanager
def sole_driver(kind: str) -> Iterator[int | None]:
    """Hold the runner's lock and yield its descriptor; None where another drive still has it after the wait.

    The lock belongs to the open file, which the guard of a run inherits: a drive that was killed keeps its
    successor out until the last process of its run is gone.
    """
    folder = Path(settings.RUN_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder / f"runner-{runner_name(kind)}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield fd if _locked(fd, time.monotonic() + LOCK_WAIT_SECONDS) else None
    finally:
        os.close(fd)


def _locked(fd: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.05)
        else:
            return True


def _cpu_registration() -> Registration:
    version, host, isolation = _machine()
    return Registration(
        name=runner_name(CPU),
        kind=CPU,
        archs=(native_arch(),),
        version=version,
        life=secrets.token_hex(16),
        device=cpu_model(),
        isolation=isolation,
        hardware=host,
        limits={"dry_run_archs": list(dry_run_archs())},
    )


@functools.cache
def dry_run_archs() -> tuple[str, ...]:
    """Return the CUDA archs whose kernels can be compiled and emulated here; none without NVIDIA's compiler."""
    try:
        return supported_archs()
    except RunEnded as end:
        logger.warning("no dry runs of CUDA kernels: %s", end.message)
        return ()


@functools.cache
def _machine() -> tuple[str, dict[str, object], str]:
    # The probe runs real sandboxes and the record asks compilers: once per process is enough.
    isolation = "stub" if settings.CONTAINER_BACKEND == "stub" else probe().level
    return harness_version(), host_record(), isolation
