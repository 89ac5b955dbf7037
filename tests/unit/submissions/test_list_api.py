"""One's own submissions, page by page: a cursor or a limit that this list never gave is refused in words."""

import base64

import pytest
from django.test import Client

from submissions.authentication import issue_token
from tests.unit.submissions import zoo

pytestmark = pytest.mark.usefixtures("store")

URL = "/api/submissions"


@pytest.fixture
def alice():
    return Client(headers={"Authorization": f"Bearer {issue_token('alice')[1]}"})


def packed(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "cD1h",
        "!!!",
        "é",
        "\0",
        "a",
        packed(b"\xff\xfe"),
        packed("p=2026-13-45"),
        packed("p=2026-01-31"),
        packed("p=2026-01-31 00:00:00"),
        packed("p=0001-01-01 00:00:00%2B23:59"),
        packed("p=9999-12-31 23:59:59-23:59"),
        packed("p=%00"),
        packed("o=-1"),
        packed("o=many"),
        packed("o=1001"),
        packed(f"o={'9' * 5000}"),
        packed("r=x"),
        packed("r=2"),
        packed("nothing of ours"),
        packed("o=1&o=2"),
        packed("o=1&x=2"),
    ],
)
def test_it_refuses_a_cursor_it_never_gave(alice, cursor):
    zoo.send()
    response = alice.get(URL, {"cursor": cursor})
    assert response.status_code == 400
    assert response.json()["error"]["code"] in ("request:cursor", "request:nul")


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5", "", "9" * 5000, "²"])
def test_it_refuses_a_limit_that_is_no_number_of_rows(alice, limit):
    response = alice.get(URL, {"limit": limit})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "request:limit"


def test_it_gives_at_most_its_highest_number_of_rows(alice):
    assert alice.get(URL, {"limit": 201}).status_code == 200


def test_it_goes_forth_and_back_by_its_own_cursors(alice):
    sent = [str(zoo.send(body=f"z[i] = {number};").pk) for number in range(5)][::-1]
    first = alice.get(URL, {"limit": 2}).json()
    second = alice.get(first["next"]).json()
    third = alice.get(second["next"]).json()
    assert [row["uuid"] for page in (first, second, third) for row in page["results"]] == sent
    assert [row["uuid"] for row in alice.get(third["previous"]).json()["results"]] == sent[2:4]


def test_it_takes_an_empty_cursor_as_the_first_page(alice):
    zoo.send()
    assert len(alice.get(URL, {"cursor": ""}).json()["results"]) == 1
