"""Runs programs with no isolation at all, for tests of code that only needs the interface. Never a fallback."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from native_bench.sandbox.interface import Bind, Exit, Limits


class StubSandbox:
    """Names bound paths by their sources instead of binding them; heeds only the wall time."""

    isolation = "stub"
    reasons = ("nothing is isolated",)

    def run(
        self,
        argv: Sequence[str],
        limits: Limits,
        binds: Sequence[Bind] = (),
        stdin: bytes = b"",
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> Exit:
        with StubCell(_started(argv, binds, pass_fds, env or {}), limits, stdin) as cell:
            return cell.wait()

    def start(
        self,
        argv: Sequence[str],
        limits: Limits,
        binds: Sequence[Bind] = (),
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> "StubCell":
        return StubCell(_started(argv, binds, pass_fds, env or {}), limits, b"")


class StubCell:
    """An ordinary process group."""

    def __init__(self, process: "subprocess.Popen[bytes]", limits: Limits, stdin: bytes) -> None:
        self._process = process
        self._limits = limits
        self._stdin = stdin
        self._started_at = time.monotonic()
        self._exit: Exit | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    def payload_pids(self) -> tuple[int, ...]:
        return (self.pid,) if self._process.poll() is None else ()

    def poll(self) -> Exit | None:
        if self._exit is None and self._process.poll() is not None:
            return self.wait()
        return self._exit

    def wait(self, timeout: float | None = None) -> Exit:
        if self._exit is None:
            left = self._started_at + self._limits.wall_seconds - time.monotonic()
            waits_to_the_end = timeout is None or timeout >= left
            try:
                out = self._process.communicate(self._stdin, left if waits_to_the_end else timeout)
            except subprocess.TimeoutExpired as error:
                if not waits_to_the_end:
                    raise TimeoutError(f"the process still runs after {timeout} s") from error
                self._strike()
                out = self._process.communicate()
                self._exit = Exit("timed_out", None, None, *out, self._seconds())
            else:
                self._exit = self._ended(*out)
        return self._exit

    def kill(self) -> Exit:
        if self._exit is None:
            self._strike()
        return self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _ended(self, stdout: bytes, stderr: bytes) -> Exit:
        code = self._process.returncode
        if code < 0:
            return Exit("signalled", None, signal.Signals(-code).name, stdout, stderr, self._seconds())
        return Exit("exited", code, None, stdout, stderr, self._seconds())

    def _seconds(self) -> float:
        return time.monotonic() - self._started_at

    def _strike(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


def _started(
    argv: Sequence[str], binds: Sequence[Bind], pass_fds: Sequence[int], env: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    def outside(text: str) -> str:
        for bind in binds:
            text = text.replace(bind.target, str(bind.source))
        return text

    return subprocess.Popen(
        [outside(text) for text in argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", **{name: outside(value) for name, value in env.items()}},
        pass_fds=pass_fds,
        start_new_session=True,
    )
