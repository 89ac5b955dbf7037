"""The list of codes says what the code raises, no more and no less."""

import re
from pathlib import Path

from submissions.kernel_package import codes

FOLDER = Path(codes.__file__).parent


def test_it_lists_exactly_the_codes_that_are_raised() -> None:
    sources = [path for path in FOLDER.glob("*.py") if path.name != "codes.py"]
    raised = {code for path in sources for code in re.findall(r'"(package:[a-z-]+)"', path.read_text())}
    assert raised == set(codes.PACKAGE_CODES)
