"""The cast: a site with an empty database, and a real store with one board on it."""

import pytest

from submissions.kernel_store.create import create_store
from submissions.signals import run_queued, store_advanced
from tests.unit.submissions import zoo


@pytest.fixture
def site(settings, tmp_path, transactional_db, monkeypatch):
    # The other apps' receivers have tests of their own; here the walk ends where this app's part does.
    monkeypatch.setattr(run_queued, "receivers", [])
    monkeypatch.setattr(store_advanced, "receivers", [])
    settings.HOME = tmp_path
    settings.KERNEL_REPO_PATH = tmp_path / "kernel_data.git"
    settings.QUEUE_DIR = tmp_path / "queue"
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    settings.SECRETS_DIR = tmp_path / "secrets"
    settings.OPEN_SUBMISSIONS = False
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    return settings


@pytest.fixture
def store(site):
    create_store(site.KERNEL_REPO_PATH, "Test zoo")
    zoo.seed_board()
    return site.KERNEL_REPO_PATH
