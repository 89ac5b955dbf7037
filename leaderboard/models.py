"""The mirror: problems, kernels and their history, as the store's main has them at `MirrorState.head`."""

from django.db import models


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


class Kernel(models.Model):
    """One package on main with its standing figures; rank is written by the index refresh only."""

    kernel_id = models.CharField(max_length=330, unique=True)
    board_id = models.CharField(max_length=265, db_index=True)
    problem_id = models.CharField(max_length=200, db_index=True)
    arch = models.CharField(max_length=64, db_index=True)
    name = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    description = models.JSONField(help_text="desc.yaml as data")
    bench = models.JSONField(help_text="bench_result.yaml as data")
    status = models.CharField(max_length=16, help_text="measured, unmeasured or withdrawn")
    tree_digest = models.CharField(max_length=64)
    source_commit = models.CharField(max_length=40, blank=True)
    bench_commit = models.CharField(max_length=40, blank=True)
    submission = models.UUIDField(null=True, blank=True)
    submitter = models.CharField(max_length=80, blank=True)
    device = models.CharField(max_length=200, blank=True)
    speedup = models.FloatField(null=True, blank=True)
    speedup_lo = models.FloatField(null=True, blank=True)
    speedup_hi = models.FloatField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    rank = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["kernel_id"]

    def __str__(self) -> str:
        return self.kernel_id


class BenchPoint(models.Model):
    """One accepted measuring of a kernel: a `bench:` commit on main."""

    kernel_id = models.CharField(max_length=330, db_index=True)
    commit = models.CharField(max_length=40, unique=True)
    source_commit = models.CharField(max_length=40, blank=True)
    submission = models.UUIDField(null=True, blank=True)
    speedup = models.FloatField(null=True, blank=True)
    speedup_lo = models.FloatField(null=True, blank=True)
    speedup_hi = models.FloatField(null=True, blank=True)
    bench = models.JSONField()
    accepted_at = models.DateTimeField()

    class Meta:
        ordering = ["accepted_at", "id"]

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
