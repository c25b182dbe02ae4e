"""The router's transports: serial, pty, UDP and TCP as client and server; lines that vanish and come back."""

from __future__ import annotations

import os
import pty
import socket
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from router_scenes import VEHICLE, Program, Scene, arm, attitude, free_port, heartbeat

from aeroloop.core.errors import ConfigError
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.protocols import framing, interface, pose
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.router import peers, ports
from aeroloop.router.config import EndpointConfig, RouterConfig
from aeroloop.router.engine import Router
from aeroloop.router.links import LONGEST_RETRY_NS
from aeroloop.router.messages import BOARD


def udp_client(port: int, sender: tuple[int, int]) -> Program:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    return Program(sock, sender)


def waited(scene: Scene, done: Callable[[], bool]) -> None:
    """The kernel may take a moment; the scene's clock stands still."""
    for _ in range(400):
        if done():
            return
        scene.router.turn(0.0)
        time.sleep(0.005)
    raise AssertionError("it does not come")


def test_a_udp_server_speaks_to_everyone_it_knows(tmp_path: Path) -> None:
    port = free_port(socket.SOCK_DGRAM)
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("stations", "command", url=f"udp://127.0.0.1:{port}?listen", max_peers=2)
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        one, two, three = udp_client(port, (255, 190)), udp_client(port, (245, 190)), udp_client(port, (235, 190))
        three.socket.send(b"garbage makes nobody a peer")
        for program in (one, two, three):
            program.say(heartbeat())
            scene.turn()
        vehicle.frames()
        vehicle.say(attitude(1))
        scene.turn()
        assert "ATTITUDE" in one.heard() and "ATTITUDE" in two.heard() and three.heard() == []
        assert len(scene.router.peers()) == 3 and scene.line("stations").refused == 1
        # A message for one of them goes to that one alone.
        vehicle.say(arm(245, 190))
        scene.turn()
        assert two.heard() == ["COMMAND_LONG"] and one.heard() == []
        # Who falls silent makes room.
        for _ in range(11):
            one.say(heartbeat())
            scene.later(1.0)
        three.say(heartbeat())
        scene.turn()
        assert sorted(peer.name.rpartition(":")[2] for peer in scene.router.peers()[1:]) == sorted(
            str(program.socket.getsockname()[1]) for program in (one, three)
        )
        for program in (one, two, three):
            program.close()


