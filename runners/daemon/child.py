"""One engine as a guarded child process: started, read line by line, and gone when the block ends."""

import contextlib
import json
import os
import selectors
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runners.daemon import guard
from runners.daemon.config import DaemonConfig
from runners.daemon.spawn import Child, spawn

_LINE_BYTES = 8 << 20
_STDERR_BYTES = 16 << 10
_GUARD_END_SECONDS = 10.0

Event = Mapping[str, Any]


class BrokenConversation(Exception):
    """The engine wrote what is no event, or too much without an end of line."""


class EngineChild:
    """The engine, its guard, and the pipes to both; a context manager that leaves no process behind."""

    def __init__(self, config: DaemonConfig, workspace: Path, first_line: bytes, deadline: float) -> None:
        self._line = b""
        self._stderr_tail = b""
        engine_stdin, stdin = os.pipe()
        self._stdout, engine_stdout = os.pipe()
        self._stderr, engine_stderr = os.pipe()
        control_end, self._control = os.pipe()
        guard_argv = [sys.executable, "-P", guard.__file__, str(control_end), str(workspace), repr(deadline)]
        pid = spawn(
            [*guard_argv, *config.engine, str(workspace)],
            {**config.environment, "HOME": str(workspace), "TMPDIR": str(workspace / "tmp")},
            (engine_stdin, engine_stdout, engine_stderr),
            keep=(control_end, *config.held_fds),
        )
        for fd in (engine_stdin, engine_stdout, engine_stderr, control_end):
            os.close(fd)
        self._guard = Child(pid)
        with contextlib.suppress(BrokenPipeError), os.fdopen(stdin, "wb") as stream:
            stream.write(first_line)
        self._selector = selectors.DefaultSelector()
        for fd in (self._stdout, self._stderr, self._guard.pidfd):
            self._selector.register(fd, selectors.EVENT_READ)

    @property
    def is_there(self) -> bool:
        """True until the guard has ended and both output pipes are read to their end."""
        return bool(self._selector.get_map())

    @property
    def stderr_tail(self) -> str:
        return self._stderr_tail.decode(errors="replace")

    def keep_until(self, deadline: float) -> None:
        """Let the engine live until then, by the guard's clock."""
        self._tell(repr(deadline))

    def stop(self) -> None:
        """Ask the guard to end the engine; returns at once."""
        self._tell("stop")

    def events(self, timeout: float) -> Iterator[Event]:
        """Yield what the engine said within the time; raises BrokenConversation."""
        for key, _ in self._selector.select(timeout):
            data = b"" if key.fd == self._guard.pidfd else os.read(key.fd, 1 << 16)
            if not data:
                self._selector.unregister(key.fd)
            elif key.fd == self._stderr:
                self._stderr_tail = (self._stderr_tail + data)[-_STDERR_BYTES:]
            else:
                yield from self._parsed(data)

    def wait(self) -> int | None:
        """Return the status of the engine, or of its guard; by then no process of the run is left."""
        return self._guard.wait(_GUARD_END_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The closed pipe is an order to the guard; only a guard that is broken itself gets killed.
        os.close(self._control)
        if self._guard.wait(_GUARD_END_SECONDS) is None:
            self._guard.kill()
        self._selector.close()
        self._guard.close()
        os.close(self._stdout)
        os.close(self._stderr)

    def _tell(self, order: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._control, order.encode() + b"\n")

    def _parsed(self, data: bytes) -> Iterator[Event]:
        *lines, self._line = (self._line + data).split(b"\n")
        if len(self._line) > _LINE_BYTES:
            raise BrokenConversation(f"the engine wrote over {_LINE_BYTES >> 20} MiB without an end of line")
        for line in lines:
            yield _event(line)


def _event(line: bytes) -> Event:
    try:
        event = json.loads(line)
    except ValueError:
        raise BrokenConversation("the engine wrote a line that is no JSON") from None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise BrokenConversation("the engine wrote a line that is no event")
    return event


def describe_exit(status: int | None) -> str:
    """Say in words how the engine ended."""
    ends = {
        None: "did not end",
        guard.EXIT_DEADLINE: "was stopped at the end of its lease",
        guard.EXIT_STOPPED: "was stopped",
        guard.EXIT_ORPHANED: "lost its daemon",
    }
    if status in ends:
        return ends[status]
    if status is not None and status > 128:
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(status - 128).name}"
    return f"ended with status {status}"
