"""One peer of a link: received frames, and its send queue."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from aeroloop.router.queues import Queue
from aeroloop.router.wire import WIRES, Keyed

if TYPE_CHECKING:
    from aeroloop.router.decisions import Decision
    from aeroloop.router.ports import Port

_numbers = itertools.count(1)

READ_SIZE = 8192
"""Bytes read from one peer per turn: a flood from one must not delay the others."""
SMALL_READ_SIZE = 512
DEFAULT_QUEUE = 2048
TYPICAL_FRAME = 50  # bytes


class Peer:
    """Its number is never reused: answers to a peer that has disconnected are not sent to a new one."""

    def __init__(self, port: Port, name: str, now_ns: int) -> None:
        link = port.statistics
        self.number = next(_numbers)
        # A program that reconnects may repeat its messages: from another link they would be duplicates.
        self.origin = port.spare_origins.pop() if port.spare_origins else self.number
        self.port = port
        self.link = link
        self.name = name
        self.role = link.config.role
        self.protocol = link.config.protocol
        self.wire = WIRES[self.protocol]()
        self.hil = link.hil
        limit = _queue_limit(link.config.queue_frames, link.baud)
        self.queue = Queue(limit, self.not_sent, ordered=self.role == "simulator")
        self.decisions: dict[bytes, Decision] = {}
        self.signed: dict[bytes, int] = {}  # newest signature timestamp of each sender
        self.numbering: dict[bytes, list[int]] = {}  # last sequence number of each sender
        self.clean = True  # the last bytes were valid frames
        self.read_size = SMALL_READ_SIZE  # bytes read per turn
        self.joined_ns = now_ns
        self.read_ns = now_ns  # time of the last bytes
        self.seen_ns: int | None = None  # time of the last frame
        self.impersonation_reported = False  # reported: it used the ID of a vehicle
        self.text_ns: int | None = None  # time of the last text about a refusal
        self.probe: tuple[int, int] | None = None  # token and time of the round-trip probe

    def feed(self, chunk: bytes) -> list[Keyed]:
        """Every frame that `chunk` completes, in order."""
        return self._read(lambda: self.wire.feed(chunk), judged=True)

    def give_up(self) -> list[Keyed]:
        """No bytes for a while: return the frames found inside an incomplete one."""
        return self._read(self.wire.give_up, judged=False)

    def _read(self, read: Callable[[], list[Keyed]], *, judged: bool) -> list[Keyed]:
        """Bytes that are part of no frame and in no counter count as one bad frame."""
        wire = self.wire
        trouble, told = wire.trouble(), wire.bad() + wire.unknown()
        frames = read()
        clean = wire.trouble() == trouble
        if not clean and wire.bad() + wire.unknown() == told:
            self.link.bad += 1
        if judged:
            self.judge(clean=clean)
        return frames

    def judge(self, *, clean: bool) -> None:
        """Adapt the read size: parsing invalid data takes longer than parsing frames, so the size grows slowly."""
        self.clean = clean
        self.read_size = min(2 * self.read_size, READ_SIZE) if clean else SMALL_READ_SIZE

    def silent_ns(self, now_ns: int) -> int:
        return now_ns - (self.joined_ns if self.seen_ns is None else self.seen_ns)

    def release(self) -> None:
        """It has disconnected: break reference cycles, since the garbage collector is off."""
        self.decisions.clear()
        self.numbering.clear()
        self.queue.release()

    def not_sent(self, frame: bytes) -> None:
        """It was counted as sent when it was queued."""
        if self.protocol == "mavlink":
            key = frame[5:10] if frame[0] == 0xFD else frame[3:6]
        else:
            keyed = WIRES[self.protocol]().feed(frame)
            key = keyed[0][0] if keyed else b"\0\0\0"
        self.link.not_sent(key, len(frame))


def _queue_limit(configured: int, baud: int) -> int:
    """On a slow link, frames queued for more than half a second are outdated."""
    if configured:
        return configured
    return DEFAULT_QUEUE if not baud else max(16, min(DEFAULT_QUEUE, baud // 20 // TYPICAL_FRAME))
