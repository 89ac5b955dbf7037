"""Write the SQL image of the store anew from git."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from leaderboard import mirror
from leaderboard.models import BenchPoint, Kernel, Problem
from submissions.kernel_package.errors import ZooError


class Command(BaseCommand):
    help = "Rebuild problems, kernels, history, ranks and index.json from the store; restore what SQL lacks."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            head = mirror.rebuild()
        except ZooError as error:
            raise CommandError(str(error)) from error
        counts = f"{Problem.objects.count()} problems, {Kernel.objects.count()} kernels"
        self.stdout.write(f"{head[:12]}: {counts}, {BenchPoint.objects.count()} history points")
