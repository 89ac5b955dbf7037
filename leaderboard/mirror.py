"""Step 12: bring the SQL image of the store to its head. Git is the truth; only this writes the mirror's rows.

Main goes in one transaction that ends with `MirrorState.head`, ranks included, so that no reader meets rows of
one commit and ranks of another. The ledger goes in batches, each of which may be repeated.
"""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from django.db import transaction
from django.utils import timezone

from leaderboard import index
from leaderboard.mirror_ledger import finished_rows, follow_ledger
from leaderboard.mirror_lock import mirror_lock
from leaderboard.mirror_main import read_main, write_main
from leaderboard.models import BenchPoint, MirrorState
from submissions import store
from submissions.kernel_package.errors import Broken, ZooError
from submissions.kernel_store.reading import StoreReader
from submissions.lifecycle import advance_state
from submissions.live import BOARDS, announce
from submissions.models import State, Submission

logger = logging.getLogger(__name__)


def bring_to_head() -> str:
    """Follow main and ledger to their heads and return main's; nothing to do costs three reads.

    Raises Broken `mirror:invalid` on a broken push: the last good mirror stays, `MirrorState.error` says why.
    """
    with mirror_lock():
        return _bring_to_head(store.reader())


def rebuild() -> str:
    """Write the mirror anew from the store, whatever it holds; rows of submissions that SQL has are kept."""
    with mirror_lock():
        MirrorState.objects.update(head="", ledger_head="")
        return _bring_to_head(store.reader())


def mirror_state() -> MirrorState:
    """Return the one row that says how far the mirror is."""
    state, _ = MirrorState.objects.get_or_create(pk=1)
    return state


def _bring_to_head(reader: StoreReader) -> str:
    state = mirror_state()
    with _collector_paused() if not state.head else nullcontext():
        return _follow(reader, state)


def _follow(reader: StoreReader, state: MirrorState) -> str:
    # The ledger's head first: main is then at least as far, so no entry shows before its commits.
    ledger_head, head = reader.ledger_head(), reader.main_head()
    try:
        has_moved = _follow_main(reader, state, head)
        _follow_ledger(reader, state, ledger_head)
    except ZooError as error:
        _stand_still(state, error)
        raise
    _clear_error(state)
    if has_moved or not index.is_index_current():
        index.write_index()
    _publish_accepted(reader)
    if has_moved:
        announce(BOARDS)
    return head


def _follow_main(reader: StoreReader, state: MirrorState, head: str) -> bool:
    if state.head == head:
        return False
    old = _common_start(reader, state.head, head)
    change = read_main(reader, old, head)
    with transaction.atomic():
        boards = write_main(change)
        index.refresh(boards)
        _save(state, head=head)
    logger.info("mirror: main at %s, %d boards ranked%s", head[:12], len(boards), "" if old else ", rebuilt")
    return True


def _follow_ledger(reader: StoreReader, state: MirrorState, head: str) -> None:
    if state.ledger_head == head:
        return
    follow_ledger(reader, _common_start(reader, state.ledger_head, head), head)
    _save(state, ledger_head=head)


def _common_start(reader: StoreReader, old: str, new: str) -> str:
    """Return `old` where `new` goes on from it; "" (all anew) after a push by force, or in another store."""
    try:
        return old if old and new and reader.is_ancestor(old, new) else ""
    except Broken as error:
        logger.warning("the mirror is rebuilt: %s", error)
        return ""


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from walking the rows of a rebuild again and again; they hold no cycles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _publish_accepted(reader: StoreReader) -> None:
    """Move on what is accepted and can be seen now; looked up each time, so a crash before it costs nothing."""
    accepted = list(Submission.objects.in_state(State.ACCEPTED))
    shown = BenchPoint.objects.filter(submission__in=[submission.uuid for submission in accepted])
    mirrored = set(shown.values_list("submission", flat=True))
    for submission in accepted:
        recorded = finished_rows(reader.ledger_entry(submission.received_at, str(submission.uuid))).submission
        if submission.uuid in mirrored and recorded:
            # As recorded, so that the row reads the same after a rebuild.
            told = {name: getattr(recorded, name) for name in ("code", "reason", "decision", "finished_at")}
            advance_state(submission.uuid, State.ACCEPTED, State.PUBLISHED, **told)


def _stand_still(state: MirrorState, error: ZooError) -> None:
    logger.error("the mirror stands still: %s", error)
    _save(state, error=str(error))


def _clear_error(state: MirrorState) -> None:
    if state.error:
        _save(state, error="")


def _save(state: MirrorState, **values: str) -> None:
    for name, value in values.items():
        setattr(state, name, value)
    state.followed_at = timezone.now()
    state.save(update_fields=[*values, "followed_at"])
