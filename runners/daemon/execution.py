"""One leased run from its folder to its result: follow the engine, keep the lease, pass on what it says."""

import logging
from collections.abc import Callable
from pathlib import Path

from runners.daemon.child import BrokenConversation, EngineChild, Event, describe_exit
from runners.daemon.config import DaemonConfig
from runners.daemon.guard import now_seconds
from runners.daemon.infra import infra_result
from runners.daemon.lease_keeper import LOST, LeaseKeeper
from runners.daemon.run_log import RunLog
from runners.daemon.workspace import secret_line, workspace
from runners.protocol import Assignment, LeaseLost, Order, Port, Result, SiteUnreachable
from submissions.evaluation.verdicts import STAGES, Verdict
from submissions.kernel_package.errors import ZooError

logger = logging.getLogger(__name__)

_TICK_SECONDS = 0.5


class Execution:
    """What is known of a run while it runs; used once."""

    def __init__(
        self,
        port: Port,
        assignment: Assignment,
        keeper: LeaseKeeper,
        config: DaemonConfig,
        should_stop: Callable[[], bool],
    ) -> None:
        self._port = port
        self._assignment = assignment
        self._keeper = keeper
        self._config = config
        self._should_stop = should_stop
        self._stage = STAGES[0]
        self._progress = 0.0
        self._log = RunLog()
        self._outcome: Result | None = None
        self._stopped = ""

    def result(self) -> Result | None:
        """Run to the end; None where the lease was lost and the run is to be forgotten."""
        try:
            with workspace(self._port, self._assignment, self._config) as folder:
                result = self._executed(folder)
        except LeaseLost:
            return None
        except (ZooError, BrokenConversation, OSError, SiteUnreachable) as error:
            logger.exception("run %s could not be executed", self._assignment.run)
            code = error.code if isinstance(error, ZooError) else "run:engine-broken"
            return self._infra(code, f"the runner could not execute the run: {error}")
        return result

    def _executed(self, folder: Path) -> Result | None:
        ends_at = now_seconds() + self._config.run_seconds
        child = EngineChild(self._config, folder, secret_line(self._assignment), self._keeper.deadline)
        with child:
            while child.is_there:
                self._keep_lease(child)
                self._check_time(child, ends_at)
                for event in child.events(min(_TICK_SECONDS, self._keeper.seconds_to_next())):
                    self._take(event)
                self._send_log()
            status = child.wait()
        self._log.close()
        self._send_log()
        return self._conclusion(status, child.stderr_tail)

    def _keep_lease(self, child: EngineChild) -> None:
        order: Order | None = self._keeper.beat_if_due(self._stage, self._progress)
        if order is not None and order.keep:
            child.keep_until(self._keeper.deadline)
        elif order is not None:
            self._stop(child, order.reason)
        elif self._keeper.is_over:
            self._stop(child, LOST)

    def _check_time(self, child: EngineChild, ends_at: float) -> None:
        if self._should_stop():
            self._stop(child, "stopping")
        elif now_seconds() > ends_at:
            self._stop(child, "overran")

    def _stop(self, child: EngineChild, reason: str) -> None:
        if not self._stopped or reason == LOST:
            self._stopped = reason
            child.stop()

    def _take(self, event: Event) -> None:
        try:
            self._heed(event)
        except (KeyError, TypeError, ValueError) as error:
            raise BrokenConversation(f"the engine's {event['event']} event can't be read") from error

    def _heed(self, event: Event) -> None:
        kind = event["event"]
        if kind == "stage":
            self._enter(str(event["stage"]))
        elif kind == "progress":
            self._progress = float(event["fraction"])
            self._keeper.hurry()
        elif kind == "log":
            self._log.add(str(event["text"]))
        elif kind == "outcome":
            self._outcome = Result.from_json(event["result"])

    def _enter(self, stage: str) -> None:
        self._stage, self._progress = stage, 0.0
        try:
            self._port.stage(self._assignment.lease, self._assignment.epoch, stage)
        except SiteUnreachable:
            self._keeper.hurry()

    def _send_log(self) -> None:
        chunk = self._log.next_chunk()
        while chunk is not None:
            try:
                self._port.log(self._assignment.lease, self._assignment.epoch, *chunk)
            except SiteUnreachable:
                return
            self._log.taken()
            if self._keeper.seconds_to_next() == 0:
                return
            chunk = self._log.next_chunk()

    def _conclusion(self, status: int | None, stderr: str) -> Result | None:
        if self._stopped == LOST:
            return None
        if self._stopped == Verdict.CANCELLED:
            return self._infra("run:cancelled", "the run was cancelled", verdict=Verdict.CANCELLED)
        if self._outcome is not None:
            return self._outcome
        if self._stopped == "stopping":
            return self._infra("run:runner-stopping", "the runner was stopped", verdict=Verdict.RUNNER_LOST)
        if self._stopped == "overran":
            limit = f"{self._config.run_seconds:g} s"
            return self._infra("run:overran", f"the run took longer than the {limit} a run may take")
        if self._stopped:
            return self._infra("run:stopped", f"the site ordered a stop: {self._stopped}")
        # What the engine wrote there is for the operator: it may quote hidden inputs.
        stderr = stderr.replace(self._assignment.secret, "[secret]")
        logger.error("run %s: the engine %s: %s", self._assignment.run, describe_exit(status), stderr)
        message = f"the engine {describe_exit(status)} without a result, in stage {self._stage}"
        return self._infra("run:engine-died", message)

    def _infra(self, code: str, message: str, verdict: Verdict = Verdict.INFRA_ERROR) -> Result:
        return infra_result(self._assignment, code, message, verdict=verdict, stage=self._stage)