def test_a_udp_client_speaks_into_the_void_until_somebody_answers(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
        far.bind(("127.0.0.1", 0))
        port = far.getsockname()[1]
        scene = Scene(tmp_path, peer_timeout_s=3.0)
        scene.end("pixhawk")
        scene.end("qgc", "command", url=f"udp://127.0.0.1:{port}")
        with scene:
            vehicle = scene.program("pixhawk", VEHICLE)
            wires = [vehicle.say(attitude(n)) for n in range(60)]
            scene.turn()
            datagrams: list[bytes] = []
            far.setblocking(False)
            while sum(map(len, datagrams)) < len(b"".join(wires)):
                datagrams.append(far.recv(65536))
            assert b"".join(datagrams) == b"".join(wires)
            assert max(map(len, datagrams)) <= ports.DATAGRAM_SIZE < len(b"".join(wires))
            assert len(datagrams) <= 3  # many frames in one write
            assert scene.line("qgc").up == 0
            far.connect(("127.0.0.1", 9))  # nobody there any more: datagrams are refused
            far.close()
            for n in range(5):
                vehicle.say(attitude(n))
                scene.turn()
            again = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            again.bind(("127.0.0.1", port))
            vehicle.say(attitude(99))
            scene.turn()
            chunk, router = again.recvfrom(65536)
            assert MavlinkIn(MavlinkCounters()).feed(chunk)[0].message().time_boot_ms == 99
            again.sendto(MavlinkOut(MavlinkCounters(), 255, 190).pack(heartbeat()), router)
            scene.turn()
            assert vehicle.heard() == ["HEARTBEAT"] and scene.line("qgc").up == 1
            scene.later(4.0)
            assert scene.line("qgc").up == 0 and "link qgc lost" in scene.told
            again.close()


def test_a_tcp_client_tries_again_with_patience(tmp_path: Path) -> None:
    port = free_port(socket.SOCK_STREAM)
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("server", "command", url=f"tcp://127.0.0.1:{port}")
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        scene.later(20.0)
        told = [words for words in scene.told if words.startswith("link ")]
        assert len(told) == 1 and told[0].endswith("; retrying")
        with socket.create_server(("127.0.0.1", port)) as listener:
            scene.later(6.0)  # the longest pause between two tries
            station = Program(listener.accept()[0], (255, 190))
            waited(scene, lambda: scene.line("server").up == 1)
            vehicle.say(attitude(1))
            waited(scene, lambda: "ATTITUDE" in station.heard())
            station.close()
            waited(scene, lambda: not scene.line("server").up)
            scene.later(1.5)
            station = Program(listener.accept()[0], (255, 190))
            scene.later(1.5)
            assert scene.line("server").up and "link server restored" in scene.told
            assert [f.message().text for f in vehicle.frames() if f.msg_id == 253] == [
                "link server lost",
                "link server restored",
            ]
            station.close()


def test_ground_stations_come_and_go_without_a_word_and_a_vehicle_does_not(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("stations", "command")
    with scene:
        for name in ("stations", "pixhawk"):
            visitor = scene.program(name, VEHICLE)
            waited(scene, lambda name=name: scene.line(name).up == 1)
            scene.later(1.5)
            visitor.close()
            waited(scene, lambda name=name: not scene.line(name).up)
            scene.later(1.5)
        assert [words for words in scene.told if words.startswith("link ")] == ["link pixhawk lost"]


def test_tries_grow_apart_and_are_frequent_again_after_a_line_was_up(tmp_path: Path) -> None:
    port = free_port(socket.SOCK_STREAM)
    scene = Scene(tmp_path)
    scene.end("server", "command", url=f"tcp://127.0.0.1:{port}")
    with scene:
        line = scene.router._links[0]
        tried_s: list[float] = []
        opens = line.port.open

        def noted() -> None:
            tried_s.append(scene.now_ns / 1e9)
            opens()

        line.port.open = noted  # type: ignore[method-assign]
        scene.later(30.0)
        pauses_s = [round(later - before, 3) for before, later in pairwise(tried_s)]
        assert pauses_s == sorted(pauses_s) and pauses_s[0] < 1.0
        assert pauses_s[-1] == pytest.approx(LONGEST_RETRY_NS / 1e9, abs=0.2) and len(pauses_s) >= 6
        with socket.create_server(("127.0.0.1", port)) as listener:
            listener.setblocking(False)
            scene.later(6.0)
            waited(scene, lambda: scene.line("server").up == 1)
            listener.accept()[0].close()
        gone_s = scene.now_ns / 1e9
        waited(scene, lambda: scene.line("server").up == 0)
        tried_s.clear()
        scene.later(2.0)
        assert tried_s and tried_s[0] - gone_s < 1.0


def _hears_attitude(program: Program) -> bool:
    return "ATTITUDE" in program.heard()


def test_tcp_clients_of_a_server(tmp_path: Path) -> None:
    port = free_port(socket.SOCK_STREAM)
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("wall", "observe", url=f"tcp://127.0.0.1:{port}?listen")
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        walls = [Program(socket.create_connection(("127.0.0.1", port)), (255, 190)) for _ in range(3)]
        waited(scene, lambda: len(scene.router.peers()) == 4)
        vehicle.say(attitude(1))
        for wall in walls:
            waited(scene, partial(_hears_attitude, wall))
        for wall in walls:
            wall.close()
        waited(scene, lambda: len(scene.router.peers()) == 1)
        assert scene.line("wall").up == 0


def test_a_serial_line_is_unplugged_and_plugged_in(tmp_path: Path) -> None:
    plug = tmp_path / "ttyACM0"
    scene = Scene(tmp_path)
    scene.end("pixhawk", url=f"serial://{plug}?baud=57600", baud=57600)
    scene.end("qgc", "command")
    with scene:
        qgc = scene.program("qgc")
        out = MavlinkOut(MavlinkCounters(), *VEHICLE)
        for _ in range(2):
            master, slave = pty.openpty()
            tty.setraw(slave)
            plug.symlink_to(os.ttyname(slave))
            os.close(slave)
            scene.later(6.0)
            assert scene.line("pixhawk").up == 1
            qgc.frames()
            os.write(master, out.pack(attitude(7)))
            waited(scene, partial(_hears_attitude, qgc))
            qgc.say(arm())
            scene.turn()
            assert [f.msg_id for f in MavlinkIn(MavlinkCounters()).feed(os.read(master, 4096))] == [76]
            plug.unlink()
            os.close(master)
            waited(scene, lambda: scene.line("pixhawk").up == 0)
            scene.later(2.0)
            assert "link pixhawk lost" in [f.message().text for f in qgc.frames() if f.msg_id == 253]
        assert scene.line("pixhawk").frames_in == 2


def _collected(came: list[int], reader: MavlinkIn, link: Link) -> bool:
    came += [frame.message().time_boot_ms for frame in reader.feed(link.poll())]
    return bool(came)


def test_a_pty_stays_while_programs_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "ttyROUTER"
    scene = Scene(tmp_path)
    scene.end("station", "command", url=f"pty://{path}")
    scene.end("pixhawk")
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        for n in range(3):
            assert scene.line("station").up == 0
            vehicle.say(attitude(1000))  # nobody is there to hear this, and nobody hears it later
            scene.later(0.2)
            link = open_link(f"serial://{path}")
            scene.later(0.2)
            assert scene.line("station").up == 1
            vehicle.frames()
            vehicle.say(attitude(n))
            link.send(MavlinkOut(MavlinkCounters(), 255, 190).pack(heartbeat()))
            waited(scene, lambda: "HEARTBEAT" in vehicle.heard())
            came: list[int] = []
            reader = MavlinkIn(MavlinkCounters())
            waited(scene, partial(_collected, came, reader, link))
            assert came == [n]
            link.close()
            waited(scene, lambda: scene.line("station").up == 0)
    assert not path.is_symlink()


def _has_come(scene: Scene, line: str, frames: int) -> bool:
    return scene.line(line).frames_in == frames


class Collected:
    """Datagrams that have come so far, and from where."""

    def __init__(self) -> None:
        self.sender: tuple[str, int] = ("", 0)
        self._came = b""

    def so_far(self, sock: socket.socket) -> bytes:
        with suppress(BlockingIOError):
            while True:
                chunk, self.sender = sock.recvfrom(65536)
                self._came += chunk
        return self._came


def test_board_frames_pass_between_a_serial_line_and_udp(tmp_path: Path) -> None:
    plug = tmp_path / "ttyBOARD"
    master, slave = pty.openpty()
    tty.setraw(slave)
    plug.symlink_to(os.ttyname(slave))
    request, answer = framing.encode(interface.REQUEST.pack()), framing.encode(interface.ANSWER.pack(*range(16)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plant:
        plant.bind(("127.0.0.1", 0))
        plant.setblocking(False)
        scene = Scene(tmp_path)
        scene.end("board", url=f"serial://{plug}?baud=921600", protocol="board")
        scene.end("plant", url=f"udp://127.0.0.1:{plant.getsockname()[1]}", protocol="board")
        with scene:
            came = Collected()
            broken = bytearray(request)
            broken[len(request) // 2] ^= 0x01
            for n in range(100):
                os.write(master, b"\x00garbage" + framing.FLAG + bytes(broken) + request)
                waited(scene, partial(_has_come, scene, "board", n + 1))
                scene.later(0.02, 0.02)
            waited(scene, lambda: len(came.so_far(plant)) >= 100 * len(request))
            assert came.so_far(plant) == 100 * request
            state = scene.line("board")
            assert (state.frames_in, scene.line("plant").frames_out) == (100, 100)
            assert state.bad_checksums >= 100
            rates = {(m.link, m.outbound, m.message): m.rate_hz for m in scene.router.link_messages()}
            assert rates[0, 0, BOARD["request"]] == pytest.approx(50.0, abs=2.0)
            assert rates[1, 1, BOARD["request"]] == pytest.approx(50.0, abs=2.0)
            plant.sendto(answer, came.sender)
            waited(scene, lambda: scene.line("board").frames_out == 1)
            assert os.read(master, 4096) == answer and scene.line("plant").frames_in == 1
    os.close(master)
    os.close(slave)


def test_pose_packets_pass_between_a_pty_and_a_udp_server(tmp_path: Path) -> None:
    port = free_port(socket.SOCK_DGRAM)
    scene = Scene(tmp_path)
    scene.end("pixhawk", url=f"pty://{tmp_path / 'ttyPOSE'}", protocol="pose")
    scene.end("viewers", "observe", url=f"udp://127.0.0.1:{port}?listen", protocol="pose")
    packets = [pose.encode(pose.Attitude(0.1, 0.2, n / 10)) for n in range(60)]
    motors = pose.encode(pose.Motors((1000, 1100, 1200, 1300)))
    with scene, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as viewer:
        viewer.connect(("127.0.0.1", port))
        viewer.setblocking(False)
        link = open_link(f"serial://{tmp_path / 'ttyPOSE'}")
        scene.later(0.2)
        viewer.send(motors)  # that it is there; what it says goes nowhere
        scene.later(0.1)
        came = Collected()
        for n, packet in enumerate(packets):
            bad = packet[:-1] + bytes((packet[-1] ^ 0xFF,))
            link.send(b"\xaa\x55" + bad + packet + (motors if n % 2 else b""))
            waited(scene, partial(_has_come, scene, "pixhawk", n + 1 + (n + 1) // 2))
            scene.later(0.05)
        expected = b"".join(packet + (motors if n % 2 else b"") for n, packet in enumerate(packets))
        waited(scene, lambda: len(came.so_far(viewer)) >= len(expected))
        assert came.so_far(viewer) == expected
        state = scene.line("pixhawk")
        assert state.frames_in == 90 and state.bad_checksums >= 60
        assert scene.line("viewers").refused == 1 and link.poll() == b""
        messages = {(m.link, m.outbound, m.message): m for m in scene.router.link_messages()}
        assert messages[0, 0, pose.ATTITUDE].rate_hz == pytest.approx(20.0, abs=1.0)
        assert messages[1, 1, pose.MOTORS].rate_hz == pytest.approx(10.0, abs=1.0)
        assert messages[1, 1, pose.MOTORS].count == 30
        link.close()


def test_the_load_of_a_line(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk", baud=57600)
    scene.end("qgc", "command")
    with scene:
        vehicle, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        size = 0
        for n in range(300):
            size += len(vehicle.say(attitude(n)))
            scene.later(0.01, 0.01)
            qgc.frames()
        state = scene.line("pixhawk")
        assert state.load_in_pct == pytest.approx(100 * size / 3 * 10 / 57600, rel=0.05)
        assert state.load_out_pct == 0.0 and state.bytes_in == size
        assert scene.line("qgc").load_in_pct != scene.line("qgc").load_in_pct  # no baud, no load


def test_a_flood_does_not_starve_the_others(tmp_path: Path) -> None:
    """Each turn takes a bounded bite of the flood, and all of what a quiet line has."""
    scene = Scene(tmp_path)
    for name in ("flood", "pixhawk"):
        scene.end(name)
    scene.end("qgc", "command")
    with scene:
        flood, vehicle, qgc = scene.program("flood", (9, 1)), scene.program("pixhawk", VEHICLE), scene.program("qgc")
        flood.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        pending = b""
        came = 0
        for n in range(20):
            pending = pending or b"".join(flood.out.pack(attitude(k)) for k in range(1000))
            with suppress(BlockingIOError):
                pending = pending[flood.socket.send(pending) :]
            vehicle.say(attitude(n))
            before = scene.line("flood").bytes_in
            scene.turn(1)
            assert scene.line("flood").bytes_in - before <= peers.READ_SIZE
            came += sum(frame.system == 1 for frame in qgc.frames())
        assert came == 20


def test_what_cannot_work_is_said_at_once(tmp_path: Path) -> None:
    end = EndpointConfig(name="a", url="udp://no-such-host.invalid:1")
    with pytest.raises(ConfigError, match=r"endpoint a: .*no such host"):
        Router(RouterConfig(endpoints=(end,)))
    signed = EndpointConfig(name="a", url="udp://127.0.0.1:1", signing_key_file=str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="cannot read the signing key"):
        Router(RouterConfig(endpoints=(signed,)))


def test_a_line_that_others_can_reach_is_warned_of(tmp_path: Path) -> None:
    told: list[str] = []
    ends = (
        EndpointConfig(name="open", url=f"tcp://0.0.0.0:{free_port(socket.SOCK_STREAM)}?listen"),
        EndpointConfig(name="home", url=f"tcp://:{free_port(socket.SOCK_STREAM)}?listen"),
    )
    Router(RouterConfig(endpoints=ends), notify=told.append).close()
    assert len(told) == 1 and told[0].startswith("warning: link open listens at 0.0.0.0")


def test_a_stale_socket_is_no_hindrance_but_a_file_is(tmp_path: Path) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(tmp_path / "pixhawk"))
    stale.close()
    (tmp_path / "qgc").write_text("a file")
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("qgc", "command")
    with scene:
        scene.program("pixhawk", VEHICLE).close()
        scene.later(4.0)
        assert any("link qgc cannot be opened: " in words and "cannot listen" in words for words in scene.told)
    assert (tmp_path / "qgc").read_text() == "a file"
    assert not (tmp_path / "pixhawk").exists()
