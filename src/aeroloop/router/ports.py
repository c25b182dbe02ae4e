"""The endpoints' transports, all non-blocking: one byte stream, a server of streams, datagrams to one or to many.

A port opens and closes descriptors, reads a bounded amount when requested, and sends the queues of its peers. Peers and
the meaning of bytes are handled by the router, through `Hub`.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import termios
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS
from aeroloop.links.pty import PtyLink
from aeroloop.links.serial import SerialLink
from aeroloop.links.url import LinkUrl
from aeroloop.router.peers import Peer
from aeroloop.router.signatures import Signatures
from aeroloop.router.statistics import LinkStatistics

READS_PER_TURN = 32
DATAGRAM_SIZE = 1400
"""Datagram size that every network supports."""
FRAMES_PER_WRITE = 128
WRITES_PER_TURN = 16
MOST_UNSENT = 256
"""On a serial link with HIL messages: bytes in the driver's buffer above which others wait; 2.8 ms at 921600 baud."""
ACCEPTS_PER_TURN = 8
CONNECT_TIMEOUT_NS = 5 * NS
SOCKET_BUFFER = 1 << 20

READ, WRITE = select.EPOLLIN, select.EPOLLOUT
Address = tuple[str, int]


class Hub(Protocol):
    """The part of the router that ports use."""

    peer_timeout_ns: int

    def now_ns(self) -> int: ...

    def soon(self) -> None:
        """Flush again within a few milliseconds, without an event."""

    def watch(self, fd: int, port: Port, events: int) -> None: ...

    def unwatch(self, fd: int) -> None: ...

    def joined(self, peer: Peer) -> None: ...

    def left(self, peer: Peer, why: str) -> None: ...

    def arrived(self, peer: Peer, chunk: bytes) -> int:
        """Returns the number of valid frames."""


class Port(ABC):
    """One endpoint's transport. `open` raises LinkError; `failed` is the reason why it must be opened again."""

    def __init__(self, hub: Hub, url: LinkUrl, statistics: LinkStatistics, signatures: Signatures | None) -> None:
        self.hub = hub
        self.url = url
        self.statistics = statistics
        self.signatures = signatures
        self.peers: list[Peer] = []
        self.spare_origins: list[int] = []  # of peers that have disconnected
        self.failed = ""
        self.renumbered: Callable[[bytes], bytes] | None = None  # for a receiver of a part of a sender's frames

    def up(self, now_ns: int) -> bool:
        """Whether a peer is connected."""
        return bool(self.peers)

    @abstractmethod
    def open(self) -> None:
        """Create its descriptors and register them with the hub."""

    @abstractmethod
    def ready(self, fd: int, events: int) -> None:
        """One of its descriptors is readable or writable."""

    @abstractmethod
    def flush(self, peer: Peer) -> None:
        """Send queued frames without blocking."""

    def check(self, now_ns: int) -> None:  # noqa: B027 - most ports have nothing to look after
        """Called periodically, for changes that no descriptor signals."""

    def close(self, why: str = "closed") -> None:
        for peer in list(self.peers):
            self._leave(peer, why)

    def _join(self, peer: Peer) -> None:
        self.peers.append(peer)
        self.hub.joined(peer)

    def _leave(self, peer: Peer, why: str) -> None:
        self.peers.remove(peer)
        self.spare_origins.append(peer.origin)
        self.hub.left(peer, why)

    def _signed(self, batch: list[bytes]) -> list[bytes]:
        if self.renumbered is not None:
            batch = [self.renumbered(frame) for frame in batch]
        return batch if self.signatures is None else self.signatures.signed(batch)

    def _count(self, frames: int, size: int) -> None:
        self.statistics.frames_out += frames
        self.statistics.bytes_out += size


class StreamPeer(Peer):
    """A peer with its own descriptor."""

    def __init__(self, port: Port, name: str, now_ns: int, fd: int) -> None:
        super().__init__(port, name, now_ns)
        self.fd = fd
        self.blocked = False


