"""Commit messages, composed and parsed again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submissions.kernel_store.message import commit_message, parse_message

TRAILERS = {"Zoo-Submission": "u", "Zoo-Runner": "cpu0"}


def test_it_composes_subject_body_and_trailers() -> None:
    message = commit_message("subject", "One line.\n\nAnother.", TRAILERS)
    assert message == b"subject\n\nOne line.\n\nAnother.\n\nZoo-Submission: u\nZoo-Runner: cpu0\n"
    assert parse_message(message.decode()) == ("subject", "One line.\n\nAnother.", TRAILERS)


def test_it_leaves_out_what_is_empty() -> None:
    assert commit_message("subject", "  \n", {"Zoo-Run": " "}) == b"subject\n"
    assert commit_message("\n") == b"(no subject)\n"


@pytest.mark.parametrize("text", ["Zoo-Run: 1", "  Zoo-Run : 1", "---", "--- a/file", "Note: this"])
def test_it_quotes_lines_that_git_would_take_for_something_else(text: str) -> None:
    assert f"\n> {text}\n".encode() in commit_message("subject", text, TRAILERS)


def test_it_cuts_what_is_too_long() -> None:
    assert len(commit_message("s" * 9000, "b" * 90_000, {"Zoo-Run": "t" * 9000})) < 11_000


def test_it_parses_messages_of_others() -> None:
    assert parse_message("only a subject\n") == ("only a subject", "", {})
    assert parse_message("s\n\nZoo-Run: 1\nnot a trailer\n") == ("s", "Zoo-Run: 1\nnot a trailer", {})
    assert parse_message("") == ("", "", {})


@given(subject=st.text(), body=st.text(), value=st.text())
def test_it_never_lets_a_text_become_a_trailer(subject: str, body: str, value: str) -> None:
    message = commit_message(subject, body, {"Zoo-Submission": "u", "Zoo-Submitter": value}).decode()
    found_subject, _, trailers = parse_message(message)
    assert "\n" not in found_subject and found_subject
    assert trailers["Zoo-Submission"] == "u"
    assert trailers.keys() <= {"Zoo-Submission", "Zoo-Submitter"}
