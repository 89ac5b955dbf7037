"""Starts the site's processes, each in a group of its own, watches them, and stops all of them.

A killed idle django-q2 worker hangs its pool for good, and a killed cluster leaves workers that go on taking
tasks: so a cluster is judged by whether beats are consumed, and ended by its process group.
"""

import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

logger = logging.getLogger(__name__)

STOP_SECONDS = 4.0
RESTART_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class Service:
    """One process to keep alive. `is_stuck` answers whether it runs but does nothing."""

    name: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    is_stuck: Callable[[float], bool] = lambda _started: False


@dataclass
class _Running:
    service: Service
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.time)


class Supervisor:
    """Keeps services alive until told to stop; one supervisor per run folder."""

    def __init__(self, services: list[Service], run_folder: Path) -> None:
        self._services = services
        self._groups_file = run_folder / "groups.json"
        self._running: dict[str, _Running] = {}
        self._is_stopping = False
        self.restarts: dict[str, int] = {}

    def end_predecessor(self) -> None:
        """End what a killed supervisor left running; the caller holds the run folder's lock."""
        end_leftover_groups(self._groups_file)

    def start(self) -> None:
        """Start every service and listen to the signals that stop them."""
        for service in self._services:
            self._launch(service)
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def watch(self, every_seconds: float, on_round: Callable[[], None]) -> None:
        """Restart what died or hangs, until a signal asks to stop."""
        while not self._is_stopping:
            time.sleep(every_seconds)
            if not self._is_stopping:
                self._restart_fallen()
                on_round()

    def stop(self) -> None:
        """Ask every group to end, then make it; nothing is left running."""
        self._is_stopping = True
        for running in self._running.values():
            _signal_group(running.process.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for running in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                running.process.wait(max(0.0, deadline - time.monotonic()))
        for running in self._running.values():
            # Also where the leader ended in time: a worker of its group may not have.
            _signal_group(running.process.pid, signal.SIGKILL)
            running.process.wait()
        self._groups_file.unlink(missing_ok=True)

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping

    def is_alive(self, name: str) -> bool:
        return name in self._running and self._running[name].process.poll() is None

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True

    def _launch(self, service: Service) -> None:
        process = subprocess.Popen(
            service.argv, env=dict(service.environ), start_new_session=True, stdin=subprocess.DEVNULL
        )
        self._running[service.name] = _Running(service, process)
        groups = {name: _identity(running.process.pid) for name, running in self._running.items()}
        draft = self._groups_file.with_suffix(".draft")
        draft.write_text(json.dumps(groups))
        draft.replace(self._groups_file)

    def _restart_fallen(self) -> None:
        for name, running in list(self._running.items()):
            status = running.process.poll()
            if status is None and not running.service.is_stuck(running.started):
                continue
            reason = "takes no tasks" if status is None else f"ended with status {status}"
            logger.warning("%s %s: starting it again", name, reason)
            _signal_group(running.process.pid, signal.SIGKILL)
            running.process.wait()
            self.restarts[name] = self.restarts.get(name, 0) + 1
            if time.time() - running.started < RESTART_PAUSE_SECONDS * 5:
                time.sleep(RESTART_PAUSE_SECONDS)
            self._launch(running.service)


def end_leftover_groups(groups_file: Path) -> None:
    """Kill the process groups of a supervisor that was killed itself, if they still are what they were."""
    try:
        groups = json.loads(groups_file.read_text())
    except (FileNotFoundError, ValueError):
        return
    for identity in groups.values():
        pid, session_start = identity
        if pid and _identity(pid)[1] in (session_start, None):
            _signal_group(pid, signal.SIGKILL)
    groups_file.unlink(missing_ok=True)


def _identity(pid: int) -> tuple[int, int | None]:
    """Return the pid with its start time in clock ticks (None: gone), which tells it from a later one."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return pid, None
    return pid, int(after_name[19])


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
