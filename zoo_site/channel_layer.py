"""Live hints between the processes of one machine, over Unix datagrams and without a server.

Each process that listens binds one socket in a folder of its owner's; a group's message goes to every socket
there, and the receiver keeps the groups. At most once, like every channel layer: it wakes readers, rows tell.
"""

import asyncio
import json
import os
import secrets
import socket
from pathlib import Path
from typing import Any

from channels.layers import BaseChannelLayer, InMemoryChannelLayer

Message = dict[str, Any]


class DatagramChannelLayer(BaseChannelLayer):  # type: ignore[misc]
    """A channel layer whose wire is a folder of datagram sockets; wraps an in-memory layer for local delivery."""

    extensions = ["groups", "flush"]

    def __init__(self, folder: str, capacity: int = 1000, max_bytes: int = 65536, **options: Any) -> None:
        super().__init__(capacity=capacity, **options)
        self._local = InMemoryChannelLayer(capacity=capacity)
        self._folder = Path(folder)
        self._max_bytes = max_bytes
        self._owner_pid = 0
        self._token = ""
        self._receiver: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.lost_messages = 0

    async def new_channel(self, prefix: str = "specific.") -> str:
        self._listen()
        return f"{prefix}.{self._own_token()}!{secrets.token_hex(6)}"

    async def receive(self, channel: str) -> Message:
        self._listen()
        return dict(await self._local.receive(channel))

    async def group_add(self, group: str, channel: str) -> None:
        self._listen()
        await self._local.group_add(group, channel)

    async def group_discard(self, group: str, channel: str) -> None:
        await self._local.group_discard(group, channel)

    async def send(self, channel: str, message: Message) -> None:
        token = channel.rsplit("!", 1)[0].rsplit(".", 1)[-1]
        if token == self._own_token():
            await self._local.send(channel, message)
        else:
            self._post([self._folder / f"{token}.sock"], _encode("send", channel, message, self._max_bytes))

    async def group_send(self, group: str, message: Message) -> None:
        data = _encode("group_send", group, message, self._max_bytes)
        own = self._folder / f"{self._own_token()}.sock"
        if self._receiver is not None:
            await self._local.group_send(group, message)
        self._post([path for path in self._folder.glob("*.sock") if path != own], data)

    async def flush(self) -> None:
        await self._local.flush()

    async def close(self) -> None:
        self._stop_listening()

    def _own_token(self) -> str:
        # A forked worker must not answer for its parent.
        if self._owner_pid != os.getpid():
            self._owner_pid = os.getpid()
            self._token = f"{self._owner_pid}x{secrets.token_hex(4)}"
            self._receiver = None
        return self._token

    def _listen(self) -> None:
        token = self._own_token()
        loop = asyncio.get_running_loop()
        if self._receiver is not None and self._loop is loop:
            return
        self._stop_listening()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{token}.sock"
        path.unlink(missing_ok=True)
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind(str(path))
        path.chmod(0o600)
        receiver.setblocking(False)
        self._receiver, self._loop = receiver, loop
        loop.add_reader(receiver.fileno(), self._on_readable)

    def _stop_listening(self) -> None:
        if self._receiver is None or self._loop is None:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._receiver.fileno())
        self._receiver.close()
        self._receiver = None
        (self._folder / f"{self._token}.sock").unlink(missing_ok=True)

    def _on_readable(self) -> None:
        receiver = self._receiver
        while receiver is not None:
            try:
                data = receiver.recv(self._max_bytes)
            except BlockingIOError:
                return
            kind, name, message = json.loads(data)
            deliver = self._local.group_send if kind == "group_send" else self._local.send
            asyncio.ensure_future(deliver(name, message)).add_done_callback(_swallow)

    def _post(self, paths: list[Path], data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            for path in paths:
                try:
                    sender.sendto(data, str(path))
                except (ConnectionRefusedError, FileNotFoundError):
                    path.unlink(missing_ok=True)
                except BlockingIOError:
                    # A reader that lags must not stop the writer; its poll finds the rows.
                    self.lost_messages += 1


def _swallow(task: "asyncio.Future[None]") -> None:
    if not task.cancelled():
        task.exception()


def _encode(kind: str, name: str, message: Message, max_bytes: int) -> bytes:
    data = json.dumps([kind, name, message], separators=(",", ":")).encode()
    if len(data) > max_bytes:
        raise ValueError(f"a message of {len(data)} bytes is over the {max_bytes} a hint may have")
    return data
