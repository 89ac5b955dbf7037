"""Is a page balanced HTML, free of what the content security policy forbids, and readable without eyes?"""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img", "col", "source", "wbr"}
OPTIONAL_CLOSE: set[str] = set()


class Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.problems: list[str] = []
        self.ids: set[str] = set()
        self.labels: set[str] = set()
        self.fields: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes {self.open[-1:]}")
        else:
            self.open.pop()

    def _look(self, tag: str, attributes: dict[str, str | None]) -> None:
        for name, value in attributes.items():
            if name == "style" or name.startswith("on"):
                self.problems.append(f"<{tag}> has {name}")
            if name in ("src", "href", "action") and (value or "").startswith(("http:", "https:", "//")):
                self.problems.append(f"<{tag}> leads to another host: {value}")
        given = attributes.get("id")
        if given:
            if given in self.ids:
                self.problems.append(f"id {given} is given twice")
            self.ids.add(given)
        if tag == "script" and "src" not in attributes:
            self.problems.append("an inline script")
        if tag == "style":
            self.problems.append("an inline style sheet")
        if tag == "label" and attributes.get("for"):
            self.labels.add(str(attributes["for"]))
        if tag in ("input", "select", "textarea") and attributes.get("type") not in ("hidden", "radio"):
            self.fields.append(str(given))


def check(text: str) -> None:
    checker = Checker()
    checker.feed(text)
    checker.close()
    unlabelled = [field for field in checker.fields if field not in checker.labels]
    assert checker.problems == []
    assert checker.open == []
    assert unlabelled == []
