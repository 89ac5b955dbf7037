"""The trusted timer process, seen from Python: commands in, answers out, never without a deadline."""

import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from native_bench.memory import SharedMemory
from native_bench.outcome import infra


class TimerSilent(Exception):
    """The timer has not answered in time: it is killed, and what it waited for with it."""


@dataclass(frozen=True)
class ClockPair:
    """One moment by the processor's counter and by the system's clock."""

    ticks: int
    ns: int

    def mhz_until(self, later: "ClockPair") -> float:
        return 1000 * (later.ticks - self.ticks) / max(1, later.ns - self.ns)


class Timer:
    """A running timer. It keeps the core it is given; workers are seated one by one."""

    def __init__(self, program: Path, core: int, memories: Sequence[SharedMemory]) -> None:
        self._process = subprocess.Popen(
            [str(program), str(core)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[memory.fd for memory in memories],
            env={},
            # A session of its own, which it may then put before all others.
            start_new_session=True,
        )
        self._pending = b""

    def ask(self, command: str, seconds: float) -> list[str]:
        """Send one command and return the words of its one-line answer."""
        self.send(command)
        return self._line(time.monotonic() + seconds).split()

    def ask_ok(self, command: str, seconds: float = 20.0) -> None:
        """Send a command that can only be answered with ok; raises RunEnded infra_error."""
        answer = self.ask(command, seconds)
        if answer != ["ok"]:
            raise infra(
                "time:timer", f"the timer answered {' '.join(answer) or 'nothing'} to {command.partition(' ')[0]}"
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def clocks(self) -> ClockPair:
        words = self.ask("clocks", 20.0)
        return ClockPair(int(words[1]), int(words[2]))

    def send(self, command: str) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101  (a pipe was asked for)
        try:
            stdin.write(f"{command}\n".encode())
            stdin.flush()
        except BrokenPipeError:
            raise infra("time:timer", f"the timer has ended before {command.partition(' ')[0]}") from None

    def lines(self, seconds: float) -> Iterator[list[str]]:
        """Yield the words of each line up to and with `end` or `flaw`."""
        deadline = time.monotonic() + seconds
        while True:
            words = self._line(deadline).split()
            yield words
            if words[0] in ("end", "flaw"):
                return

    def _line(self, deadline: float) -> str:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101  (a pipe was asked for)
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([stdout], [], [], left)[0]:
                raise TimerSilent
            piece = os.read(stdout.fileno(), 1 << 16)
            if not piece:
                raise infra("time:timer", f"the timer has ended (status {self._process.wait()})")
            self._pending += piece
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
