"""One running sandbox, watched by a thread that sleeps until something happens.

The thread never polls: a wake-up on a core that is being timed would show in the figures.
"""

import atexit
import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from native_bench.sandbox.cgroup import Group
from native_bench.sandbox.interface import Exit, Limits, OutputRefused, Status
from native_bench.sandbox.outputs import deliver
from native_bench.sandbox.status import StatusPipe, children_of

_CHUNK_BYTES = 1 << 16
_DEATH_SECONDS = 10.0
_living: "weakref.WeakSet[BwrapCell]" = weakref.WeakSet()


@dataclass
class Held:
    """What the cell keeps open on the host until its end."""

    status: StatusPipe
    started_at: float
    stdin: bytes = b""
    group: Group | None = None
    outputs: list[tuple[int, Path]] = field(default_factory=list)


class BwrapCell:
    """Owns the outer bubblewrap process, its group and its pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]", limits: Limits, held: Held) -> None:
        self._process = process
        self._limits = limits
        self._held = held
        self._outer = os.pidfd_open(process.pid)
        self._reason: Status | None = None
        self._is_killed = False
        self._texts: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._exit: Exit | None = None
        self._failure: Exception | None = None
        self._is_over = threading.Event()
        self._is_released = False
        # A strike by another thread must not meet descriptors that the watcher closes meanwhile.
        self._closing = threading.Lock()
        _living.add(self)
        threading.Thread(target=self._watch, name=f"sandbox-{process.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def payload_pids(self) -> tuple[int, ...]:
        first = self._held.status.reaper_pid
        if first is None or self._is_over.is_set():
            return ()
        found = children_of(first)
        for pid in found:  # grows as it goes
            found += children_of(pid)
        return tuple(found)

    def poll(self) -> Exit | None:
        return self.wait() if self._is_over.is_set() else None

    def wait(self, timeout: float | None = None) -> Exit:
        if not self._is_over.wait(timeout):
            raise TimeoutError(f"the sandbox still runs after {timeout} s")
        if self._failure is not None:
            raise self._failure
        assert self._exit is not None  # noqa: S101
        return self._exit

    def kill(self) -> Exit:
        if not self._is_over.is_set():
            self._is_killed = True
            self._strike()
        return self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _watch(self) -> None:
        try:
            self._follow()
            self._exit = self._settle()
        except Exception as error:  # the waiting thread gets it
            self._failure = error
            self._strike()
        finally:
            self._release()
            self._is_over.set()

    def _follow(self) -> None:
        deadline: float | None = self._held.started_at + self._limits.wall_seconds
        group = self._held.group
        out_of_memory = group.watch_memory() if group is not None else None
        with selectors.DefaultSelector() as selector:
            selector.register(self._outer, selectors.EVENT_READ, "end")
            for name in self._texts:
                selector.register(self._pipe(name), selectors.EVENT_READ, name)
            if self._process.stdin is not None:
                os.set_blocking(self._process.stdin.fileno(), False)
                selector.register(self._process.stdin, selectors.EVENT_WRITE, "stdin")
            if out_of_memory is not None:
                selector.register(out_of_memory, selectors.EVENT_READ, "memory")
            while True:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                happened = {key.data for key, _ in selector.select(left)}
                if deadline is not None and time.monotonic() >= deadline:
                    self._stop("timed_out")
                    deadline = None
                if "memory" in happened and out_of_memory is not None:
                    os.eventfd_read(out_of_memory)
                    self._stop("out_of_memory")
                self._exchange(selector, happened)
                if "end" in happened:
                    return

    def _exchange(self, selector: selectors.BaseSelector, happened: set[str]) -> None:
        if "stdin" in happened and not self._feed():
            selector.unregister(self._process.stdin)  # type: ignore[arg-type]
            self._process.stdin.close()  # type: ignore[union-attr]
        for name in self._texts.keys() & happened:
            if not self._take(name):
                selector.unregister(self._pipe(name))

    def _feed(self) -> bool:
        pipe = self._process.stdin
        try:
            written = os.write(pipe.fileno(), self._held.stdin[:_CHUNK_BYTES]) if pipe is not None else 0
        except BrokenPipeError:
            return False
        self._held.stdin = self._held.stdin[written:]
        return bool(self._held.stdin)

    def _take(self, name: str) -> bool:
        try:
            chunk = os.read(self._pipe(name), _CHUNK_BYTES)
        except BlockingIOError:
            return False
        room = self._limits.output_bytes - sum(len(text) for text in self._texts.values())
        self._texts[name] += chunk[:room]
        if len(chunk) > room:
            self._stop("output_flood")
        return bool(chunk)

    def _settle(self) -> Exit:
        """The outer process has ended: end the rest, read what is left, and judge."""
        self._process.wait()
        if self._held.group is not None:
            self._held.group.kill()
        if not self._held.status.wait_for_end(_DEATH_SECONDS):
            raise RuntimeError(f"processes of sandbox {self.pid} outlive SIGKILL")
        for name in self._texts:
            os.set_blocking(self._pipe(name), False)
            while self._take(name):
                pass
        ended = self._judge()
        return self._deliver(ended) if ended.status in ("exited", "signalled") else ended

    def _judge(self) -> Exit:
        code = self._held.status.exit_code()
        group = self._held.group
        if self._reason is not None:
            return self._ended(self._reason)
        if group is not None and group.out_of_memory_kills() > 0:
            return self._ended("out_of_memory")
        if self._is_killed:
            return self._ended("signalled", signal_name="SIGKILL")
        if code is None:
            return self._ended("setup_failed", self._process.returncode)
        if code > 128 and code - 128 in signal.valid_signals():
            number = signal.Signals(code - 128)
            # The kernel's word for used-up processor time.
            return self._ended("timed_out" if number is signal.SIGXCPU else "signalled", None, number.name)
        return self._ended("exited", code)

    def _deliver(self, ended: Exit) -> Exit:
        try:
            for inside, folder in self._held.outputs:
                deliver(inside, folder, self._limits.file_bytes, self._limits.out_bytes)
        except OutputRefused as error:
            self._texts["stderr"] += f"\nsandbox: {error}\n".encode()
            return self._ended("output_flood")
        return ended

    def _ended(self, status: Status, code: int | None = None, signal_name: str | None = None) -> Exit:
        seconds = time.monotonic() - self._held.started_at
        return Exit(status, code, signal_name, bytes(self._texts["stdout"]), bytes(self._texts["stderr"]), seconds)

    def _stop(self, reason: Status) -> None:
        if self._reason is None:
            self._reason = reason
            self._strike()

    def _strike(self) -> None:
        with self._closing:
            if self._is_released:
                return
            if self._held.group is not None:
                self._held.group.kill()
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._outer, signal.SIGKILL)

    def _pipe(self, name: str) -> int:
        stream = self._process.stdout if name == "stdout" else self._process.stderr
        assert stream is not None  # noqa: S101
        return stream.fileno()

    def _release(self) -> None:
        _living.discard(self)
        with self._closing:
            self._is_released = True
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        for inside, _ in self._held.outputs:
            os.close(inside)
        self._held.status.close()
        os.close(self._outer)
        if self._held.group is not None:
            self._held.group.remove()


@atexit.register
def _end_living() -> None:
    for cell in list(_living):
        with contextlib.suppress(Exception):
            cell.kill()
