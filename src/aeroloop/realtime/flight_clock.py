"""The flight's clock, shared by its processes and by pages: wall time that stands still while the flight is paused and
runs at its speed.

The plant writes a few numbers into a file of the flight's folder at every change; others map it and read it at any
time. A board with its own timer, cameras and companions take it in place of the monotonic clock. Before the first
change, and without the file, it is the monotonic clock at the scenario's speed.
"""

from __future__ import annotations

import math
import mmap
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS

FILE = "clock.bin"
_STATE = struct.Struct("<3q2d2q")
"""Version (odd while it is written), wall time of the change, the clock's time then, speed, paused, end of the last
pause (wall time), simulated time at the change."""
TRIES = 100
"""Of reading, while the plant writes; one that died meanwhile leaves the last state."""
LOOK_S = 0.002
"""A board's timer may be this late after a pause."""
UNLIMITED = math.inf
"""Speed of lockstep that nothing limits."""


class ClockState(NamedTuple):
    wall_ns: int  # at the last change
    clock_ns: int  # the clock's time then
    speed: float  # simulated seconds a second, also while paused; UNLIMITED: as fast as lockstep can
    paused: bool
    held_until_ns: int = 0  # wall time at which the last pause ended
    t_ns: int = 0  # simulated time at the last change; while paused the present one
    number: int = 0  # of the change

    @property
    def rate(self) -> float:
        """Of the clock; in lockstep nobody follows it."""
        return 0.0 if self.paused else self.speed if self.speed < UNLIMITED else 1.0

    def at(self, wall_ns: int) -> int:
        return self.clock_ns + int((wall_ns - self.wall_ns) * self.rate)


class ClockOut:
    """The plant's end, for the folders of all parts of the flight."""

    def __init__(
        self, folders: Iterable[Path], speed: float = 1.0, now_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._now_ns, self._version = now_ns, 0
        self._state = ClockState(now_ns(), now_ns(), speed, paused=False)
        self._paths = [folder / FILE for folder in folders]
        self._maps = [_created(path) for path in self._paths]
        self._write()

    def tell(self, *, paused: bool, speed: float, t_ns: int) -> None:
        now_ns, was = self._now_ns(), self._state
        until_ns = now_ns if was.paused and not paused else was.held_until_ns
        self._state = ClockState(now_ns, was.at(now_ns), speed, paused, until_ns, t_ns)
        self._write()

    def _write(self) -> None:
        wall_ns, clock_ns, speed, paused, until_ns, t_ns, _ = self._state
        for each in self._maps:
            struct.pack_into("<q", each, 0, self._version + 1)
            _STATE.pack_into(each, 0, self._version + 1, wall_ns, clock_ns, speed, float(paused), until_ns, t_ns)
            struct.pack_into("<q", each, 0, self._version + 2)
        self._version += 2

    def close(self) -> None:
        for each in self._maps:
            each.close()


class ClockIn:
    """The end of every other process; the file may be created later."""

    def __init__(self, folder: Path, speed: float = 1.0, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._path, self._now_ns = folder / FILE, now_ns
        self._map: mmap.mmap | None = None
        self._known = ClockState(now_ns(), now_ns(), speed, paused=False)

    @property
    def state(self) -> ClockState:
        if self._map is None:
            self._map = _mapped(self._path)
        shared = self._map
        for _ in range(TRIES if shared is not None else 0):
            assert shared is not None
            version, wall_ns, clock_ns, speed, paused, until_ns, t_ns = _STATE.unpack_from(shared, 0)
            if version % 2 == 0 and struct.unpack_from("<q", shared, 0)[0] == version:
                self._known = ClockState(wall_ns, clock_ns, speed, paused > 0.0, until_ns, t_ns, version)
                break
        return self._known

    def now_ns(self) -> int:
        return self.state.at(self._now_ns())

    def now_s(self) -> float:
        return self.now_ns() / NS

    def wall_s(self, remaining_ns: int) -> float:
        """How long to sleep for this much of the clock; while it stands or is slow, only until the next look at it."""
        rate = self.state.rate
        if rate >= 1.0:
            return remaining_ns / NS / rate
        return min(LOOK_S, remaining_ns / NS / rate) if rate > 0.0 else LOOK_S

    def held(self, within_s: float) -> bool:
        """Whether the plant is paused or slow on request, or was until so many seconds ago: a peer that waits for it
        does not take it for hung."""
        state = self.state
        slow = state.speed < 1.0
        return state.paused or slow or self._now_ns() - state.held_until_ns < within_s * NS

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None


def _created(path: Path) -> mmap.mmap:
    try:
        with path.open("w+b") as file:
            file.truncate(_STATE.size)
            path.chmod(0o600)
            return mmap.mmap(file.fileno(), _STATE.size)
    except OSError as error:
        raise LinkError(f"{path}: the flight's clock cannot be created: {error.strerror or error}") from None


def _mapped(path: Path) -> mmap.mmap | None:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), _STATE.size, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None  # not there yet
