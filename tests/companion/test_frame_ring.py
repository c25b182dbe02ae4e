"""Frames in shared memory: whole, in order, never overwritten while they are read; either end may die."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from aeroloop.companion.frame_ring import RING, SLOTS, FrameIn, FrameOut
from aeroloop.protocols.frames import Coding, Frame

SIZE = (16, 12)
PIXELS = SIZE[0] * SIZE[1]


def frame(number: int) -> Frame:
    return Frame(
        camera=1,
        coding=Coding.RAW,
        number=number,
        t_ns=number * 1000,
        size_px=SIZE,
        intrinsics_px=(10.0, 10.0, 7.5, 5.5),
        depth_unit_m=0.5,
        rgb=bytes([number % 256]) * (3 * PIXELS),
        depth=bytes([255 - number % 256]) * (2 * PIXELS),
    )


def ends(folder: Path, *, wait: bool) -> tuple[FrameOut, FrameIn]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    out = FrameOut(ours, folder / RING, 5 * PIXELS, wait=wait)
    return out, FrameIn(theirs, folder / RING)


def never() -> bool:
    return False


def test_frames_arrive_as_they_were(tmp_path: Path) -> None:
    out, reader = ends(tmp_path, wait=True)
    for number in range(10):  # more than slots
        out.offer(frame(number))
        assert reader.numbered(number, never) == frame(number)


def test_a_frame_waits_for_a_free_slot(tmp_path: Path) -> None:
    out, reader = ends(tmp_path, wait=True)
    offered: list[int] = []

    def offer() -> None:
        for number in range(3 * SLOTS):
            out.offer(frame(number))
            offered.append(number)

    thread = threading.Thread(target=offer)
    thread.start()
    for number in range(3 * SLOTS):
        assert reader.following(10_000) == frame(number)
        assert len(offered) <= number + 1 + SLOTS
    thread.join()
    assert out.missed == 0


def test_without_waiting_a_frame_is_left_out_and_the_newest_is_read(tmp_path: Path) -> None:
    out, reader = ends(tmp_path, wait=False)
    for number in range(SLOTS + 2):
        out.offer(frame(number))
    assert out.missed == 2
    assert reader.newest() == frame(SLOTS - 1)
    assert reader.newest() is None
    out.offer(frame(9))
    assert reader.newest() == frame(9)


def test_a_number_that_the_camera_left_out_is_none(tmp_path: Path) -> None:
    out, reader = ends(tmp_path, wait=True)
    out.offer(frame(3))
    assert reader.numbered(2, never) is None
    assert reader.numbered(3, never) == frame(3)
    out.offer(frame(5))
    out.offer(frame(6))
    assert reader.numbered(6, never) == frame(6)


@pytest.mark.parametrize("wait", [True, False])
def test_a_companion_that_died_stops_no_camera(tmp_path: Path, wait: bool) -> None:
    out, reader = ends(tmp_path, wait=wait)
    reader.close()
    for number in range(2 * SLOTS):
        out.offer(frame(number))
    assert out.closed


def test_a_camera_that_died_ends_the_frames(tmp_path: Path) -> None:
    out, reader = ends(tmp_path, wait=True)
    out.offer(frame(0))
    out.close()
    assert reader.numbered(0, never) == frame(0)
    assert reader.numbered(1, never) is None
    assert reader.closed


def test_the_camera_waits_until_the_companion_is_done(tmp_path: Path) -> None:
    out, reader = ends(tmp_path, wait=True)
    worked: list[bool] = []

    def working() -> None:
        worked.append(True)
        reader.close()

    out.finish(working, patience_s=60.0)
    assert worked
    assert out.closed


def test_a_companion_that_hangs_at_the_end_is_left_and_one_that_works_is_not(tmp_path: Path) -> None:
    out, reader = ends(tmp_path, wait=True)
    reports = iter(range(5))

    def working() -> None:
        if next(reports, None) is None:
            reader.close()
        else:
            reader.working()

    out.finish(working, patience_s=2.0)  # five polls of 0.2 s, each with a report
    assert out.closed
    (tmp_path / "hung").mkdir()
    out, _ = ends(tmp_path / "hung", wait=True)
    out.finish(lambda: None, patience_s=0.0)
    assert not out.closed
