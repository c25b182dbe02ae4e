"""Recorder and camera process: poses and faults one way, images for the log the other.

The recorder forwards them, since a camera process must not subscribe to a topic of the plant: in lockstep a publisher
waits for its subscribers, and would wait forever for one that was killed. Nothing here blocks the recorder; in lockstep
it takes no more rows of the plant while the camera has many to work on.

    camera HELLO ─▶ recorder ─▶ BEGIN, the next frame of each camera, and the poses from there on

A camera process that was started again has the socket of the one before, and continues with its frames: so the recorder
keeps poses until the frames that need them are logged.
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from aeroloop.core.camera import Camera, fitted
from aeroloop.core.camera_streams import CAMERA_STREAMS
from aeroloop.core.faults import SIGHT_TARGETS, TARGETS, SightFaults
from aeroloop.core.stream import QUATERNION, XYZ, Stream
from aeroloop.protocols.frames import Frame, FrameReader, encode

POSE = struct.Struct("<9d")
"""Time, aircraft, position, quaternion."""
COLUMNS = ("t_s", "vehicle", *(name for name, _, _ in (*XYZ, *QUATERNION)))
FAULT = struct.Struct("<5d")
"""Time, target, kind, on, channel, as in the stream `fault`; one a packet, which no number of poses is as long as."""
SIGHT = tuple(map(TARGETS.index, SIGHT_TARGETS))
END = b"end"
BEGIN = b"begin"
GREETING = struct.Struct("<I")
"""Process id: an answer to the process before is no answer."""
NEXT = struct.Struct("<2I")
"""Of each camera: number of its next frame, and frames dropped so far."""
IMAGE, ALIVE, HELLO, RENDERER = b"I", b"A", b"H", b"R"
POSES_PER_PACKET = 128
MOST_POSES = 4096
"""Queued: then the recorder waits in lockstep, and drops the oldest in real time."""
CHUNK = 32 * 1024
KEPT_S = 0.5
"""Poses are kept this long before the next frame: interpolation needs the row before."""

Row = Sequence[float]


def lacks(streams: Sequence[Stream]) -> str:
    """Why cameras cannot fly on this aircraft; empty if they can."""
    truth = next((stream for stream in streams if stream.name == "truth"), None)
    missing = [name for name in COLUMNS if truth is None or name not in truth.names]
    return f"cameras: the stream truth has no {', '.join(missing)}; expected position and attitude" if missing else ""


class CameraLink:
    """The recorder's end."""

    def __init__(
        self,
        end: socket.socket,
        truth: Stream,
        cameras: Sequence[Camera],
        *,
        wait: bool,
        logged: Callable[[int, int, bytes], None],
    ) -> None:
        end.setblocking(False)
        self._socket, self._wait, self._logged = end, wait, logged
        self._pick = itemgetter(*map(truth.names.index, COLUMNS))
        (rows,) = CAMERA_STREAMS
        self._pick_frame = itemgetter(*map(rows.names.index, ("camera", "number", "dropped")))
        self._next = [(fitted(camera).first, 0) for camera in cameras]  # number and dropped
        self._periods_s = [1.0 / fitted(camera).rate_hz for camera in cameras]
        self._before_s = max((camera.exposure_s + camera.readout_s) / 2.0 for camera in cameras) + KEPT_S
        self._poses: deque[bytes] = deque()
        self._faults: list[bytes] = []  # all of the flight: the state is their sum
        self._faults_sent = 0
        self._sent: deque[bytes] = deque()  # and still needed if the process is started again
        self._reader = FrameReader()
        self._greeting = b""  # not answered yet
        self._logging = self._begun = False
        self._ending = self._ended = False
        self.closed = False
        self.packets = 0  # received, as a sign of life
        self.renderer = ""  # its name and version

    def taker(self, stream: str) -> Callable[[Row], None] | None:
        return {"truth": self._take, "fault": self._take_fault, "camera": self._delivered}.get(stream)

    def _take(self, row: Row) -> None:
        if self.closed:
            return
        self._poses.append(POSE.pack(*self._pick(row)))
        if not self._wait and len(self._poses) > MOST_POSES:
            self._poses.popleft()

    def _take_fault(self, row: Row) -> None:
        t_s, _, target, kind, on, channel, *_ = row
        if int(target) in SIGHT:
            self._faults.append(FAULT.pack(t_s, target, kind, on, channel))

    def _delivered(self, row: Row) -> None:
        camera, number, dropped = (int(value) for value in self._pick_frame(row))
        self._next[camera] = number + 1, dropped
        next_s = min(own[0] * period_s for own, period_s in zip(self._next, self._periods_s, strict=True))
        while self._sent and POSE.unpack(self._sent[0])[0] < next_s - self._before_s:
            self._sent.popleft()

    @property
    def full(self) -> bool:
        """Whether the recorder must not take more rows of the plant yet."""
        return self._wait and not (self.closed or self._logging) and len(self._poses) >= MOST_POSES

    def end(self) -> None:
        """No more poses come; the camera process closes its end when it is done."""
        self._ending = self._ended = True

    def step(self) -> bool:
        """Send and receive what is possible at once; whether anything was."""
        if self.closed:
            return False
        try:
            self._logging = False
            self._answer()
            return bool(self._send()) | bool(self._receive())
        except BlockingIOError:
            return False
        except OSError:
            self.closed = True
            self._poses.clear()
            self._sent.clear()
            return False

    def _answer(self) -> None:
        """To a process's first message, one step after it."""
        if not self._greeting:
            return
        self._socket.send(BEGIN + self._greeting + b"".join(NEXT.pack(*own) for own in self._next))
        self._poses.extendleft(reversed(self._sent))
        self._sent.clear()
        self._greeting, self._begun, self._ending = b"", True, self._ended
        self._faults_sent = 0

    def _send(self) -> int:
        sent = 0
        if not self._begun:
            return sent
        # Before the poses: a frame is made as soon as there are poses for it, and must know its faults.
        while self._faults_sent < len(self._faults):
            try:
                self._socket.send(self._faults[self._faults_sent])
            except BlockingIOError:
                return sent
            self._faults_sent += 1
        while self._poses:
            batch = [self._poses[i] for i in range(min(POSES_PER_PACKET, len(self._poses)))]
            try:
                self._socket.send(b"".join(batch))
            except BlockingIOError:
                return sent
            for _ in batch:
                self._sent.append(self._poses.popleft())
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
            if packet[:1] == HELLO:
                self._greeting, self._begun, self._reader = packet, False, FrameReader()
                self._logging = True  # rows of the process before are taken before the answer
            elif packet[:1] == RENDERER:
                self.renderer = packet[1:].decode(errors="replace")
            elif packet[:1] == IMAGE:
                for frame in self._reader.feed(packet[1:]):
                    self._logged(frame.camera, frame.t_ns, frame.rgb)


