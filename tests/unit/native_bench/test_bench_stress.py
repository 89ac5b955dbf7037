"""Busy loops: they run, and they are gone, however their block or we ourselves end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from native_bench.bench_cpu.stress import busy_loops

# A shell that starts us in the background has Ctrl-C ignored, and so would the holder have.
HOLDER = """
import signal, sys
from native_bench.bench_cpu.stress import busy_loops
signal.signal(signal.SIGINT, signal.default_int_handler)
with busy_loops(2) as pids:
    print(*pids, flush=True)
    sys.stdin.read()
"""


def state_of(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def gone(pids: list[int]) -> bool:
    """Wait until all have ended; a zombie that its new parent has not yet collected has."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if all(state_of(pid) in (None, "Z", "X") for pid in pids):
            return True
    return False


def test_it_runs_loops_of_their_own_sessions_and_ends_them() -> None:
    with busy_loops(3) as pids:
        assert len(set(pids)) == 3
        assert all(state_of(pid) not in (None, "Z") for pid in pids)
        assert {os.getsid(pid) for pid in pids} == set(pids)
    # Collected, not only killed: not even a zombie is left.
    assert [state_of(pid) for pid in pids] == [None] * 3


def test_none_is_none() -> None:
    with busy_loops(0) as pids:
        assert pids == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_it_ends_them_when_the_block_fails(error: type[BaseException]) -> None:
    pids: list[int] = []
    with pytest.raises(error), busy_loops(2) as started:
        pids += started
        raise error
    assert [state_of(pid) for pid in pids] == [None] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_none_outlives_us(number: signal.Signals) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder.stdin, holder.stdout:
        pids = [int(word) for word in holder.stdout.readline().split()]
        assert len(pids) == 2
        holder.send_signal(number)
        holder.wait(20)
    assert gone(pids)
