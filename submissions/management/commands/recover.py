"""`manage.py recover`: finish or undo what a crash left half done; safe at any time."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from submissions.recovery import recover


class Command(BaseCommand):
    help = "Finish or undo what a crash left half done, and say what was found."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(str(recover(stuck_after=timedelta(0))))
