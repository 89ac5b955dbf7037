"""The runner's loop: claim a run, execute it in a guarded child, tell the site how it ended, look again."""

import logging
import time
from collections.abc import Callable

from native_bench.cache import ContentCache
from runners.daemon.config import DaemonConfig
from runners.daemon.execution import Execution
from runners.daemon.guard import now_seconds
from runners.daemon.lease_keeper import LOST, LeaseKeeper
from runners.daemon.workspace import clear_workspaces
from runners.protocol import Assignment, LeaseLost, Port, Registered, Registration, Result, SiteUnreachable

logger = logging.getLogger(__name__)

Stop = Callable[[], bool]

_RETRY_SECONDS = 1.0


def drive(port: Port, registration: Registration, config: DaemonConfig, should_stop: Stop) -> int:
    """Register, then claim and run until nothing is queued or it is time to end; return how many runs there were.

    The caller makes sure that nobody else drives this runner: what an earlier life left in its folder is removed.
    """
    registered = port.register(registration)
    clear_workspaces(config)
    runs = 0
    claims_until = now_seconds() + config.drive_seconds
    while now_seconds() < claims_until and not should_stop() and run_one(port, registered, config, should_stop):
        runs += 1
        ContentCache(config.cache_dir).trim(config.cache_bytes)
    return runs


def run_one(port: Port, registered: Registered, config: DaemonConfig, should_stop: Stop) -> bool:
    """Claim one run and execute it to its end; False where there was none."""
    asked_at = now_seconds()
    assignment = port.claim(config.claim_wait_seconds)
    if assignment is None:
        return False
    keeper = LeaseKeeper(port, assignment, registered, asked_at)
    result = Execution(port, assignment, keeper, config, should_stop).result()
    if result is not None:
        _deliver(port, assignment, keeper, result)
    return True


def _deliver(port: Port, assignment: Assignment, keeper: LeaseKeeper, result: Result) -> None:
    """Send the result until it is taken or the lease is gone; the lease is kept alive meanwhile."""
    while not keeper.is_over:
        try:
            port.result(assignment.lease, assignment.epoch, result)
            return
        except LeaseLost:
            break
        except SiteUnreachable as error:
            logger.warning("the result of run %s was not taken yet: %s", assignment.run, error)
            order = keeper.beat_if_due(result.stage, 1.0)
            if order is not None and not order.keep and order.reason == LOST:
                break
            time.sleep(min(_RETRY_SECONDS, keeper.seconds_to_next()))
    logger.warning("the lease of run %s ended before its result was taken", assignment.run)
