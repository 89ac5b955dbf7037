"""`manage.py create_submitter NAME`: a bearer token, shown this once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from submissions.authentication import issue_token
from submissions.kernel_package.errors import Rejected


class Command(BaseCommand):
    help = "Make a bearer token for a submitter and print it; it can't be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the submitter's name, as shown with their kernels")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            _, text = issue_token(options["name"])
        except Rejected as error:
            raise CommandError(error.message) from error
        self.stdout.write(text)
