"""Move refs by compare-and-swap, several in one transaction, and keep the disk's order: objects first."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.git import Git, git_failed
from submissions.kernel_store.publication import Moved

_NONE = "0" * 40


@dataclass(frozen=True)
class RefMove:
    """One ref from `old` to `new`; "" is: it does not exist."""

    ref: str
    old: str
    new: str


class Refs:
    """The refs of the store, read and moved through git itself."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def move(self, moves: Sequence[RefMove]) -> None:
        """Move all or nothing, in the order given; raises Moved if any ref is not at its old value.

        A power cut inside git's own commit of the transaction can stop between two refs, so the order matters:
        what comes first is what recovery must be able to complete from.
        """
        done = self._git.attempt("update-ref", "--stdin", stdin="".join(map(_line, moves)).encode())
        if done.returncode != 0:
            self._explain(moves, done.returncode, done.stderr)
        for folder in ("refs", "refs/heads"):
            sync_folder(self._git, folder)

    def under(self, prefix: str) -> dict[str, str]:
        """Return {ref: id} of every ref under a prefix."""
        out = self._git.run("for-each-ref", "--format=%(objectname) %(refname)", prefix)
        pairs = (line.split(" ", 1) for line in out.decode().splitlines())
        return {ref: object_id for object_id, ref in pairs}

    def delete(self, refs: dict[str, str]) -> None:
        """Delete refs that still stand at the given ids."""
        if refs:
            self.move([RefMove(ref, object_id, "") for ref, object_id in refs.items()])

    def _explain(self, moves: Sequence[RefMove], code: int, stderr: bytes) -> None:
        for move in moves:
            found = self._git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", move.ref)
            now = found.stdout.decode().strip()
            if now != move.old:
                raise Moved(f"{move.ref} is at {now or 'nothing'}, not at {move.old or 'nothing'}; prepare again")
        words = stderr.decode("utf-8", "replace")
        if ".lock" in words:
            raise Broken(
                "store:locked", f"another git process holds a ref's lock; try again: {words.strip()[-500:]}"
            )
        raise git_failed("update-ref", code, stderr)


def sync_folder(git: Git, folder: str) -> None:
    """Make the names in a folder of the repository durable; git itself syncs only the files."""
    try:
        descriptor = os.open(git.git_dir / folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _line(move: RefMove) -> str:
    if not move.new:
        return f"delete {move.ref} {move.old}\n"
    return f"update {move.ref} {move.new} {move.old or _NONE}\n"