class RecorderLink:
    """The camera process's end; OSError when the recorder has ended."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self.ended = False
        self.faults = SightFaults()
        self._greeting = HELLO + GREETING.pack(os.getpid())
        self._send(self._greeting)

    def begin(self) -> list[tuple[int, int]]:
        """Waits for the first frame to make of each camera, and how many were dropped before. What was sent to a
        process before this one is discarded."""
        self._socket.settimeout(None)
        answer = BEGIN + self._greeting
        while packet := self._socket.recv(POSES_PER_PACKET * POSE.size):
            if packet.startswith(answer):
                return [(number, dropped) for number, dropped in NEXT.iter_unpack(packet[len(answer) :])]
        raise ConnectionResetError("the recorder has ended")

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
            if len(packet) == FAULT.size:
                self.faults.take(*FAULT.unpack(packet))
            else:
                yield from POSE.iter_unpack(packet)
            timeout_s = 0.0

    def log(self, frame: Frame) -> None:
        data = encode(frame)
        for at in range(0, len(data), CHUNK):
            self._send(IMAGE + data[at : at + CHUNK])

    def name_renderer(self, name: str) -> None:
        self._send(RENDERER + name.encode())

    def alive(self) -> None:
        self._send(ALIVE)

    def _send(self, packet: bytes) -> None:
        self._socket.settimeout(None)
        self._socket.send(packet)
