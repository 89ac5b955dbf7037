import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string

from leaderboard.headline import BAD, LIVE, headline
from leaderboard.run_card import run_cards
from leaderboard.run_detail import run_of_row
from submissions.models import RunState, State
from tests.unit.pages import cast, wellformed
from tests.unit.pages.conftest import BOARD


def test_it_keeps_a_chosen_theme_in_a_cookie(db, client, page):
    response = client.post("/theme", {"theme": "dark", "next": "/queue"})

    assert response.headers["Location"] == "/queue"
    assert 'data-theme="dark"' in page("/queue")
    client.post("/theme", {"theme": ""})
    assert "data-theme" not in page("/queue")


@pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"])
def test_it_leads_to_no_other_site(client, target):
    assert client.post("/theme", {"theme": "dark", "next": target}).headers["Location"] == "/"


def test_it_keeps_no_unknown_theme(client):
    assert client.post("/theme", {"theme": 'x" onload="'}).cookies["theme"].value == ""
    assert client.get("/theme").status_code == 405


def test_it_signs_in_and_out(db, client, page):
    User.objects.create_user("ada", password="correct horse", is_staff=True)
    wrong = client.post("/login", {"username": "ada", "password": "wrong"})
    wellformed.check(wrong.content.decode())
    assert 'class="error"' in wrong.content.decode()
    assert "Sign in" in page("/login")

    assert client.post("/login", {"username": "ada", "password": "correct horse"}).status_code == 302
    text = page("/")
    assert "/admin/" in text
    assert "Sign out" in text
    client.post("/logout")
    assert "Sign out" not in page("/")


def test_it_has_a_skip_link_and_a_marked_place_in_the_navigation(db, page):
    text = page("/queue")

    assert 'href="#content"' in text
    assert '<a href="/queue" aria-current="page">' in text


def test_it_says_404_on_an_unknown_address(db, page):
    assert "leads to no page of this zoo" in page("/no/such/page", status=404)


@pytest.mark.parametrize("template", ["403.html", "403_csrf.html", "500.html"])
def test_it_has_pages_for_errors(rf, template):
    text = render_to_string(template, {"request": rf.get("/")} if template != "500.html" else {})

    wellformed.check(text)
    assert "/static/css/zoo.css" in text


def test_it_carries_no_token_for_readers(db, client):
    client.get("/")

    assert "csrftoken" not in client.cookies


def test_it_has_words_for_every_state():
    for state in State:
        assert headline(state).text
    assert headline(State.FAILED, "crashed").tone == BAD
    assert headline(State.RUNNING, stage="check").text == "Running: check"
    assert headline(State.RUNNING).tone == LIVE


@pytest.mark.parametrize(
    ("state", "verdict", "stage", "statuses"),
    [
        (RunState.FINISHED, "ok", "report", ["done"] * 6),
        (RunState.FINISHED, "build_failed", "build", ["done", "failed", *["ahead"] * 4]),
        (RunState.LEASED, "", "check", ["done", "done", "done", "now", "ahead", "ahead"]),
        (RunState.QUEUED, "", "", ["ahead"] * 6),
    ],
)
def test_it_marks_the_stages_of_a_run(db, state, verdict, stage, statuses):
    run = cast.add_run(cast.add_submission(f"{BOARD}/mine", State.RUNNING), state, verdict, stage=stage)
    if run.record:
        run.record["stage"] = stage

    (card,) = run_cards([run_of_row(run)])

    assert [mark.status for mark in card.stages] == statuses
