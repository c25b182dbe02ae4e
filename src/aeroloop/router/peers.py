"""One far end of a line: what it has said, and what waits to be sent to it."""

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
"""Bytes of one peer and turn: a flood of one must not starve the others."""
SMALL_READ_SIZE = 512
DEFAULT_QUEUE = 2048
TYPICAL_FRAME = 50  # bytes


class Peer:
    """Its number is never used again: what came from a peer that left does not return to one that came."""

    def __init__(self, port: Port, name: str, now_ns: int) -> None:
        line = port.statistics
        self.number = next(_numbers)
        # A program that comes again may say the same again: by another line that would be a duplicate.
        self.origin = port.spare_origins.pop() if port.spare_origins else self.number
        self.port = port
        self.line = line
        self.name = name
        self.role = line.config.role
        self.protocol = line.config.protocol
        self.wire = WIRES[self.protocol]()
        self.queue = Queue(_queue_limit(line.config.queue_frames, line.baud), self.not_sent)
        self.decisions: dict[bytes, Decision] = {}
        self.signed: dict[bytes, int] = {}  # how far each sender's signatures have come
        self.numbering: dict[bytes, list[int]] = {}  # last number of each sender
        self.clean = True  # the last bytes were good frames
        self.read_size = SMALL_READ_SIZE  # bytes of one turn
        self.joined_ns = now_ns
        self.read_ns = now_ns  # when bytes came
        self.seen_ns: int | None = None  # when a frame came
        self.unmasked = False  # it spoke in the name of a vehicle, and that was told
        self.told_ns: int | None = None  # when it was told of something refused
        self.probe: tuple[int, int] | None = None  # what the round trip was asked with, and when

    def feed(self, chunk: bytes) -> list[Keyed]:
        """Every frame that `chunk` completes, in order."""
        return self._read(lambda: self.wire.feed(chunk), judged=True)

    def give_up(self) -> list[Keyed]:
        """Nothing came for a while: frames found inside what waited as an unfinished one."""
        return self._read(self.wire.give_up, judged=False)

    def _read(self, read: Callable[[], list[Keyed]], *, judged: bool) -> list[Keyed]:
        """Bytes that are nothing at all, of which no counter of the wire tells, are one bad frame."""
        wire = self.wire
        trouble, told = wire.trouble(), wire.bad() + wire.unknown()
        frames = read()
        clean = wire.trouble() == trouble
        if not clean and wire.bad() + wire.unknown() == told:
            self.line.bad += 1
        if judged:
            self.judge(clean=clean)
        return frames

    def judge(self, *, clean: bool) -> None:
        """By what it sent: garbage takes longer to look through than frames do, so trust grows slowly."""
        self.clean = clean
        self.read_size = min(2 * self.read_size, READ_SIZE) if clean else SMALL_READ_SIZE

    def silent_ns(self, now_ns: int) -> int:
        return now_ns - (self.joined_ns if self.seen_ns is None else self.seen_ns)

    def not_sent(self, frame: bytes) -> None:
        """It was counted when it was queued."""
        if self.protocol == "mavlink":
            key = frame[5:10] if frame[0] == 0xFD else frame[3:6]
        else:
            keyed = WIRES[self.protocol]().feed(frame)
            key = keyed[0][0] if keyed else b"\0\0\0"
        self.line.not_sent(key, len(frame))


def _queue_limit(configured: int, baud: int) -> int:
    """What waits longer than half a second for a slow line is no news."""
    if configured:
        return configured
    return DEFAULT_QUEUE if not baud else max(16, min(DEFAULT_QUEUE, baud // 20 // TYPICAL_FRAME))
