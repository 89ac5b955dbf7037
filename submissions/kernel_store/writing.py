"""Write the store: an accepted submission in two phases, the ledger, and a maintainer's commits.

Prepare writes commits that nobody sees; advance shows main's and ledger's together. Each step may be killed
anywhere: what `pending` then lists is advanced or dropped.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from submissions.kernel_package.errors import Broken
from submissions.kernel_store import changes, layout, pending, upkeep
from submissions.kernel_store.fast_import import Author, Changes, FastImport
from submissions.kernel_store.faults import crash_here
from submissions.kernel_store.lock import WriterLock
from submissions.kernel_store.message import commit_message
from submissions.kernel_store.publication import Files, LedgerEntry, Moved, Prepared, Publication
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.refs import RefMove, Refs, sync_folder
from submissions.kernel_store.work_tree import WorkTree

_log = logging.getLogger(__name__)

_TRIES = 50
_Make = Callable[[str], Changes | None]


class StoreWriter:
    """The write side. Hold `exclusive()` around decide, prepare and advance: then only pushes move a head."""

    def __init__(
        self, path: Path | str, author_name: str, author_email: str, lock_timeout_seconds: float = 30.0
    ) -> None:
        self.reader = StoreReader(path)
        self._git = self.reader.git
        self._refs = Refs(self._git)
        self._work_tree = WorkTree(self._git)
        self._author = Author(author_name, author_email)
        self._lock = WriterLock(self._git.git_dir, lock_timeout_seconds)

    def close(self) -> None:
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep every other writer of the site out for the block; raises Broken `store:busy` after the timeout."""
        with self._lock.held():
            yield

    def prepare(self, publication: Publication) -> Prepared:
        """Write the commits of an accepted submission on the present heads, under private refs."""
        with self.exclusive():
            crash_here("prepare:locked")
            upkeep.tidy_if_due(self._git)
            main, ledger = self.reader.main_head(), self.reader.ledger_head()
            when = publication.committed_at or datetime.now(UTC)
            with FastImport(self._git, self._author, when) as session:
                source, bench = self._write_main(session, publication, main)
                entry = self._write_ledger(session, publication, ledger)
                session.finish()
            sync_folder(self._git, "objects/pack")
            crash_here("prepare:stored")
            return Prepared(publication.uuid, main, bench, ledger, entry, source)

    def advance(self, prepared: Prepared) -> None:
        """Show a prepared write: main and ledger move together; done already is done. Raises Moved."""
        if not prepared.is_complete:
            raise Broken("store:incomplete", f"{prepared.uuid} was prepared by halves; drop it and prepare again")
        with self.exclusive():
            crash_here("advance:checked")
            heads = (self.reader.main_head(), self.reader.ledger_head())
            if heads != (prepared.main_old, prepared.ledger_old):
                self._finish_or_refuse(prepared, heads)
                return
            moves = [
                # main first: whatever stops git in between, the ledger can be completed from the pending ref.
                RefMove(layout.MAIN, prepared.main_old, prepared.main_new),
                RefMove(layout.LEDGER, prepared.ledger_old, prepared.ledger_new),
                RefMove(layout.pending_ref(prepared.uuid, layout.MAIN), prepared.main_new, ""),
                RefMove(layout.pending_ref(prepared.uuid, layout.LEDGER), prepared.ledger_new, ""),
            ]
            self._move(moves)

    def publish(self, publication: Publication) -> Prepared:
        """Prepare and advance, again on the new head when somebody pushed in between."""
        for _ in range(_TRIES):
            with self.exclusive():
                prepared = self.prepare(publication)
                try:
                    self.advance(prepared)
                    return prepared
                except Moved:
                    self.drop(publication.uuid)
        raise Moved(f"main or ledger moved under each of {_TRIES} tries; try again later")

    def pending(self) -> list[Prepared]:
        """List what was prepared and neither advanced nor dropped; call and act in one `exclusive` block."""
        with self.exclusive():
            upkeep.clear_stale(self._git)
            self._refs.delete(self._refs.under(layout.SCRATCH))
            return pending.prepared(self._refs.under(layout.PENDING), self.reader.history)

    def is_published(self, prepared: Prepared) -> bool:
        """True if main contains the prepared commits."""
        main = self.reader.main_head()
        return bool(main and prepared.main_new) and self.reader.is_ancestor(prepared.main_new, main)

    def drop(self, uuid: str) -> None:
        """Forget what was prepared for a submission; what main already shows is completed instead."""
        with self.exclusive():
            refs = self._refs.under(f"{layout.PENDING}/{layout.check_uuid(uuid)}")
            for prepared in pending.prepared(refs, self.reader.history):
                if prepared.is_complete and self.is_published(prepared):
                    self._complete_ledger(prepared)
            self._refs.delete(refs)

    def record(self, entry: LedgerEntry) -> str:
        """Write an entry to the ledger alone; returns the ledger's head, unmoved if it all stood there already."""
        changed = changes.of_entry(entry)
        message = commit_message(
            entry.subject or f"ledger: {entry.uuid}", trailers=_trailers(entry.uuid, entry.trailers)
        )
        return self._commit(layout.LEDGER, message, lambda head: changes.missing(self.reader, head, changed))

    def moderate(self, uuid: str, document: bytes, subject: str, trailers: Mapping[str, str] | None = None) -> str:
        """Write a moderation document to the ledger; returns the ledger's head."""
        changed = Changes({layout.moderation_path(uuid): document})
        message = commit_message(subject, trailers=trailers)
        return self._commit(layout.LEDGER, message, lambda head: changes.missing(self.reader, head, changed))

    def commit_files(
        self, files: Files, subject: str, body: str = "", trailers: Mapping[str, str] | None = None
    ) -> str:
        """Write files on main in one commit, as a maintainer; returns main's head, unmoved if nothing changes."""
        changed = Changes(files)
        message = commit_message(subject, body, trailers)
        return self._commit(layout.MAIN, message, lambda head: changes.missing(self.reader, head, changed))

    def _write_main(self, session: FastImport, publication: Publication, main: str) -> tuple[str, str]:
        ref = layout.pending_ref(publication.uuid, layout.MAIN)
        trailers = _trailers(publication.uuid, publication.trailers)
        changed = changes.of_package(self.reader, main, publication)
        if changed is None:
            source, parent = self.reader.source_commit_of(publication.kernel_id, main) if main else "", main
        else:
            message = commit_message(f"source: {publication.kernel_id}", publication.summary, trailers)
            source = parent = session.commit(ref, main, message, changed)
        if not source:
            raise Broken(
                "store:no-source", f"{publication.kernel_id} has no source in the store and none was given"
            )
        crash_here("prepare:source-streamed")
        subject = f"bench: {publication.kernel_id} {publication.speedup_text}"
        path = f"{layout.package_folder(publication.kernel_id)}/{layout.BENCH_RESULT}"
        message = commit_message(subject, publication.summary, trailers)
        bench = session.commit(ref, parent, message, Changes({path: publication.make_bench(source)}))
        crash_here("prepare:bench-streamed")
        return source, bench

    def _write_ledger(self, session: FastImport, publication: Publication, ledger: str) -> str:
        entry = publication.ledger
        trailers = _trailers(entry.uuid, {**publication.trailers, **entry.trailers})
        message = commit_message(entry.subject or f"ledger: {entry.uuid} accepted", publication.summary, trailers)
        ref = layout.pending_ref(publication.uuid, layout.LEDGER)
        written = session.commit(ref, ledger, message, changes.of_entry(entry))
        crash_here("prepare:ledger-streamed")
        return written

    def _finish_or_refuse(self, prepared: Prepared, heads: tuple[str, str]) -> None:
        if not self.is_published(prepared):
            shown = " and ".join(head[:12] or "nothing" for head in heads)
            raise Moved(
                f"main and ledger are at {shown}, no longer where {prepared.uuid} was prepared; prepare again"
            )
        self.drop(prepared.uuid)

    def _complete_ledger(self, prepared: Prepared) -> None:
        ledger = self.reader.ledger_head()
        if ledger and self.reader.is_ancestor(prepared.ledger_new, ledger):
            return
        message, changed = changes.of_commit(self.reader, prepared.ledger_new)
        self._commit(layout.LEDGER, message, lambda head: changes.missing(self.reader, head, changed))

    def _commit(self, branch: str, message: bytes, make: _Make) -> str:
        """Commit what `make` wants changed on a branch's head, again on the new head when it moved."""
        for _ in range(_TRIES):
            with self.exclusive():
                upkeep.tidy_if_due(self._git)
                head = self.reader.history.head(branch)
                changed = make(head)
                if changed is None:
                    return head
                scratch = f"{layout.SCRATCH}/{uuid4()}"
                with FastImport(self._git, self._author, datetime.now(UTC)) as session:
                    written = session.commit(scratch, head, message, changed)
                    session.finish()
                sync_folder(self._git, "objects/pack")
                try:
                    self._move([RefMove(branch, head, written), RefMove(scratch, written, "")])
                    return written
                except Moved:
                    self._refs.delete({scratch: written})
        raise Moved(f"{branch} moved under each of {_TRIES} tries; try again later")

    def _move(self, moves: list[RefMove]) -> None:
        shown = [move for move in moves if move.ref in (layout.MAIN, layout.LEDGER)]
        for move in shown:
            self._work_tree.check_can_follow(move.ref, move.new)
        crash_here("advance:committing")
        self._refs.move(moves)
        crash_here("advance:moved")
        try:
            self._work_tree.follow([move.ref for move in shown])
        except Broken as error:
            # The commits are published: the files on disk catch up, or are refused, at the next write.
            _log.error("the work tree did not follow: %s", error)
        crash_here("advance:followed")


def _trailers(uuid: str, trailers: Mapping[str, str]) -> dict[str, str]:
    return {"Zoo-Submission": uuid, **trailers}
