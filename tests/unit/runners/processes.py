"""Watch real processes in tests."""

import time
from pathlib import Path

FAKE_ENGINE = Path(__file__).with_name("fake_engine.py")


class Pids:
    """Processes that told their pid, and whether they still are."""

    def __init__(self, folder):
        self.folder = folder

    def of(self, name, seconds=20.0):
        return int(wait_for(lambda: self._text(name), seconds))

    def are_gone(self, *names, seconds=20.0):
        found = [self.of(name) for name in names]
        wait_for(lambda: not any(is_running(pid) for pid in found), seconds)
        return True

    def _text(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""


def wait_for(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
    return found


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def open_files(pid):
    return {int(fd.name): str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
