"""Run git with a fixed environment: nothing in the repository's own configuration can start a program."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO

from submissions.kernel_package.errors import Broken

CALL_SECONDS = 120.0
_OBJECT_ID = re.compile(r"[0-9a-f]{40}")
_CHUNK_BYTES = 1 << 18

# Later -c values win over the repository's config file, so a hostile one names no hook, helper or transport.
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.filesRefLockTimeout=5000",
    "core.packedRefsTimeout=5000",
    "core.fsync=objects,derived-metadata,reference",
    "core.fsyncMethod=fsync",
    "gc.auto=0",
    "gc.recentObjectsHook=",
    "i18n.commitEncoding=utf-8",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.file.allow=never",
    "submodule.recurse=false",
    # A pack costs three fsyncs, its forty loose objects one each; `upkeep` keeps the packs few.
    "fastimport.unpackLimit=1",
)


def is_object_id(text: str) -> bool:
    return _OBJECT_ID.fullmatch(text) is not None


def check_object_id(text: str) -> str:
    """Return a full 40-digit id; anything else could be an option or a revision expression."""
    if not is_object_id(text):
        raise Broken("store:bad-id", f"{text!r} is not a full git object id of 40 hexadecimal digits")
    return text


class Git:
    """Git plumbing on one repository, bare or not, with our configuration over its own."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        self.git_dir, self.work_tree = _locate(self.path)

    def command(self, *arguments: str, settings: Sequence[str] = ()) -> list[str]:
        """Return the argument list of one git call."""
        # With --git-dir git neither searches the folders above nor trusts a core.worktree of the config file.
        line = [program(), f"--git-dir={self.git_dir}"]
        if self.work_tree is not None:
            line.append(f"--work-tree={self.work_tree}")
        for setting in (*_SETTINGS, *settings):
            line += ["-c", setting]
        return [*line, *arguments]

    def run(self, *arguments: str, stdin: bytes = b"", settings: Sequence[str] = ()) -> bytes:
        """Return the standard output of one git call; raises Broken `store:git-failed` with git's own words."""
        done = self.attempt(*arguments, stdin=stdin, settings=settings)
        if done.returncode != 0:
            raise git_failed(arguments[0], done.returncode, done.stderr)
        return done.stdout

    def attempt(
        self, *arguments: str, stdin: bytes = b"", settings: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one git call whose failure is an answer, not an error."""
        command = self.command(*arguments, settings=settings)
        try:
            return subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                env=environment(),
                cwd=self.work_tree or self.git_dir,
                timeout=CALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Broken("store:git-slow", f"git {arguments[0]} did not end in {CALL_SECONDS:g} s") from None
        except FileNotFoundError:
            raise Broken("store:missing", f"{self.path} is gone; restore it or correct the path") from None

    def start(self, *arguments: str, stderr: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start a git process to talk to, its pipes unbuffered; who starts it ends it."""
        return subprocess.Popen(
            self.command(*arguments),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment(),
            cwd=self.work_tree or self.git_dir,
        )

    def records(self, *arguments: str) -> Iterator[bytes]:
        """Yield the NUL-ended records of a call whose output may be large, without holding all of it."""
        with self.start(*arguments) as process:
            stdin, stdout = process.stdin, process.stdout
            if stdin is None or stdout is None:
                raise Broken("store:git-failed", "git was started without pipes")
            stdin.close()
            rest = b""
            try:
                while chunk := stdout.read(_CHUNK_BYTES):
                    *whole, rest = (rest + chunk).split(b"\0")
                    yield from whole
            except GeneratorExit:
                process.kill()
                raise
        if process.returncode != 0:
            raise git_failed(arguments[0], process.returncode, b"")


def initialise(path: Path) -> None:
    """Make an empty bare repository, without the user's templates, which may hold hooks."""
    command = [program(), "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(path)]
    done = subprocess.run(command, capture_output=True, env=environment(), timeout=CALL_SECONDS, check=False)
    if done.returncode != 0:
        raise git_failed("init", done.returncode, done.stderr)


def git_failed(verb: str, code: int, stderr: bytes) -> Broken:
    words = stderr.decode("utf-8", "replace").strip()[-2000:]
    return Broken("store:git-failed", f"git {verb} ended with status {code}: {words or 'no message'}")


@lru_cache(maxsize=1)
def program() -> str:
    """Return the path of git; raises Broken `store:no-git`."""
    found = shutil.which("git")
    if found is None:
        raise Broken("store:no-git", "the program git is not on the PATH; install it, version 2.36 or later")
    return found


def environment() -> dict[str, str]:
    """Return the whole environment of a git call: no user or system configuration, no prompt, no transport."""
    return {
        "PATH": f"{Path(program()).parent}:{os.defpath}",
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        # Whoever can push could otherwise show us other contents under an unchanged id.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": "/dev/null",
        "GIT_AUTHOR_NAME": "kernel-zoo",
        "GIT_AUTHOR_EMAIL": "kernel-zoo@localhost",
        "GIT_COMMITTER_NAME": "kernel-zoo",
        "GIT_COMMITTER_EMAIL": "kernel-zoo@localhost",
    }


def _locate(path: Path) -> tuple[Path, Path | None]:
    if (path / "HEAD").is_file() and (path / "objects").is_dir():
        return path, None
    inner = path / ".git"
    if (inner / "HEAD").is_file() and (inner / "objects").is_dir():
        return inner, path
    raise Broken("store:missing", f"{path} is not a git repository; create the store there or correct the path")
