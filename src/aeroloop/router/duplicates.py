"""Duplicate filter: frames received on two links are forwarded once.

A MAVLink sender numbers its frames modulo 256, so at 20,000 frames a second a constant message repeats byte for byte
every 13 ms: equal bytes alone do not prove a duplicate. But no link delivers one frame twice. So the n-th time that a
link delivers some bytes is matched with the n-th time that they were forwarded, on whichever link they were received
then:

    index = next occurrence that this line owes, not before the oldest that is remembered
    index < passed on:  a duplicate        index = passed on:  new

An occurrence is remembered for one to two windows. A single link always delivers the next occurrence, so none of its
frames is dropped.
"""

from __future__ import annotations

MOST_REMEMBERED = 32768
"""Frames of one window; at a higher rate the window is shorter."""


class _Repeated:
    """Bytes that were received more than once."""

    __slots__ = ("between", "oldest", "owed", "passed", "window")

    def __init__(self, origin: int, window: int) -> None:
        self.window = window
        self.oldest = 0  # first occurrence in memory
        self.between = 0  # first occurrence of the newest window
        self.passed = 1  # occurrences so far
        self.owed = {origin: 1}  # link -> the next occurrence that it has not delivered

    def age(self, window: int) -> None:
        passed_windows = window - self.window
        if passed_windows:
            self.oldest = self.between if passed_windows == 1 else self.passed
            self.between = self.passed
            self.window = window
            if self.oldest == self.passed:
                self.owed.clear()


class Duplicates:
    """Remembers frames for one to two windows."""

    def __init__(self, window_ns: int, most: int = MOST_REMEMBERED) -> None:
        self._window_ns = window_ns
        self._most = most
        self._window = 0
        self._next_ns: int | None = None
        # Values: the only link that delivered it, or the count per link.
        self.newer: dict[bytes, int | _Repeated] = {}
        self.older: dict[bytes, int | _Repeated] = {}

    def advance(self, now_ns: int) -> None:
        """Advance the window; called periodically, before frames are checked."""
        if self._next_ns is None:
            self._next_ns = now_ns + self._window_ns
        elif now_ns >= self._next_ns:
            idle = now_ns - self._next_ns >= self._window_ns
            self._turn()
            if idle:
                self._turn()
            self._next_ns = now_ns + self._window_ns

    def seen(self, frame: bytes, link: int) -> bool:
        """Whether it has already been forwarded from another link."""
        entry = self.newer.get(frame)
        window = self._window
        if entry is None:
            entry = self.older.pop(frame, None)
            if entry is None:
                if len(self.newer) >= self._most:
                    self._turn()
                self.newer[frame] = link
                return False
            window -= 1
        if isinstance(entry, int):
            entry = _Repeated(entry, window)
        self.newer[frame] = entry
        entry.age(self._window)
        index = max(entry.owed.get(link, 0), entry.oldest)
        entry.owed[link] = index + 1
        if index < entry.passed:
            return True
        entry.passed += 1
        return False

    def take_back(self, frame: bytes, link: int) -> None:
        """`seen` returned False, but the frame was refused: a copy on a link that may send it must not count as a
        duplicate."""
        entry = self.newer.get(frame)
        if isinstance(entry, int):
            del self.newer[frame]
        elif entry is not None:
            entry.passed -= 1
            entry.owed[link] -= 1

    def known(self, frame: bytes) -> bool:
        """Whether it was received recently on any link; this occurrence is not recorded."""
        return frame in self.newer or frame in self.older

    def _turn(self) -> None:
        self._window += 1
        self.older, self.newer = self.newer, {}
