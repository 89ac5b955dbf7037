"""The cast of the end-to-end tests: one site for the tests that only use it, another for those that break it."""

import platform

import pytest

from native_bench.starter import kernels
from tests.e2e.site import Site


@pytest.fixture(scope="session")
def arch():
    return platform.machine()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A site with every starter kernel ranked, shared by the tests that leave it so."""
    site = Site(tmp_path_factory.mktemp("shared") / "home")
    site.start()
    site.wait_for(lambda: starters_are_ranked(site), 480, "every starter kernel ranked")
    yield site
    site.stop()


def starters_are_ranked(site):
    ranked = {kernel_id for kernel_id, kernel in site.index().items() if kernel["rank"]}
    wanted = site.environ()["KERNEL_ZOO_STARTER_PROBLEMS"].split(",")
    sent = {str(kernel_id) for kernel_id, _ in kernels(platform.machine()) if str(kernel_id.problem) in wanted}
    return bool(sent) and ranked >= sent
