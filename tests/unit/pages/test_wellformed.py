import pytest

from tests.unit.pages import wellformed


def test_it_passes_balanced_html():
    wellformed.check('<p>one<br>two <input id="q" name="q"><label for="q">q</label></p>')


@pytest.mark.parametrize(
    "text",
    [
        "<p><b>crossed</p></b>",
        "<div>left open",
        '<p style="color:red">styled</p>',
        '<p onclick="go()">scripted</p>',
        "<script>alert(1)</script>",
        '<a href="https://elsewhere.example/">elsewhere</a>',
        '<p id="a"></p><p id="a"></p>',
        '<input name="unlabelled">',
    ],
)
def test_it_refuses_what_a_page_must_not_have(text):
    with pytest.raises(AssertionError):
        wellformed.check(text)
