"""Who may do what: observers, and one commander at a time."""

from __future__ import annotations

from pathlib import Path

from pymavlink.dialects.v20 import common as dialect
from router_scenes import VEHICLE, Scene, arm, heartbeat, three

from aeroloop.protocols import framing, interface


def test_an_observer_may_look_and_not_touch(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("wall", "observe")
    with scene:
        vehicle, wall = scene.program("pixhawk", VEHICLE), scene.program("wall")
        vehicle.say(heartbeat())
        wall.say(
            heartbeat(),
            dialect.MAVLink_param_request_list_message(1, 1),
            dialect.MAVLink_mission_request_list_message(1, 1),
            dialect.MAVLink_command_long_message(1, 1, 512, 0, 30, 0, 0, 0, 0, 0, 0),
            arm(),
            dialect.MAVLink_command_long_message(1, 1, 511, 0, 30, -1, 0, 0, 0, 0, 0),
            dialect.MAVLink_param_set_message(1, 1, b"A", 1.0, 9),
            dialect.MAVLink_set_mode_message(1, 1, 1),
            dialect.MAVLink_mission_count_message(1, 1, 3),
            dialect.MAVLink_manual_control_message(1, 0, 0, 0, 0, 0),
            dialect.MAVLink_change_operator_control_message(1, 0, 0, b""),
        )
        scene.turn()
        assert vehicle.heard() == ["HEARTBEAT", "PARAM_REQUEST_LIST", "MISSION_REQUEST_LIST", "COMMAND_LONG"]
        assert scene.line("wall").refused == 7
        answers = [frame.message() for frame in wall.frames()]
        acks = [(m.command, m.result) for m in answers if m.get_type() == "COMMAND_ACK"]
        assert acks == [(400, dialect.MAV_RESULT_DENIED), (511, dialect.MAV_RESULT_DENIED)]
        kinds = [message.get_type() for message in answers]
        assert kinds.count("STATUSTEXT") == 1 and kinds.count("MISSION_ACK") == 1
        assert kinds.count("CHANGE_OPERATOR_CONTROL_ACK") == 1 and scene.router.commander == ""


def measurements() -> list[dialect.MAVLink_message]:
    gps = dialect.MAVLink_gps_input_message(*(0,) * 18)
    odometry = dialect.MAVLink_odometry_message(0, 0, 0, 0, 0, 0, [1, 0, 0, 0], *(0,) * 6, [0] * 21, [0] * 21)
    vision = dialect.MAVLink_vision_position_estimate_message(*(0,) * 7)
    return [gps, odometry, vision, dialect.MAVLink_hil_gps_message(*(0,) * 13)]


def test_measurements_come_from_whoever_holds_the_command_or_is_a_companion(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("qgc", "command")
    scene.end("companion", "command", companion=True)
    with scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        vehicle.say(heartbeat())
        qgc, companion = scene.program("qgc"), scene.program("companion", (1, 191))
        qgc.say(*measurements())
        scene.turn()
        assert vehicle.heard() == [] and scene.line("qgc").refused == 4
        assert "may not send measurements" in [frame.message() for frame in qgc.frames()][-1].text
        assert scene.router.commander == "", "and it does not take the command"
        companion.say(*measurements())
        scene.turn()
        known = ["GPS_INPUT", "ODOMETRY", "VISION_POSITION_ESTIMATE", "HIL_GPS"]
        assert vehicle.heard() == known and scene.router.commander == ""
        qgc.say(arm(), *measurements())
        scene.turn()
        assert vehicle.heard() == ["COMMAND_LONG", *known]


def test_one_commander_at_a_time(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle = scene.program("pixhawk", VEHICLE)
        qgc, mavsdk = scene.program("qgc"), scene.program("mavsdk", (245, 190))
        qgc.say(heartbeat(), arm())
        mavsdk.say(heartbeat(), dialect.MAVLink_command_long_message(1, 1, 511, 0, 30, 5000, 0, 0, 0, 0, 0), arm())
        scene.turn()
        assert scene.router.commander.startswith("qgc")
        assert scene.line("qgc").role == 11 and scene.line("mavsdk").role == 1
        heard = vehicle.heard()
        assert heard.count("COMMAND_LONG") == 2 and scene.line("mavsdk").refused == 1
        answers = {frame.message().get_type(): frame.message() for frame in mavsdk.frames()}
        assert answers["COMMAND_ACK"].result == dialect.MAV_RESULT_TEMPORARILY_REJECTED
        assert "qgc" in answers["STATUSTEXT"].text
        # Taken over by MAVLink, and back by hand.
        mavsdk.say(dialect.MAVLink_change_operator_control_message(1, 0, 0, b""), arm())
        scene.turn()
        assert scene.router.commander.startswith("mavsdk") and vehicle.heard() == ["COMMAND_LONG"]
        (ack,) = mavsdk.frames()
        assert ack.message().ack == 0 and ack.message().gcs_system_id == 245
        scene.router.take_over("qgc")
        mavsdk.say(arm())
        scene.turn()
        assert vehicle.heard() == [] and any("qgc" in words and "has control" in words for words in scene.told)
        # Released: the next one has it.
        qgc.say(dialect.MAVLink_change_operator_control_message(1, 1, 0, b""))
        mavsdk.say(arm())
        scene.turn()
        assert vehicle.heard() == ["COMMAND_LONG"] and scene.router.commander.startswith("mavsdk")


def test_command_is_free_again_when_its_holder_leaves_or_falls_silent(tmp_path: Path) -> None:
    with three(tmp_path) as scene:
        vehicle, qgc, mavsdk = scene.program("pixhawk", VEHICLE), scene.program("qgc"), scene.program("mavsdk")
        vehicle.say(heartbeat())
        qgc.say(arm())
        scene.turn()
        scene.later(4.0)
        assert scene.router.commander.startswith("qgc")
        scene.later(2.0)
        assert scene.router.commander == ""
        mavsdk.say(arm())
        scene.turn()
        assert scene.router.commander.startswith("mavsdk")
        mavsdk.close()
        scene.turn()
        assert scene.router.commander == ""


def test_board_lines_have_one_commander_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("board", protocol="board")
    for name in ("one", "two"):
        scene.end(name, "command", protocol="board")
    request = framing.encode(interface.REQUEST.pack())
    with scene:
        board, one, two = (scene.program(name) for name in ("board", "one", "two"))
        for program in (one, two):
            program.socket.sendall(request)
            scene.turn()
        assert board.socket.recv(4096) == request and scene.line("two").refused == 1
        assert (scene.line("one").role, scene.line("two").role) == (11, 1)
        scene.router.take_over("two")
        for program in (one, two, two):
            program.socket.sendall(request)
            scene.turn()
        assert board.socket.recv(4096) == 2 * request and scene.line("one").refused == 1
