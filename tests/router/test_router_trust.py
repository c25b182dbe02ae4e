"""Whom the router believes: vehicles' names, signatures, made-up addresses, messages that it does not know."""

from __future__ import annotations

import socket
from pathlib import Path

from pymavlink.dialects.v20 import all as every_dialect
from pymavlink.dialects.v20 import common as dialect
from router_scenes import STATION, VEHICLE, Program, Scene, arm, attitude, free_port, heartbeat

from aeroloop.core.signals import NS
from aeroloop.protocols.mavlink_signing import KEY_SIZE, sign, timestamp
from aeroloop.router.config import SetRate
from aeroloop.router.wire import MavlinkWire


def two_vehicles(folder: Path) -> Scene:
    scene = Scene(folder)
    scene.end("one")
    scene.end("two")
    scene.end("qgc", "command")
    scene.end("wall", "observe")
    return scene


def texts(program: Program) -> list[str]:
    return [frame.message().text for frame in program.frames() if frame.msg_id == 253]


def test_messages_of_other_dialects_pass(tmp_path: Path) -> None:
    ahrs = every_dialect.MAVLink_ahrs_message(0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 0.0)
    assert ahrs.get_msgId() not in dialect.mavlink_map
    with two_vehicles(tmp_path) as scene:
        one, qgc = scene.program("one", VEHICLE), scene.program("qgc")
        wire = one.say(ahrs)
        scene.turn()
        assert qgc.socket.recv(4096) == wire
        mount = every_dialect.MAVLink_mount_control_message(1, 1, 0, 0, 0, 0)
        wall = scene.program("wall")
        wall.say(mount)
        scene.turn()
        assert scene.line("wall").refused == 1 and scene.router.commander == ""
        qgc.say(mount)
        scene.turn()
        assert scene.router.commander.startswith("qgc")


def test_a_message_that_nobody_knows_is_refused_and_named(tmp_path: Path) -> None:
    payload = bytes(4)
    unknown = b"\xfd\x04\0\0\x07\1\1" + (54321).to_bytes(3, "little") + payload + b"\x12\x34"
    with two_vehicles(tmp_path) as scene:
        one, qgc = scene.program("one", VEHICLE), scene.program("qgc")
        for n in range(5):
            one.socket.sendall(unknown + one.out.pack(attitude(n)))
        scene.later(1.0)
        assert qgc.heard() == ["ATTITUDE"] * 5
        state = scene.line("one")
        assert (state.refused, state.bad_checksums, state.frames_in) == (5, 0, 5)
        told = [words for words in scene.told if "54321" in words]
        assert told == ["link one: message 54321 is in no known MAVLink dialect: not forwarded"]
        one.close()
        scene.turn()
        assert scene.line("one").refused == 5


def test_many_unknown_messages_fill_no_memory() -> None:
    wire = MavlinkWire()
    for number in range(100_000, 101_000):
        wire.feed(3 * (b"\xfd\0\0\0\0\1\1" + number.to_bytes(3, "little") + b"\0\0"))
    assert wire.unknown() >= 2_990 and wire.bad() == 0 and len(wire.unknown_numbers()) == 64


def test_nobody_speaks_in_the_name_of_a_vehicle(tmp_path: Path) -> None:
    with two_vehicles(tmp_path) as scene:
        one, two, qgc = scene.program("one", (1, 1)), scene.program("two", (2, 1)), scene.program("qgc")
        thief, mavros = scene.program("wall", (1, 1)), scene.program("qgc", (1, 240))
        thief.say(heartbeat())  # before the vehicle itself: it may be anybody's
        scene.turn()
        one.say(attitude(1))
        two.say(heartbeat())
        mavros.say(heartbeat())
        scene.turn()
        for program in (one, two, qgc, thief, mavros):
            program.frames()
        thief.say(*[heartbeat()] * 3)
        qgc.say(arm(1, 1), arm(1, 0), arm(1, 9))
        scene.turn()
        assert one.heard() == ["COMMAND_LONG"] * 3
        assert thief.frames() == two.frames() == mavros.frames() == []
        assert qgc.heard() == [] and scene.line("wall").refused == 3
        assert sum("sends as 1/1" in words for words in scene.told) == 1
        # A companion has its own component, and is reached there.
        qgc.say(arm(1, 240))
        scene.turn()
        assert mavros.heard() == ["COMMAND_LONG"] and one.heard() == []


