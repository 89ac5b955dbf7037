"""A daemon as a process of its own, for tests that kill or freeze it: behaviour, lease seconds, work folder."""

import sys
from pathlib import Path

from runners.daemon import run_one
from runners.daemon.config import DaemonConfig, engine_environment
from runners.protocol import Registered
from tests.unit.runners.fake_port import FakePort
from tests.unit.runners.processes import FAKE_ENGINE

behaviour, lease_seconds, folder = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
config = DaemonConfig(
    workdir=folder / "work",
    cache_dir=folder / "cache",
    engine=(sys.executable, "-P", str(FAKE_ENGINE)),
    environment={**engine_environment(), "PID_FOLDER": str(folder / "pids")},
)
run_one(FakePort([behaviour]), Registered(1, 0.2, lease_seconds), config, lambda: False)