class StreamPort(Port):
    """Common part of all byte streams."""

    def __init__(self, hub: Hub, url: LinkUrl, statistics: LinkStatistics, signatures: Signatures | None) -> None:
        super().__init__(hub, url, statistics, signatures)
        self._by_fd: dict[int, StreamPeer] = {}

    def _begin(self, fd: int, name: str) -> None:
        peer = StreamPeer(self, name, self.hub.now_ns(), fd)
        self._by_fd[fd] = peer
        self.hub.watch(fd, self, READ)
        self._join(peer)

    def ready(self, fd: int, events: int) -> None:
        peer = self._by_fd.get(fd)
        if peer is None:
            return  # it was closed before
        if events & WRITE:
            peer.blocked = False
            self.hub.watch(fd, self, READ)
            self.flush(peer)
        if events & ~WRITE and fd in self._by_fd:
            try:
                chunk = os.read(fd, peer.read_size)
            except BlockingIOError:
                return
            except OSError as error:
                self._lost(peer, error.strerror or "failed")
                return
            if chunk:
                self.hub.arrived(peer, chunk)
            else:
                self._lost(peer, "the peer disconnected")

    def flush(self, peer: Peer) -> None:
        assert isinstance(peer, StreamPeer)
        if peer.blocked:
            return
        queue = peer.queue
        for _ in range(WRITES_PER_TURN):
            data = queue.rest
            if not data:
                alone = peer.hil and not queue.first  # what has been written can no longer be overtaken
                if alone and len(queue) and self._must_wait(peer.fd):
                    self.hub.soon()
                    return
                batch = queue.take(1 if alone else FRAMES_PER_WRITE, 1 << 16)
                if not batch:
                    return
                data = b"".join(self._signed(batch))
                self._count(len(batch), len(data))
            try:
                written = os.write(peer.fd, data)
            except BlockingIOError:
                written = 0
            except OSError as error:
                self._lost(peer, error.strerror or "failed")
                return
            queue.rest = data[written:]
            if queue.rest:
                break
        else:
            if peer.hil and len(queue):
                self.hub.soon()  # not blocked: HIL messages may come meanwhile
            if peer.hil or not len(queue):
                return
        peer.blocked = True
        self.hub.watch(peer.fd, self, READ | WRITE)

    def _must_wait(self, fd: int) -> bool:
        """Whether frames other than HIL messages would be in the way of the next of these."""
        return False

    def _lost(self, peer: StreamPeer, why: str) -> None:
        """The stream has ended; the subclass decides what happens to the port."""
        self._end(peer, why)
        self.failed = why

    def _end(self, peer: StreamPeer, why: str) -> None:
        self._by_fd.pop(peer.fd)
        self.hub.unwatch(peer.fd)
        self._leave(peer, why)

    def close(self, why: str = "closed") -> None:
        for peer in list(self._by_fd.values()):
            self._end(peer, why)


class DevicePort(StreamPort):
    """A serial port, or the client's end of a pty."""

    _link: SerialLink | None = None

    def open(self) -> None:
        self._link = SerialLink(self.url, connect_timeout_s=0.0)
        self._begin(self._link.fileno(), self.statistics.config.name)

    def _must_wait(self, fd: int) -> bool:
        return unsent(fd) > MOST_UNSENT

    def close(self, why: str = "closed") -> None:
        super().close(why)
        if self._link is not None:
            self._link.close()
            self._link = None


class _WaitingPty(PtyLink):
    """A pty whose other end can be checked for users, since this process has not opened it."""

    def __init__(self, url: LinkUrl) -> None:
        super().__init__(url)
        self._close_own_slave()

    def occupied(self) -> bool:
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        return not any(events & select.POLLHUP for _, events in poller.poll(0))


class PtyPort(StreamPort):
    """The server's end of a pty: it remains open while clients connect and disconnect."""

    _link: _WaitingPty | None = None

    def open(self) -> None:
        self._link = _WaitingPty(self.url)
        self.check(self.hub.now_ns())

    def check(self, now_ns: int) -> None:
        if self._link is not None and not self.peers and self._link.occupied():
            self._begin(self._link.fileno(), self.statistics.config.name)

    def _lost(self, peer: StreamPeer, why: str) -> None:
        self._end(peer, why)

    def close(self, why: str = "closed") -> None:
        super().close(why)
        if self._link is not None:
            self._link.close()
            self._link = None


