"""The send queue of one peer: bounded, in order; the oldest telemetry is dropped first.

HIL messages are `first`: they are sent before all others and in their own writes, and are dropped only where the peer
reads none of them either.

Commands, missions and parameters are `ReliableFrame`s: they are not dropped to make room. They may use half of the
queue; if that is full, a new one is refused and its sender is notified.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class ReliableFrame(bytes):
    """A frame that is not dropped to make room."""

    __slots__ = ()


def _ignored(frame: bytes) -> None:
    """Drops of a disconnected peer are not counted again."""


class Queue:
    """`items` and `first` may be appended to directly, if `trim` is called once one holds more than `limit`."""

    __slots__ = (
        "_dropped_frame",
        "_reliable",
        "_reliable_limit",
        "dropped",
        "first",
        "items",
        "limit",
        "rest",
        "saved",
    )

    def __init__(self, limit: int, dropped_frame: Callable[[bytes], None], *, ordered: bool = False) -> None:
        """`ordered`: all frames in one order, for a simulator, which gets no others."""
        self.limit = limit
        self.items: deque[bytes] = deque()
        self.first: deque[bytes] = self.items if ordered else deque()
        self.saved: deque[bytes] = deque()  # reliable frames older than all items
        self.rest = b""  # the rest of a partial write
        self.dropped = 0
        self._reliable = 0
        self._reliable_limit = max(1, limit // 2)
        self._dropped_frame = dropped_frame

    def release(self) -> None:
        """The queue is not used any more."""
        self._dropped_frame = _ignored

    def __len__(self) -> int:
        first = 0 if self.first is self.items else len(self.first)
        return first + len(self.items) + len(self.saved)

    def push(self, frame: bytes) -> None:
        self.items.append(frame)
        if len(self.items) > self.limit:
            self.trim()

    def push_reliable(self, frame: bytes) -> bool:
        """False: no room, and nothing was queued."""
        if self._reliable >= self._reliable_limit:
            self.dropped += 1
            return False
        self._reliable += 1
        self.push(ReliableFrame(frame))
        return True

    def trim(self) -> None:
        """Make room: drop the oldest frames, except reliable ones."""
        items = self.items
        while len(items) > self.limit:
            oldest = items.popleft()
            if type(oldest) is ReliableFrame:
                self.saved.append(oldest)
            else:
                self._drop(oldest)
        while len(self.first) > self.limit:
            self._drop(self.first.popleft())

    def _drop(self, frame: bytes) -> None:
        self.dropped += 1
        self._dropped_frame(frame)

    def take(self, most_frames: int, most_bytes: int) -> list[bytes]:
        """Remove and return the oldest frames, as many as fit, at least one if there is any; those of `first` alone."""
        batch: list[bytes] = []
        size = 0
        for source in (self.first,) if self.first else (self.saved, self.items):
            while source and len(batch) < most_frames:
                size += len(source[0])
                if size > most_bytes and batch:
                    return batch
                frame = source.popleft()
                if type(frame) is ReliableFrame:
                    self._reliable -= 1
                batch.append(frame)
        return batch

    def put_back(self, batch: list[bytes], *, urgent: bool = False) -> None:
        """Put back frames that `take` returned and that could not be sent."""
        self._reliable += sum(type(frame) is ReliableFrame for frame in batch)
        (self.first if urgent else self.items).extendleft(reversed(batch))

    def clear(self) -> int:
        """The peer has disconnected; returns the number of frames lost."""
        lost = len(self)
        for waiting in (self.first, self.saved, self.items):
            for frame in waiting:
                self._dropped_frame(frame)
            waiting.clear()
        self.dropped += lost
        self.rest = b""
        self._reliable = 0
        return lost
