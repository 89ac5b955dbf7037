"""The cast of the runner tests: a daemon with a fake engine, and rows of the queue and the fleet."""

import os
import sys
import uuid

import pytest
from django.utils import timezone

from runners.daemon.config import DaemonConfig, engine_environment
from runners.models import Runner
from runners.protocol import Registration
from submissions.kernel_store.create import create_store
from submissions.models import Run, State, Submission
from tests.unit.runners.processes import FAKE_ENGINE, Pids
from tests.unit.submissions import zoo

KERNEL_ID = "x86_64/Vector/saxpy/fp32/fast"
DIGEST = "c" * 64


@pytest.fixture
def pids(tmp_path):
    folder = tmp_path / "pids"
    folder.mkdir()
    return Pids(folder)


@pytest.fixture
def config(tmp_path, pids):
    coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return DaemonConfig(
        workdir=tmp_path / "work",
        cache_dir=tmp_path / "cache",
        engine=(sys.executable, "-P", str(FAKE_ENGINE)),
        environment={**engine_environment(), "PID_FOLDER": str(pids.folder), **coverage},
    )


@pytest.fixture
def registration():
    return a_registration()


@pytest.fixture
def make_runner(db):
    return create_runner


@pytest.fixture
def make_run(db):
    return create_run


@pytest.fixture
def store(db, settings, tmp_path):
    """A real store with one board on it."""
    settings.KERNEL_REPO_PATH = tmp_path / "kernel_data.git"
    settings.QUEUE_DIR = tmp_path / "queue"
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    settings.SECRETS_DIR = tmp_path / "secrets"
    settings.INDEX_PATH = tmp_path / "index.json"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    create_store(settings.KERNEL_REPO_PATH, "Test zoo")
    zoo.seed_board()
    return settings.KERNEL_REPO_PATH


def a_registration(name="cpu0", life="life-1", **changes):
    values = {
        "kind": "cpu",
        "archs": ("x86_64",),
        "version": "v",
        "device": "a CPU",
        "isolation": "full",
        **changes,
    }
    return Registration(name=name, life=life, **values)


def create_runner(name="cpu0", archs=("x86_64",), **changes):
    now = timezone.now()
    values = {"kind": "cpu", "life": "life-1", "registered_at": now, "last_seen_at": now, **changes}
    return Runner.objects.create(name=name, archs=list(archs), **values)


def create_run(kernel_id=KERNEL_ID, mode="ranked", **changes):
    """A queued run with its submission."""
    now = timezone.now()
    submission = Submission.objects.create(
        kernel_id=kernel_id,
        submitter="entrant-a",
        mode=mode,
        package_sha256="0" * 64,
        package_bytes=1,
        tree_digest=DIGEST,
        state=State.QUEUED,
        idempotency_key=uuid.uuid4().hex,
        received_at=now,
    )
    arch = kernel_id.split("/")[0]
    return Run.objects.create(
        submission=submission, kernel_id=kernel_id, arch=arch, **{"queued_at": now, **changes}
    )
