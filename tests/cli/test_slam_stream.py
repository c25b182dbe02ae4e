"""`aeroloop slam tcp://…`: frames of a camera's link, from a server that speaks the protocol."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textured_wall import CALIBRATION, DEPTH, HEIGHT, SETTINGS, WIDTH, rgb
from typer.testing import CliRunner, Result

from aeroloop.cli import app as cli
from aeroloop.core.errors import AeroloopError, ConfigError, LinkError
from aeroloop.perception.slam.live import LiveSlam, SlamRow
from aeroloop.protocols.frames import Coding, Frame, encode

pytest.importorskip("cv2")

from aeroloop.cameras import encoding
from aeroloop.cameras.frame_client import decoded

INTRINSICS = (CALIBRATION.colour.fx, CALIBRATION.colour.fy, CALIBRATION.colour.cx, CALIBRATION.colour.cy)


def frame(number: int, *, with_depth: bool = True, **changes: object) -> Frame:
    keys: dict[str, object] = {
        "camera": 0,
        "coding": Coding.JPEG_PNG16 if with_depth else Coding.JPEG,
        "number": number,
        "t_ns": number * 100_000_000,
        "size_px": (WIDTH, HEIGHT),
        "intrinsics_px": INTRINSICS,
        "depth_unit_m": 0.001 if with_depth else 0.0,
        "rgb": encoding.jpeg(rgb(0.1 * number), 95),
        "depth": encoding.png16(DEPTH) if with_depth else b"",
        **changes,
    }
    return Frame(**keys)  # type: ignore[arg-type]


@contextmanager
def served(*pieces: bytes, then: Callable[[socket.socket], object] = lambda reader: None) -> Iterator[str]:
    """A server on a free port for one reader."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            reader, _ = listener.accept()
            with reader:
                for piece in pieces:
                    reader.sendall(piece)
                then(reader)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(30)


def slam(*arguments: object) -> Result:
    options = [option for change in SETTINGS for option in ("--set", change)]
    return CliRunner().invoke(cli.app, ["slam", *map(str, arguments), *options])


def sentence(ended: Result) -> str:
    assert isinstance(ended.exception, AeroloopError), ended.output
    return str(ended.exception)


def test_frames_of_a_link_become_trajectory_map_and_report(tmp_path: Path) -> None:
    out = tmp_path / "out"
    frames = [encode(frame(number)) for number in (*range(8), 10, 11)]
    with served(*frames[:4], b"damaged", *frames[4:]) as url:
        ended = slam(url, "--out", out, "--json")
    assert ended.exit_code == 0, ended.output
    numbers = json.loads(ended.stdout)
    assert (numbers["frames"], numbers["frames_missed"], numbers["frames_lost"]) == (10, 2, 0)
    assert numbers["sequence"] == url
    assert numbers["false_loops"] is None  # there is no truth on a link
    last = (out / "trajectory.txt").read_text().splitlines()[-1].split()
    assert float(last[0]) == 1.1
    assert float(last[1]) == pytest.approx(1.1, abs=0.03)
    assert {path.name for path in out.iterdir()} == {
        "loops.txt",
        "map.ply",
        "report.html",
        "summary.json",
        "trajectory.txt",
        "trajectory_odometry.txt",
    }
    assert "damaged frames: 1 by magic" in ended.stderr


def test_raw_frames_are_read_too() -> None:
    raw = frame(3, coding=Coding.RAW, rgb=rgb(0.3).tobytes(), depth=DEPTH.tobytes())
    images = decoded(raw)
    assert images is not None
    assert np.array_equal(images.rgb, rgb(0.3)) and np.array_equal(images.depth, DEPTH)
    assert decoded(frame(3, coding=Coding.RAW)) is None


def test_ctrl_c_ends_the_stream_and_the_results_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = LiveSlam.frame

    def interrupted(self: LiveSlam, *images: Any) -> SlamRow:
        row = counted(self, *images)
        if row.number == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return row

    monkeypatch.setattr(LiveSlam, "frame", interrupted)
    closed = threading.Event()

    def hold(reader: socket.socket) -> None:
        with suppress(OSError):
            reader.recv(1)  # until the command has closed its end: the flight would go on
        closed.set()

    with served(*(encode(frame(number)) for number in range(3)), then=hold) as url:
        ended = slam(url, "--out", tmp_path / "out")
        assert closed.wait(30)
    assert ended.exit_code == 0, ended.output
    assert json.loads((tmp_path / "out/summary.json").read_text())["frames"] == 3


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ((b"",), "no whole frame before the stream ended"),
        ((b"no frame at all",), "no whole frame before the stream ended"),
        (("no depth",), "camera 0: its frames have no depth; expected a camera with preset rgbd"),
        (("lens",), "camera 0: its lens is distorted; expected cameras.lens of zeros for SLAM"),
        (("zoomed",), "frame 1 has another calibration than the first"),
        (("broken images",), "no frame's images could be decoded; expected JPEG and 16-bit PNG"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(pieces: tuple[bytes | str, ...], words: str, tmp_path: Path) -> None:
    kinds = {
        "no depth": [frame(0, with_depth=False)],
        "lens": [frame(0, distortion=(0.1, 0.0, 0.0, 0.0, 0.0))],
        "zoomed": [frame(0), frame(1, intrinsics_px=(99.0, *INTRINSICS[1:]))],
        "broken images": [frame(0, rgb=b"no JPEG")],
    }
    sent = [piece for name in pieces for piece in ([name] if isinstance(name, bytes) else map(encode, kinds[name]))]
    with served(*sent) as url:
        ended = slam(url, "--out", tmp_path / "out")
    assert words in sentence(ended)
    assert not (tmp_path / "out").exists()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ended = slam(f"tcp://127.0.0.1:{port}")
    assert isinstance(ended.exception, LinkError)
    assert ended.exception.exit_code == 3
    assert sentence(ended) == (
        f"tcp://127.0.0.1:{port}: no server: Connection refused; expected a flight whose camera has this link"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("udp://127.0.0.1:5600",), "expected tcp://HOST:PORT of a camera's link"),
        (("tcp://127.0.0.1:0",), "expected tcp://HOST:PORT of a camera's link"),
        (
            ("tcp://127.0.0.1:5600", "--compare"),
            "--compare reads the frames once for each front end: expected a folder",
        ),
    ],
)
def test_bad_urls(arguments: tuple[str, ...], words: str) -> None:
    ended = slam(*arguments)
    assert isinstance(ended.exception, ConfigError)
    assert words in sentence(ended)
