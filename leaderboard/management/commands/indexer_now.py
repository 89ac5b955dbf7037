"""Bring the mirror to the store's head and write index.json, now instead of at the next hint."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from leaderboard import index, mirror
from submissions.kernel_package.errors import ZooError


class Command(BaseCommand):
    help = "Follow the store to its head and write index.json."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            head = mirror.bring_to_head()
        except ZooError as error:
            raise CommandError(str(error)) from error
        index.write_index()
        self.stdout.write(f"{head[:12]}: {settings.INDEX_PATH}")
