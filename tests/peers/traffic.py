"""MAVLink traffic with numbers in it: what a router passes on can be counted, timed and found missing.

One process sends and receives, so one clock times both ends. Frames are packed beforehand and told apart by their
number alone: the peers must cost little beside what is measured.
"""

from __future__ import annotations

import secrets
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

UNCLAIMED_PORTS = range(20_000, 32_000)
LOCALHOST = "127.0.0.1"
FRAME_SIZE = 10 + 28 + 2
WINDOW = 128
"""Frames under way at most; a socket's buffer of 208 KiB holds about 270 datagrams of this size."""
QUIET_S = 0.1
STALL_S = 0.5
"""Nothing came for so long: what is under way is lost."""
LONGEST_DATAGRAM = 65_536

_ATTITUDE = 30
_MARK = bytes((0xFD, 28))
_NUMBER_AT = 10
_NUMBER = struct.Struct("<I")
_PAYLOAD = struct.Struct("<I6f")
_EXTRA = bytes((dialect.MAVLink_attitude_message.crc_extra,))

Send = Callable[[bytes], object]


def frame(number: int, system: int = 1, component: int = 1) -> bytes:
    """ATTITUDE whose time is `number`; its last byte is not zero, so that all frames are equally long."""
    body = struct.pack("<7B", 28, 0, 0, number & 0xFF, system, component, _ATTITUDE) + b"\0\0"
    body += _PAYLOAD.pack(number, 0.1, -0.2, 0.3, 0.01, -0.02, 0.03)
    return b"\xfd" + body + dialect.x25crc(body + _EXTRA).crc.to_bytes(2, "little")


def frames(count: int, system: int = 1, component: int = 1) -> list[bytes]:
    return [frame(number, system, component) for number in range(count)]


def heartbeat(system: int = 1, component: int = 1, number: int = 0) -> bytes:
    sender = dialect.MAVLink(None, srcSystem=system, srcComponent=component)
    sender.seq = number & 0xFF
    wire: bytes = sender.heartbeat_encode(2, 12, 0, 0, 4).pack(sender)
    return wire


def counted(datagram: bytes) -> int:
    """Numbered frames in a datagram; a router's own words are not among them."""
    if len(datagram) % FRAME_SIZE == 0 and datagram.startswith(_MARK):
        return len(datagram) // FRAME_SIZE
    return len(numbers(datagram))


def numbers(stream: bytes) -> list[tuple[int, int]]:
    """System and number of each numbered frame in a run of whole frames."""
    found = []
    at = 0
    while at + 12 <= len(stream):
        size = 12 + stream[at + 1]
        if stream[at + 7] == _ATTITUDE and size == FRAME_SIZE:
            found.append((stream[at + 5], _NUMBER.unpack_from(stream, at + _NUMBER_AT)[0]))
        at += size
    return found


def receiver() -> socket.socket:
    ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ours.bind((LOCALHOST, 0))
    return ours


def free_port(kind: socket.SocketKind = socket.SOCK_DGRAM) -> int:
    return free_ports(kind)[0]


def free_ports(*kinds: socket.SocketKind) -> list[int]:
    """A port for each, all different; below those that the kernel gives away, so that nobody gets one meanwhile."""
    ports: list[int] = []
    with ExitStack() as held:
        while len(ports) < len(kinds):
            port = secrets.choice(UNCLAIMED_PORTS)
            probe = held.enter_context(socket.socket(socket.AF_INET, kinds[len(ports)]))
            with suppress(OSError):
                probe.bind((LOCALHOST, port))
                if port not in ports:
                    ports.append(port)
    return ports


def await_passage(hello: Callable[[int], None], receivers: Sequence[socket.socket], patience_s: float) -> None:
    """Say hello, with a numbered frame, until every receiver has heard one; then let the last of it arrive."""
    deadline_s = time.monotonic() + patience_s
    deaf = set(receivers)
    number = 0
    while deaf:
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"{len(deaf)} of {len(receivers)} endpoints heard nothing within {patience_s:g} s")
        hello(number)
        number += 1
        ready, _, _ = select.select(list(deaf), [], [], 0.1)
        for sock in ready:
            if counted(sock.recv(LONGEST_DATAGRAM)):  # a router has words of its own, too
                deaf.discard(sock)
    settle(receivers)


def settle(receivers: Sequence[socket.socket]) -> None:
    """Take what is still under way, until nothing more comes."""
    while ready := select.select(receivers, [], [], QUIET_S)[0]:
        for sock in ready:
            sock.recv(LONGEST_DATAGRAM)
    for sock in receivers:
        sock.setblocking(False)


@dataclass(frozen=True)
class Throughput:
    """Of frames that every receiver has had."""

    rate_hz: float
    lost: int


def throughput(
    send: Send, receivers: Sequence[socket.socket], stock: Sequence[bytes], first: int, seconds: float
) -> tuple[Throughput, int]:
    """As fast as the slowest receiver gets them, with WINDOW frames under way; and the number that is next."""
    settle(receivers)
    counts = [0] * len(receivers)
    sent = lost = complete = 0
    began_s = time.perf_counter()
    end_s = began_s + seconds
    while (now_s := time.perf_counter()) < end_s:
        slowest = min(counts)
        for number in range(first + sent, first + slowest + WINDOW):
            send(stock[number % len(stock)])
        sent = max(sent, slowest + WINDOW)
        complete = slowest
        if not _take(receivers, counts):
            ready, _, _ = select.select(receivers, [], [], STALL_S)
            if not ready:
                lost += sum(sent - count for count in counts)
                counts = [sent] * len(receivers)
    rate_hz = complete / (now_s - began_s)
    return Throughput(rate_hz, lost), first + sent


def _take(receivers: Sequence[socket.socket], counts: list[int]) -> int:
    """Count what waits at each receiver; how many datagrams that were."""
    taken = 0
    for index, sock in enumerate(receivers):
        receive, count = sock.recv, 0
        try:
            for _ in range(WINDOW):
                count += counted(receive(LONGEST_DATAGRAM))
                taken += 1
        except BlockingIOError:
            pass
        counts[index] += count
    return taken


def latencies_ns(
    send: Send, receivers: Sequence[socket.socket], stock: Sequence[bytes], first: int, count: int, gap_s: float
) -> tuple[list[int], int]:
    """From just before sending a frame until the last receiver has it, one frame at a time; and the next number."""
    settle(receivers)
    for sock in receivers:
        sock.settimeout(STALL_S)
    taken = []
    for number in range(first, first + count):
        time.sleep(gap_s)
        wire = stock[number % len(stock)]
        began_ns = time.perf_counter_ns()
        send(wire)
        for sock in receivers:
            while wire not in sock.recv(LONGEST_DATAGRAM):
                pass  # a word of the router's own
        taken.append(time.perf_counter_ns() - began_ns)
    return taken, first + count
