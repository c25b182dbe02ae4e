"""Frames from the camera process to the companion on one machine: pixels in shared memory, headers on a socket.

    camera ──header, slot──▶ companion        the pixels are in that slot of the shared file
    camera ◀──slot───────── companion         the slot is free again

A frame that the camera may not drop waits for a free slot; otherwise it is left out and counted. Either end may die at
any time: the other finds its socket closed.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from aeroloop.protocols.frames import HEADER, Frame, header_of, of_header

RING = "frames.ring"
"""File in the flight's folder."""
SLOTS = 3
WORKING = 255
"""Instead of a slot: the companion is not done yet."""
POLL_MS = 200


class FrameOut:
    """The camera's end."""

    def __init__(self, end: socket.socket, path: Path, frame_bytes: int, *, wait: bool) -> None:
        self._socket, self._wait, self._size = end, wait, frame_bytes
        self._free = set(range(SLOTS))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # may be there: a reader has it mapped
        try:
            os.ftruncate(descriptor, SLOTS * frame_bytes)
            self._memory = mmap.mmap(descriptor, SLOTS * frame_bytes)
        finally:
            os.close(descriptor)
        self._alive_s = 0.0  # time of the last report
        self.missed = 0  # frames for which no slot was free
        self.closed = False

    def offer(self, frame: Frame, stopped: Callable[[], bool] = lambda: False) -> None:
        """`frame` has raw pixels."""
        self._release(0)
        while self._wait and not (self._free or self.closed or stopped()):
            self._release(POLL_MS)
        if self.closed:
            return
        if not self._free:
            self.missed += 1
            return
        slot = self._free.pop()
        at = slot * self._size
        self._memory[at : at + len(frame.rgb)] = frame.rgb
        self._memory[at + len(frame.rgb) : at + len(frame.rgb) + len(frame.depth)] = frame.depth
        try:
            self._socket.send(header_of(frame) + bytes([slot]))
        except OSError:
            self.closed = True

    def finish(self, working: Callable[[], None], patience_s: float) -> None:
        """No more frames come: wait until the companion has closed its end, or has not reported for so long. `working`
        is called meanwhile."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._alive_s = time.monotonic()
        while not self.closed and time.monotonic() - self._alive_s < patience_s:
            self._release(POLL_MS)
            working()

    def close(self) -> None:
        self._socket.close()

    def _release(self, timeout_ms: int) -> None:
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while not self.closed and poller.poll(timeout_ms):
            try:
                packet = self._socket.recv(1)
            except OSError:
                packet = b""
            if not packet:
                self.closed = True
                return
            self._alive_s = time.monotonic()
            if packet[0] != WORKING:
                self._free.add(packet[0])
            timeout_ms = 0


class FrameIn:
    """The companion's end."""

    def __init__(self, end: socket.socket, path: Path) -> None:
        """The camera has opened its end before."""
        self._socket, self._waiting = end, deque[tuple[Frame, int]]()
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            self._memory = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        self._size = size // SLOTS
        self.closed = False

    def working(self) -> None:
        """Report that more work follows the last frame."""
        with suppress(OSError):
            self._socket.send(bytes([WORKING]), socket.MSG_DONTWAIT)

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def numbered(self, number: int, stopped: Callable[[], bool]) -> Frame | None:
        """The frame with this number; None if the camera has left it out, or has ended."""
        while not stopped():
            while self._waiting and self._waiting[0][0].number < number:
                self._take()
            if self._waiting:
                return self._take() if self._waiting[0][0].number == number else None
            if self.closed:
                return None
            self._receive(POLL_MS)
        return None

    def following(self, timeout_ms: int) -> Frame | None:
        """The next frame, after waiting at most so long."""
        self._receive(0 if self._waiting else timeout_ms)
        return self._take() if self._waiting else None

    def newest(self) -> Frame | None:
        """The newest of those that have arrived; older ones are left out."""
        self._receive(0)
        while len(self._waiting) > 1:
            self._take()
        return self._take() if self._waiting else None

    def _receive(self, timeout_ms: int) -> None:
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while not self.closed and poller.poll(timeout_ms):
            try:
                packet = self._socket.recv(HEADER.size + 1)
            except OSError:
                packet = b""
            if len(packet) != HEADER.size + 1:
                self.closed = True
                return
            frame, _ = of_header(packet[:-1])
            self._waiting.append((frame, packet[-1]))
            timeout_ms = 0

    def _take(self) -> Frame:
        frame, slot = self._waiting.popleft()
        width, height = frame.size_px
        at, colour = slot * self._size, 3 * width * height
        depth = 2 * width * height if frame.depth_unit_m else 0
        pixels = replace(
            frame, rgb=self._memory[at : at + colour], depth=self._memory[at + colour : at + colour + depth]
        )
        if not self.closed:
            try:
                self._socket.send(bytes([slot]))
            except OSError:
                self.closed = True
        return pixels
