"""Busy loops that take the processor from whom it can be taken; none outlives its block, or us."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# Asks to be killed with its parent (PR_SET_PDEATHSIG, SIGKILL), then looks whether that has come too late.
_LOOP = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    sys.exit()
while True:
    pass
"""


@contextmanager
def busy_loops(count: int) -> Iterator[list[int]]:
    """Run `count` processes that only compute, each in a session of its own, and yield their pids.

    Where the kernel shares the processor between sessions, loops of one session would count as one task.
    """
    command = [sys.executable, "-I", "-S", "-c", _LOOP, str(os.getpid())]
    with ExitStack() as stack:
        loops: list[subprocess.Popen[bytes]] = []
        for _ in range(count):
            loops.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True))
            stack.callback(_stop, loops[-1])
        yield [loop.pid for loop in loops]


def _stop(loop: "subprocess.Popen[bytes]") -> None:
    loop.kill()
    loop.wait()
