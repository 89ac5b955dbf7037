"""The datagram layer: messages cross processes, dead sockets go, a stuck reader stops nobody."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from zoo_site.channel_layer import DatagramChannelLayer

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
async def layer(tmp_path):
    layer = DatagramChannelLayer(folder=str(tmp_path / "layer.d"))
    yield layer
    await layer.close()


async def test_it_reaches_a_group_in_its_own_process(layer):
    channel = await layer.new_channel()
    await layer.group_add("boards", channel)
    await layer.group_send("boards", {"type": "changed", "topic": "boards"})
    assert (await asyncio.wait_for(layer.receive(channel), 5))["topic"] == "boards"
    await layer.group_discard("boards", channel)
    await layer.flush()


async def test_it_reaches_a_group_from_another_process(layer, tmp_path):
    channel = await layer.new_channel()
    await layer.group_add("queue", channel)
    code = (
        "import asyncio, sys\n"
        "from zoo_site.channel_layer import DatagramChannelLayer\n"
        "layer = DatagramChannelLayer(folder=sys.argv[1])\n"
        "asyncio.run(layer.group_send('queue', {'type': 'changed', 'topic': 'queue'}))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path / "layer.d"), cwd=CHECKOUT
    )
    assert await process.wait() == 0
    assert (await asyncio.wait_for(layer.receive(channel), 5))["topic"] == "queue"


async def test_it_sends_to_one_channel_of_another_layer(layer, tmp_path):
    channel = await layer.new_channel()
    other = DatagramChannelLayer(folder=str(tmp_path / "layer.d"))
    await other.send(channel, {"type": "x"})
    assert await asyncio.wait_for(layer.receive(channel), 5) == {"type": "x"}
    await layer.send(channel, {"type": "own"})
    assert await asyncio.wait_for(layer.receive(channel), 5) == {"type": "own"}


async def test_it_removes_a_dead_process_s_socket(layer, tmp_path):
    await layer.new_channel()
    dead = tmp_path / "layer.d" / "1xdead.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(str(dead))
    await layer.group_send("boards", {"type": "changed"})
    assert not dead.exists()


async def test_it_does_not_wait_for_a_stuck_reader(tmp_path):
    folder = tmp_path / "layer.d"
    folder.mkdir()
    sender = DatagramChannelLayer(folder=str(folder))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stuck:
        stuck.bind(str(folder / "2xstuck.sock"))
        for _ in range(2000):
            await sender.group_send("boards", {"type": "changed"})
    assert sender.lost_messages > 0


async def test_it_refuses_a_message_that_is_no_hint(layer):
    with pytest.raises(ValueError, match="over the"):
        await layer.group_send("boards", {"type": "changed", "body": "x" * 70000})


async def test_it_takes_a_new_name_after_a_fork(layer):
    await layer.new_channel()
    layer._owner_pid = os.getpid() + 1
    before = layer._token
    layer._receiver_kept = layer._receiver
    channel = await layer.new_channel()
    assert before not in channel
    layer._receiver_kept.close()


def test_it_follows_the_loop_it_is_used_on(tmp_path):
    layer = DatagramChannelLayer(folder=str(tmp_path / "layer.d"))

    async def listen():
        await layer.new_channel()

    asyncio.run(listen())
    asyncio.run(listen())
    asyncio.run(layer.close())
    assert list((tmp_path / "layer.d").iterdir()) == []
