"""Small parts of the assembly: database URL, secret key, checks, reference pages."""

import stat
from pathlib import Path

from django.test import override_settings

from zoo_site import checks, docs
from zoo_site.database_url import database_settings
from zoo_site.secret_key import kept_secret_key


def test_it_defaults_to_sqlite_under_home(tmp_path):
    assert database_settings(None, tmp_path)["NAME"] == tmp_path / "zoo.sqlite3"
    found = database_settings("sqlite:////srv/a%20b.sqlite3", tmp_path)
    assert found["NAME"] == Path("/srv/a b.sqlite3")
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_it_reads_a_postgres_url(tmp_path):
    found = database_settings("postgres://user:p%40ss@db:5433/zoo", tmp_path)
    assert (found["NAME"], found["USER"], found["PASSWORD"], found["HOST"], found["PORT"]) == (
        "zoo", "user", "p@ss", "db", "5433",
    )  # fmt: skip


def test_it_keeps_one_secret_key(tmp_path):
    key = kept_secret_key(tmp_path / "secrets")
    assert len(key) >= 50
    assert kept_secret_key(tmp_path / "secrets") == key
    [file] = (tmp_path / "secrets").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_it_passes_its_own_checks():
    assert checks.task_queue_timing(None) == []
    assert checks.yaml_is_fast(None) == []


@override_settings(
    Q_CLUSTER={"timeout": 10, "retry": 20, "queue_limit": 1, "workers": 1, "ALT_CLUSTERS": {"cpu": {"retry": 31}}}
)
def test_it_refuses_a_retry_that_runs_tasks_twice():
    [error] = checks.task_queue_timing(None)
    assert "default" in error.msg


def test_it_finds_a_page_that_lags(tmp_path, monkeypatch, capsys):
    (tmp_path / "package.md").write_text("before\n<!-- codes -->\nold\n<!-- /codes -->\nafter\n")
    monkeypatch.setattr(docs, "DOCS", tmp_path)
    assert docs.main(["--check"]) == 1
    assert "configuration.md" in (said := capsys.readouterr().err) and "package.md" in said
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
    page = (tmp_path / "package.md").read_text()
    assert "`package:bomb`" in page and page.startswith("before\n") and page.endswith("after\n")
