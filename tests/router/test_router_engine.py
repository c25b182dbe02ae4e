"""The router with programs at its lines: where frames go, what is counted, who is told."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as dialect
from router_scenes import VEHICLE, Program, Scene, arm, attitude, heartbeat, three

from aeroloop.core.signals import NS
from aeroloop.protocols import framing, interface, pose
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkOut
from aeroloop.protocols.mavlink_signing import KEY_SIZE, is_signed, sign, timestamp
from aeroloop.router.config import Forward, SetRate
from aeroloop.router.decisions import MOST_DECISIONS
from aeroloop.router.messages import BOARD
from aeroloop.router.statistics import MOST_RECORDS


def test_everything_goes_to_everyone_but_its_sender(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle, qgc, mavsdk = scene.program("pixhawk", VEHICLE), scene.program("qgc"), scene.program("mavsdk")
        sent = vehicle.say(heartbeat(), attitude(1), attitude(2))
        scene.turn()
        for station in (qgc, mavsdk):
            assert b"".join(frame.wire for frame in station.frames()) == sent
        assert vehicle.frames() == []
        qgc.say(heartbeat())
        scene.turn()
        assert vehicle.heard() == ["HEARTBEAT"] == mavsdk.heard()
        assert qgc.frames() == []


def test_both_versions_pass_as_they_came(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        first = attitude(1).pack(dialect.MAVLink(None, 1, 1), force_mavlink1=True)
        second = attitude(2).pack(dialect.MAVLink(None, 1, 1))
        vehicle.socket.sendall(first + second)
        scene.turn()
        assert [frame.wire for frame in qgc.frames()] == [first, second]


def test_a_message_for_one_system_goes_where_that_was_heard(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for name in ("one", "two"):
        scene.end(name)
    scene.end("qgc", "command")
    scene.end("other", "command")
    with scene:
        one, two = scene.program("one", (1, 1)), scene.program("two", (2, 1))
        qgc, other = scene.program("qgc"), scene.program("other", (250, 190))
        qgc.say(arm(2))  # nobody has spoken yet: any vehicle may be it, but no ground station
        scene.turn()
        assert one.heard() == two.heard() == ["COMMAND_LONG"] and other.heard() == []
        one.say(heartbeat())
        two.say(heartbeat())
        scene.turn()
        for program in (one, two, qgc, other):
            program.frames()
        qgc.say(arm(2), arm(0))
        scene.turn()
        assert one.heard() == ["COMMAND_LONG"]
        assert two.heard() == ["COMMAND_LONG", "COMMAND_LONG"]
        assert other.heard() == ["COMMAND_LONG"]
        two.say(dialect.MAVLink_command_ack_message(400, 0, 0, 0, 255, 190))
        scene.turn()
        assert qgc.heard() == ["COMMAND_ACK"] and one.heard() == [] == other.heard()


def test_an_address_that_was_cut_off_is_everybody(tmp_path: Path) -> None:
    """MAVLink 2 leaves out zeros at the end: behind them stands the checksum, which is no address."""
    scene = Scene(tmp_path)
    for name in ("one", "two"):
        scene.end(name)
    scene.end("qgc", "command")
    scene.end("other", "command")
    with scene:
        one, two, qgc = scene.program("one", (1, 1)), scene.program("two", (2, 1)), scene.program("qgc")
        one.say(heartbeat())
        scene.turn()
        two.frames()
        other = scene.program("other")
        for _ in range(20):
            qgc.say(arm(0, 0))
            scene.turn(2)
        assert len(one.frames()) == len(two.frames()) == len(other.frames()) == 20


def test_routes_are_forgotten_with_their_line(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        vehicle.say(heartbeat())
        scene.turn()
        vehicle.close()
        scene.turn()
        again = scene.program("pixhawk", VEHICLE)
        qgc.say(arm())
        scene.turn()
        assert again.heard() == ["COMMAND_LONG"]


def test_a_frame_that_comes_by_two_lines_is_passed_on_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for name in ("radio", "cable"):
        scene.end(name)
    scene.end("qgc", "command")
    with scene:
        radio, cable, qgc = scene.program("radio", VEHICLE), scene.program("cable"), scene.program("qgc")
        passed = echoed = 0
        for n in range(600):  # the numbering wraps twice, with one and the same content
            wire = radio.out.pack(heartbeat())
            first, second = (radio, cable) if n % 3 else (cable, radio)
            first.socket.sendall(wire)
            scene.turn(1)
            second.socket.sendall(wire)
            scene.turn(1)
            passed += len(qgc.frames())
            echoed += len(radio.frames()) + len(cable.frames())
        assert passed == 600 and qgc.counters.lost == 0
        assert scene.line("radio").duplicates + scene.line("cable").duplicates == 600
        # Each line hears the other's: whichever came first was passed on there too, and no more.
        assert echoed == 600


def test_healthy_fast_traffic_has_no_duplicates(tmp_path: Path) -> None:
    """20,000 constant heartbeats a second: the numbering wraps every 13 ms."""
    with three(tmp_path) as scene:
        vehicle, qgc, mavsdk = scene.program("pixhawk", VEHICLE), scene.program("qgc"), scene.program("mavsdk")
        got = 0
        for _ in range(100):
            vehicle.say(*[heartbeat()] * 100)
            scene.now_ns += 5_000_000
            scene.turn()
            got += len(qgc.frames())
            assert len(mavsdk.frames()) == 100
        assert got == 10_000 and qgc.counters.lost == 0
        state = scene.line("pixhawk")
        assert state.duplicates == 0 and state.lost == 0 and state.frames_in == 10_000


def test_a_loop_of_two_routers_multiplies_nothing(tmp_path: Path) -> None:
    """Two routers with two lines between them: every frame arrives once at every program."""
    one, two = Scene(tmp_path), Scene(tmp_path)
    for name in ("vehicle", "up", "down"):
        one.end(name)
    for name in ("up", "down"):
        two.end(f"to-{name}", url=f"loopback://{tmp_path / name}")
    two.end("station", "command")
    with one, two:

        def turn() -> None:
            for _ in range(8):
                one.turn(1)
                two.turn(1)

        turn()
        vehicle, station = one.program("vehicle", VEHICLE), two.program("station")
        turn()
        for _ in range(30):
            vehicle.say(*[heartbeat()] * 10)
            station.say(heartbeat())
            turn()
            one.now_ns += 1_000_000
            two.now_ns += 1_000_000
        assert len(station.frames()) == 300 and len(vehicle.frames()) == 30
        assert sum(state.duplicates for state in one.router.links() + two.router.links()) > 0
        assert max(state.frames_out for state in one.router.links() + two.router.links()) <= 330


def test_an_echo_does_not_come_back(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        vehicle.say(attitude(1))
        scene.turn()
        qgc.socket.sendall(b"".join(frame.wire for frame in qgc.frames()))
        scene.turn()
        assert vehicle.frames() == [] and scene.line("qgc").duplicates == 1


def test_a_program_that_comes_again_may_say_the_same_again(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        for _ in range(3):
            station = scene.program("qgc")
            station.say(arm())
            scene.turn()
            assert vehicle.heard() == ["COMMAND_LONG"]
            station.close()
            scene.turn()
        assert scene.line("qgc").duplicates == 0


def test_rules_and_rates(tmp_path: Path) -> None:
    rules = (Forward(source="pixhawk", target="qgc", messages=("ATTITUDE",), max_rate_hz=10.0),)
    scene = three(tmp_path)
    scene.options |= {"forward": rules, "rates": (SetRate(endpoint="pixhawk", message="ATTITUDE", hz=50.0),)}
    with scene:
        vehicle, qgc, mavsdk = scene.program("pixhawk", VEHICLE), scene.program("qgc"), scene.program("mavsdk")
        size = 0
        for n in range(150):
            size += len(vehicle.say(attitude(n)))
            vehicle.say(heartbeat())
            scene.later(0.02, 0.02)
        assert 29 <= len(qgc.frames()) <= 32
        assert len(mavsdk.frames()) == 300
        messages = {(m.link, m.outbound, m.message): m for m in scene.router.link_messages()}
        came = messages[0, 0, 30]
        assert (came.count, came.set_hz, came.system, came.component) == (150, 50.0, 1, 1)
        assert came.bytes == size and messages[1, 1, 30].bytes == size // 150 * messages[1, 1, 30].count
        assert abs(came.rate_hz - 50.0) < 2.0 and came.last_seen_s <= 0.05
        assert abs(messages[1, 1, 30].rate_hz - 10.0) < 1.0
        assert (1, 1, 0) not in messages
        assert abs(scene.line("pixhawk").rate_in_hz - 100.0) < 4.0
        assert scene.line("pixhawk").last_seen_s <= 0.05 and math.isnan(scene.line("qgc").last_seen_s)
        scene.later(2.0)
        assert 1.9 < scene.line("pixhawk").last_seen_s < 2.1


def test_every_sender_has_a_rate_of_its_own(tmp_path: Path) -> None:
    """One rule for all of two systems, another for one component of a third; the rest does not pass. At every peer."""
    scene = three(tmp_path)
    scene.options["forward"] = (
        Forward(source="pixhawk", target="qgc", systems=(1, 4), max_rate_hz=10.0),
        Forward(source="pixhawk", target="qgc", systems=(2,), components=(7,), max_rate_hz=5.0),
    )
    senders = [(1, 1), (1, 2), (4, 1), (2, 7), (2, 8), (3, 7)]
    with scene:
        line, mavsdk = scene.program("pixhawk"), scene.program("mavsdk")
        stations = [scene.program("qgc") for _ in range(2)]
        outs = [MavlinkOut(MavlinkCounters(), *sender) for sender in senders]
        for n in range(100):
            line.socket.sendall(b"".join(out.pack(message) for out in outs for message in (attitude(n), heartbeat())))
            scene.later(0.02, 0.02)
        for station in stations:
            came = Counter((frame.system, frame.component, frame.msg_id) for frame in station.frames())
            for message in (0, 30):
                assert [round(came[*sender, message] / 10) for sender in senders] == [2, 2, 2, 1, 0, 0], came
        assert len(mavsdk.frames()) == 2 * 100 * len(senders)


def test_a_command_that_comes_too_often_for_its_rule_is_answered_and_counted(tmp_path: Path) -> None:
    scene = three(tmp_path)
    scene.options["forward"] = (Forward(source="qgc", target="pixhawk", messages=("COMMAND_LONG",), max_rate_hz=1.0),)
    with scene:
        vehicle, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        vehicle.say(heartbeat())
        scene.turn()
        qgc.frames()
        qgc.say(*[arm()] * 5)
        scene.turn()
        assert vehicle.heard() == ["COMMAND_LONG"] and scene.line("pixhawk").dropped == 4
        answers = [frame.message() for frame in qgc.frames()]
        assert [m.result for m in answers if m.get_type() == "COMMAND_ACK"] == [
            dialect.MAV_RESULT_TEMPORARILY_REJECTED
        ] * 4
        assert [m.text for m in answers if m.get_type() == "STATUSTEXT"] == ["router: pixhawk: rate limit"]


def test_a_set_rate_is_missed_before_the_first_message(tmp_path: Path) -> None:
    scene = three(tmp_path)
    scene.options["rates"] = (SetRate(endpoint="pixhawk", message="ATTITUDE", hz=50.0),)
    with scene:
        (only,) = scene.router.link_messages()
        assert (only.message, only.set_hz, only.count) == (30, 50.0, 0) and math.isnan(only.last_seen_s)


def test_gaps_and_overtaking_in_a_senders_numbering(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        wires = [vehicle.out.pack(attitude(n)) for n in range(300)]
        vehicle.socket.sendall(b"".join(wires[:100] + wires[105:200]))
        scene.turn(5)
        assert scene.line("pixhawk").lost == 5
        vehicle.socket.sendall(b"".join([wires[201], wires[200], *wires[202:]]))
        scene.turn(5)
        assert scene.line("pixhawk").lost == 5
        assert scene.line("pixhawk").frames_in == 295


def test_the_round_trip_is_measured_and_stays_here(tmp_path: Path) -> None:
    scene = three(tmp_path)
    scene.options["timesync_hz"] = 1.0
    with scene:
        vehicle, qgc, mavsdk = scene.program("pixhawk", VEHICLE), scene.program("qgc"), scene.program("mavsdk")
        assert math.isnan(scene.line("pixhawk").round_trip_s)
        scene.later(1.5)
        asked = [frame.message() for frame in vehicle.frames()][-1]
        pinged = [frame.message() for frame in qgc.frames()][-1]
        assert asked.get_type() == "TIMESYNC" and pinged.get_type() == "PING"
        mavsdk.frames()
        before = scene.now_ns
        scene.later(0.1)
        vehicle.say(dialect.MAVLink_timesync_message(77, asked.ts1), dialect.MAVLink_timesync_message(77, 123))
        qgc.say(dialect.MAVLink_ping_message(0, pinged.seq, 254, 191), dialect.MAVLink_timesync_message(0, 5))
        scene.turn()
        assert scene.now_ns - before == NS // 10
        assert 0.1 <= scene.line("pixhawk").round_trip_s < 1.0
        assert 0.1 <= scene.line("qgc").round_trip_s < 1.0
        # What others asked each other passes.
        assert mavsdk.heard().count("TIMESYNC") == 2 and vehicle.heard() == ["TIMESYNC"]


def test_lines_that_go_and_come_back_are_told_of(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle, qgc, mavsdk = scene.program("pixhawk", VEHICLE), scene.program("qgc"), scene.program("mavsdk")
        scene.later(2.0)
        vehicle.close()
        scene.later(0.2)
        told = qgc.frames()
        assert [frame.message().text for frame in told] == ["link pixhawk lost"]
        qgc.socket.sendall(told[0].wire)  # an echo of the router's own words goes no further
        scene.turn()
        assert mavsdk.heard() == ["STATUSTEXT"]
        assert scene.line("pixhawk").up == 0 and scene.line("qgc").up == 1
        again = scene.program("pixhawk", VEHICLE)
        scene.later(2.0)
        again.close()
        assert [frame.message().text for frame in qgc.frames()] == ["link pixhawk restored"]
        assert "link pixhawk lost" in scene.told and "link pixhawk restored" in scene.told


def test_made_up_senders_fill_no_memory(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        hostile, qgc = scene.program("pixhawk"), scene.program("qgc")
        sent = got = 0
        for system in range(0, 256, 8):
            for component in range(0, 256, 4):
                sender = dialect.MAVLink(None, system, component)
                hostile.socket.sendall(heartbeat().pack(sender) + attitude().pack(sender) + arm(component).pack(sender))
                sent += 3
            scene.turn()
            got += len(qgc.frames())
        assert got >= sent * 2 // 3  # all but commands, whose targets may be known elsewhere
        assert scene.line("pixhawk").frames_in == sent
        assert len(scene.router.link_messages()) <= 2 * 3 * MOST_RECORDS
        for peer in scene.router._peers.values():
            assert len(peer.decisions) <= MOST_DECISIONS and len(peer.numbering) <= MOST_DECISIONS


@settings(max_examples=20)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=400),
            st.sampled_from([b"\xfd" * 300, b"\xfe\xff" * 100, b"\x7e" * 50, b"\x7d" * 5000, b"\xaa\x55\x01" * 99]),
        ),
        max_size=6,
    )
)
def test_garbage_on_any_line_harms_nobody(chunks: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scene = three(Path(folder))
        scene.end("board-a", protocol="board")
        scene.end("board-b", protocol="board")
        scene.end("pose-a", protocol="pose")
        scene.end("pose-b", protocol="pose")
        with scene:
            vehicle, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
            bad = [scene.program(name) for name in ("mavsdk", "board-a", "pose-a")]
            far = scene.program("board-b")
            for n, chunk in enumerate(chunks):
                for program in bad:
                    program.socket.sendall(chunk)
                vehicle.say(attitude(n))
                scene.turn(12)
            scene.later(0.3)
            assert [f.message().time_boot_ms for f in qgc.frames() if f.msg_id == 30] == list(range(len(chunks)))
            # And the lines themselves still work.
            bad[0].say(heartbeat())
            frame = framing.encode(interface.REQUEST.pack())
            bad[1].socket.sendall(framing.FLAG + frame)
            scene.turn(20)
            scene.later(0.3)
            assert "HEARTBEAT" in qgc.heard()
            assert far.socket.recv(1 << 20).endswith(frame)


def test_every_bad_frame_is_refused_and_counted(tmp_path: Path) -> None:
    """Of both versions: a flipped bit, a length that lies, an end that is missing, features that nobody knows."""
    with three(tmp_path) as scene:
        vehicle, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        sender = dialect.MAVLink(None, 1, 1)
        first, second = attitude(1).pack(sender, force_mavlink1=True), attitude(2).pack(sender)
        flags = bytearray(second)
        flags[2] = 0x02
        bad = [bytes(flags)]
        for wire in (first, second):
            flipped, lying = bytearray(wire), bytearray(wire)
            flipped[len(wire) // 2] ^= 0x10
            lying[1] = 255  # the longest
            bad += [bytes(flipped), bytes(lying), wire[:-5]]
        for n, wire in enumerate(bad):
            before = scene.line("pixhawk")
            vehicle.socket.sendall(wire + bytes(300))
            scene.turn()
            vehicle.say(heartbeat())
            scene.later(0.3)
            after = scene.line("pixhawk")
            assert after.bad_checksums + after.refused > before.bad_checksums + before.refused, (n, wire)
            assert after.frames_in == before.frames_in + 1 and qgc.heard() == ["HEARTBEAT"], (n, wire)


def test_board_and_pose_frames_pass_among_their_own(tmp_path: Path) -> None:
    scene = three(tmp_path)
    for name in ("board", "plant"):
        scene.end(name, protocol="board")
    scene.end("looker", "observe", protocol="board")
    for name in ("pose-a", "pose-b"):
        scene.end(name, protocol="pose")
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        board, plant, looker = (scene.program(name) for name in ("board", "plant", "looker"))
        pose_a, pose_b = scene.program("pose-a"), scene.program("pose-b")
        request = framing.encode(interface.REQUEST.pack())
        jumbo = framing.encode(bytes(5000))
        answer = framing.encode(interface.ANSWER.pack(*range(16)))
        for _ in range(3):
            board.socket.sendall(request)  # alike, and none of them a duplicate
        board.socket.sendall(jumbo)
        plant.socket.sendall(answer)
        looker.socket.sendall(request)
        packet = pose.encode(pose.Attitude(0.1, 0.2, 0.3))
        pose_a.socket.sendall(packet + b"\xaa\x55\x01\x0c broken packet")
        scene.turn()
        assert plant.socket.recv(4096) == request * 3
        assert board.socket.recv(4096) == answer
        assert pose_b.socket.recv(4096) == packet
        assert vehicle.frames() == []
        assert scene.line("board").bad_checksums >= 1 and scene.line("looker").refused == 1
        counted = {
            (m.link, m.system, m.component, m.message): m.count for m in scene.router.link_messages() if not m.outbound
        }
        assert counted[3, 0, 0, BOARD["request"]] == 3


def test_signing_belongs_to_its_line(tmp_path: Path) -> None:
    key = bytes(range(KEY_SIZE))
    (tmp_path / "key.txt").write_text(key.hex())
    scene = three(tmp_path)
    scene.end("far", "command", signing_key_file=str(tmp_path / "key.txt"))
    with scene:
        vehicle, far, qgc = scene.program("pixhawk", VEHICLE), scene.program("far"), scene.program("qgc")
        plain = vehicle.say(attitude(1))
        first = attitude(2).pack(dialect.MAVLink(None, 1, 1), force_mavlink1=True)
        vehicle.socket.sendall(first)
        scene.turn()
        came = far.frames()
        assert [frame.message().time_boot_ms for frame in came] == [1, 2]
        assert all(is_signed(frame.wire) for frame in came)
        reader = dialect.MAVLink(None)
        reader.signing.secret_key = key
        assert [reader.decode(bytearray(frame.wire)).time_boot_ms for frame in came] == [1, 2]
        assert qgc.frames()[0].wire == plain

        now = timestamp(1_750_000_000 * NS)
        wire = far.out.pack(arm())
        good = sign(wire, key, 0, now)
        assert good is not None
        forged = sign(far.out.pack(arm()), bytes(KEY_SIZE), 0, now + 1)
        assert forged is not None
        far.socket.sendall(forged + wire + good + good)
        scene.turn()
        assert [frame.wire for frame in vehicle.frames()] == [wire]
        assert scene.line("far").bad_checksums == 3


def test_programs_at_one_server_are_lines_of_their_own(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("stations", "command", max_peers=2)
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        one, two = scene.program("stations"), scene.program("stations", (245, 190))
        third: Program = scene.program("stations")
        vehicle.say(attitude(1))
        scene.turn()
        assert one.heard() == two.heard() == ["ATTITUDE"] and third.heard() == []
        assert third.socket.recv(10) == b"" and scene.line("stations").refused == 1
        one.say(arm())
        two.say(arm())
        scene.turn()
        assert vehicle.heard().count("COMMAND_LONG") == 1  # the commander is a program, not the endpoint
        names = [peer.name for peer in scene.router.peers() if peer.link == 1]
        assert names == ["stations/1", "stations/2"] and scene.router.commander == "stations/1"
        one.frames()
        vehicle.say(dialect.MAVLink_command_ack_message(400, 0, 0, 0, 245, 190))
        scene.turn()
        assert one.frames() == [] and "COMMAND_ACK" in two.heard()
