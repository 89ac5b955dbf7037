"""The cast of the pages' tests: a real store folder, one board with a tie, a fleet of one."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client

from leaderboard.models import Kernel
from submissions.kernel_store.create import create_store
from tests.unit.pages import cast, wellformed

BOARD = "x86_64/Vector/saxpy/fp32"


@pytest.fixture(autouse=True)
def zoo_home(settings, tmp_path: Path) -> Path:
    settings.KERNEL_REPO_PATH = tmp_path / "kernel_data.git"
    settings.QUEUE_DIR = tmp_path / "queue"
    settings.INDEX_PATH = tmp_path / "index.json"
    settings.OPEN_SUBMISSIONS = True
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    create_store(settings.KERNEL_REPO_PATH, "Zoo of the tests")
    return tmp_path


@pytest.fixture
def board(db) -> str:
    cast.add_problem("Vector/saxpy/fp32", "Scaled vector addition")
    cast.add_kernel(f"{BOARD}/reference_impl", 1.0, 0.002, timedelta(days=9))
    cast.add_kernel(f"{BOARD}/unrolled", 1.31, 0.02, timedelta(hours=3))
    cast.add_kernel(f"{BOARD}/streaming", 1.30, 0.03, timedelta(days=2), submitter="mira")
    cast.add_kernel(f"{BOARD}/slow", 0.93, 0.01, timedelta(days=3))
    cast.add_kernel(f"{BOARD}/fresh", None)
    cast.rank_boards()
    return BOARD


@pytest.fixture
def kernel(board: str) -> Kernel:
    return Kernel.objects.get(kernel_id=f"{board}/unrolled")


@pytest.fixture
def page(client: Client) -> Callable[..., str]:
    """Fetch a page that must answer 200 and be well-formed; return its text."""

    def fetch(path: str, status: int = 200) -> str:
        response = client.get(path)
        assert response.status_code == status, response.content.decode()[:2000]
        text = response.content.decode()
        wellformed.check(text)
        return text

    return fetch
