import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from leaderboard.consumers import BAD_TOPICS, LiveConsumer, topics_in
from submissions.live import announce

UUID = "0e0e0e0e-0000-4000-8000-000000000000"

# A consumer lets go of old connections after each message, of whichever thread it was given.
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("query", "topics"),
    [
        (b"topics=queue,boards,queue", ["boards", "queue"]),
        (f"topics=submission.{UUID}".encode(), [f"submission.{UUID}"]),
        (b"topics=secrets", None),
        (b"topics=submission.%2e", None),
        (b"topics=", None),
        (b"", None),
        (b"topics=" + b",".join(f"submission.{number:08x}{UUID[8:]}".encode() for number in range(9)), None),
    ],
)
def test_it_reads_topics_and_refuses_unknown_ones(query, topics):
    assert topics_in(query) == topics


async def test_it_forwards_that_a_topic_changed_and_nothing_else():
    socket = WebsocketCommunicator(LiveConsumer.as_asgi(), "/ws/live?topics=queue,boards")
    assert (await socket.connect())[0]
    assert await socket.receive_json_from() == {"listening": ["boards", "queue"]}

    await sync_to_async(announce)("queue")
    assert await socket.receive_json_from() == {"changed": "queue"}
    await sync_to_async(announce)("runners")
    await socket.send_to(text_data="not json at all")
    assert await socket.receive_nothing()
    await socket.disconnect()


async def test_it_closes_on_unknown_topics_with_a_code():
    socket = WebsocketCommunicator(LiveConsumer.as_asgi(), "/ws/live?topics=secrets")
    await socket.connect()

    assert await socket.receive_output() == {"type": "websocket.close", "code": BAD_TOPICS}


async def test_it_forgets_a_page_that_went_away():
    socket = WebsocketCommunicator(LiveConsumer.as_asgi(), "/ws/live?topics=boards")
    await socket.connect()
    await socket.receive_json_from()
    await socket.disconnect()

    await sync_to_async(announce)("boards")
