import dataclasses
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from native_bench.sandbox import Limits, open_sandbox
from tests.unit.sandbox import ordinary_user

MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=60, cpu_seconds=30, memory_bytes=256 * MIB, processes=16, file_bytes=8 * MIB, tmp_bytes=16 * MIB,
    out_bytes=16 * MIB, shm_bytes=4 * MIB,
)  # fmt: skip


@pytest.fixture(scope="session")
def real():
    """The sandbox as this process itself gets it."""
    return open_sandbox(slot=7)


@pytest.fixture(scope="session", params=["here", "ordinary user"])
def sandbox(request, real):
    """Both levels when root runs the tests; an ordinary user has but one."""
    if request.param == "here":
        return real
    if os.geteuid() != 0 or not ordinary_user.is_possible():
        pytest.skip("only root can also become an ordinary user, who must be able to read the checkout")
    return ordinary_user.UserSandbox()


@pytest.fixture
def limits():
    def make(**changes):
        return dataclasses.replace(LIMITS, **changes)

    return make


@pytest.fixture
def inside(sandbox):
    """Run Python code inside, as an entrant's program would."""

    def run(code, *arguments, limits=LIMITS, **options):
        return sandbox.run(["/usr/bin/python3", "-c", code, *arguments], limits, **options)

    return run


@pytest.fixture
def folder():
    """A host folder that an ordinary user reaches too, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="zoo-test-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def bare():
    """A host folder that only its owner may enter."""
    path = Path(tempfile.mkdtemp(prefix="zoo-test-"))
    yield path
    shutil.rmtree(path)
