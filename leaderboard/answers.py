"""What the read API answers in words of its own: one form for errors, and names the mirror does not know."""

from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from submissions.kernel_package.errors import Rejected


class OneForm(BaseContentNegotiation):
    """Errors are JSON whatever the caller accepts; a view that has two forms looks at Accept itself."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


def missing(what: str, name: str) -> Rejected:
    """Return the error of a name that the mirror does not know."""
    return Rejected(f"missing:{what}", f"there is no {what} {name!r}", name=name)
