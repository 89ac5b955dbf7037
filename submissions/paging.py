"""A list by pages: a cursor and a limit that the list itself never gave are refused, not guessed at."""

from base64 import b64decode
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from submissions.kernel_package.errors import Rejected

# More digits than any number of ours; int() itself refuses thousands of them with an error of its own.
_MOST_DIGITS = 18


class SubmissionPages(CursorPagination):
    """Newest first; the uuid orders those of one instant."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    ordering = ("-received_at", "uuid")

    def get_page_size(self, request: Request) -> int:
        """Return the rows of a page, at most the highest; raises Rejected `request:limit`."""
        text = request.query_params.get(self.page_size_query_param)
        if text is None:
            return self.page_size
        rows = whole_number(text)
        if not rows:
            message = f"limit must be a whole number from 1; a page has at most {self.max_page_size} rows"
            raise Rejected("request:limit", message, field="limit")
        return min(rows, self.max_page_size)

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Return where the page starts, None for the first; raises Rejected `request:cursor`."""
        encoded = request.query_params.get(self.cursor_query_param)
        if not encoded:
            return None
        try:
            return self._cursor(b64decode(encoded, validate=True).decode("ascii"))
        except (ValueError, OverflowError) as error:
            message = "this list gave no such cursor: start without one, and follow `next` as it stands"
            raise Rejected("request:cursor", message, field="cursor") from error

    def _cursor(self, text: str) -> Cursor:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
        given = dict(pairs)
        if len(given) != len(pairs) or not given.keys() <= {"o", "r", "p"}:
            raise ValueError("not the parts of a cursor")
        offset = whole_number(given.get("o", "0"))
        if offset is None or offset > self.offset_cutoff or given.get("r", "1") != "1":
            raise ValueError("not an offset or a direction")
        # The stubs know no position but a number.
        return Cursor(offset, "r" in given, _instant(given.get("p")))  # type: ignore[arg-type]


def whole_number(text: str) -> int | None:
    """Return the number that digits alone spell, None for any other text."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _instant(text: str | None) -> str | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("not an instant")
    # What leaves the calendar on the way to UTC would fail in the query.
    moment.astimezone(UTC)
    return text