def test_a_forged_frame_makes_no_duplicate_of_the_true_one(tmp_path: Path) -> None:
    """Heartbeats are easily foretold: whoever sends them first must not silence the vehicle."""
    with two_vehicles(tmp_path) as scene:
        one, qgc, thief = scene.program("one", VEHICLE), scene.program("qgc"), scene.program("wall", VEHICLE)
        one.say(attitude(1))
        scene.turn()
        qgc.frames()
        foretold = [one.out.pack(heartbeat()) for _ in range(10)]
        thief.socket.sendall(b"".join(foretold))
        scene.turn()
        one.socket.sendall(b"".join(foretold))
        scene.turn()
        assert qgc.heard() == ["HEARTBEAT"] * 10
        assert scene.line("one").duplicates == 0 and scene.line("wall").refused == 10
        # What comes back as an echo is no attempt.
        thief.socket.sendall(foretold[0])
        scene.turn()
        assert scene.line("wall").duplicates == 1 and scene.line("wall").refused == 10


def test_an_observer_does_not_keep_the_commander_from_commanding(tmp_path: Path) -> None:
    """It signs with the same name and foretells what the other will say: refused, and not remembered."""
    with two_vehicles(tmp_path) as scene:
        one, qgc, wall = scene.program("one", VEHICLE), scene.program("qgc"), scene.program("wall")
        foretold = b"".join(qgc.out.pack(arm()) for _ in range(5))
        for _ in range(2):
            for _ in range(3):
                wall.socket.sendall(foretold)
                scene.turn()
            qgc.socket.sendall(foretold)
            scene.turn()
            assert one.heard() == ["COMMAND_LONG"] * 5 and scene.line("qgc").duplicates == 0


def test_a_command_for_a_vehicle_that_is_gone_goes_nowhere_and_says_so(tmp_path: Path) -> None:
    with two_vehicles(tmp_path) as scene:
        one, two, qgc = scene.program("one", (1, 1)), scene.program("two", (2, 1)), scene.program("qgc")
        one.say(heartbeat())
        two.say(heartbeat())
        scene.turn()
        one.close()
        scene.later(0.5)
        thief = scene.program("wall", (1, 1))  # a vehicle that is away keeps its name
        thief.say(heartbeat())
        qgc.frames()
        two.frames()
        qgc.say(
            arm(1),
            dialect.MAVLink_param_set_message(1, 1, b"A", 1.0, 9),
            dialect.MAVLink_mission_count_message(1, 1, 2),
        )
        scene.turn()
        assert two.frames() == thief.frames() == []
        answers = {frame.message().get_type(): frame for frame in qgc.frames()}
        ack = answers["COMMAND_ACK"]
        assert ack.message().result == dialect.MAV_RESULT_TEMPORARILY_REJECTED and (ack.system, ack.component) == (1, 1)
        assert answers["STATUSTEXT"].message().text == "router: link one lost" and answers["STATUSTEXT"].system == 1
        assert answers["MISSION_ACK"].message().type == dialect.MAV_MISSION_DENIED
        assert scene.line("qgc").refused == 3
        # It comes back where it was and is reached before it has spoken.
        again = scene.program("one", (1, 1))
        qgc.say(arm(1))
        scene.turn()
        assert "COMMAND_LONG" in again.heard() and "COMMAND_LONG" not in two.heard()


def test_a_command_that_no_vehicle_line_can_take_is_answered(tmp_path: Path) -> None:
    with two_vehicles(tmp_path) as scene:
        qgc = scene.program("qgc")
        qgc.say(arm(7))
        scene.turn()
        assert texts(qgc) == ["router: no route to system 7"] and scene.line("qgc").refused == 1


