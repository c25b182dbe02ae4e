"""ArduPilot as a controller: what it needs of a scenario, its ports, what it reports over MAVLink, its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flight_command_rig import Puppet
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.ardupilot.launch import launch
from aeroloop.controllers.ardupilot.metrics import metrics
from aeroloop.controllers.ardupilot.tables import start_command
from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.controllers.px4.reported import UNKNOWN_MODE, Reported
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Event
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import offered
from aeroloop.core.text_rows import numbers_of
from aeroloop.recording.log import Log
from aeroloop.world.earth import Earth, Home

EARTH = Earth(Home())


def scenario(**changes: Any) -> Any:
    sets = [f"{key.replace('__', '.')}={value}" for key, value in changes.items()]
    return scenario_files.load(scenario_files.find("quad-ardupilot"), sets)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sensors__imu__rate_hz": 400.0}, "does not arm below 1.8 times its loop rate of 400 Hz"),
        ({"ardupilot__loop_rate_hz": 500.0}, "expected at least 900, not 800"),
        ({"world__step_s": 0.001}, "world.step_s: expected a part of the IMU's period"),
        ({"sensors__fitted": '["gnss"]'}, "so one must be fitted"),
        ({"link__url": "tcp://127.0.0.1:9002?listen"}, "JSON interface is UDP; expected udp://127.0.0.1:9002"),
        ({"link__url": "udp://127.0.0.1:9002"}, "expected udp://127.0.0.1:9002"),
        ({"link__to_board__loss": 0.1}, "waits for every message at every pace"),
        ({"telemetry__url": "link"}, "telemetry.url: the JSON link has no MAVLink"),
        ({"telemetry__url": "none"}, "telemetry.url: the pilot's commands travel on this link"),
        ({"ardupilot__on_restart": "explode"}, "ardupilot.on_restart"),
        ({"channels__motors": "[1, 1, 2, 3]"}, "a channel of its own for each motor"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scenario(**changes)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_slower_loop_needs_fewer_answers() -> None:
    slow = scenario(ardupilot__loop_rate_hz=200.0, sensors__imu__rate_hz=400.0, world__step_s=0.0025)
    assert slow.flown_by.name == "ardupilot"


def test_guided_is_a_mode_of_ardupilot_alone() -> None:
    with pytest.raises(ConfigError, match="guided is a mode of ArduPilot"):
        scenario(controller__kind="px4", sensors__fitted='["imu", "magnetometer", "barometer", "gnss"]')


def test_each_instance_has_its_port(tmp_path: Path) -> None:
    settings = launch(scenario(vehicle__count=3), tmp_path)
    assert [server for server, _ in settings["vehicle_links"]] == [
        f"udp://127.0.0.1:{port}?listen" for port in (9002, 9012, 9022)
    ]
    assert settings["telemetry_links"] == ["udp://127.0.0.1:14550?listen"] * 3
    elsewhere = launch(scenario(vehicle__count=2, link__url="udp://0.0.0.0:9102?listen"), tmp_path)
    assert [server for server, _ in elsewhere["vehicle_links"]] == [
        f"udp://0.0.0.0:{port}?listen" for port in (9102, 9112)
    ]


def test_the_command_that_starts_it() -> None:
    words = start_command(scenario(vehicle__count=2), 1)
    assert words.startswith("arducopter --model JSON:127.0.0.1 -I1 --sysid 2 --home 47.3977420,8.5455940,488,0 ")
    assert words.endswith("--speedup 100 --serial0 udpclient:127.0.0.1:14550"), "else its own pace is real time"


def test_channels_of_the_motors_are_the_airframes_or_the_files() -> None:
    usual = scenario()
    assert [channel.channel for channel in offered(usual.kind, "pulses", usual).channels] == [1, 2, 3, 4]
    other = scenario(channels__motors="[5, 6, 7, 8]", channels__trim_us=1100.0, channels__span_us=800.0)
    found = offered(other.kind, "pulses", other)
    assert found.command([0.0, 0.0, 0.0, 0.0, 1100.0, 1500.0, 1900.0, 1100.0]) == (0.0, 0.5, 1.0, 0.0)
    with pytest.raises(ConfigError, match="expected 4 channels, one for each rotor, not 3"):
        offered(usual.kind, "pulses", scenario(channels__motors="[1, 2, 3]"))


class Autopilot:
    """Its messages, and the rows that come of them."""

    def __init__(self, kind: int) -> None:
        self.rows: dict[str, list[tuple[float, ...]]] = {}
        self._kind, self._puppet = kind, Puppet(1)
        names = ("estimate", "setpoint", "autopilot_state", "board_event", "status_text", "telemetry_count")
        publish = {name: self._keeper(name) for name in names}
        self.reported = Reported(EARTH, lambda stamp_ns, now_ns: stamp_ns, publish)

    def _keeper(self, name: str) -> Callable[..., None]:
        return lambda *row: self.rows.setdefault(name, []).append(row)

    def say(self, *messages: Any) -> None:
        for message in messages:
            self.reported.take(self._puppet.frame(message), 0)

    def mode(self, number: int) -> float:
        beat = (self._kind, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA, 209, number, 4, 3)
        self.say(mavlink.MAVLink_heartbeat_message(*beat))
        assert self.reported.state is not None
        return self.reported.state.mode


def test_its_modes_are_logged_as_those_that_are_like_them() -> None:
    copter, plane = Autopilot(mavlink.MAV_TYPE_QUADROTOR), Autopilot(mavlink.MAV_TYPE_FIXED_WING)
    assert [copter.mode(number) for number in (0, 2, 5, 4, 17, 3, 6, 9)] == [
        *(FlightMode.MANUAL, FlightMode.ALTITUDE, FlightMode.POSITION, FlightMode.OFFBOARD),
        *(FlightMode.HOLD, FlightMode.MISSION, FlightMode.RETURN, FlightMode.LAND),
    ]
    assert [plane.mode(number) for number in (0, 13, 15, 12)] == [
        *(FlightMode.MANUAL, FlightMode.TAKEOFF, FlightMode.OFFBOARD, FlightMode.HOLD)
    ]
    assert copter.mode(14) == UNKNOWN_MODE
    changes = [row for row in copter.rows["board_event"] if row[1] == Event.MODE_CHANGED]
    assert len(changes) == 8


def test_before_it_knows_its_place_there_is_no_estimate() -> None:
    copter = Autopilot(mavlink.MAV_TYPE_QUADROTOR)
    attitude = mavlink.MAVLink_attitude_message(1000, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    copter.say(mavlink.MAVLink_global_position_int_message(1000, 0, 0, 0, 0, 0, 0, 0, 0), attitude)
    assert "estimate" not in copter.rows
    lat, lon, alt = EARTH.geodetic((0.0, 0.0, 2.0))
    copter.say(
        mavlink.MAVLink_global_position_int_message(
            1000, round(lat * 1e7), round(lon * 1e7), round(alt * 1e3), 0, 0, 0, 0, 0
        ),
        attitude,
    )
    assert copter.rows["estimate"][0][3] == pytest.approx(2.0, abs=0.01)


def log_of(plan: Any, **rows: Any) -> Log:
    log = Log.empty(streams_of(plan))
    for name, values in rows.items():
        log.rows[name] = np.array(values, float)
    return log


def test_its_numbers_come_from_its_texts_and_the_pilots_commands() -> None:
    plan = scenario()
    truth = [[t_s, 0, 0, 0, z, *[0] * 10] for t_s, z in ((0, 0.05), (60, 10.2), (69.9, 10.35), (75, 5.0))]
    columns = len(Log.empty(streams_of(plan)).columns["truth"])
    log = log_of(
        plan,
        truth=[row[:columns] for row in truth],
        status_text=[[43.0, 0, 6, *numbers_of("EKF3 IMU0 is using GPS")], [20.0, 0, 6, *numbers_of("other")]],
        board_event=[[47.0, 0, Event.COMMAND_SENT, 2], [70.0, 0, Event.COMMAND_SENT, 3]],
    )
    found = metrics(plan, log)
    assert found["gps_in_use_s"] == 43.0
    assert found["takeoff_height_error_m"] == pytest.approx(0.3)
    nothing = metrics(plan, Log.empty(streams_of(plan)))
    assert all(map(math.isnan, nothing.values()))
