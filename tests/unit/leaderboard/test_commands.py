"""The commands, the hint that the store advanced, and the lock."""

import fcntl

import pytest
from django.core.management import CommandError, call_command

from leaderboard import indexer_now, mirror, tasks
from leaderboard.mirror_lock import mirror_lock
from leaderboard.models import MirrorState
from submissions.kernel_package.errors import Broken
from submissions.signals import store_advanced


def test_it_follows_and_writes_the_index_now(board, settings, capsys):
    assert indexer_now.main() == 0
    assert settings.INDEX_PATH.exists()
    assert str(settings.INDEX_PATH) in capsys.readouterr().out


@pytest.mark.parametrize("command", ["indexer_now", "rebuild_mirror", "verify_mirror"])
def test_it_ends_with_one_line_on_a_broken_push(board, command):
    board.put({"problems/Vector/saxpy/fp32/problem.yaml": b"title: [unclosed"})
    with pytest.raises(CommandError, match="problem Vector/saxpy/fp32"):
        call_command(command)


def test_it_ends_with_status_1_on_a_broken_push(board, capsys):
    board.put({"problems/Vector/saxpy/fp32/problem.yaml": b"title: [unclosed"})
    assert indexer_now.main() == 1
    assert "problem Vector/saxpy/fp32" in capsys.readouterr().err


def test_it_asks_a_worker_to_follow_when_the_store_advanced(board, monkeypatch):
    asked = []
    monkeypatch.setattr(tasks, "async_task", lambda *names, **options: asked.append((names, options)))
    store_advanced.send(sender=None)
    assert asked == [(("leaderboard.tasks.follow",), {"cluster": "default"})]


def test_it_survives_a_queue_that_is_away(board, monkeypatch, caplog):
    def away(*_, **__):
        raise OSError("queue is away")

    monkeypatch.setattr(tasks, "async_task", away)
    store_advanced.send(sender=None)
    assert "could not queue" in caplog.text


def test_it_follows_in_a_task_and_leaves_a_broken_push_to_the_next(board):
    tasks.follow()
    head = MirrorState.objects.get().head
    board.put({"problems/Vector/saxpy/fp32/problem.yaml": b"title: [unclosed"})
    tasks.follow()
    assert MirrorState.objects.get().head == head
    assert MirrorState.objects.get().error


def test_it_lets_one_process_follow_at_a_time(zoo, settings):
    with mirror_lock(), pytest.raises(Broken, match="another process"), mirror_lock(wait_seconds=0):
        pass
    with mirror_lock(wait_seconds=0):
        pass


def test_it_waits_for_the_lock(zoo, settings, monkeypatch):
    settings.RUN_DIR.mkdir()
    held = (settings.RUN_DIR / "mirror.lock").open("a")
    fcntl.flock(held, fcntl.LOCK_EX)
    monkeypatch.setattr("leaderboard.mirror_lock.time.sleep", lambda _: held.close())
    assert mirror.bring_to_head()
