"""Serves a camera's frames over TCP to programs outside, each frame whole.

In real time a reader that is slow misses frames: the newest wins. In lockstep simulated time does not wait for readers,
but each frame does, for PATIENCE_S.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress

from aeroloop.core.camera import address
from aeroloop.core.errors import LinkError
from aeroloop.flight.frame_impairment import FrameImpairment

MOST_READERS = 4
PATIENCE_S = 5.0


class FrameServer:
    def __init__(self, url: str, *, wait: bool, impairment: FrameImpairment | None = None) -> None:
        """LinkError if the address cannot be used."""
        self._wait, self._impairment = wait, impairment
        self._readers: dict[socket.socket, memoryview] = {}
        self.missed = 0  # frames that a slow reader did not get
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(address(url))
            self._listener.listen()
            self._listener.setblocking(False)
        except OSError as error:
            self._listener.close()
            raise LinkError(f"{url}: cannot listen: {error.strerror or error}") from None

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def step(self, now_ns: int | None = None) -> None:
        """Accept readers, and continue with what waits to be sent or is due at this simulated time."""
        self._accept()
        if self._impairment is not None and now_ns is not None:
            for frame in self._impairment.due(now_ns):
                self._offer(frame)

    def offer(self, number: int, data: bytes, now_ns: int) -> None:
        """A whole frame to every reader that has the one before, by way of the impairments."""
        if self._impairment is None:
            self._accept()
            self._offer(data)
            return
        self.step(now_ns)
        self._impairment.push(number, data, now_ns)
        self.step(now_ns)

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while len(self._readers) < MOST_READERS:
                reader, _ = self._listener.accept()
                reader.setblocking(False)
                reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._readers[reader] = memoryview(b"")
        for reader in list(self._readers):
            self._continue(reader)

    def _offer(self, data: bytes) -> None:
        for reader, rest in list(self._readers.items()):
            if rest and not self._wait:
                self.missed += 1
                continue
            self._readers[reader] = memoryview(data)
            self._continue(reader)
            if self._wait:
                self._finish(reader)

    def close(self) -> None:
        """In lockstep with what is still in transit."""
        if self._wait and self._impairment is not None:
            for frame in self._impairment.rest():
                self._offer(frame)
        for reader in self._readers:
            reader.close()
        self._listener.close()

    def _continue(self, reader: socket.socket) -> None:
        try:
            while rest := self._readers[reader]:
                self._readers[reader] = rest[reader.send(rest) :]
        except BlockingIOError:
            return
        except OSError:
            self._drop(reader)

    def _finish(self, reader: socket.socket) -> None:
        while self._readers.get(reader):
            if not select.select([], [reader], [], PATIENCE_S)[1]:
                self._drop(reader)
                return
            self._continue(reader)

    def _drop(self, reader: socket.socket) -> None:
        del self._readers[reader]
        reader.close()
