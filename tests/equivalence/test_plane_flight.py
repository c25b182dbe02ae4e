"""A fixed wing for a strict PX4 in lockstep, flown by sensors and channels alone: launch, climb, loiter."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.analysis.family import analysis_of, metric_names
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS, Event
from aeroloop.core.tables import family, made
from aeroloop.dashboard import family_page
from aeroloop.families.fixedwing.piloted.build import rail
from aeroloop.flight.inline import KeptRows
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, MavlinkOut
from peers.plane_loop import TAKEOFF_S, PlaneFlight, fly_plane

END_S = 48.0


@pytest.fixture(scope="module")
def flown() -> PlaneFlight:
    return fly_plane(END_S)


def test_launch_climb_and_loiter_without_a_complaint(flown: PlaneFlight) -> None:
    assert flown.ended == "completed"
    assert flown.peer.finish() == []
    numbers = analysis_of(flown.scenario).metrics(flown.log, flown.scenario)
    assert numbers["climb_m"] > 60.0
    assert numbers["airborne_s"] > END_S - TAKEOFF_S - 5.0
    assert numbers["airspeed_min_m_s"] > 14.0
    assert numbers["roll_max_deg"] < 60.0
    assert (numbers["diverged"], numbers["ground_contacts"], numbers["actuators_refused"]) == (0.0, 0.0, 0.0)
    assert flown.exchange.lockstep.locked


def test_it_turns_about_its_launch_to_the_right(flown: PlaneFlight) -> None:
    t_s, east_m, north_m = (flown.log.column("truth", name) for name in ("t_s", "x_m", "y_m"))
    late = t_s > END_S - 8.0
    bearing = [math.atan2(e + 2000.0, n - 1000.0) for e, n in zip(east_m[late], north_m[late], strict=True)]
    turned = sum((b - a + math.pi) % math.tau - math.pi for a, b in pairwise(bearing))
    assert turned > 0.5
    away_m = [math.hypot(e + 2000.0, n - 1000.0) for e, n in zip(east_m[late], north_m[late], strict=True)]
    assert 60.0 < min(away_m) < max(away_m) < 220.0


def test_the_catapult_holds_it_and_then_accelerates_it_along_the_rail(flown: PlaneFlight) -> None:
    log, on_rail = flown.log, rail(flown.scenario, 0)
    t_s, z_m, airspeed = (log.column("truth", name) for name in ("t_s", "z_m", "airspeed_m_s"))
    held = t_s < TAKEOFF_S
    assert set(z_m[held]) == {on_rail.start_W[2]}
    assert set(airspeed[held]) == {0.0}
    imu_s, forward = log.column("imu", "t_s"), log.column("imu", "accel_x_m_s2")
    before, launch = forward[imu_s < TAKEOFF_S], forward[(imu_s > TAKEOFF_S) & (imu_s < TAKEOFF_S + 1.5)]
    tilted = 9.80 * math.sin(on_rail.pitch_rad)
    assert before.mean() == pytest.approx(tilted, abs=0.05)
    assert launch.max() == pytest.approx(on_rail.accel_m_s2 + tilted, abs=3.0)
    assert airspeed[z_m > on_rail.start_W[2] + 3.0][0] == pytest.approx(on_rail.speed_m_s, rel=0.15)


def test_every_sensor_and_the_commands_are_logged(flown: PlaneFlight) -> None:
    rates = {"imu": 250, "magnetometer": 50, "barometer": 50, "airspeed": 50, "truth": 50, "command": 50, "effort": 50}
    for stream, rate_hz in rates.items():
        assert len(flown.log.rows[stream]) == pytest.approx(rate_hz * END_S, rel=0.02), stream
    assert len(flown.log.rows["gnss"]) == pytest.approx(10 * (END_S - 3.0), rel=0.05)
    events = flown.log.column("event", "code")
    assert Event.AUTOPILOT_ANSWERED in events


def test_it_takes_off_from_its_wheels() -> None:
    """The take-off run ends in the climb, and no step of it looks strange to the autopilot."""
    wheels = Path(__file__).resolve().parents[2] / "examples" / "aircraft" / "aerosonde-wheels.toml"
    flight = fly_plane(15.0, f'vehicle.airframe="{wheels}"', "launch.by=ground")
    log = flight.log
    t_s, z_m, ground_m, speed = (log.column("truth", name) for name in ("t_s", "z_m", "ground_m", "airspeed_m_s"))
    assert flight.ended == "completed"
    assert flight.peer.finish() == []
    lift_off = int(np.flatnonzero(z_m - ground_m > 0.6)[0])
    assert 2.0 < t_s[lift_off] - TAKEOFF_S < 6.0
    assert speed[lift_off] > 17.0  # it stalls below 14
    assert z_m[-1] - ground_m[-1] > 15.0


def test_with_the_wrong_sign_of_a_surface_it_crashes() -> None:
    assert fly_plane(20.0, "channels.aileron.sign=-1").ended == "crashed"


def test_a_pressure_in_pascal_is_complained_about() -> None:
    """As PX4 would read an airspeed ten times too high."""
    reader, writer = mavlink.MAVLink(None), mavlink.MAVLink(None, srcSystem=1, srcComponent=51)
    reader.robust_parsing = True

    def in_pascal(data: bytes) -> bytes:
        out = b""
        for message in reader.parse_buffer(data) or ():
            if message.get_type() == "HIL_SENSOR":
                message.diff_pressure *= 100.0
            writer.seq = message.get_seq()
            out += message.pack(writer)
        return out

    flight = fly_plane(6.0, altered=in_pascal)
    assert any("diff_pressure" in words for words in flight.peer.finish())


def test_an_airspeed_sensor_at_another_rate_is_complained_about() -> None:
    flight = fly_plane(5.0, "sensors.airspeed.rate_hz=10")
    assert any("differential pressure came at" in words for words in flight.peer.finish())


def test_disarmed_and_lost_it_holds_level_surfaces_without_throttle() -> None:
    scenario = scenario_files.load(scenario_files.find("fixedwing-px4"))
    outputs = made(scenario.family.outputs, scenario)
    assert outputs.stopped[3] == 0.0
    assert outputs.stopped[:3] == outputs.command((0.0,) * 16)[:3]
    assert outputs.motors == {3}
    # The older HIL_CONTROLS has the axes in the same order.
    axes = (0.2, -0.1, 0.3, 0.7, *(0.0,) * 12)
    assert outputs.mix(axes) == outputs.command(axes)


def test_throttle_below_zero_is_refused_and_surfaces_may_be_negative() -> None:
    scenario = scenario_files.load(scenario_files.find("fixedwing-px4"), ("channels.throttle.channel=7",))
    outputs = made(scenario.family.outputs, scenario)
    end = hil.ActuatorEnd(outputs.motors)

    def accepted(channel: int, value: float) -> bool:
        controls = [0.0] * 16
        controls[channel] = value
        message = mavlink.MAVLink_hil_actuator_controls_message(1, controls, 129, 1)
        (frame,) = MavlinkIn(MavlinkCounters()).feed(MavlinkOut(MavlinkCounters(), 1, 1).pack(message))
        answer = end.accept(frame)
        return answer is not None and not answer.held

    assert accepted(0, -0.5)
    assert accepted(6, 0.5)
    assert not accepted(6, -0.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("channels.rudder.channel=1", r"channels\.rudder\.channel: 1 is the aileron's"),
        ("mission.start_m=[90000.0, 0.0]", r"mission\.start_m: "),
        ("mission.airspeed_m_s=9.0", r"mission\.airspeed_m_s: "),
        ("vehicle.count=16", r"mission\.start_m: the catapult of aircraft 14"),
    ],
)
def test_what_cannot_fly_is_refused_before_the_start(change: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        scenario = scenario_files.load(scenario_files.find("fixedwing-px4"), (change, "mission.loiter_radius_m=150"))
        made(scenario.family.check, scenario)


def test_several_stand_beside_one_another_with_their_own_noise() -> None:
    scenario = scenario_files.load(scenario_files.find("fixedwing-px4"), ("vehicle.count=2",))
    first, second = (rail(scenario, number) for number in (0, 1))
    assert second.start_W[0] - first.start_W[0] == scenario.aircraft.vehicle.spacing_m
    kept = KeptRows(scenario)
    for number in (0, 1):
        made(scenario.family.vehicle, scenario, number, kept.publish(number)).advance(NS // 10, exact=False)
    imu = kept.log().rows["imu"]
    mine, other = (imu[imu[:, 1] == number][:, 2:] for number in (0, 1))
    assert mine.shape == other.shape
    assert not (mine == other).any()


def test_the_row_of_the_family_differs_by_controller_alone() -> None:
    piloted = scenario_files.load(scenario_files.find("fixedwing-px4"))
    own = scenario_files.load(scenario_files.find("fixedwing-loiter"))
    assert own.family == family("fixedwing")
    assert piloted.family.shape == own.family.shape
    assert piloted.family.streams != own.family.streams
    assert (family_page.problem(piloted), family_page.problem(own)) == ("", "")
    assert family_page.of(piloted) is not family_page.of(own)
    assert {check.metric for check in piloted.checks} <= set(metric_names(piloted))
