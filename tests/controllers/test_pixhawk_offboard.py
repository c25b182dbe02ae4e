"""Offboard mode of the virtual Pixhawk: what a stream of setpoints asks for, what it needs, what follows its end."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixhawk_follower import NAN, ORIGIN, Follower, without
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk.autopilot import PixhawkAutopilot
from aeroloop.controllers.pixhawk.mission_geodesy import geodetic_from_local
from aeroloop.controllers.pixhawk.offboard_messages import target_from
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import AttitudeTarget, Failsafe, FlightMode, PathTarget, Refusal
from aeroloop.core.frames import quat_from_euler, quat_ned_frd_from_enu_flu
from peers.ground_peer import Bench

OPEN3 = (NAN, NAN, NAN)
STILL = (0.0, 0.0, 0.0)
IGNORE_VEL, IGNORE_ACCEL, IGNORE_YAW, IGNORE_YAW_RATE = 0b111000, 0b111000000, 1 << 10, 1 << 11
IGNORE_POS = 0b111
LOCAL, BODY = mavlink.MAV_FRAME_LOCAL_NED, mavlink.MAV_FRAME_BODY_NED


def at(x: float, y: float, z: float, yaw: float = NAN) -> PathTarget:
    return PathTarget((x, y, z), OPEN3, OPEN3, yaw, NAN)


def moving(vx: float, vy: float, vz: float, *, yaw_rate: float = NAN, body: bool = False) -> PathTarget:
    return PathTarget(OPEN3, (vx, vy, vz), OPEN3, NAN, yaw_rate, body=body)


class Companion:
    """Streams a setpoint at a rate to an aircraft that follows."""

    def __init__(self, sim: Follower, rate_hz: float = 20.0) -> None:
        self.sim, self._period = sim, max(1, round(1.0 / rate_hz / sim.dt_s))
        self.target: PathTarget | AttitudeTarget | None = None
        self._steps = 0

    def step(self) -> None:
        if self.target is not None and self._steps % self._period == 0:
            assert self.sim.logic.offboard(self.target) is None
        self._steps += 1
        self.sim.step()

    def fly(self, seconds: float, target: PathTarget | AttitudeTarget | None) -> None:
        self.target = target
        for _ in range(round(seconds / self.sim.dt_s)):
            self.step()

    def until(self, done: Callable[[], bool], seconds: float, target: PathTarget | AttitudeTarget | None) -> None:
        self.target = target
        for _ in range(round(seconds / self.sim.dt_s)):
            if done():
                return
            self.step()
        raise AssertionError(f"not within {seconds} s: {self.sim.logic.status} {self.sim.texts[-5:]}")


def simulated(**values: float) -> Follower:
    parameters = Parameters()
    for name, value in values.items():
        assert parameters.set(name, value) is None
    return Follower(PixhawkAutopilot(parameters))


def flying(**values: float) -> Companion:
    """In the air at 10 m, in offboard mode, standing still."""
    companion = Companion(simulated(**values).airborne())
    companion.fly(0.2, moving(*STILL))
    assert companion.sim.logic.set_mode(FlightMode.OFFBOARD) is None
    companion.fly(0.2, moving(*STILL))
    assert companion.sim.mode is FlightMode.OFFBOARD
    return companion


def test_the_mode_is_refused_without_a_stream_of_two_setpoints_a_second() -> None:
    sim = simulated().airborne()
    slow = Companion(sim, rate_hz=1.0)
    assert sim.logic.set_mode(FlightMode.OFFBOARD) is not None
    slow.fly(1.5, moving(*STILL))
    for _ in range(3):
        refusal = sim.logic.set_mode(FlightMode.OFFBOARD)
        assert refusal is not None and "setpoints at 2 Hz" in refusal.reason
        slow.fly(1.0, moving(*STILL))
    Companion(sim, rate_hz=2.5).fly(1.0, moving(*STILL))
    assert sim.logic.set_mode(FlightMode.OFFBOARD) is None
    sim = simulated().airborne()
    Companion(sim).fly(0.02, moving(*STILL))
    assert sim.logic.set_mode(FlightMode.OFFBOARD) is None, "the first of a stream"
    sim.fly(1.2)
    assert sim.mode is FlightMode.HOLD, "of which no more came"
    Companion(sim).fly(1.0, moving(*STILL))
    sim.fly(0.6)
    assert sim.logic.set_mode(FlightMode.OFFBOARD) is not None, "the stream has stopped"


def test_position_setpoints_fly_a_square_with_the_heading_they_ask_for() -> None:
    companion = flying()
    for x, y in ((5.0, 0.0), (5.0, 5.0), (0.0, 5.0), (0.0, 0.0)):
        companion.fly(6.0, at(x, y, 12.0, math.pi))
        assert companion.sim.pos == pytest.approx((x, y, 12.0), abs=0.1)
    assert abs(companion.sim.yaw) == pytest.approx(math.pi, abs=0.05)


def test_velocity_setpoints_move_at_their_speed_within_the_limits() -> None:
    companion = flying()
    companion.fly(5.0, moving(2.0, -1.0, 0.5))
    assert companion.sim.vel == pytest.approx((2.0, -1.0, 0.5), abs=0.1)
    companion.fly(12.0, moving(1000.0, 0.0, 1000.0))
    assert companion.sim.vel == pytest.approx((12.0, 0.0, 3.0), abs=0.3), "MPC_XY_VEL_MAX, MPC_Z_VEL_MAX_UP"


def test_height_and_level_are_chosen_apart() -> None:
    companion = flying()
    companion.fly(6.0, PathTarget((NAN, NAN, 7.0), (1.0, 0.0, NAN), OPEN3, NAN, NAN))
    assert companion.sim.vel == pytest.approx((1.0, 0.0, 0.0), abs=0.1)
    assert companion.sim.pos[2] == pytest.approx(7.0, abs=0.1)


def test_body_velocity_follows_the_heading_and_the_yaw_rate_turns_it() -> None:
    companion = flying()
    companion.sim.yaw = companion.sim.logic._navigator.trajectory.yaw_rad = 0.0  # nose east
    companion.fly(4.0, moving(0.0, 1.0, 0.0, body=True))  # to the left, north
    assert companion.sim.vel == pytest.approx((0.0, 1.0, 0.0), abs=0.1)
    before = companion.sim.yaw
    companion.fly(3.0, moving(*STILL, yaw_rate=0.3, body=True))
    assert companion.sim.yaw - before == pytest.approx(0.9, abs=0.15)


def test_an_attitude_with_thrust_tilts_and_climbs() -> None:
    companion = flying()
    east = AttitudeTarget(quat_from_euler(0.0, 0.1, 0.0), STILL, 0.55)
    companion.fly(1.0, east)
    setpoint = companion.sim.setpoint
    assert setpoint is not None
    assert (setpoint.hold_xy, setpoint.hold_z, setpoint.thrust_ratio) == (False, False, 0.55)
    assert setpoint.pitch_rad == pytest.approx(0.1)
    assert companion.sim.vel[0] > 0.3 and companion.sim.vel[2] > 0.3
    companion.fly(3.0, moving(*STILL))
    assert companion.sim.vel == pytest.approx(STILL, abs=0.05)


def test_body_rates_turn_the_attitude_that_is_asked_for_and_wait_for_the_aircraft() -> None:
    companion = flying()
    companion.fly(0.2, AttitudeTarget(None, (0.5, 0.0, 0.0), 0.5))
    assert companion.sim.setpoint is not None
    assert companion.sim.setpoint.roll_rad == pytest.approx(0.1, abs=0.02)
    companion.fly(5.0, AttitudeTarget(None, (0.5, 0.0, 0.0), 0.5))  # this one never tilts
    assert companion.sim.setpoint is not None
    assert companion.sim.setpoint.roll_rad < math.radians(31)


def test_it_takes_off_and_lands_by_setpoints_alone() -> None:
    companion = Companion(simulated().fly(0.1))
    logic = companion.sim.logic
    companion.fly(0.5, at(0.0, 0.0, 5.0))
    assert logic.set_mode(FlightMode.OFFBOARD) is None
    assert logic.arm() is None
    companion.fly(8.0, at(0.0, 0.0, 5.0))
    assert companion.sim.pos == pytest.approx((0.0, 0.0, 5.0), abs=0.1)
    companion.until(lambda: not logic.status.armed, 30.0, moving(0.0, 0.0, -0.7))
    assert companion.sim.pos[2] == 0.0
    assert "Landed" in companion.sim.texts


def test_it_does_not_arm_in_offboard_mode_when_the_stream_has_stopped() -> None:
    companion = Companion(simulated().fly(0.1))
    companion.fly(0.5, at(0.0, 0.0, 5.0))
    assert companion.sim.logic.set_mode(FlightMode.OFFBOARD) is None
    assert companion.sim.logic.status.ready_to_arm
    companion.fly(2.0, None)
    refusal = companion.sim.logic.arm()
    assert refusal is not None and "2 Hz" in refusal.reason


@pytest.mark.parametrize(("act", "mode"), [(3, FlightMode.RETURN), (4, FlightMode.LAND), (5, FlightMode.HOLD)])
def test_a_stream_that_stops_is_a_failsafe_as_the_parameter_says(act: int, mode: FlightMode) -> None:
    companion = flying(COM_OBL_RC_ACT=act, COM_OF_LOSS_T=0.7)
    companion.fly(2.0, moving(2.0, 0.0, 0.0))
    companion.fly(0.6, None)
    assert companion.sim.mode is FlightMode.OFFBOARD
    companion.fly(0.3, None)
    assert (companion.sim.mode, companion.sim.logic.status.failsafe) == (mode, Failsafe.LINK_LOST)
    assert any(text.startswith("Offboard setpoints lost") for text in companion.sim.texts)
    companion.fly(0.2, moving(2.0, 0.0, 0.0))
    assert companion.sim.logic.status.failsafe is Failsafe.NONE
    assert companion.sim.mode is mode, "nobody asked for offboard again"


def test_a_hold_after_offboard_begins_where_the_aircraft_is() -> None:
    companion = flying()
    companion.fly(0.2, at(3.0, 0.0, 10.0))
    here, target_m = companion.sim.pos[0], 3.0
    assert 0.2 < here < target_m - 0.5, "on its way"
    assert companion.sim.logic.set_mode(FlightMode.HOLD) is None
    companion.fly(0.02, None)
    assert companion.sim.setpoint is not None
    assert companion.sim.setpoint.pos_W[0] == pytest.approx(here, abs=0.5)


def test_a_position_that_is_lost_lands_unless_an_attitude_is_flown() -> None:
    companion = flying()
    companion.sim.change = lambda estimate: without(estimate, position=False)
    companion.fly(0.2, AttitudeTarget(quat_from_euler(0.0, 0.0, 0.0), STILL, 0.5))
    assert companion.sim.mode is FlightMode.OFFBOARD
    companion.fly(0.2, moving(*STILL))
    assert companion.sim.mode is FlightMode.LAND


# The messages.


def local(frame: int, mask: int, pos: tuple[float, ...], vel: tuple[float, ...], yaw: float, rate: float) -> object:
    return mavlink.MAVLink_set_position_target_local_ned_message(
        0, 1, 1, frame, mask, *pos, *vel, 0.0, 0.0, 0.0, yaw, rate
    )


def test_a_local_setpoint_is_read_by_its_mask() -> None:
    mask = IGNORE_VEL | IGNORE_ACCEL | IGNORE_YAW_RATE
    target = target_from(local(LOCAL, mask, (1.0, 2.0, -3.0), (9.0,) * 3, 0.0, 9.0), ORIGIN, STILL)
    assert isinstance(target, PathTarget)
    assert target.pos_W == (2.0, 1.0, 3.0), "north, east, down"
    assert all(map(math.isnan, (*target.vel_W, *target.accel_W, target.yaw_rad - target.yaw_rate_rad_s)))
    assert target.yaw_rad == pytest.approx(math.pi / 2), "north"


def test_a_body_setpoint_is_of_velocity_alone() -> None:
    mask = IGNORE_POS | IGNORE_ACCEL | IGNORE_YAW
    target = target_from(local(BODY, mask, (5.0,) * 3, (1.0, 2.0, -0.5), 0.0, 0.25), ORIGIN, STILL)
    assert isinstance(target, PathTarget)
    assert target.body and target.vel_W == (1.0, -2.0, 0.5), "forward, left, up"
    assert target.yaw_rate_rad_s == -0.25
    assert all(map(math.isnan, target.pos_W))


@pytest.mark.parametrize(
    ("message", "word"),
    [
        (local(mavlink.MAV_FRAME_BODY_FRD, 0, STILL, STILL, 0.0, 0.0), "frame"),
        (local(LOCAL, mavlink.POSITION_TARGET_TYPEMASK_FORCE_SET, STILL, STILL, 0.0, 0.0), "force"),
        (mavlink.MAVLink_set_attitude_target_message(0, 1, 1, 64, (1, 0, 0, 0), 0, 0, 0, 0.5), "thrust"),
        (mavlink.MAVLink_set_attitude_target_message(0, 1, 1, 7, (0, 0, 0, 0), 0, 0, 0, 0.5), "quaternion"),
        (mavlink.MAVLink_set_attitude_target_message(0, 1, 1, 7, (1, 0, 0, 0), 0, 0, 0, NAN), "thrust"),
        (mavlink.MAVLink_set_attitude_target_message(0, 1, 1, 128, (1, 0, 0, 0), NAN, 0, 0, 0.5), "rates"),
    ],
)
def test_what_cannot_be_flown_is_refused_in_a_sentence(message: object, word: str) -> None:
    refusal = target_from(message, ORIGIN, STILL)
    assert isinstance(refusal, Refusal)
    assert word in refusal.reason and len(refusal.reason) <= 50


@pytest.mark.parametrize(("frame", "alt_m"), [(5, ORIGIN.alt_m + 12.0), (6, 10.0)])
def test_a_global_setpoint_is_a_place_above_the_sea_or_above_home(frame: int, alt_m: float) -> None:
    lat, lon, _ = geodetic_from_local(ORIGIN, (30.0, -20.0, 0.0))
    mask = IGNORE_VEL | IGNORE_ACCEL | IGNORE_YAW | IGNORE_YAW_RATE
    target = target_from(
        mavlink.MAVLink_set_position_target_global_int_message(
            0, 1, 1, frame, mask, round(lat * 1e7), round(lon * 1e7), alt_m, *(0.0,) * 8
        ),
        ORIGIN,
        (0.0, 0.0, 2.0),
    )
    assert isinstance(target, PathTarget)
    assert target.pos_W == pytest.approx((30.0, -20.0, 12.0), abs=0.02)


def test_an_attitude_is_turned_into_our_axes() -> None:
    quat_WB = quat_from_euler(0.1, -0.2, 0.3)
    message = mavlink.MAVLink_set_attitude_target_message(
        0, 1, 1, 7, quat_ned_frd_from_enu_flu(quat_WB), 9.0, 9.0, 9.0, 0.4
    )
    target = target_from(message, None, None)
    assert isinstance(target, AttitudeTarget)
    assert target.quat_WB == pytest.approx(quat_WB)
    assert (target.rate_B, target.thrust_ratio) == ((0.0, 0.0, 0.0), 0.4)


@given(
    mask=st.integers(0, 0xFFFF),
    frame=st.integers(0, 30),
    values=st.lists(st.floats(width=32), min_size=11, max_size=11),
    thrust=st.floats(width=32),
)
def test_whatever_a_setpoint_holds_is_flown_finite_or_refused(
    mask: int, frame: int, values: list[float], thrust: float
) -> None:
    sim = simulated()
    sim.fly(0.1)
    messages = (
        mavlink.MAVLink_set_position_target_local_ned_message(0, 1, 1, frame, mask, *values),
        mavlink.MAVLink_set_position_target_global_int_message(0, 1, 1, frame, mask, 2**31 - 1, -5, *values[:9]),
        mavlink.MAVLink_set_attitude_target_message(0, 1, 1, mask & 0xFF, values[:4], *values[4:7], thrust),
    )
    for message in messages:
        target = target_from(message, ORIGIN, STILL)
        if not isinstance(target, Refusal) and sim.logic.offboard(target) is None:
            setpoint = sim.logic._offboard.setpoint(sim.estimate, 0.02)
            assert all(map(math.isfinite, setpoint.row())), (message, setpoint)


def test_a_refused_stream_is_told_why_once() -> None:
    bench = Bench()
    for _ in range(5):
        bench.peers[0].mav.send(local(99, 0, STILL, STILL, 0.0, 0.0))
    bench.run(0.1)
    texts = [message.text for message in bench.peers[0].drain("STATUSTEXT")]
    assert texts == ["Offboard: frame 99 is not supported"]
    bench.peers[0].mav.send(local(LOCAL, 0, STILL, STILL, 0.0, 0.0))
    bench.run(0.1)
    assert [call[0] for call in bench.logic.calls].count("offboard") == 1
