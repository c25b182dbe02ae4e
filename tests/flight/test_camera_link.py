"""Poses to the camera process and images back, without a flight."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from aeroloop.core.common_streams import common
from aeroloop.flight.camera_link import MOST_POSES, CameraLink, RecorderLink, lacks
from aeroloop.flight.frame_server import FrameServer
from aeroloop.protocols.frames import Frame, FrameReader, encode

TRUTH = common("truth")
IMAGE = Frame(0, 1, 3, 300_000_000, (64, 48), (1.0, 1.0, 0.0, 0.0), rgb=bytes(range(256)) * 400)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def row(t_s: float) -> list[float]:
    return [t_s, *range(1, len(TRUTH.names))]


def test_poses_arrive_in_order_and_end(ends: tuple[socket.socket, socket.socket]) -> None:
    link, camera = CameraLink(ends[0], TRUTH, wait=True, logged=lambda *_: None), RecorderLink(ends[1])
    take = link.taker("truth")
    assert take is not None
    assert link.taker("air") is None
    got: list[tuple[float, ...]] = []
    for i in range(1000):
        take(row(i * 0.01))
    link.end()
    while not camera.ended:
        link.step()
        got += camera.poses(0.0)
    names = TRUTH.names
    expected = [
        row(0.02)[names.index(name)] for name in ("t_s", "vehicle", "x_m", "y_m", "z_m", "qw", "qx", "qy", "qz")
    ]
    assert len(got) == 1000
    assert list(got[2]) == expected


def test_images_arrive_whole(ends: tuple[socket.socket, socket.socket]) -> None:
    logged: list[tuple[int, int, bytes]] = []
    link = CameraLink(ends[0], TRUTH, wait=True, logged=lambda *image: logged.append(image))
    camera = RecorderLink(ends[1])
    sender = threading.Thread(target=lambda: [camera.log(IMAGE), camera.alive(), camera.log(IMAGE)])
    sender.start()
    while len(logged) < 2:
        link.step()
    sender.join()
    assert logged == [(0, IMAGE.t_ns, IMAGE.rgb)] * 2


def test_lockstep_waits_for_a_slow_camera_and_not_for_a_dead_one(ends: tuple[socket.socket, socket.socket]) -> None:
    link = CameraLink(ends[0], TRUTH, wait=True, logged=lambda *_: None)
    take = link.taker("truth")
    assert take is not None
    for i in range(MOST_POSES):
        take(row(i))
    assert link.full
    ends[1].close()
    link.step()
    assert link.closed
    assert not link.full
    take(row(1.0))  # and nothing is kept for it
    assert not link.step()


def test_real_time_drops_the_oldest_poses_of_a_slow_camera(ends: tuple[socket.socket, socket.socket]) -> None:
    link = CameraLink(ends[0], TRUTH, wait=False, logged=lambda *_: None)
    take = link.taker("truth")
    assert take is not None
    for i in range(MOST_POSES + 10):
        take(row(i))
    assert not link.full
    link.step()
    first, *_ = RecorderLink(ends[1]).poses(0.0)
    assert first[0] == 10.0


def test_an_aircraft_without_attitude_is_refused_in_one_sentence() -> None:
    assert lacks([TRUTH]) == ""
    assert lacks([common("air")]).startswith("cameras: the stream truth has no t_s, vehicle, x_m")


def test_a_reader_gets_whole_frames_and_a_slow_one_misses_some() -> None:
    server = FrameServer("tcp://127.0.0.1:0?listen", wait=False)
    data = encode(Frame(0, 1, 0, 0, (2, 2), (1.0, 1.0, 0.5, 0.5), rgb=bytes(4_000_000)))
    with socket.create_connection(("127.0.0.1", server.port)) as reader:
        while not server._readers:
            server.step()
        for _ in range(5):
            server.offer(data)  # larger than the socket's buffers: the first is still being sent
        assert server.missed == 4
        found, got = FrameReader(), []
        reader.setblocking(False)
        while not got:
            server.step()
            try:
                got += found.feed(reader.recv(1 << 20))
            except BlockingIOError:
                continue
        assert len(got[0].rgb) == 4_000_000
        assert not found.refused
    server.offer(data)
    server.offer(data)  # nobody reads any more: no error
    server.close()


def test_in_lockstep_a_reader_gets_every_frame() -> None:
    server = FrameServer("tcp://127.0.0.1:0?listen", wait=True)
    found, got = FrameReader(), []

    def read() -> None:
        with socket.create_connection(("127.0.0.1", server.port)) as reader:
            while len(got) < 5:
                got.extend(found.feed(reader.recv(1 << 16)))

    reader = threading.Thread(target=read)
    reader.start()
    while not server._readers:
        server.step()
    for number in range(5):
        server.offer(encode(Frame(0, 1, number, 0, (2, 2), (1.0, 1.0, 0.5, 0.5), rgb=bytes(400_000))))
    reader.join(20.0)
    assert [frame.number for frame in got] == list(range(5))
    server.close()
