"""Recorder and camera process: poses one way, images for the log the other.

The recorder forwards poses, since a camera process must not subscribe to a topic of the plant: in lockstep a publisher
waits for its subscribers, and would wait forever for one that was killed. Nothing here blocks the recorder; in lockstep
it takes no more rows of the plant while the camera has many to work on.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from aeroloop.core.stream import QUATERNION, XYZ, Stream
from aeroloop.protocols.frames import Frame, FrameReader, encode

POSE = struct.Struct("<9d")
"""Time, aircraft, position, quaternion."""
COLUMNS = ("t_s", "vehicle", *(name for name, _, _ in (*XYZ, *QUATERNION)))
END = b"end"
IMAGE, ALIVE = b"I", b"A"
POSES_PER_PACKET = 128
MOST_POSES = 4096
"""Queued: then the recorder waits in lockstep, and drops the oldest in real time."""
CHUNK = 32 * 1024

Row = Sequence[float]


def lacks(streams: Sequence[Stream]) -> str:
    """Why cameras cannot fly on this aircraft; empty if they can."""
    truth = next((stream for stream in streams if stream.name == "truth"), None)
    missing = [name for name in COLUMNS if truth is None or name not in truth.names]
    return f"cameras: the stream truth has no {', '.join(missing)}; expected position and attitude" if missing else ""


class CameraLink:
    """The recorder's end."""

    def __init__(
        self, end: socket.socket, truth: Stream, *, wait: bool, logged: Callable[[int, int, bytes], None]
    ) -> None:
        end.setblocking(False)
        self._socket, self._wait, self._logged = end, wait, logged
        self._pick = itemgetter(*map(truth.names.index, COLUMNS))
        self._poses: deque[bytes] = deque()
        self._reader = FrameReader()
        self._ending = False
        self.closed = False
        self.packets = 0  # received, as a sign of life

    def taker(self, stream: str) -> Callable[[Row], None] | None:
        return self._take if stream == "truth" else None

    def _take(self, row: Row) -> None:
        if self.closed:
            return
        self._poses.append(POSE.pack(*self._pick(row)))
        if not self._wait and len(self._poses) > MOST_POSES:
            self._poses.popleft()

    @property
    def full(self) -> bool:
        """Whether the recorder must not take more rows of the plant yet."""
        return self._wait and not self.closed and len(self._poses) >= MOST_POSES

    def end(self) -> None:
        """No more poses come; the camera process closes its end when it is done."""
        self._ending = True

    def step(self) -> bool:
        """Send and receive what is possible at once; whether anything was."""
        if self.closed:
            return False
        try:
            return bool(self._send()) | bool(self._receive())
        except BlockingIOError:
            return False
        except OSError:
            self.closed = True
            self._poses.clear()
            return False

    def _send(self) -> int:
        sent = 0
        while self._poses:
            batch = [self._poses[i] for i in range(min(POSES_PER_PACKET, len(self._poses)))]
            try:
                self._socket.send(b"".join(batch))
            except BlockingIOError:
                return sent
            for _ in batch:
                self._poses.popleft()
            sent += len(batch)
        if self._ending:
            try:
                self._socket.send(END)
                self._ending = False
            except BlockingIOError:
                pass
        return sent

    def _receive(self) -> int:
        received = 0
        while True:
            try:
                packet = self._socket.recv(CHUNK + 1)
            except BlockingIOError:
                return received
            if not packet:
                raise OSError("the camera process has ended")
            received += 1
            self.packets += 1
            if packet[:1] == IMAGE:
                for frame in self._reader.feed(packet[1:]):
                    self._logged(frame.camera, frame.t_ns, frame.rgb)


class RecorderLink:
    """The camera process's end; OSError when the recorder has ended."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self.ended = False

    def poses(self, timeout_s: float) -> Iterator[tuple[float, ...]]:
        """Everything that has arrived, after waiting for the first packet."""
        while not self.ended:
            self._socket.settimeout(timeout_s)
            try:
                packet = self._socket.recv(POSES_PER_PACKET * POSE.size)
            except (TimeoutError, BlockingIOError, InterruptedError):
                return
            if not packet or packet == END:
                self.ended = True
                return
            yield from POSE.iter_unpack(packet)
            timeout_s = 0.0

    def log(self, frame: Frame) -> None:
        data = encode(frame)
        for at in range(0, len(data), CHUNK):
            self._send(IMAGE + data[at : at + CHUNK])

    def alive(self) -> None:
        self._send(ALIVE)

    def _send(self, packet: bytes) -> None:
        self._socket.settimeout(None)
        self._socket.send(packet)
