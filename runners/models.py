"""Rows of the fleet: Runner (one exclusive measuring place) and Lease (one runner's hold on one run)."""

import datetime

from django.db import models
from django.utils import timezone

from runners.capabilities import Capabilities
from submissions.models import Run

# An idle local runner is seen at each minute schedule, which django-q2 may serve up to a minute late.
ALIVE_SECONDS = 150


def _alive_since() -> datetime.datetime:
    return timezone.now() - datetime.timedelta(seconds=ALIVE_SECONDS)


class RunnerState(models.TextChoices):
    """The operator's word on a runner; whether it is alive follows from `last_seen_at`."""

    ACTIVE = "active"
    PAUSED = "paused"
    QUARANTINED = "quarantined"
    RETIRED = "retired"


class RunnerQuerySet(models.QuerySet["Runner"]):
    def active(self) -> "RunnerQuerySet":
        return self.filter(state=RunnerState.ACTIVE)

    def alive(self) -> "RunnerQuerySet":
        return self.filter(last_seen_at__gte=_alive_since())

    def not_retired(self) -> "RunnerQuerySet":
        return self.exclude(state=RunnerState.RETIRED)


class Runner(models.Model):
    """One exclusive measuring place: a GPU, or a pinned set of cores."""

    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=8, help_text="cpu or gpu")
    archs = models.JSONField(default=list, help_text="archs it may take")
    state = models.CharField(max_length=16, choices=RunnerState.choices, default=RunnerState.ACTIVE)
    state_reason = models.CharField(max_length=300, blank=True)
    device = models.CharField(max_length=200, blank=True)
    isolation = models.CharField(max_length=16, blank=True)
    version = models.CharField(max_length=80, blank=True)
    life = models.CharField(max_length=64, blank=True)
    hardware = models.JSONField(default=dict, blank=True)
    limits = models.JSONField(default=dict, blank=True)
    infra_failures = models.PositiveSmallIntegerField(default=0, help_text="in a row, of different submissions")
    failing_subjects = models.JSONField(
        default=list, blank=True, help_text="whose failures these are: submissions, and runs without one"
    )
    canary = models.OneToOneField(
        Run,
        on_delete=models.SET_NULL,
        related_name="canary_of",
        null=True,
        blank=True,
        help_text="the last run that was to show whether this runner is sound",
    )
    registered_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    objects = RunnerQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_alive(self) -> bool:
        return self.last_seen_at >= _alive_since()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(frozenset(self.archs), frozenset(self.limits.get("dry_run_archs", ())))


class LeaseQuerySet(models.QuerySet["Lease"]):
    def live(self) -> "LeaseQuerySet":
        return self.filter(is_live=True)

    def overdue(self) -> "LeaseQuerySet":
        return self.live().filter(ends_at__lte=timezone.now())


class Lease(models.Model):
    """One claim of a run by a runner; kept for ever as the history of attempts."""

    token = models.CharField(max_length=64, unique=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="leases")
    runner = models.ForeignKey(Runner, on_delete=models.CASCADE, related_name="leases")
    epoch = models.PositiveIntegerField()
    is_live = models.BooleanField(default=True)
    claimed_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=40, blank=True, help_text="result, expired, restart, cancelled, …")
    result_sha256 = models.CharField(max_length=64, blank=True)
    log_sequence = models.PositiveIntegerField(default=0, help_text="number of the last log chunk taken")

    objects = LeaseQuerySet.as_manager()

    class Meta:
        ordering = ["-claimed_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["run"], condition=models.Q(is_live=True), name="one_live_lease_per_run"
            ),
            models.UniqueConstraint(
                fields=["runner"], condition=models.Q(is_live=True), name="one_live_lease_per_runner"
            ),
            models.UniqueConstraint(fields=["run", "epoch"], name="one_lease_per_epoch"),
        ]

    def __str__(self) -> str:
        return f"{self.runner} {self.run_id} epoch {self.epoch}"
