"""Rows of the walk: Submission, Run, Event and SubmitterToken. A live cache: the store has the finished ones."""

import uuid
from datetime import datetime

from django.db import models


class State(models.TextChoices):
    """Where a submission stands; the terminal ones are set only after their ledger commit."""

    RECEIVED = "received"
    VALIDATED = "validated"
    QUEUED = "queued"
    RUNNING = "running"
    MEASURED = "measured"
    HELD = "held"
    ACCEPTED = "accepted"
    PUBLISHED = "published"
    CHECKED = "checked"
    REJECTED = "rejected"
    FAILED = "failed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    ERRORED = "errored"


TERMINAL_STATES = frozenset(
    {
        State.PUBLISHED,
        State.CHECKED,
        State.REJECTED,
        State.FAILED,
        State.DECLINED,
        State.CANCELLED,
        State.ERRORED,
    }
)


class Mode(models.TextChoices):
    """What the entrant asks for: only `ranked` can reach the board."""

    CHECK = "check"
    BENCHMARK = "benchmark"
    RANKED = "ranked"


class SubmissionQuerySet(models.QuerySet["Submission"]):
    def open(self) -> "SubmissionQuerySet":
        return self.exclude(state__in=TERMINAL_STATES)

    def in_state(self, state: State) -> "SubmissionQuerySet":
        return self.filter(state=state, ending="")

    def ending(self) -> "SubmissionQuerySet":
        """Those whose end is decided, and whose ledger commit may be missing."""
        return self.open().exclude(ending="")

    def unmoved_since(self, moment: datetime) -> "SubmissionQuerySet":
        """Those to which nothing happened since, so that no task has them in hand."""
        return self.exclude(events__at__gt=moment)

    def by(self, submitter: str) -> "SubmissionQuerySet":
        return self.filter(submitter=submitter)


class Submission(models.Model):
    """One act of sending a package; immutable but for its state and what the walk found out."""

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kernel_id = models.CharField(max_length=330, db_index=True)
    submitter = models.CharField(max_length=80, db_index=True)
    submitter_is_verified = models.BooleanField(default=False)
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.RANKED)
    message = models.CharField(max_length=500, blank=True)
    idempotency_key = models.CharField(max_length=200, blank=True)
    package_sha256 = models.CharField(max_length=64, help_text="of the bytes as sent")
    package_bytes = models.PositiveIntegerField()
    tree_digest = models.CharField(max_length=64, blank=True, help_text="of the files, once unpacked")
    state = models.CharField(max_length=16, choices=State.choices, default=State.RECEIVED, db_index=True)
    ending = models.CharField(
        max_length=16, blank=True, help_text="terminal state decided on, until its ledger commit is there"
    )
    is_hold_released = models.BooleanField(default=False, help_text="staff looked at the finding: it may rank")
    code = models.CharField(max_length=80, blank=True, help_text="reason code area:what of the end")
    reason = models.TextField(blank=True, help_text="one line for people")
    details = models.JSONField(default=dict, blank=True, help_text="what helps the entrant")
    decision = models.JSONField(null=True, blank=True, help_text="decision record as in the ledger")
    received_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = SubmissionQuerySet.as_manager()

    class Meta:
        ordering = ["-received_at", "uuid"]
        constraints = [
            models.UniqueConstraint(
                fields=["submitter", "idempotency_key"],
                condition=~models.Q(idempotency_key=""),
                name="one_submission_per_idempotency_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kernel_id} {self.uuid}"

    def get_absolute_url(self) -> str:
        return f"/submissions/{self.uuid}"

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL_STATES

    @property
    def topic(self) -> str:
        return f"submission.{self.uuid}"

    @property
    def arch(self) -> str:
        return self.kernel_id.split("/", 1)[0]

    @property
    def board_id(self) -> str:
        return self.kernel_id.rsplit("/", 1)[0]


class RunState(models.TextChoices):
    QUEUED = "queued"
    LEASED = "leased"
    FINISHED = "finished"


class RunKind(models.TextChoices):
    MEASURE = "measure"
    CHECK = "check"
    DRY_RUN = "dry_run"
    RECHECK = "recheck"
    SWEEP = "sweep"


class RunQuerySet(models.QuerySet["Run"]):
    def queued(self) -> "RunQuerySet":
        return self.filter(state=RunState.QUEUED)

    def leased(self) -> "RunQuerySet":
        return self.filter(state=RunState.LEASED)

    def for_archs(self, archs: list[str]) -> "RunQuerySet":
        return self.filter(arch__in=archs)

    def light(self) -> "RunQuerySet":
        """Without what only a run's own page shows."""
        return self.defer("record", "log").order_by("number")

    def in_turn(self) -> "RunQuerySet":
        return self.order_by("-priority", "queued_at", "uuid")


class Run(models.Model):
    """One execution on a runner; requeued with the next attempt after a fault of ours."""

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, related_name="runs", null=True, blank=True
    )
    number = models.PositiveSmallIntegerField(default=1, help_text="n of run-<n>.json in the ledger")
    kind = models.CharField(max_length=16, choices=RunKind.choices, default=RunKind.MEASURE)
    kernel_id = models.CharField(max_length=330)
    arch = models.CharField(max_length=64, db_index=True)
    problem_version = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=16, choices=RunState.choices, default=RunState.QUEUED, db_index=True)
    priority = models.SmallIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(default=1)
    epoch = models.PositiveIntegerField(default=0, help_text="grows at each claim; fences late messages")
    is_cancel_requested = models.BooleanField(default=False)
    stage = models.CharField(max_length=16, blank=True)
    progress = models.FloatField(default=0.0)
    runner_name = models.CharField(max_length=80, blank=True)
    incumbent_commit = models.CharField(max_length=40, blank=True, help_text="what the sitting compared with")
    incumbent_digest = models.CharField(max_length=64, blank=True, help_text="empty: there was none")
    verdict = models.CharField(max_length=24, blank=True)
    code = models.CharField(max_length=80, blank=True)
    message = models.TextField(blank=True)
    record = models.JSONField(null=True, blank=True, help_text="run record as in the ledger")
    log = models.TextField(blank=True, help_text="capped; the whole log is an artifact")
    is_in_ledger = models.BooleanField(default=False, help_text="for a run without a submission")
    queued_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-queued_at", "uuid"]
        indexes = [models.Index(fields=["state", "arch", "-priority", "queued_at"], name="run_queue")]

    def __str__(self) -> str:
        return f"{self.kind} {self.kernel_id} {self.uuid}"

    def get_absolute_url(self) -> str:
        return f"/submissions/{self.submission_id}" if self.submission_id else "/queue"


class Event(models.Model):
    """One thing a page or a poller may want to know; the id orders all of them, hints only wake readers."""

    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, related_name="events", null=True, blank=True
    )
    topic = models.CharField(max_length=120, db_index=True, help_text="submission.<uuid>, queue, runners, boards")
    kind = models.CharField(max_length=24, help_text="state, stage, log, …")
    text = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.topic} {self.kind} {self.text[:40]}"


class SubmitterTokenQuerySet(models.QuerySet["SubmitterToken"]):
    def live(self) -> "SubmitterTokenQuerySet":
        return self.filter(revoked_at=None)


class SubmitterToken(models.Model):
    """A submitter's bearer token: only its hash is kept."""

    submitter = models.CharField(max_length=80, db_index=True)
    token_sha256 = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=12, help_text="first characters, to tell tokens apart")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = SubmitterTokenQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.submitter} {self.prefix}…"
