"""What the local runner says of this machine."""

import logging

import pytest

from native_bench.host import native_arch
from native_bench.sandbox.interface import SandboxMissing
from runners import local


@pytest.fixture(autouse=True)
def fresh():
    local._machine.cache_clear()
    yield
    local._machine.cache_clear()


@pytest.mark.sandbox
def test_it_describes_the_processor_and_how_well_it_isolates():
    first, second = local.registration("cpu"), local.registration("cpu")
    assert (first.name, first.kind, first.archs) == ("cpu0", "cpu", (native_arch(),))
    assert first.isolation in ("full", "user")
    assert first.device
    assert first.hardware["cores"] >= 1
    assert "load_average" not in first.hardware
    assert len(first.version) == 64
    assert first.life != second.life


def test_it_does_not_start_where_nothing_isolates(monkeypatch, caplog):
    def missing():
        raise SandboxMissing("bubblewrap is not installed: apt-get install bubblewrap")

    monkeypatch.setattr(local, "probe", missing)
    with caplog.at_level(logging.ERROR):
        assert local.registration("cpu") is None
    assert "apt-get install bubblewrap" in caplog.text


def test_it_names_a_runner_without_isolation_for_what_it_is(settings):
    settings.CONTAINER_BACKEND = "stub"
    assert local.registration("cpu").isolation == "stub"


def test_it_has_no_runner_for_a_device_that_the_engine_does_not_know():
    assert local.registration("gpu") is None


def test_it_works_where_the_settings_say(settings, tmp_path):
    settings.RUNNER_WORKDIR = tmp_path
    settings.CONTAINER_TIMEOUT_SECONDS = 77
    config = local.config("cpu", (9,))
    assert config.workdir == tmp_path / "cpu0"
    assert config.cache_dir == tmp_path / "cache"
    assert (config.run_seconds, config.held_fds) == (77, (9,))
    assert local.config("gpu").slot != config.slot
    assert "DJANGO_SETTINGS_MODULE" not in config.environment
