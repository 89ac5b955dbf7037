"""The mirror: problems, kernels and their history, as the store's main has them at `MirrorState.head`."""

from collections.abc import Iterable

from django.db import models

from leaderboard.ranking import Entry
from submissions.evaluation.statistics import Interval
from submissions.kernel_package.names import BASELINE_NAME


class Problem(models.Model):
    """One problem's contract as it stands on main."""

    problem_id = models.CharField(max_length=200, unique=True)
    version = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    document = models.JSONField(help_text="problem.yaml as data")

    class Meta:
        ordering = ["problem_id"]

    def __str__(self) -> str:
        return self.problem_id


class Figures(models.Model):
    """The figures of one bench_result in columns, as ranking reads them."""

    kernel_id = models.CharField(max_length=330, db_index=True)
    board_id = models.CharField(max_length=265, db_index=True)
    source_commit = models.CharField(max_length=40, blank=True)
    submission = models.UUIDField(null=True, blank=True)
    status = models.CharField(max_length=16, help_text="measured, unmeasured or withdrawn")
    evidence = models.CharField(max_length=16, blank=True)
    problem_version = models.PositiveIntegerField(default=0, help_text="the figures' version; 0: none")
    device = models.CharField(max_length=200, blank=True)
    isolation = models.CharField(max_length=16, blank=True)
    speedup = models.FloatField(null=True, blank=True)
    speedup_lo = models.FloatField(null=True, blank=True)
    speedup_hi = models.FloatField(null=True, blank=True)
    bench = models.JSONField(help_text="bench_result.yaml as data")
    accepted_at = models.DateTimeField(null=True, blank=True, help_text="time of the bench commit")

    class Meta:
        abstract = True

    @property
    def interval(self) -> Interval | None:
        if self.speedup is None or self.speedup_lo is None or self.speedup_hi is None:
            return None
        return Interval(self.speedup, self.speedup_lo, self.speedup_hi)

    def as_entry(self) -> Entry:
        """Return what the ranking reads of this row."""
        return Entry(
            kernel_id=self.kernel_id,
            status=self.status,
            evidence=self.evidence,
            isolation=self.isolation,
            problem_version=self.problem_version,
            device=self.device,
            speedup=self.interval,
            accepted_at=self.accepted_at,
        )


class KernelQuerySet(models.QuerySet["Kernel"]):
    def on_boards(self, board_ids: Iterable[str]) -> "KernelQuerySet":
        return self.filter(board_id__in=board_ids)

    def heads_of_boards(self) -> "KernelQuerySet":
        """Return each board's baseline and the kernels that lead it."""
        return self.filter(models.Q(name=BASELINE_NAME) | models.Q(rank=1))


class Kernel(Figures):
    """One package on main with its standing figures; rank and index entry are written by the index alone."""

    kernel_id = models.CharField(max_length=330, unique=True)
    problem_id = models.CharField(max_length=200, db_index=True)
    arch = models.CharField(max_length=64, db_index=True)
    name = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    description = models.JSONField(help_text="desc.yaml as data")
    tree_digest = models.CharField(max_length=64)
    bench_commit = models.CharField(max_length=40, blank=True)
    submitter = models.CharField(max_length=80, blank=True)
    language = models.CharField(max_length=32, blank=True)
    parent = models.CharField(max_length=330, blank=True, db_index=True, help_text="kernel_id it came from")
    rank = models.PositiveIntegerField(null=True, blank=True)
    is_tied = models.BooleanField(default=False)
    index_entry = models.TextField(blank=True, help_text="its line of index.json")

    objects = KernelQuerySet.as_manager()

    class Meta:
        ordering = ["kernel_id"]

    def __str__(self) -> str:
        return self.kernel_id

    @property
    def is_baseline(self) -> bool:
        return self.name == BASELINE_NAME


class BenchPoint(Figures):
    """One accepted measuring of a kernel: a `bench:` commit on main."""

    commit = models.CharField(max_length=40, unique=True)
    accepted_at = models.DateTimeField(help_text="time of the bench commit")
    is_record = models.BooleanField(default=False, help_text="above all earlier ones of its board's ranking")

    class Meta:
        ordering = ["accepted_at", "id"]
        indexes = [models.Index(fields=["board_id", "is_record"], name="board_records")]

    def __str__(self) -> str:
        return f"{self.kernel_id} {self.commit[:8]}"


class MirrorState(models.Model):
    """The single row that says up to which commits the mirror follows the store."""

    head = models.CharField(max_length=40, blank=True, help_text="of main")
    ledger_head = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True, help_text="why the mirror stands still, if it does")
    followed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.head
