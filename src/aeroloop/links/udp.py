"""UDP link: one send is one datagram; a late or absent peer is not detected."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

from aeroloop.core.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.url import LinkUrl

DATAGRAM_SIZE = 64 * 1024
PEER_LEFT_S = 1.0
DATAGRAMS_PER_POLL = 64  # a flood of datagrams must not block the loop

Address = tuple[str, int]


def open_udp(url: LinkUrl) -> Link:
    return UdpServer(url) if url.listen else UdpLink(url)


class UdpLink:
    """Exchanges datagrams with one address; a full send buffer or an absent peer loses the datagram, as on the
    network."""

    def __init__(self, url: LinkUrl) -> None:
        self.url = str(url)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._attach((url.host, url.port))
        except OSError as error:
            self._socket.close()
            raise LinkError(f"{url}: cannot open: {error.strerror}") from None

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        try:
            self._send(data)
        except BlockingIOError:
            return
        except OSError as error:
            raise LinkError(f"{self.url}: cannot send {len(data)} bytes: {error.strerror}") from None

    def poll(self) -> bytes:
        return b"".join(self.datagrams())

    def datagrams(self) -> list[bytes]:
        """What has arrived, for protocols that know a message by its size; empty datagrams too."""
        datagrams: list[bytes] = []
        try:
            while len(datagrams) < DATAGRAMS_PER_POLL:
                datagrams.append(self._receive())
        except (BlockingIOError, ConnectionRefusedError):
            return datagrams
        except OSError as error:
            raise LinkError(f"{self.url}: cannot receive: {error.strerror}") from None
        return datagrams

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None:
        self._socket.close()

    def _attach(self, address: Address) -> None:
        self._socket.connect(address)

    def _send(self, data: bytes) -> None:
        try:
            self._socket.send(data)
        except ConnectionRefusedError:
            # That error belongs to an earlier datagram; this one has not been sent.
            with suppress(ConnectionRefusedError):
                self._socket.send(data)

    def _receive(self) -> bytes:
        return self._socket.recv(DATAGRAM_SIZE)


class UdpServer(UdpLink):
    """Exchanges datagrams with the first address it receives from; before that it cannot send.

    Datagrams have no hang-up: a peer without datagrams for a while counts as disconnected, and the next one may
    connect.
    """

    def __init__(self, url: LinkUrl) -> None:
        super().__init__(url)
        self.strangers = 0  # datagrams from other addresses, ignored
        self._peer: Address | None = None
        self._heard_s = 0.0

    def _attach(self, address: Address) -> None:
        self._socket.bind(address)

    def _send(self, data: bytes) -> None:
        if self._peer is not None:
            self._socket.sendto(data, self._peer)

    def _receive(self) -> bytes:
        data, sender = self._socket.recvfrom(DATAGRAM_SIZE)
        now_s = time.monotonic()
        if sender != self._peer:
            if self._peer is not None and now_s - self._heard_s < PEER_LEFT_S:
                self.strangers += 1
                return b""
            self._peer = sender
        self._heard_s = now_s
        return data
