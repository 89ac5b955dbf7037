"""Write commits with `git fast-import`: only the trees on the way to a changed file are read and written."""

import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import IO, Self

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.git import CALL_SECONDS, Git, git_failed, is_object_id
from submissions.kernel_store.layout import check_paths
from submissions.kernel_store.message import one_line


@dataclass(frozen=True)
class Author:
    """Who stands as author and committer of every commit the site makes."""

    name: str
    email: str

    def line(self, when: datetime) -> bytes:
        name = one_line(self.name, 100).translate(_NO_BRACKETS) or "kernel-zoo"
        email = one_line(self.email, 200).translate(_NO_BRACKETS).replace(" ", "")
        return f"{name} <{email}> {int(when.timestamp())} +0000".encode("utf-8", "replace")


_NO_BRACKETS = str.maketrans("", "", "<>")


class FastImport:
    """A session that writes objects and at its end the refs of its commits; left by an error it writes none."""

    def __init__(self, git: Git, author: Author, when: datetime) -> None:
        self._git = git
        self._author = author
        self._when = when
        self._marks: dict[str, int] = {}
        self._is_finished = False

    def __enter__(self) -> Self:
        self._words: IO[bytes] = tempfile.TemporaryFile()
        # --force: a ref left by an earlier try may be replaced; heads are never written here.
        flags = ("--quiet", "--done", "--force", "--date-format=raw")
        self._process = self._git.start("fast-import", *flags, stderr=self._words)
        return self

    def commit(self, ref: str, parent: str, message: bytes, changes: "Changes") -> str:
        """Write one commit on `parent` ("" for a root commit) and return its id; `ref` is set by `finish`."""
        mark = len(self._marks) + 1
        lines = [
            b"commit %s\nmark :%d\n" % (ref.encode(), mark),
            b"author %s\n" % self._author.line(self._when),
            b"committer %s\n" % self._author.line(self._when),
            b"data %d\n%s\n" % (len(message), message),
        ]
        if parent:
            # A commit of this very session is not in the object store yet; only its mark names it.
            name = f":{self._marks[parent]}" if parent in self._marks else parent
            lines.append(b"from %s\n" % name.encode())
        lines += changes.lines()
        lines.append(b"\nget-mark :%d\n" % mark)
        self._send(b"".join(lines))
        written = self._read_id()
        self._marks[written] = mark
        return written

    def finish(self) -> None:
        """Make the objects durable, then write the refs."""
        self._send(b"done\n")
        self._is_finished = True
        self._close_pipes()
        try:
            code = self._process.wait(timeout=CALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise Broken("store:git-slow", f"git fast-import did not end in {CALL_SECONDS:g} s") from None
        if code != 0:
            raise self._failed(code)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_pipes()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._words.close()

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view and self._process.stdin is not None:
                view = view[self._process.stdin.write(view) or 0 :]
        except BrokenPipeError:
            raise self._failed(self._process.wait()) from None

    def _read_id(self) -> str:
        line = b""
        while not line.endswith(b"\n"):
            part = self._process.stdout.read(41) if self._process.stdout else b""
            if not part:
                raise self._failed(self._process.wait())
            line += part
        text = line.decode().strip()
        if not is_object_id(text):
            raise Broken("store:git-failed", f"git fast-import answered {text!r} where a commit id was due")
        return text

    def _failed(self, code: int) -> Broken:
        self._words.seek(0)
        return git_failed("fast-import", code, self._words.read())

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()


@dataclass(frozen=True)
class Changes:
    """What one commit changes: whole folders that go first, then files that are written."""

    files: Mapping[str, bytes]
    removed_folders: tuple[str, ...] = ()
    removed_files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_paths(self.files)
        check_paths(self.removed_folders)

    def lines(self) -> list[bytes]:
        lines = [b"D %s\n" % _quoted(path) for path in (*self.removed_folders, *self.removed_files)]
        lines += [
            b"M 100644 inline %s\ndata %d\n%s\n" % (_quoted(path), len(content), content)
            for path, content in self.files.items()
        ]
        return lines


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()
