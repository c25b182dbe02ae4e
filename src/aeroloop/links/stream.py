"""Common base of serial ports, ptys and stream sockets: bytes through one non-blocking descriptor.

`poll()` and `send()` run in every cycle of a control loop: in the common case each is one system call.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from aeroloop.core.errors import LinkError
from aeroloop.links.url import LinkUrl

READ_SIZE = 64 * 1024
QUEUE_LIMIT = 64 * 1024
RETRY_PERIOD_S = 0.02

T = TypeVar("T")


class StreamLink:
    """A link over a descriptor that it owns."""

    def __init__(self, url: str, fd: int) -> None:
        self.url = url
        self._fd = fd
        self._queue = bytearray()

    def fileno(self) -> int:
        return self._fd

    def send(self, data: bytes) -> None:
        try:
            if self._queue:
                self._queue += data
                self._flush()
            elif (written := self._write(data)) != len(data):
                self._queue += data[written:]
        except OSError as error:
            raise LinkError(f"{self.url}: cannot send, the peer disconnected: {error.strerror}") from None
        if self._queue and len(self._queue) > QUEUE_LIMIT:
            raise LinkError(f"{self.url}: peer stopped reading, {len(self._queue)} bytes wait to be sent")

    def poll(self) -> bytes:
        if self._queue:
            with suppress(OSError):  # the read below reports it too, but only after the peer's last bytes
                self._flush()
        if self._fd < 0 and not self._accept():
            return b""
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise LinkError(f"{self.url}: the peer disconnected: {error.strerror}") from None
        if not data:
            raise LinkError(f"{self.url}: the peer disconnected")
        return data

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _flush(self) -> None:
        del self._queue[: self._write(self._queue)]

    def _write(self, data: bytes | bytearray) -> int:
        if self._fd < 0 and not self._accept():
            return 0
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0

    def _accept(self) -> bool:
        """While there is no descriptor: whether it can be used. A closed one causes the error of its next use."""
        return True


class ListeningLink(StreamLink):
    """A stream link that waits for its only peer; bytes sent before the peer connects are queued.

    Once the peer is connected it stops listening, so the kernel refuses any other.
    """

    def __init__(self, url: str, listener: socket.socket) -> None:
        super().__init__(url, -1)
        listener.setblocking(False)
        self._listener = listener

    def fileno(self) -> int:
        return self._fd if self._fd >= 0 else self._listener.fileno()

    def close(self) -> None:
        super().close()
        self._listener.close()

    def _accept(self) -> bool:
        try:
            self._fd = self._listener.accept()[0].detach()
        except BlockingIOError:
            return False
        except OSError as error:
            raise LinkError(f"{self.url}: cannot listen: {error.strerror}") from None
        os.set_blocking(self._fd, False)
        self._listener.close()
        return True


def connect(
    url: LinkUrl, family: socket.AddressFamily, address: str | tuple[str, int], timeout_s: float
) -> socket.socket:
    """A non-blocking socket connected to `address`, whose server may start a moment later."""

    def attempt() -> socket.socket:
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.settimeout(timeout_s)
        try:
            sock.connect(address)
            # The kernel may assign a free port of this machine to the very socket that looks for a server there.
            if family == socket.AF_INET and sock.getsockname() == sock.getpeername():
                raise ConnectionRefusedError
        except BaseException:
            sock.close()
            raise
        sock.setblocking(False)
        return sock

    absent = (ConnectionRefusedError, FileNotFoundError, BlockingIOError)
    try:
        return retried(attempt, on=absent, timeout_s=timeout_s)
    except absent:
        raise LinkError(
            f"{url}: no server is listening, or it already has its only peer; tried for {timeout_s:g} s"
        ) from None
    except OSError as error:
        raise LinkError(f"{url}: cannot connect: {error.strerror or error}") from None


def retried(attempt: Callable[[], T], *, on: tuple[type[OSError], ...], timeout_s: float) -> T:
    """The result of `attempt`, repeated while it fails with one of `on`, until the timeout."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            return attempt()
        except on:
            if time.monotonic() >= deadline_s:
                raise
        time.sleep(RETRY_PERIOD_S)
