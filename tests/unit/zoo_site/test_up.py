"""What `up` refuses before it starts anything."""

import fcntl
import socket

import pytest
from django.core.management import CommandError, call_command

from zoo_site.management.commands import up


def test_it_names_missing_programs_and_the_command(monkeypatch):
    monkeypatch.setattr(up.shutil, "which", lambda name: None if name == "bwrap" else name)
    with pytest.raises(CommandError, match=r"bubblewrap.*apt-get install -y --no-install-recommends bubblewrap"):
        call_command("up")


def test_it_refuses_a_home_in_use(settings, tmp_path):
    settings.RUN_DIR = tmp_path
    with (tmp_path / "supervisor.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="already runs"):
            call_command("up", "--open-on-loopback")


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("zoo.example", False)],
)
def test_it_is_open_on_loopback_only(host, is_loopback):
    assert up._is_loopback(host) is is_loopback


def test_it_sees_a_taken_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert up._port_is_taken("127.0.0.1", port)
    assert not up._port_is_taken("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("::", "[::1]")]
)
def test_it_prints_an_address_one_can_open(host, shown):
    assert up._for_url(host) == shown


def test_it_takes_a_silent_port_for_not_ready():
    assert not up._answers("http://127.0.0.1:9/api/health")
