"""`manage.py up`: bring the whole site up on one machine and keep it up, in the foreground."""

import fcntl
import json
import shutil
import socket
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from datetime import timedelta
from ipaddress import ip_address
from typing import IO, Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command

from leaderboard import mirror
from submissions import recovery, starter
from zoo_site import env, processes
from zoo_site.supervisor import Supervisor
from zoo_site.tasks import ensure_schedules, send_beat

READY_SECONDS = 60.0
# What measuring needs from the system, and the Debian package that has it.
REQUIRED_PROGRAMS = {"g++": "g++", "git": "git", "bwrap": "bubblewrap", "objdump": "binutils"}


class Command(BaseCommand):
    help = "Bring up the site, its workers and the local runners, and keep them up until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--open-on-loopback",
            action="store_true",
            help="accept uploads without a token while only this machine can reach the site",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self._check_programs()
        if options["open_on_loopback"] and _is_loopback(settings.HOST):
            env.set_default("KERNEL_ZOO_OPEN_SUBMISSIONS", "1")
        settings.RUN_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (settings.RUN_DIR / "supervisor.lock").open("w") as lock:
            self._take(lock)
            supervisor = Supervisor(processes.services(), settings.RUN_DIR)
            self._prepare(supervisor)
            try:
                supervisor.start()
                self._wait_until_ready(supervisor)
                supervisor.watch(0.5, _Beats(processes.BEAT_EVERY_SECONDS))
            finally:
                supervisor.stop()
                self.stdout.write("stopped")

    def _check_programs(self) -> None:
        missing = [package for program, package in REQUIRED_PROGRAMS.items() if not shutil.which(program)]
        if missing:
            raise CommandError(
                f"missing on this machine: {', '.join(missing)}. Install with: "
                f"sudo apt-get install -y --no-install-recommends {' '.join(missing)}"
            )

    def _take(self, lock: IO[str]) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(f"a site already runs with {settings.HOME} as its home") from None

    def _prepare(self, supervisor: Supervisor) -> None:
        supervisor.end_predecessor()
        if _port_is_taken(settings.HOST, settings.PORT):
            raise CommandError(
                f"port {settings.PORT} on {settings.HOST} is taken; choose another with KERNEL_ZOO_PORT=<port>"
            )
        self._say("database")
        call_command("migrate", verbosity=0, interactive=False)
        self._say("store")
        starter.seed_store()
        self._say("recovery and mirror")
        recovery.recover(stuck_after=timedelta(0))
        mirror.bring_to_head()
        ensure_schedules()
        starter.submit_starters()

    def _wait_until_ready(self, supervisor: Supervisor) -> None:
        address = f"http://{_for_url(settings.HOST)}:{settings.PORT}"
        deadline = time.monotonic() + READY_SECONDS
        while not supervisor.is_stopping:
            if _answers(f"{address}/api/health"):
                self.stdout.write(self.style.SUCCESS(f"ready {address}"))
                self.stdout.flush()
                return
            if time.monotonic() > deadline:
                raise CommandError(
                    f"the web process did not answer within {READY_SECONDS:.0f} s; its log is above"
                )
            time.sleep(0.1)

    def _say(self, what: str) -> None:
        self.stdout.write(f"preparing: {what}")
        self.stdout.flush()


class _Beats:
    """Sends each cluster a beat at an interval."""

    def __init__(self, every_seconds: float) -> None:
        self._every_seconds = every_seconds
        self._next = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every_seconds
        for cluster in processes.CLUSTERS:
            send_beat(cluster)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _port_is_taken(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


def _for_url(host: str) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104
    return f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310
            return bool(json.load(answer)["version"])
    except (urllib.error.URLError, OSError, ValueError, KeyError):
        return False
