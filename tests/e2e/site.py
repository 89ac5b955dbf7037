"""A whole site in real processes: started as a user starts it, spoken to over HTTP, killed where a test says."""

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


class Site:
    """One home and one port; `start` brings the site up, `stop` ends it as Ctrl-C does."""

    def __init__(self, home: Path, **variables: str) -> None:
        self.home = home
        self.port = _free_port()
        self.variables = variables
        self.process: subprocess.Popen[bytes] | None = None
        self.log = home.with_name(f"{home.name}.log")
        self._log_begin = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def store(self) -> Path:
        return self.home / "kernel_data.git"

    def environ(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("KERNEL_ZOO_")},
            "KERNEL_ZOO_HOME": str(self.home),
            "KERNEL_ZOO_PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
            # Of the starter zoo only what the tests speak of: all of it takes minutes to measure.
            "KERNEL_ZOO_STARTER_PROBLEMS": "GEMM/nn/fp32,Softmax/rows/fp32,Vector/saxpy/fp32",
            **self.variables,
        }

    def start(self, ready_within_seconds: float = 150) -> None:
        log = self.log.open("ab")
        self._log_begin = log.seek(0, os.SEEK_END)
        argv = [sys.executable, str(CHECKOUT / "manage.py"), "up", "--open-on-loopback"]
        self.process = subprocess.Popen(
            argv, env=self.environ(), cwd=CHECKOUT, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        try:
            self.wait_for(self._is_ready, ready_within_seconds, "ready")
        except BaseException:
            self.stop()
            raise

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the site ended with {self.process.poll()}:\n{self.tail()}"
        return f"ready {self.url}" in self.log.read_bytes()[self._log_begin :].decode()

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-60:])

    def stop(self, number: int = signal.SIGTERM) -> float:
        """End the site; returns the seconds it took."""
        if self.process is None:
            return 0.0
        begun = time.monotonic()
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        self.process.wait(30)
        self.process = None
        return time.monotonic() - begun

    def kill_everything(self) -> None:
        """Pull the plug: SIGKILL to every process of this home, supervisor first."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def processes(self) -> list[int]:
        """Return the pids of every process that runs with this home."""
        mark = f"KERNEL_ZOO_HOME={self.home}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with suppress(OSError):
                    if mark in (folder / "environ").read_bytes().split(b"\0"):
                        found.append(int(folder.name))
        return found

    def wait_for(self, is_true: Any, seconds: float, what: str) -> Any:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := is_true():
                return found
            time.sleep(0.1)
        raise AssertionError(f"not {what} within {seconds} s; the log's end:\n{self.tail()}")

    def get(self, path: str, **headers: str) -> bytes:
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bytes(answer.read())

    def json(self, path: str) -> Any:
        return json.loads(self.get(path))

    def submit(self, kernel_id: str, files: dict[str, bytes], mode: str = "ranked", **headers: str) -> str:
        """Upload a package; returns the submission's uuid."""
        body, kind = multipart({"kernel_id": kernel_id, "mode": mode}, pack(files))
        headers = {"X-Submitter-Id": "entrant-a", **headers, "Content-Type": kind}
        request = urllib.request.Request(self.url + "/api/submissions", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 202
            return str(json.load(answer)["uuid"])

    def status(self, submission: str, wait: int = 0) -> Any:
        return self.json(f"/api/submissions/{submission}/status?wait={wait}")

    def finished(self, submission: str, within_seconds: float = 120) -> Any:
        """Wait for the submission's end; returns its last status."""
        return self.wait_for(
            lambda: (status := self.status(submission))["is_terminal"] and status,
            within_seconds,
            f"the end of {submission}",
        )

    def index(self) -> dict[str, Any]:
        return {kernel["kernel_id"]: kernel for kernel in self.json("/api/index.json")["kernels"]}

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.store), *arguments], check=True, capture_output=True, text=True
        ).stdout

    def delete_database(self) -> None:
        for path in self.home.glob("zoo.sqlite3*"):
            path.unlink()
        (self.home / "index.json").unlink(missing_ok=True)


def pack(files: dict[str, bytes]) -> bytes:
    """Return a tar.gz of a package's files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def multipart(fields: dict[str, str], package: bytes) -> tuple[bytes, str]:
    """Return a multipart body and its content type."""
    mark = uuid.uuid4().hex
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{mark}\r\nContent-Disposition: form-data; name="package"; filename="package.tar.gz"\r\n'
    parts.append(head.encode() + b"Content-Type: application/gzip\r\n\r\n" + package + b"\r\n")
    return b"".join(parts) + f"--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"


def saxpy_package(name: str, source: str, arch: str) -> tuple[str, dict[str, bytes]]:
    """Return the kernel_id and files of a saxpy package with this source."""
    kernel_id = f"{arch}/Vector/saxpy/fp32/{name}"
    description = f"""schema_version: 1
kernel_id: {kernel_id}
title: Saxpy {name}
summary: ""
language: cpp
harness: native
entry: {{source: src/saxpy.cpp, symbol: saxpy}}
build: {{sources: [src/saxpy.cpp], include_dirs: [src], defines: {{}}}}
authors: [entrant-a]
license: MIT
tags: []
created: "2026-01-31"
"""
    return kernel_id, {".kernel_package/desc.yaml": description.encode(), "src/saxpy.cpp": source.encode()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def remove(home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
