"""Reads colour and depth from the link of a flight's camera (`tcp://HOST:PORT`, protocols/frames.py), until it ends.

Calibration is in each frame's header. Errors are one sentence: nobody listens, no depth, a lens that is distorted.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.cameras.encoding import opencv
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.view import MOST_PORT
from aeroloop.perception.slam.camera import Calibration, Intrinsics
from aeroloop.protocols.frames import Coding, Frame, FrameReader

CONNECT_S = 5.0
FIRST_FRAME_S = 60.0
"""A flight may still be waiting for its first instant."""
READ_BYTES = 1 << 16
_URL = re.compile(r"tcp://([\w.-]+):(\d{1,5})", re.ASCII)


@dataclass(frozen=True)
class RgbdFrame:
    number: int
    t_ns: int
    rgb: NDArray[np.uint8]
    depth: NDArray[np.uint16]  # counts of calibration.depth_unit_m


def is_link(text: str) -> bool:
    return "://" in text


def address(url: str) -> tuple[str, int]:
    match = _URL.fullmatch(url)
    if match is None or not 0 < int(match.group(2)) <= MOST_PORT:
        raise ConfigError(f"{url}: expected tcp://HOST:PORT of a camera's link, for example tcp://127.0.0.1:5600")
    return match.group(1), int(match.group(2))


def calibration(frame: Frame) -> Calibration:
    """From a header; ConfigError if the camera cannot be used."""
    if not frame.depth or frame.depth_unit_m <= 0.0:
        raise ConfigError(f"camera {frame.camera}: its frames have no depth; expected a camera with preset rgbd")
    if any(frame.distortion):
        raise ConfigError(f"camera {frame.camera}: its lens is distorted; expected cameras.lens of zeros for SLAM")
    fx, fy, cx, cy = frame.intrinsics_px
    width, height = frame.size_px
    try:
        colour = Intrinsics(width=width, height=height, fx=fx, fy=fy, cx=cx, cy=cy)
        return Calibration(colour=colour, depth_unit_m=frame.depth_unit_m)
    except ValueError as error:
        raise ConfigError(f"camera {frame.camera}: {error}") from None


def decoded(frame: Frame) -> RgbdFrame | None:
    """Both images; None if they cannot be read, as after a wrong coding."""
    cv2 = opencv()
    width, height = frame.size_px
    if frame.coding == Coding.RAW:
        if (len(frame.rgb), len(frame.depth)) != (3 * width * height, 2 * width * height):
            return None
        rgb = np.frombuffer(frame.rgb, np.uint8).reshape(height, width, 3)
        return RgbdFrame(
            frame.number, frame.t_ns, rgb, np.frombuffer(frame.depth, "<u2").reshape(height, width).astype(np.uint16)
        )
    if not frame.rgb or not frame.depth:
        return None
    bgr = cv2.imdecode(np.frombuffer(frame.rgb, np.uint8), cv2.IMREAD_COLOR)
    depth = cv2.imdecode(np.frombuffer(frame.depth, np.uint8), cv2.IMREAD_UNCHANGED)
    if bgr is None or depth is None or depth.dtype != np.uint16:
        return None
    if bgr.shape != (height, width, 3) or depth.shape != (height, width):
        return None
    return RgbdFrame(frame.number, frame.t_ns, np.ascontiguousarray(bgr[..., ::-1]), depth)


class FrameClient:
    """Frames of one camera link. `refused` counts damaged ones by what was wrong."""

    def __init__(self, url: str) -> None:
        """LinkError if nobody listens."""
        self._url, self._reader = url, FrameReader()
        self.unread = 0  # frames whose images could not be decoded
        try:
            self._socket = socket.create_connection(address(url), CONNECT_S)
        except OSError as error:
            reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or error
            raise LinkError(f"{url}: no server: {reason}; expected a flight whose camera has this link") from None
        self._raw = self._frames()
        self.calibration = self._first()

    @property
    def refused(self) -> dict[str, int]:
        return {**self._reader.refused, **({"images": self.unread} if self.unread else {})}

    def frames(self) -> Iterator[RgbdFrame]:
        """Until the flight ends or `stop` is called; ConfigError if the camera changes."""
        yield from self._images(self._held)
        for frame in self._raw:
            yield from self._images(frame)

    def stop(self) -> None:
        """End the stream, from a signal handler or another thread: `frames` returns after the one in work."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _images(self, frame: Frame) -> Iterator[RgbdFrame]:
        if calibration(frame) != self.calibration:
            raise ConfigError(f"{self._url}: frame {frame.number} has another calibration than the first")
        images = decoded(frame)
        if images is None:
            self.unread += 1
        else:
            yield images

    def _first(self) -> Calibration:
        self._socket.settimeout(FIRST_FRAME_S)
        first = next(self._raw, None)
        if first is None:
            self.close()
            raise LinkError(
                f"{self._url}: no whole frame before the stream ended or {FIRST_FRAME_S:g} s passed; "
                f"expected frames of a camera"
            )
        self._held = first
        # A flight may pause for as long as it likes; a machine that is gone is noticed by TCP's own probes.
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            return calibration(first)
        except ConfigError:
            self.close()
            raise

    def _frames(self) -> Iterator[Frame]:
        while True:
            try:
                data = self._socket.recv(READ_BYTES)
            except OSError:  # no first frame, or reset: what came before it counts
                return
            if not data:
                return
            yield from self._reader.feed(data)
