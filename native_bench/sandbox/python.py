"""The interpreter we run under, as a sandboxed program finds it."""

import sys
from pathlib import Path

from native_bench.sandbox.interface import Bind

PYTHON_FOLDER = "/zoo/python"


def interpreter() -> tuple[str, list[Bind]]:
    """Return the interpreter's path inside, and what must be seen there besides /usr."""
    prefix = Path(sys.base_prefix).resolve()
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if prefix == Path("/usr"):
        return f"/usr/bin/{name}", []
    return f"{PYTHON_FOLDER}/bin/{name}", [Bind(prefix, PYTHON_FOLDER)]
