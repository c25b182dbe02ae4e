"""Poses to the camera process and images back, without a flight."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from aeroloop.core.camera import Camera
from aeroloop.core.camera_streams import CAMERA_STREAMS
from aeroloop.core.common_streams import common
from aeroloop.core.faults import KINDS, TARGETS
from aeroloop.core.impairment import Impairment
from aeroloop.core.signals import NS
from aeroloop.flight.camera_link import MOST_POSES, CameraLink, RecorderLink, lacks
from aeroloop.flight.frame_impairment import of_camera
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


def frame_row(camera: int, number: int, dropped: int = 0) -> list[float]:
    values = {"camera": camera, "number": number, "dropped": dropped}
    return [values.get(name, 0.0) for name in CAMERA_STREAMS[0].names]


def linked(ends: tuple[socket.socket, socket.socket], *, wait: bool, logged=lambda *_: None) -> CameraLink:  # type: ignore[no-untyped-def]
    cameras = [Camera(name="a", rate_hz=10.0), Camera(name="b", rate_hz=5.0)]
    return CameraLink(ends[0], TRUTH, cameras, wait=wait, logged=logged)


def greeted(link: CameraLink, end: socket.socket) -> tuple[RecorderLink, list[tuple[int, int]]]:
    """A camera process that has just started, and where it begins."""
    camera = RecorderLink(end)
    link.step()
    link.step()
    return camera, camera.begin()


def test_a_camera_that_starts_later_begins_with_its_first_frame(ends: tuple[socket.socket, socket.socket]) -> None:
    """In lockstep its companion takes no frames before that."""
    later = Camera(name="a", rate_hz=10.0, start_s=2.5)
    link = CameraLink(ends[0], TRUTH, [later], wait=True, logged=lambda *_: None)
    assert greeted(link, ends[1])[1] == [(25, 0)]


def test_poses_arrive_in_order_and_end(ends: tuple[socket.socket, socket.socket]) -> None:
    link = linked(ends, wait=True)
    camera, begun = greeted(link, ends[1])
    assert begun == [(0, 0), (0, 0)]
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


def test_a_fault_arrives_before_the_poses_that_were_taken_with_it(ends: tuple[socket.socket, socket.socket]) -> None:
    link = linked(ends, wait=True)
    camera, _ = greeted(link, ends[1])
    take, fault = link.taker("truth"), link.taker("fault")
    assert take is not None
    assert fault is not None
    dark, dead = KINDS.index("dark"), KINDS.index("dead")
    take(row(0.1))
    fault([0.1, 0, TARGETS.index("camera"), dark, 1, 2, 0, 0, 0])
    fault([0.1, 0, TARGETS.index("rotor"), dead, 1, 0, 0, 0, 0])  # not for the camera
    take(row(0.2))
    fault([0.3, 0, TARGETS.index("camera"), dark, 0, 2, 0, 0, 0])
    link.step()
    known = [camera.faults.active("camera", "dark", 0.2, 2) for _ in camera.poses(0.0)]
    assert known == [True, True]
    at = {t_s: camera.faults.active("camera", "dark", t_s, 2) for t_s in (0.05, 0.1, 0.11, 0.3, 0.31)}
    assert at == {0.05: False, 0.1: False, 0.11: True, 0.3: True, 0.31: False}
    assert not camera.faults.active("camera", "dark", 0.2, 0)
    assert not camera.faults.active("camera", "frozen", 0.2, 2)
    again, _ = greeted(link, ends[1])  # a process that was started again
    link.step()
    assert [again.faults.active("camera", "dark", 0.2, 2) for _ in again.poses(0.0)] == [True, True]


def test_images_arrive_whole(ends: tuple[socket.socket, socket.socket]) -> None:
    logged: list[tuple[int, int, bytes]] = []
    link = linked(ends, wait=True, logged=lambda *image: logged.append(image))
    camera = RecorderLink(ends[1])
    sender = threading.Thread(target=lambda: [camera.log(IMAGE), camera.alive(), camera.log(IMAGE)])
    sender.start()
    while len(logged) < 2:
        link.step()
    sender.join()
    assert logged == [(0, IMAGE.t_ns, IMAGE.rgb)] * 2


def test_lockstep_waits_for_a_slow_camera_and_not_for_a_dead_one(ends: tuple[socket.socket, socket.socket]) -> None:
    link = linked(ends, wait=True)
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
    link = linked(ends, wait=False)
    take = link.taker("truth")
    assert take is not None
    for i in range(MOST_POSES + 10):
        take(row(i))
    assert not link.full
    camera, _ = greeted(link, ends[1])
    first, *_ = camera.poses(0.0)
    assert first[0] == 10.0


def test_a_camera_process_started_again_continues_at_the_next_frame_with_its_poses(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    link = linked(ends, wait=True)
    greeted(link, ends[1])
    take, delivered = link.taker("truth"), link.taker("camera")
    assert take is not None
    assert delivered is not None
    for i in range(400):
        take(row(i * 0.01))
    link.step()  # 4 s of poses, read by none
    for number in range(22):
        delivered(frame_row(0, number, dropped=1))
    for number in range(12):
        delivered(frame_row(1, number))
    again, begun = greeted(link, ends[1])
    assert begun == [(22, 1), (12, 0)]
    for i in range(400, 500):
        take(row(i * 0.01))
    link.end()
    times_s = []
    while not again.ended:
        link.step()
        times_s += [pose[0] for pose in again.poses(0.0)]
    assert 1.69 < times_s[0] < 1.72  # half a second before frame 22 of the first camera
    assert times_s == [i * 0.01 for i in range(500 - len(times_s), 500)]


def test_a_new_camera_process_gets_an_answer_after_the_rows_of_the_one_before(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    link = linked(ends, wait=True)
    greeted(link, ends[1])
    take, delivered = link.taker("truth"), link.taker("camera")
    assert take is not None
    assert delivered is not None
    for i in range(3 * MOST_POSES):
        take(row(i * 0.01))
    link.step()
    assert link.full
    camera = RecorderLink(ends[1])
    link.step()
    assert not link.full  # the recorder takes rows once, although many poses wait
    delivered(frame_row(0, 6))
    link.step()
    assert link.full
    begun: list[tuple[int, int]] = []
    reader = threading.Thread(target=lambda: begun.extend(camera.begin()))
    reader.start()
    while not begun:
        link.step()
    reader.join()
    assert begun == [(7, 0), (0, 0)]


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
            server.offer(0, data, 0)  # larger than the socket's buffers: the first is still being sent
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
    server.offer(0, data, 0)
    server.offer(0, data, 0)  # nobody reads any more: no error
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
        server.offer(number, encode(Frame(0, 1, number, 0, (2, 2), (1.0, 1.0, 0.5, 0.5), rgb=bytes(400_000))), 0)
    reader.join(20.0)
    assert [frame.number for frame in got] == list(range(5))
    server.close()


def received(server: FrameServer, frames: int, *, period_ns: int = NS // 10, skip: int = -1) -> list[tuple[int, int]]:
    """Numbers of the frames that a reader gets, each with the time in ns at which it came; one may be left out by the
    camera."""
    got: list[tuple[int, int]] = []
    with socket.create_connection(("127.0.0.1", server.port)) as reader:
        while not server._readers:
            server.step()
        reader.setblocking(False)
        found = FrameReader()

        def take(now_ns: int) -> None:
            with suppress(BlockingIOError):
                got.extend((frame.number, now_ns) for frame in found.feed(reader.recv(1 << 20)))

        for now_ns in range(0, (frames + 5) * period_ns, NS // 100):
            number, rest_ns = divmod(now_ns, period_ns)
            if not rest_ns and number < frames and number != skip:
                data = encode(Frame(0, 1, number, 0, (2, 2), (1.0, 1.0, 0.5, 0.5), rgb=bytes(100)))
                server.offer(number, data, now_ns)
            server.step(now_ns)
            take(now_ns)
    server.close()
    return got


def impaired(**keys: float) -> FrameServer:
    camera = Camera(name="a", rate_hz=10.0, link="tcp://127.0.0.1:0?listen", impairment=Impairment(**keys))  # type: ignore[arg-type]
    return FrameServer(camera.link, wait=True, impairment=of_camera(camera, seed=3))


def test_a_delayed_link_delivers_later_in_simulated_time() -> None:
    assert received(impaired(delay_s=0.25), 10) == [(n, n * NS // 10 + NS // 4) for n in range(10)]


def test_a_lossy_link_loses_whole_frames_and_which_ones_depends_on_their_numbers() -> None:
    numbers = [number for number, _ in received(impaired(loss=0.4), 30)]
    assert numbers == [number for number, _ in received(impaired(loss=0.4), 30)]
    assert 8 < len(numbers) < 28
    left_out = numbers[4]
    others = [number for number, _ in received(impaired(loss=0.4), 30, skip=left_out)]
    assert others == [number for number in numbers if number != left_out]


def test_frames_arrive_twice_and_overtake_each_other() -> None:
    assert [number for number, _ in received(impaired(duplicate=1.0), 3)] == [0, 0, 1, 1, 2, 2]
    assert [number for number, _ in received(impaired(reorder=1.0), 6)] == [1, 0, 3, 2, 5, 4]


def test_in_lockstep_what_is_in_transit_at_the_end_arrives() -> None:
    camera = Camera(name="a", rate_hz=10.0, link="tcp://127.0.0.1:0?listen", impairment=Impairment(delay_s=9.0))
    server = FrameServer(camera.link, wait=True, impairment=of_camera(camera, seed=3))
    with socket.create_connection(("127.0.0.1", server.port)) as reader:
        while not server._readers:
            server.step()
        server.offer(0, b"frame", 0)
        server.close()
        assert reader.recv(100) == b"frame"
