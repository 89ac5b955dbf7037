"""Writes the reference pages that follow from the code, or checks them: `python -m zoo_site.docs [--check]`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from submissions.kernel_package.codes import PACKAGE_CODES
from zoo_site import env

DOCS = env.CHECKOUT / "docs"

_HEAD = """# Configuration

Every variable can be set in the environment or in a YAML file given with `kernel_zoo-server --config FILE`; the
environment wins. A wrong value stops the start with status 2 and one line that names it. Units stand in the names.

| variable | default | meaning |
| --- | --- | --- |
"""


def configuration_page() -> str:
    """Return docs/configuration.md as it must be."""
    return _HEAD + "".join(_row(variable) for variable in env.VARIABLES.values())


def _row(variable: env.Variable) -> str:
    return f"| `{variable.name}` | {_default(variable)} | {variable.meaning} |\n"


def _default(variable: env.Variable) -> str:
    if variable.default is None:
        return "–"
    return f"`{variable.default.replace(str(env.CHECKOUT), '.')}`"


def package_page(text: str) -> str:
    """Return docs/package.md with the table of refusals as the code has it."""
    head, mark, rest = text.partition("<!-- codes -->\n")
    _, end_mark, tail = rest.partition("<!-- /codes -->\n")
    rows = "".join(f"| `{code}` | {meaning} |\n" for code, meaning in PACKAGE_CODES.items())
    return f"{head}{mark}| code | means |\n| --- | --- |\n{rows}{end_mark}{tail}"


def pages() -> dict[Path, str]:
    """Return each page with the text it must have."""
    package = DOCS / "package.md"
    return {DOCS / "configuration.md": configuration_page(), package: package_page(package.read_text())}


def main(argv: Sequence[str]) -> int:
    """Write the pages, or with --check name those that lag."""
    lagging = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
    if "--check" not in argv:
        for path in lagging:
            path.write_text(pages()[path])
        return 0
    for path in lagging:
        print(f"docs/{path.name} lags behind the code: run python -m zoo_site.docs", file=sys.stderr)
    return 1 if lagging else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