class ClientPort(StreamPort):
    """TCP or Unix-domain client; connects without blocking."""

    _socket: socket.socket | None = None
    _connecting_until_ns: int | None = None

    def open(self) -> None:
        unix = self.url.scheme == "loopback"
        self._socket = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        if not unix:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._socket.connect(self.url.path if unix else (self.url.host, self.url.port))
        except BlockingIOError:
            if unix:  # the server's backlog is full
                self._drop()
                raise LinkError(f"{self.url}: the server is busy") from None
            self._connecting_until_ns = self.hub.now_ns() + CONNECT_TIMEOUT_NS
            self.hub.watch(self._socket.fileno(), self, WRITE)
            return
        except OSError as error:
            self._drop()
            raise LinkError(f"{self.url}: cannot connect: {error.strerror}") from None
        self._connected()

    def ready(self, fd: int, events: int) -> None:
        if self._connecting_until_ns is None:
            super().ready(fd, events)
            return
        assert self._socket is not None
        self._connecting_until_ns = None
        self.hub.unwatch(fd)
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        # The kernel may assign the server's free port to this client's own socket.
        if not error and self._socket.getsockname() != self._socket.getpeername():
            self._connected()
        else:
            self.failed = f"cannot connect: {os.strerror(error) if error else 'no server is listening'}"

    def check(self, now_ns: int) -> None:
        if self._connecting_until_ns is not None and now_ns >= self._connecting_until_ns:
            self.failed = "cannot connect: no answer"

    def _connected(self) -> None:
        assert self._socket is not None
        self._begin(self._socket.fileno(), self.statistics.config.name)

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def close(self, why: str = "closed") -> None:
        super().close(why)
        if self._connecting_until_ns is not None and self._socket is not None:
            self.hub.unwatch(self._socket.fileno())
            self._connecting_until_ns = None
        self._drop()


class ServerPort(StreamPort):
    """TCP or Unix-domain server: any number of clients up to a bound, each with its own queue."""

    _listener: socket.socket | None = None

    def __init__(self, hub: Hub, url: LinkUrl, statistics: LinkStatistics, signatures: Signatures | None) -> None:
        super().__init__(hub, url, statistics, signatures)
        self._clients: dict[int, socket.socket] = {}
        self._served = 0

    def open(self) -> None:
        unix = self.url.scheme == "loopback"
        listener = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setblocking(False)
            if unix:
                _remove_stale(self.url.path)
                listener.bind(self.url.path)
            else:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted sockets inherit it
                listener.bind((self.url.host, self.url.port))
            listener.listen()
        except OSError as error:
            listener.close()
            raise LinkError(f"{self.url}: cannot listen: {error.strerror}") from None
        self._listener = listener
        self.hub.watch(listener.fileno(), self, READ)

    def ready(self, fd: int, events: int) -> None:
        if self._listener is not None and fd == self._listener.fileno():
            self._accept()
        else:
            super().ready(fd, events)

    def _accept(self) -> None:
        assert self._listener is not None
        for _ in range(ACCEPTS_PER_TURN):
            try:
                client, address = self._listener.accept()
            except OSError:  # the client has disconnected, or too many files are open
                return
            if len(self.peers) >= self.statistics.config.max_peers:
                self.statistics.refused += 1
                client.close()
                continue
            client.setblocking(False)
            self._served += 1
            self._clients[client.fileno()] = client
            where = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(self._served)
            self._begin(client.fileno(), f"{self.statistics.config.name}/{where}")

    def _lost(self, peer: StreamPeer, why: str) -> None:
        self._end(peer, why)

    def _end(self, peer: StreamPeer, why: str) -> None:
        super()._end(peer, why)
        self._clients.pop(peer.fd).close()

    def close(self, why: str = "closed") -> None:
        super().close(why)
        if self._listener is not None:
            self.hub.unwatch(self._listener.fileno())
            self._listener.close()
            self._listener = None
            if self.url.scheme == "loopback":
                Path(self.url.path).unlink(missing_ok=True)


def unsent(fd: int) -> int:
    """Bytes that the driver of a serial port has not sent yet; 0 where it does not tell."""
    count = array("i", [0])
    try:
        fcntl.ioctl(fd, termios.TIOCOUTQ, count)
    except OSError:
        return 0
    return count[0]


def _remove_stale(path: str) -> None:
    """Remove a socket left by a killed process, which no server uses. Any other file at the path is kept."""
    if not Path(path).is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink(missing_ok=True)
        except OSError:
            return
