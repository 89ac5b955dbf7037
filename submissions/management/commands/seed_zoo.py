"""`manage.py seed_zoo`: the store with its starter problems and baselines, and the starter kernels sent in."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from native_bench.sandbox.interface import SandboxMissing
from submissions.kernel_package.errors import Rejected
from submissions.starter import seed_store, submit_starters


class Command(BaseCommand):
    help = (
        "Create the store if needed, commit the starter zoo to it once its new problems are proved, "
        "and submit the starter kernels."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-submit", action="store_true", help="only seed the store, submit nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(f"seeded {seed_store(proves=True)} files")
        except Rejected as error:
            raise CommandError(error.message) from None
        except SandboxMissing as missing:
            raise CommandError(f"new problems can't be proved here: {missing}") from None
        if not options["no_submit"]:
            self.stdout.write(f"submitted {submit_starters()} kernels")
