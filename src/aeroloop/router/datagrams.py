"""UDP endpoints: to one address, or to every peer that sent recently."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS
from aeroloop.links.url import LinkUrl
from aeroloop.router.peers import READ_SIZE, Peer
from aeroloop.router.ports import (
    DATAGRAM_SIZE,
    FRAMES_PER_WRITE,
    READ,
    READS_PER_TURN,
    SOCKET_BUFFER,
    WRITE,
    WRITES_PER_TURN,
    Address,
    Hub,
    Port,
)
from aeroloop.router.signatures import Signatures
from aeroloop.router.statistics import LinkStatistics

LONGEST_DATAGRAM = 2048
"""Longer datagrams are truncated, as on networks with a smaller MTU."""
QUIET_NS = 3 * NS
"""Ground stations send a heartbeat every second."""
_NOBODY = frozenset((errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EPERM))


class DatagramPort(Port):
    """UDP client: sends to one address, whether or not a peer receives there."""

    _socket: socket.socket | None = None
    _blocked = False

    def up(self, now_ns: int) -> bool:
        timeout_ns = self.hub.peer_timeout_ns
        return any(peer.seen_ns is not None and peer.silent_ns(now_ns) <= timeout_ns for peer in self.peers)

    def open(self) -> None:
        self._socket = self._made()
        peer = Peer(self, self.statistics.config.name, self.hub.now_ns())
        self._join(peer)

    def _made(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setblocking(False)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            made.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
        try:
            self._attach(made)
        except OSError as error:
            made.close()
            raise LinkError(f"{self.url}: cannot open: {error.strerror}") from None
        self.hub.watch(made.fileno(), self, READ)
        return made

    def _attach(self, made: socket.socket) -> None:
        made.connect((self.url.host, self.url.port))

    def ready(self, fd: int, events: int) -> None:
        assert self._socket is not None
        if events & WRITE:
            self._blocked = False
            self.hub.watch(fd, self, READ)
        try:
            self._read(self._socket)
        except OSError as error:
            if error.errno not in _NOBODY:
                self.failed = error.strerror or "failed"

    def _read(self, sock: socket.socket) -> None:
        """Datagrams of one peer are parsed together; invalid data ends the read, and the next one continues with
        smaller portions."""
        peer = self.peers[0]
        chunks: list[bytes] = []
        receive, size = sock.recv, 0
        try:
            for _ in range(READS_PER_TURN):
                chunk = receive(LONGEST_DATAGRAM)
                chunks.append(chunk)
                size += len(chunk)
                if size >= READ_SIZE or not peer.clean:
                    break
        except BlockingIOError:
            pass
        finally:
            if chunks:
                self.hub.arrived(peer, b"".join(chunks))

    def flush(self, peer: Peer) -> None:
        if self._blocked or self._socket is None:
            return
        for _ in range(WRITES_PER_TURN):
            urgent = bool(peer.queue.first)
            batch = peer.queue.take(FRAMES_PER_WRITE, DATAGRAM_SIZE)
            if not batch:
                return
            data = b"".join(self._signed(batch))
            try:
                self._send(self._socket, peer, data)
            except BlockingIOError:
                peer.queue.put_back(batch, urgent=urgent)
                self._blocked = True
                self.hub.watch(self._socket.fileno(), self, READ | WRITE)
                return
            except OSError:
                self.statistics.dropped += len(batch)  # the network is down, or the datagram is too long for it
                for frame in batch:
                    peer.not_sent(frame)
                continue
            self._count(len(batch), len(data))

    def _send(self, sock: socket.socket, peer: Peer, data: bytes) -> None:
        try:
            sock.send(data)
        except ConnectionRefusedError:
            # The error belongs to an earlier datagram; this one has not been sent.
            with suppress(ConnectionRefusedError):
                sock.send(data)

    def close(self, why: str = "closed") -> None:
        super().close(why)
        if self._socket is not None:
            self.hub.unwatch(self._socket.fileno())
            self._socket.close()
            self._socket = None
        self._blocked = False


class _FarPeer(Peer):
    def __init__(self, port: Port, name: str, now_ns: int, address: Address) -> None:
        super().__init__(port, name, now_ns)
        self.address = address


class DatagramServerPort(DatagramPort):
    """UDP server: the sender of a valid frame is a peer until it has sent nothing for a time."""

    def __init__(self, hub: Hub, url: LinkUrl, statistics: LinkStatistics, signatures: Signatures | None) -> None:
        super().__init__(hub, url, statistics, signatures)
        self._by_address: dict[Address, _FarPeer] = {}

    def open(self) -> None:
        self._socket = self._made()

    def _attach(self, made: socket.socket) -> None:
        made.bind((self.url.host, self.url.port))

    def _read(self, sock: socket.socket) -> None:
        chunks: list[bytes] = []
        receive, size = sock.recvfrom, 0
        of: _FarPeer | None = None
        try:
            for _ in range(READS_PER_TURN):
                chunk, address = receive(LONGEST_DATAGRAM)
                peer = self._by_address.get(address)
                if peer is not of:
                    if of is not None:
                        self.hub.arrived(of, b"".join(chunks))
                    chunks, of = [], peer
                if peer is None:
                    self._accept_unknown(chunk, address)
                    break
                chunks.append(chunk)
                size += len(chunk)
                if size >= READ_SIZE or not peer.clean:
                    break
        except BlockingIOError:
            pass
        finally:
            if of is not None:
                self.hub.arrived(of, b"".join(chunks))

    def _accept_unknown(self, chunk: bytes, address: Address) -> None:
        """Invalid data does not create a peer."""
        if len(self.peers) >= self.statistics.config.max_peers and not self._made_room():
            self.statistics.refused += 1
            return
        name = f"{self.statistics.config.name}/{address[0]}:{address[1]}"
        peer = _FarPeer(self, name, self.hub.now_ns(), address)
        self.peers.append(peer)
        self._by_address[address] = peer
        if self.hub.arrived(peer, chunk):
            self.hub.joined(peer)
        else:
            self._dismiss(peer, "")

    def _made_room(self) -> bool:
        """Sender addresses can be forged: peers that sent only once are removed before those that continue to send."""
        now_ns = self.hub.now_ns()
        quietest = max(self._by_address.values(), key=lambda peer: peer.silent_ns(now_ns), default=None)
        if quietest is None or quietest.silent_ns(now_ns) < QUIET_NS:
            return False
        self._dismiss(quietest, "silent")
        return True

    def check(self, now_ns: int) -> None:
        for peer in list(self._by_address.values()):
            if peer.silent_ns(now_ns) > self.hub.peer_timeout_ns:
                self._dismiss(peer, "silent")

    def _dismiss(self, peer: _FarPeer, why: str) -> None:
        del self._by_address[peer.address]
        self._leave(peer, why)

    def _send(self, sock: socket.socket, peer: Peer, data: bytes) -> None:
        assert isinstance(peer, _FarPeer)
        sock.sendto(data, peer.address)

    def close(self, why: str = "closed") -> None:
        self._by_address.clear()
        super().close(why)
