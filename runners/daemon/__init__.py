"""The runner's program: claims runs over a `Port` and executes each in a guarded child process.

    drive       claim and run until nothing is queued, or until told to stop
    run_one     one claim, executed to its end
    DaemonConfig  what the daemon needs to know of its machine

It knows the protocol and the engine, never the site's rows.
"""

from runners.daemon.config import DaemonConfig
from runners.daemon.loop import drive, run_one

__all__ = ["DaemonConfig", "drive", "run_one"]
