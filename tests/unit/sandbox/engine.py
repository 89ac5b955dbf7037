"""An engine for the tests to kill: opens a sandbox, starts what stdin asks for, and says which pids run."""

import sys
import time
from pathlib import Path

from native_bench.sandbox import Bind, Limits, open_sandbox


def main() -> None:
    code, folder = sys.argv[1], Path(sys.argv[2])
    sandbox = open_sandbox(slot=9)
    limits = Limits(wall_seconds=60, cpu_seconds=60, memory_bytes=256 << 20, processes=32, file_bytes=1 << 20)
    print("open", flush=True)
    cell = sandbox.start(["/usr/bin/python3", "-c", code], limits, [Bind(folder, "/out", writable=True)])
    time.sleep(0.3)
    print(cell.pid, *cell.payload_pids(), flush=True)
    time.sleep(60)


if __name__ == "__main__":
    main()
