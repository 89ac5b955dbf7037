"""Compare the SQL image with the store; names each difference, status 1 where there is one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from leaderboard.verification import differences
from submissions.kernel_package.errors import ZooError


class Command(BaseCommand):
    help = (
        "Build the mirror anew in a transaction that is rolled back, and name each difference from what is there."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = differences()
        except ZooError as error:
            raise CommandError(str(error)) from error
        for line in found:
            self.stdout.write(line)
        if found:
            raise CommandError(f"{len(found)} differences; manage.py rebuild_mirror writes the mirror anew")
        self.stdout.write("the mirror is what the store says")
