"""Writes the reference pages that follow from the code, or checks them: `python -m zoo_site.docs [--check]`."""

import sys
from collections.abc import Sequence

from zoo_site import env

CONFIGURATION_PAGE = env.CHECKOUT / "docs" / "configuration.md"

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


def main(argv: Sequence[str]) -> int:
    """Write the pages, or with --check say which one lags."""
    if "--check" not in argv:
        CONFIGURATION_PAGE.write_text(configuration_page())
        return 0
    if CONFIGURATION_PAGE.exists() and CONFIGURATION_PAGE.read_text() == configuration_page():
        return 0
    print("docs/configuration.md lags behind zoo_site/env.py: run python -m zoo_site.docs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
