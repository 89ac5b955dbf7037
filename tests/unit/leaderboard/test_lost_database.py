"""Git is the truth: with the database deleted, migrated and rebuilt in real processes, every byte comes back."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from .conftest import Zoo
from .documents import BOARD, ledger_entry, run_document, submission_document

CHECKOUT = Path(__file__).resolve().parents[3]
FAST = f"{BOARD}/fast"


def manage(home: Path, *arguments: str) -> str:
    environment = {**os.environ, "KERNEL_ZOO_HOME": str(home)}
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_gives_the_same_index_after_the_database_is_deleted(tmp_path):
    zoo = Zoo(tmp_path / "kernel_data.git")
    zoo.problem()
    zoo.measured(f"{BOARD}/reference_impl", 1.0)
    zoo.measured(FAST, 1.5, 0.02)
    zoo.measured(f"{BOARD}/tied", 1.49, 0.02)
    zoo.kernel(f"{BOARD}/waiting")
    uuid = uuid4()
    records = {"submission.json": submission_document(uuid, FAST), "run-1.json": run_document(uuid4(), FAST, uuid)}
    zoo.writer.record(ledger_entry(uuid, records))
    manage(tmp_path, "migrate", "--verbosity", "0")
    manage(tmp_path, "indexer_now")
    first = (tmp_path / "index.json").read_bytes()
    assert FAST.encode() in first
    for path in [*tmp_path.glob("zoo.sqlite3*"), tmp_path / "index.json"]:
        path.unlink()
    manage(tmp_path, "migrate", "--verbosity", "0")
    manage(tmp_path, "rebuild_mirror")
    assert (tmp_path / "index.json").read_bytes() == first
    assert "the mirror is what the store says" in manage(tmp_path, "verify_mirror")
