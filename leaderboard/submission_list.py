"""The list of submissions, newest first, by filters and pages of a fixed size."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from submissions.models import State, Submission

PAGE_SIZE = 50
FILTERS = ("state", "submitter", "kernel_id")


@dataclass(frozen=True)
class SubmissionPage:
    """One page of the list; the query strings lead to its neighbours, empty at the ends."""

    rows: tuple[Submission, ...]
    filters: Mapping[str, str]
    newer: str
    older: str


def submission_page(query: Mapping[str, str]) -> SubmissionPage:
    """Return the page the query asks for; unknown states find nothing. One query."""
    filters = {name: query.get(name, "").strip() for name in FILTERS}
    number = int(query["page"]) if query.get("page", "").isdecimal() and len(query["page"]) < 7 else 1
    found = Submission.objects.defer("details", "decision")
    if filters["state"] == "open":
        found = found.open()
    elif filters["state"]:
        found = found.filter(state=filters["state"])
    if filters["submitter"]:
        found = found.filter(submitter=filters["submitter"])
    if filters["kernel_id"]:
        found = found.filter(kernel_id__startswith=filters["kernel_id"])
    start = (max(number, 1) - 1) * PAGE_SIZE
    # One row more than shown tells whether there is a next page, without counting all.
    rows = list(found[start : start + PAGE_SIZE + 1])
    return SubmissionPage(
        rows=tuple(rows[:PAGE_SIZE]),
        filters=filters,
        newer=_query(filters, number - 1) if number > 1 else "",
        older=_query(filters, number + 1) if len(rows) > PAGE_SIZE else "",
    )


def state_choices() -> tuple[str, ...]:
    return ("open", *State.values)


def _query(filters: Mapping[str, str], page: int) -> str:
    kept = {name: value for name, value in sorted(filters.items()) if value}
    return "?" + urlencode({**kept, "page": page})
