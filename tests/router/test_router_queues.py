"""Lines that stand still: nobody else waits, telemetry goes first, and commands never without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from pymavlink.dialects.v20 import common as dialect
from router_scenes import VEHICLE, Scene, arm, attitude, heartbeat, three

from aeroloop.router.config import Forward


def test_a_line_that_stands_still_delays_nobody_and_pays_alone(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("stuck", "command", queue_frames=100)
    scene.end("qgc", "command")
    with scene:
        vehicle, stuck, qgc = scene.program("pixhawk", VEHICLE), scene.program("stuck"), scene.program("qgc")
        got, sent = 0, 0
        while scene.line("stuck").dropped < 500:
            vehicle.say(*(attitude(sent + n) for n in range(50)))
            sent += 50
            scene.turn()
            got += len(qgc.frames())
        assert got == sent and scene.line("qgc").dropped == 0 and qgc.counters.lost == 0
        state = scene.line("stuck")
        assert state.queued <= 100
        came = [frame.message().time_boot_ms for frame in stuck.frames()]
        for _ in range(50):
            scene.turn()
            came += [frame.message().time_boot_ms for frame in stuck.frames()]
        assert came == sorted(came) and came[-1] == sent - 1
        state = scene.line("stuck")
        assert len(came) + state.dropped == sent and state.queued == 0
        (message,) = [m for m in scene.router.link_messages() if m.link == 1 and m.outbound]
        assert message.count == len(came) == state.frames_out


@pytest.mark.parametrize("rules", [(), (Forward(source="pixhawk", target="mavsdk", max_rate_hz=50.0),)])
def test_what_was_counted_stays_when_a_program_leaves_and_what_waited_for_it_is_counted(
    tmp_path: Path, rules: tuple[Forward, ...]
) -> None:
    scene = three(tmp_path)
    scene.options["forward"] = rules
    with scene:
        vehicle, qgc, mavsdk = scene.program("pixhawk", VEHICLE), scene.program("qgc"), scene.program("mavsdk")
        flipped = bytearray(qgc.out.pack(attitude()))
        flipped[-1] ^= 1
        unknown = bytearray(qgc.out.pack(attitude()))
        unknown[7:10] = b"\xfe\xff\xff"
        qgc.socket.sendall(bytes(flipped + unknown))
        qgc.say(heartbeat())
        scene.later(0.3)
        bad, refused = scene.line("qgc").bad_checksums, scene.line("qgc").refused
        assert bad >= 1 and refused >= 1
        while scene.line("qgc").queued < 100:
            vehicle.say(*(attitude(n) for n in range(20)))
            scene.turn()
            mavsdk.frames()
        waited, before = scene.line("qgc").queued, scene.line("qgc").dropped
        qgc.close()
        scene.turn()
        after = scene.line("qgc")
        assert (after.dropped, after.queued) == (before + waited, 0)
        assert (after.bad_checksums, after.refused) == (bad, refused)
        vehicle.say(attitude(1), attitude(2))  # nobody is there, but somebody was
        scene.turn()
        assert scene.line("qgc").dropped == before + waited + 2
        assert scene.line("mavsdk").dropped == 0


def test_commands_are_never_lost_silently(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk", queue_frames=40)
    scene.end("qgc", "command")
    with scene:
        stuck, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        answers: list[str] = []
        sent = 0
        while "COMMAND_ACK" not in answers:
            qgc.say(*[heartbeat()] * 20, *[arm()] * 5)
            sent += 5
            scene.turn()
            frames = qgc.frames()
            answers += [frame.message().get_type() for frame in frames]
        ack = next(frame.message() for frame in frames if frame.msg_id == 77)
        assert ack.result == dialect.MAV_RESULT_TEMPORARILY_REJECTED and ack.command == 400
        assert (ack.get_srcSystem(), ack.get_srcComponent()) == (1, 1)
        assert "STATUSTEXT" in answers
        came = stuck.heard()
        for _ in range(50):
            scene.turn()
            came += stuck.heard()
        assert came.count("COMMAND_LONG") + answers.count("COMMAND_ACK") == sent
        assert came.count("HEARTBEAT") < 4 * sent


def test_a_mission_for_a_line_that_stands_still_ends_with_an_answer(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk", queue_frames=40)
    scene.end("qgc", "command")
    with scene:
        stuck, qgc = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        item = dialect.MAVLink_mission_item_int_message(1, 1, 0, 3, 16, 0, 1, 0, 0, 0, 0, 1, 2, 3.0)
        sent, answers = 0, []
        while not answers:
            qgc.say(*[heartbeat()] * 20, *[item] * 5)
            sent += 5
            scene.turn()
            answers = [frame.message() for frame in qgc.frames()]
        acks = [message for message in answers if message.get_type() == "MISSION_ACK"]
        came = stuck.heard()
        for _ in range(50):
            scene.turn()
            came += stuck.heard()
        assert came.count("MISSION_ITEM_INT") + len(acks) == sent


def test_what_a_ground_station_asked_for_waits_for_it_and_telemetry_does_not(tmp_path: Path) -> None:
    """It stands still while a mission and parameters come; what has no room is counted, and the vehicle is told."""
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("qgc", "command", queue_frames=40)
    with scene:
        vehicle, stuck = scene.program("pixhawk", VEHICLE), scene.program("qgc")
        stuck.say(heartbeat())
        scene.turn()
        vehicle.frames()
        sent = 0
        while scene.line("qgc").queued < 40:
            vehicle.say(*(attitude(sent + n) for n in range(20)))
            sent += 20
            scene.turn()
        answers = [
            dialect.MAVLink_mission_item_int_message(255, 190, n, 3, 16, 0, 1, 0, 0, 0, 0, 1, 2, 3.0) for n in range(10)
        ] + [dialect.MAVLink_param_value_message(b"A", 1.0, 9, 10, n) for n in range(10)]
        vehicle.say(*answers, *(attitude(sent + n) for n in range(200)))
        scene.turn()
        assert vehicle.frames() == [], "there was room"
        vehicle.say(dialect.MAVLink_mission_ack_message(255, 190, 0))
        before = scene.line("qgc").dropped
        scene.turn()
        assert scene.line("qgc").dropped == before + 1
        assert [frame.message().text for frame in vehicle.frames()] == ["router: qgc/1: queue full"]
        came = []
        for _ in range(50):
            came += stuck.frames()
            scene.turn()
        kept = [frame.msg_id for frame in came if frame.msg_id in (73, 22)]
        assert kept == [73] * 10 + [22] * 10
        assert len(came) + scene.line("qgc").dropped == sent + 200 + 20 + 1
