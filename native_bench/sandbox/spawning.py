"""Starts processes from one thread that never ends.

The kernel's die-with-parent watches the *thread* that forked: a sandbox started by a worker thread would be
killed when that thread returns, long before its process does.
"""

import queue
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import IO

Streams = tuple[int | IO[bytes], int | IO[bytes], int | IO[bytes]]
_Job = tuple[Sequence[str], Streams, Sequence[int], Future["subprocess.Popen[bytes]"]]

_jobs: "queue.SimpleQueue[_Job]" = queue.SimpleQueue()
_starting = threading.Lock()
_thread: threading.Thread | None = None


def spawn(argv: Sequence[str], streams: Streams, pass_fds: Sequence[int]) -> "subprocess.Popen[bytes]":
    """Start `argv` with an empty environment and no descriptor but `streams` and `pass_fds`."""
    global _thread  # noqa: PLW0603
    with _starting:
        # A forked child of ours has the variable but not the thread.
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_serve, name="sandbox-spawner", daemon=True)
            _thread.start()
    started: Future[subprocess.Popen[bytes]] = Future()
    _jobs.put((argv, streams, pass_fds, started))
    return started.result()


def _serve() -> None:
    while True:
        argv, (stdin, stdout, stderr), pass_fds, started = _jobs.get()
        try:
            process = subprocess.Popen(
                argv, stdin=stdin, stdout=stdout, stderr=stderr, env={}, pass_fds=pass_fds, cwd="/"
            )
        except OSError as error:
            started.set_exception(error)
        else:
            started.set_result(process)