def test_a_vehicle_whose_address_is_silent_is_told_of(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
        far.bind(("127.0.0.1", 0))
        far.setblocking(False)
        scene = Scene(tmp_path, peer_timeout_s=3.0)
        scene.end("plane", url=f"udp://127.0.0.1:{far.getsockname()[1]}")
        scene.end("qgc", "command")
        with scene:
            qgc = scene.program("qgc")
            qgc.say(heartbeat())
            scene.turn()
            router = far.recvfrom(4096)[1]
            plane = Program(far, VEHICLE)
            far.sendto(plane.out.pack(heartbeat()), router)
            scene.turn()
            scene.later(4.0)
            qgc.frames()
            qgc.say(arm())
            scene.turn()
            assert texts(qgc) == ["router: link plane times out"]
            assert "COMMAND_LONG" in plane.heard(), "it may hear us all the same"


def test_made_up_addresses_give_way_to_a_station_that_speaks(tmp_path: Path) -> None:
    port = free_port(socket.SOCK_DGRAM)
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("stations", "command", url=f"udp://127.0.0.1:{port}?listen", max_peers=4)
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        programs = []
        for _ in range(6):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.connect(("127.0.0.1", port))
            programs.append(Program(sock, STATION))
        old, *_, new = programs
        for program in programs:
            program.say(heartbeat())
            scene.turn()
        assert scene.line("stations").refused == 2
        for _ in range(4):
            scene.later(1.0)
            old.say(heartbeat())
            scene.turn()
        new.say(heartbeat())
        scene.turn()
        vehicle.say(attitude(5))
        scene.turn()
        assert "ATTITUDE" in old.heard() and "ATTITUDE" in new.heard()
        assert sum(peer.link == 1 for peer in scene.router.peers()) == 4
        for program in programs:
            program.close()


def test_signed_programs_of_one_name_do_not_overtake_each_other(tmp_path: Path) -> None:
    key = bytes(range(KEY_SIZE))
    (tmp_path / "key.txt").write_text(key.hex())
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("signed", "command", signing_key_file=str(tmp_path / "key.txt"))
    now = timestamp(1_750_000_000 * NS)
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        one, two = scene.program("signed"), scene.program("signed")
        recorded = b""

        def say(program: Program, n: int, time: int) -> bytes:
            wire = sign(program.out.pack(attitude(n)), key, 0, time)
            assert wire is not None
            program.socket.sendall(wire)
            scene.turn()
            return wire

        recorded = say(one, 0, now)
        say(two, 1, now + 10)
        say(one, 2, now + 5)  # behind the other program, ahead of its own
        say(two, 3, now + 11)
        assert [frame.message().time_boot_ms for frame in vehicle.frames()] == [0, 1, 2, 3]
        one.socket.sendall(recorded)
        spy = scene.program("signed")
        spy.socket.sendall(recorded)  # whoever joins with what he recorded is not let in
        scene.turn()
        assert vehicle.frames() == [] and scene.line("signed").bad_checksums == 2


def set_interval(message: int, interval_us: float) -> dialect.MAVLink_message:
    return dialect.MAVLink_command_long_message(1, 1, 511, 0, message, interval_us, 0, 0, 0, 0, 0)


def acknowledge(result: int) -> dialect.MAVLink_message:
    return dialect.MAVLink_command_ack_message(511, result, 0, 0, *STATION)


def test_a_rate_that_a_ground_station_has_set_is_the_set_rate(tmp_path: Path) -> None:
    scene = two_vehicles(tmp_path)
    scene.options["rates"] = (
        SetRate(endpoint="one", message="ATTITUDE", hz=50.0),
        SetRate(endpoint="one", message="VFR_HUD", hz=5.0),
    )
    with scene:
        one, qgc = scene.program("one", VEHICLE), scene.program("qgc")
        one.say(heartbeat(), attitude(1))
        scene.turn()

        def set_hz() -> dict[int, float]:
            return {m.message: m.set_hz for m in scene.router.link_messages() if m.link == 0 and not m.outbound}

        qgc.say(set_interval(30, 100_000.0), set_interval(0, 500_000.0), set_interval(74, -1.0))
        scene.turn()
        assert set_hz()[30] == 50.0, "not before the vehicle agrees"
        one.say(acknowledge(5), acknowledge(0), acknowledge(4), acknowledge(0))
        scene.turn()
        assert set_hz() == {0: 0.0, 30: 10.0, 77: 0.0}, "the second was refused, the third is off"
        qgc.say(set_interval(30, 0.0))
        scene.turn()
        one.say(acknowledge(0))
        scene.turn()
        assert set_hz()[30] == 50.0, "the vehicle's own rate: what the file says"


def test_questions_without_an_answer_fill_no_memory(tmp_path: Path) -> None:
    with two_vehicles(tmp_path) as scene:
        one, qgc = scene.program("one", VEHICLE), scene.program("qgc")
        one.say(heartbeat())
        scene.turn()
        for n in range(300):
            qgc.say(set_interval(n, 1000.0))
            scene.turn(2)
            one.frames()
        qgc.say(set_interval(0, float("nan")), set_interval(-5, 1.0))
        scene.turn()
        assert len(scene.router._intervals._open) == 64
