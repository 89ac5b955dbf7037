"""The child process a daemon starts: one job folder in, JSON lines out, the last one the outcome."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from native_bench.job import read_job
from native_bench.outcome import infra
from native_bench.run import run_job
from submissions.kernel_package.errors import ZooError


class LineReporter:
    """Reports as JSON lines."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self._write = write

    def stage(self, name: str) -> None:
        self._write({"event": "stage", "stage": name})

    def progress(self, fraction: float) -> None:
        self._write({"event": "progress", "fraction": round(fraction, 3)})

    def log(self, text: str) -> None:
        self._write({"event": "log", "text": text})


def execute(folder: Path, secrets: BinaryIO, output: BinaryIO) -> int:
    """Run the job in `folder`; return 0 once an outcome line is written, 1 for a job that can't be read."""

    def write(event: dict[str, Any]) -> None:
        output.write(json.dumps(event, allow_nan=False).encode() + b"\n")
        output.flush()

    signal.signal(signal.SIGTERM, _leave)
    try:
        job = read_job(folder, secrets.readline())
    except (ZooError, OSError, ValueError, KeyError) as error:
        print(f"{infra('prepare:job', '').code}: {folder} holds no readable job: {error}", file=sys.stderr)
        return 1
    write({"event": "outcome", "result": run_job(job, LineReporter(write))})
    return 0


def _leave(_number: int, _frame: object) -> NoReturn:
    # Unwinding closes every cell and the timer: nothing of the run outlives us.
    raise SystemExit(128 + signal.SIGTERM)
