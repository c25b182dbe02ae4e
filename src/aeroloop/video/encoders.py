"""Files of a film, by their ending: MP4 (H.264) and WebM (VP9) by PyAV, GIF and WebP by Pillow; PNG is one frame.

Browsers play all of them. A file is written under another name first, so that an interrupted film leaves none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from queue import Queue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from aeroloop.core.errors import AeroloopError, ConfigError, not_written

Picture = NDArray[np.uint8]
NO_AV = "--out {}: H.264 and VP9 need PyAV: pip install 'aeroloop[video]'; .gif, .webp and .png work without"
MOST_ANIMATED_B = 1 << 31
"""Frames of an animation that are in memory before it is written."""
AHEAD = 4
"""Frames that wait for the encoder."""


@dataclass(frozen=True)
class Kind:
    fps: float
    size_px: tuple[int, int]
    panel_size_px: tuple[int, int]  # with instruments beside the view


LARGE, SMALL = Kind(25.0, (960, 540), (1280, 720)), Kind(12.5, (480, 270), (640, 360))
KINDS = {".mp4": LARGE, ".webm": LARGE, ".gif": SMALL, ".webp": SMALL, ".png": LARGE}
"""Defaults of each ending."""
CODECS = {
    ".mp4": ("libx264", {"preset": "veryfast", "crf": "20"}, {"movflags": "+faststart"}),
    ".webm": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "7", "crf": "32", "b": "0", "row-mt": "1"}, {}),
}


class Sink(Protocol):
    def add(self, picture: Picture) -> None: ...
    def finish(self) -> None: ...


def kind_of(path: Path) -> Kind:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"--out {path}: expected a name that ends in one of: {', '.join(KINDS)}")
    return kind


@contextmanager
def opened(path: Path, size_px: tuple[int, int], fps: float, count: int) -> Iterator[Sink]:
    """A file for so many frames; it is there when the block has ended without an error."""
    ending = path.suffix.lower()
    kind_of(path)
    if ending in CODECS:
        _av(path)
    elif ending != ".png" and count * size_px[0] * size_px[1] * 3 > MOST_ANIMATED_B:
        raise ConfigError(
            f"--out {path}: an animation of {count} frames is kept in memory and would need more than 2 GiB; "
            "expected fewer frames (--fps, --from, --to, --speed), a smaller --size, or .mp4"
        )
    partial = path.with_name(f".{path.stem}.partial{ending}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sink: Sink = (
            Encoded(partial, size_px, fps) if ending in CODECS else Animated(partial, fps, ending.removeprefix("."))
        )
        yield sink
        sink.finish()
        partial.replace(path)
    except OSError as error:
        raise not_written(path, error, "film") from None
    finally:
        with suppress(OSError):
            partial.unlink()


def _av(path: Path) -> Any:
    try:
        import av
    except ImportError:
        raise ConfigError(NO_AV.format(path)) from None
    return av


class Encoded:
    """A film of a codec; a thread encodes while the next frame is drawn."""

    def __init__(self, path: Path, size_px: tuple[int, int], fps: float) -> None:
        codec, options, container_options = CODECS[path.suffix]
        av = _av(path)
        self._frame = av.VideoFrame.from_ndarray
        self._file = av.open(str(path), "w", options=dict(container_options))
        self._stream = self._file.add_stream(codec, rate=Fraction(fps).limit_denominator(1001))
        self._stream.width, self._stream.height = size_px
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = dict(options)
        self._waiting: Queue[Picture | None] = Queue(AHEAD)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="encoder", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (picture := self._waiting.get()) is not None:
            if self._error is not None:
                continue  # the queue is emptied, so that nobody waits
            try:
                frame = self._frame(np.ascontiguousarray(picture), format="rgb24")
                for packet in self._stream.encode(frame):
                    self._file.mux(packet)
            except Exception as error:  # of FFmpeg, by what failed
                self._error = error

    def add(self, picture: Picture) -> None:
        self._raise_error()
        self._waiting.put(picture)

    def finish(self) -> None:
        self._waiting.put(None)
        self._thread.join()
        self._raise_error()
        for packet in self._stream.encode(None):
            self._file.mux(packet)
        self._file.close()

    def _raise_error(self) -> None:
        if isinstance(self._error, OSError):
            raise self._error
        if self._error is not None:
            raise AeroloopError(f"the film cannot be encoded: {self._error}") from self._error


class Animated:
    """An animation, or one picture, of Pillow; written at the end."""

    def __init__(self, path: Path, fps: float, kind: str) -> None:
        self._path, self._fps, self._kind = path, fps, kind
        self._frames: list[Image.Image] = []

    def add(self, picture: Picture) -> None:
        if self._kind == "png" and self._frames:
            return
        image = Image.fromarray(np.ascontiguousarray(picture))
        if self._kind == "gif":
            image = image.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        self._frames.append(image)

    def finish(self) -> None:
        first, *rest = self._frames
        if self._kind == "png":
            first.save(self._path)
            return
        # Times of frames are whole units of the format: hundredths or thousandths of a second.
        unit_ms = 10 if self._kind == "gif" else 1
        ends = [round((number + 1) * 1000.0 / self._fps / unit_ms) * unit_ms for number in range(len(self._frames))]
        durations = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        more: dict[str, Any] = {"quality": 55, "method": 4, "minimize_size": True} if self._kind == "webp" else {}
        first.save(self._path, save_all=True, append_images=rest, duration=durations, loop=0, **more)
