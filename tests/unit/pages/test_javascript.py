import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "static" / "js"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_it_passes_its_own_javascript_tests():
    files = sorted(str(path) for path in (ROOT / "tests" / "js").glob("*.test.mjs"))

    done = subprocess.run(["node", "--test", *files], cwd=ROOT, capture_output=True, text=True, check=False)

    assert files
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_keeps_each_script_short_and_on_this_host():
    for path in SCRIPTS.glob("*.js"):
        text = path.read_text()
        assert len(text.splitlines()) < 150, path.name
        assert "http://" not in text
        assert "https://" not in text
        assert "eval(" not in text


def test_it_keeps_the_style_sheet_on_this_host():
    text = (ROOT / "static" / "css" / "zoo.css").read_text()

    assert "url(" not in text
    assert "@import" not in text
    assert text.count("{") == text.count("}")
