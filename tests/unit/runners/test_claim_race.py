"""Claims that race in real processes over a real database file."""

import json
import os
import subprocess
import sys


def test_it_gives_each_runner_one_lease_and_each_run_to_one_runner(tmp_path):
    environment = {
        **os.environ,
        "KERNEL_ZOO_HOME": str(tmp_path),
        "KERNEL_ZOO_DATABASE_URL": f"sqlite:///{tmp_path}/zoo.sqlite3",
        "DJANGO_SETTINGS_MODULE": "zoo_site.settings",
    }
    module = [sys.executable, "-m", "tests.unit.runners.race"]
    answer = subprocess.run(module, check=False, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    leases_by_runner, runners_by_run = {}, {}
    for runner, leases in json.loads(answer.stdout):
        for token, run in leases:
            leases_by_runner.setdefault(runner, set()).add(token)
            runners_by_run.setdefault(run, set()).add(runner)
    assert len(leases_by_runner) == 5
    assert all(len(tokens) == 1 for tokens in leases_by_runner.values())
    assert all(len(runners) == 1 for runners in runners_by_run.values())
    assert len(runners_by_run) == 5
