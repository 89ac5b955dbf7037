"""Starts the site's processes, each in a session of its own, watches them, and stops all of them in time.

A killed idle django-q2 worker hangs its pool for good, and a killed cluster leaves workers that go on taking
tasks: so a cluster is judged by whether beats are consumed, and ended with all that it has started. Asked to end,
its leader waits for ever for an answer of its sentinel, which SIGTERM has ended: so it goes once it is alone.
"""

import json
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from zoo_site.process_family import Families, signal_group, start_of

logger = logging.getLogger(__name__)

# Together under the five seconds in which the site must be gone, with room for a loaded machine.
STOP_SECONDS = 2.5
KILL_SECONDS = 1.0
RESTART_PAUSE_SECONDS = 1.0
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class Service:
    """One process to keep alive.

    `is_stuck` answers whether it runs but does nothing. A pool's work is done by what it starts: told to stop,
    it is of no more use once that has ended.
    """

    name: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    is_stuck: Callable[[float], bool] = lambda _started: False
    is_pool: bool = False


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
        self._stop_asked = threading.Event()
        # Nothing is launched once the stop has begun, and the stop sees all that was launched before.
        self._launching = threading.Lock()
        self._ending = threading.Lock()
        self._is_ended = False
        self._wake_fds: tuple[int, ...] = ()
        self.restarts: dict[str, int] = {}

    def end_predecessor(self) -> None:
        """End what a killed supervisor left running; the caller holds the run folder's lock."""
        end_leftover_groups(self._groups_file)

    def start(self) -> None:
        """Listen to the signals that stop the services, and start every service; from the main thread."""
        self._listen()
        for service in self._services:
            self._launch(service)

    def watch(self, every_seconds: float, on_round: Callable[[], None]) -> None:
        """Restart what died or hangs, until a signal asks to stop."""
        while not self._is_stopping:
            self._stop_asked.wait(every_seconds)
            if not self._is_stopping:
                self._restart_fallen()
                on_round()

    def stop(self) -> None:
        """Ask every service to end, then make it; nothing is left running. From the main thread."""
        self._end_all()
        if self._wake_fds:
            signal.set_wakeup_fd(-1)
            os.close(self._wake_fds[1])
            self._wake_fds = ()

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping

    def is_alive(self, name: str) -> bool:
        return name in self._running and self._running[name].process.poll() is None

    def _listen(self) -> None:
        for number in _STOP_SIGNALS:
            signal.signal(number, self._on_signal)
        reading, writing = self._wake_fds = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self._stop_on_signal, args=(reading,), name="stopper", daemon=True).start()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True

    def _stop_on_signal(self, reading: int) -> None:
        # A thread of its own: Python's handler waits for the main thread, which may wait for the database.
        with os.fdopen(reading, "rb", buffering=0) as signals:
            while numbers := signals.read(64):
                if set(numbers) & set(_STOP_SIGNALS):
                    self._end_all()

    def _end_all(self) -> None:
        self._is_stopping = True
        self._stop_asked.set()
        with self._ending:
            if not self._is_ended:
                self._is_ended = True
                self._end_services()

    def _end_services(self) -> None:
        with self._launching:
            launched = [(running.process.pid, running.service) for running in self._running.values()]
        families = Families((pid for pid, _ in launched), (pid for pid, service in launched if service.is_pool))
        families.ask_to_end()
        if families.are_gone_within(STOP_SECONDS) or families.kill_within(KILL_SECONDS):
            self._groups_file.unlink(missing_ok=True)
        else:
            logger.error(
                "these processes outlive SIGKILL, the next start ends them: %s", sorted(families.living())
            )
        for running in self._running.values():
            running.process.poll()

    def _launch(self, service: Service) -> None:
        with self._launching:
            if self._is_stopping:
                return
            process = subprocess.Popen(
                service.argv, env=dict(service.environ), start_new_session=True, stdin=subprocess.DEVNULL
            )
            self._running[service.name] = _Running(service, process)
            self._keep_groups()

    def _keep_groups(self) -> None:
        pids = {name: running.process.pid for name, running in self._running.items()}
        draft = self._groups_file.with_suffix(".draft")
        draft.write_text(json.dumps({name: (pid, start_of(pid)) for name, pid in pids.items()}))
        draft.replace(self._groups_file)

    def _restart_fallen(self) -> None:
        for name, running in list(self._running.items()):
            status = running.process.poll()
            if self._is_stopping or (status is None and not running.service.is_stuck(running.started)):
                continue
            reason = "takes no tasks" if status is None else f"ended with status {status}"
            logger.warning("%s %s: starting it again", name, reason)
            signal_group(running.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                running.process.wait(KILL_SECONDS)
                self._replace(running)

    def _replace(self, fallen: _Running) -> None:
        name = fallen.service.name
        self.restarts[name] = self.restarts.get(name, 0) + 1
        if time.time() - fallen.started < RESTART_PAUSE_SECONDS * 5:
            self._stop_asked.wait(RESTART_PAUSE_SECONDS)
        self._launch(fallen.service)


def end_leftover_groups(groups_file: Path) -> None:
    """Kill what a supervisor that was killed itself had started, as far as it still is what it was."""
    try:
        groups = json.loads(groups_file.read_text())
    except (FileNotFoundError, ValueError):
        return
    leaders = [pid for pid, start in groups.values() if pid and start_of(pid) in (start, None)]
    families = Families(leaders)
    if not families.kill_within(STOP_SECONDS):
        logger.error("processes of the site before outlive SIGKILL: %s", sorted(families.living()))
    groups_file.unlink(missing_ok=True)
