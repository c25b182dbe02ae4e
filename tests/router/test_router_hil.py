"""A simulator on the router: HIL messages pass between it and its vehicle alone, ahead of all others, and counted."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect
from router_scenes import VEHICLE, Program, Scene, attitude, heartbeat

from aeroloop.protocols.hil_autopilot import greeting
from aeroloop.router import ports
from aeroloop.router.config import EndpointConfig, Forward, RouterConfig
from aeroloop.router.queues import Queue, ReliableFrame

PLANT = (1, 51)


def sensor(t_us: int) -> Any:
    return dialect.MAVLink_hil_sensor_message(t_us, 0.1, 0.2, -9.8, *(0.0,) * 10, 0x1FFF)


def actuators(t_us: int) -> Any:
    return dialect.MAVLink_hil_actuator_controls_message(t_us, [0.5] * 16, 129, 1)


def bench(folder: Path, **options: Any) -> Scene:
    scene = Scene(folder, **options)
    scene.end("pixhawk")
    scene.end("plant", "simulator")
    scene.end("qgc", "command")
    return scene


def counted(scene: Scene, link: str, message: int, *, outbound: bool) -> tuple[int, int]:
    number = [end.name for end in scene.ends].index(link)
    found = [
        (each.count, each.bytes)
        for each in scene.router.link_messages()
        if (each.link, each.outbound, each.message) == (number, int(outbound), message)
    ]
    return found[0] if found else (0, 0)


def test_hil_messages_pass_between_simulator_and_vehicle_alone_and_everything_else_as_without_it(
    tmp_path: Path,
) -> None:
    with bench(tmp_path) as scene:
        board, plant, qgc = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT), scene.program("qgc")
        qgc.say(heartbeat())
        scene.turn()
        assert board.heard() == ["HEARTBEAT"] and plant.heard() == []
        board.say(*greeting(), attitude(), actuators(4000))
        scene.turn()
        assert plant.heard() == ["COMMAND_LONG", "HEARTBEAT", "HIL_ACTUATOR_CONTROLS"]
        assert "HIL_ACTUATOR_CONTROLS" not in (heard := qgc.heard()) and "ATTITUDE" in heard
        distance = dialect.MAVLink_distance_sensor_message(0, 10, 4000, 120, 0, 0, 25, 0)
        plant.say(heartbeat(), distance, sensor(4000))
        scene.turn()
        assert board.heard() == ["HEARTBEAT", "DISTANCE_SENSOR", "HIL_SENSOR"] and qgc.heard() == []


def test_everything_is_counted_for_hil_too(tmp_path: Path) -> None:
    with bench(tmp_path) as scene:
        board, plant = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT)
        sent, came = b"", 0
        for _ in range(300):  # equal bytes come again after 256
            sent += plant.say(sensor(4000))
            scene.turn(1)
            came += len(board.frames())
        plant.out.pack(sensor(1))  # numbered, and lost on its way
        plant.say(sensor(4000))
        board.say(*(actuators(n) for n in range(7)))
        scene.turn()
        assert came + len(board.frames()) == 301 and board.counters.lost == 1
        number = dialect.MAVLINK_MSG_ID_HIL_SENSOR
        assert counted(scene, "plant", number, outbound=False) == counted(scene, "pixhawk", number, outbound=True)
        assert counted(scene, "pixhawk", number, outbound=True) == (301, len(sent) * 301 // 300)
        assert counted(scene, "plant", dialect.MAVLINK_MSG_ID_HIL_ACTUATOR_CONTROLS, outbound=True)[0] == 7
        line = scene.line("plant")
        assert (line.frames_in, line.frames_out, line.lost, line.duplicates, line.dropped) == (301, 7, 1, 0, 0)
        assert scene.line("pixhawk").frames_out == 301


@pytest.mark.parametrize("version_1", [False, True])
def test_the_simulator_gets_a_part_of_the_vehicles_frames_without_gaps_in_their_numbers(
    tmp_path: Path, version_1: bool
) -> None:
    with bench(tmp_path) as scene:
        board, plant = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT)
        sender, frames = dialect.MAVLink(None, *VEHICLE), plant.frames()
        for n in range(300):
            for message in (attitude(n), heartbeat(), attitude(n), greeting()[0], actuators(n)):
                board.socket.sendall(message.pack(sender, force_mavlink1=version_1))
                sender.seq = (sender.seq + 1) & 0xFF
            scene.turn(1)
            frames += plant.frames()
        assert len(frames) == 900 and scene.line("pixhawk").lost == 0
        assert (plant.counters.lost, plant.counters.bad_checksums) == (0, 0)
        names = [frame.message().get_type() for frame in frames[:3]]
        assert names == ["HEARTBEAT", "COMMAND_LONG", "HIL_ACTUATOR_CONTROLS"]


def test_a_ground_station_that_never_reads_costs_the_hil_link_nothing(tmp_path: Path) -> None:
    scene = bench(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    scene.end("stalled", "command", url=f"tcp://127.0.0.1:{port}?listen", queue_frames=50)
    with scene:
        board, plant = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT)
        stalled = Program(socket.create_connection(("127.0.0.1", port)), (255, 190))
        stalled.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        scene.turn()
        at_board, at_plant, sent = 0, 0, 0
        while scene.line("stalled").dropped < 200 and sent < 5000:
            plant.say(sensor(sent))
            board.say(*(attitude(n) for n in range(100)), actuators(sent))
            sent += 1
            scene.turn()
            at_board += len(board.frames())
            at_plant += len(plant.frames())
        assert scene.line("stalled").dropped >= 200
        assert (at_board, at_plant) == (sent, sent)
        for name in ("pixhawk", "plant"):
            line = scene.line(name)
            assert (line.lost, line.dropped, line.queued) == (0, 0, 0)
        stalled.close()


def test_to_the_vehicle_hil_messages_go_ahead_of_what_waits_and_in_order(tmp_path: Path) -> None:
    with bench(tmp_path) as scene:
        board, plant, qgc = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT), scene.program("qgc")
        board.say(heartbeat())
        scene.turn()
        sent = 0
        while scene.line("pixhawk").queued < 20:  # the vehicle reads nothing: its link is full
            qgc.say(*(dialect.MAVLink_manual_control_message(1, 0, 0, 0, 0, 0) for _ in range(200)))
            sent += 200
            scene.turn(30)
        behind = scene.line("pixhawk").queued
        plant.say(heartbeat(), *(sensor(n) for n in range(5)))
        scene.turn()
        assert scene.line("pixhawk").queued == behind + 6
        heard: list[str] = []
        for _ in range(10_000):
            heard += board.heard()
            scene.turn()
            if not scene.line("pixhawk").queued:
                break
        heard += board.heard()
        assert len(heard) == sent + 6
        at = heard.index("HIL_SENSOR")
        assert heard[at - 1 : at + 5] == ["HEARTBEAT", *["HIL_SENSOR"] * 5]
        assert heard[at + 5 :].count("MANUAL_CONTROL") >= behind - 1  # one may have been half written
        assert scene.line("pixhawk").dropped == 0


def test_a_board_that_reads_nothing_loses_the_oldest_hil_messages_and_they_are_counted(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk", queue_frames=50)
    scene.end("plant", "simulator")
    with scene:
        board, plant = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT)
        sent = 0
        while scene.line("pixhawk").dropped < 100:
            plant.say(*(sensor(sent + n) for n in range(50)))
            sent += 50
            scene.turn()
        assert scene.line("pixhawk").queued <= 50
        came = [frame.message().time_usec for frame in board.frames()]
        for _ in range(50):
            scene.turn()
            came += [frame.message().time_usec for frame in board.frames()]
        assert came == sorted(came) and came[-1] == sent - 1
        assert len(came) + scene.line("pixhawk").dropped == sent


def test_a_hil_link_is_served_between_any_two_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = bench(tmp_path)
    scene.end("other", "command")
    with scene:
        board, plant = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT)
        stations = [scene.program("qgc"), scene.program("other"), scene.program("other")]
        came: list[int] = []
        read = ports.StreamPort.ready

        def ready(port: ports.StreamPort, fd: int, events: int) -> None:
            """While the router reads from a ground station, the plant sends."""
            read(port, fd, events)
            if port.statistics.config.role == "command":
                came.append(len(board.frames()))
                plant.say(sensor(len(came)))

        monkeypatch.setattr(ports.ServerPort, "ready", ready)
        for station in stations:
            station.say(heartbeat())
        scene.turn(1)
        assert len(came) == 3 and sum(came) >= 2  # all but the last, within the one turn


def test_nobody_else_sends_hil_messages_and_a_simulator_sends_no_commands(tmp_path: Path) -> None:
    with bench(tmp_path) as scene:
        board, plant, qgc = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT), scene.program("qgc")
        board.say(heartbeat())
        scene.turn()
        qgc.say(dialect.MAVLink_command_long_message(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0))  # holds command
        qgc.say(sensor(1))
        plant.say(dialect.MAVLink_command_long_message(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0))
        scene.turn()
        assert board.heard() == ["COMMAND_LONG"]
        assert (scene.line("qgc").refused, scene.line("plant").refused) == (1, 1)


def test_no_rule_limits_hil_messages(tmp_path: Path) -> None:
    with bench(tmp_path, forward=(Forward("*", "*", max_rate_hz=0.0),)) as scene:
        board, plant = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT)
        plant.say(sensor(1))
        board.say(actuators(1))
        scene.turn()
        assert (board.heard(), plant.heard()) == (["HIL_SENSOR"], ["HIL_ACTUATOR_CONTROLS"])


def test_each_simulator_flies_its_own_vehicle_also_with_equal_bytes(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for number in range(2):
        scene.end(f"pixhawk-{number}")
        scene.end(f"plant-{number}", "simulator", simulates=f"pixhawk-{number}")
    with scene:
        boards = [scene.program(f"pixhawk-{n}", (n + 1, 1)) for n in range(2)]
        plants = [scene.program(f"plant-{n}", PLANT) for n in range(2)]
        for board, plant in zip(boards, plants, strict=True):
            plant.say(heartbeat(), sensor(1))
            board.say(actuators(1))
        scene.turn()
        assert [board.heard() for board in boards] == [["HEARTBEAT", "HIL_SENSOR"]] * 2
        assert [plant.heard() for plant in plants] == [["HIL_ACTUATOR_CONTROLS"]] * 2


def test_a_board_that_disconnects_disconnects_its_simulator_which_comes_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.end("pixhawk")
    scene.end("plant", "simulator", url=f"loopback://{tmp_path / 'simulator'}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "simulator"))
        listener.listen()
        with scene:
            board, plant = scene.program("pixhawk", VEHICLE), Program(listener.accept()[0], PLANT)
            board.say(actuators(1))
            scene.turn()
            assert plant.heard() == ["HIL_ACTUATOR_CONTROLS"]
            board.close()
            scene.later(0.2)
            plant.socket.setblocking(True)
            assert plant.socket.recv(1) == b""
            scene.later(0.5)
            board, plant = scene.program("pixhawk", VEHICLE), Program(listener.accept()[0], PLANT)
            board.say(actuators(2))
            scene.turn()
            assert plant.heard() == ["HIL_ACTUATOR_CONTROLS"]


def test_on_a_serial_link_others_wait_until_the_driver_has_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = [ports.MOST_UNSENT + 1]
    monkeypatch.setattr(ports.ServerPort, "_must_wait", lambda port, fd: waiting[0] > ports.MOST_UNSENT)
    with bench(tmp_path) as scene:
        board, plant, qgc = scene.program("pixhawk", VEHICLE), scene.program("plant", PLANT), scene.program("qgc")
        qgc.say(heartbeat())
        plant.say(sensor(1))
        scene.turn()
        assert board.heard() == ["HIL_SENSOR"]
        waiting[0] = 0
        scene.turn()
        assert board.heard() == ["HEARTBEAT"]


def test_frames_put_back_keep_their_place() -> None:
    queue = Queue(10, lambda frame: None)
    for frame in (b"a", b"b"):
        queue.push(frame)
    queue.first.extend((b"1", b"2"))
    batch = queue.take(10, 100)
    assert batch == [b"1", b"2"]
    queue.first.append(b"3")
    queue.put_back(batch, urgent=True)
    assert queue.take(10, 100) == [b"1", b"2", b"3"]
    assert queue.push_reliable(b"c") and len(queue) == 3
    assert queue.take(10, 100) == [b"a", b"b", ReliableFrame(b"c")]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ([("a", "simulator", "")], "endpoints[0].simulates: expected an endpoint with role 'vehicle'"),
        ([("a", "vehicle", ""), ("b", "vehicle", ""), ("c", "simulator", "")], "endpoints[2].simulates: expected an"),
        ([("a", "vehicle", ""), ("b", "simulator", "q")], "endpoints[1].simulates: expected an endpoint with role"),
        (
            [("a", "vehicle", ""), ("b", "simulator", ""), ("c", "simulator", "a")],
            "endpoints[2].simulates: a is simulated by b already",
        ),
        ([("a", "vehicle", "a")], "simulates: expected with role 'simulator'"),
    ],
)
def test_a_simulator_needs_one_vehicle_of_its_own(ends: list[tuple[str, Any, str]], words: str) -> None:
    with pytest.raises(ValueError, match="simulate") as caught:
        RouterConfig(tuple(EndpointConfig(n, f"loopback:///tmp/{n}", role=r, simulates=s) for n, r, s in ends))
    assert str(caught.value).startswith(words)
