"""Precision landing of the virtual Pixhawk: which targets it takes, and what it does with them, without and lost."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from pixhawk_follower import NAN, Follower, item
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk import pad_hold, px4_modes
from aeroloop.controllers.pixhawk.autopilot import PixhawkAutopilot
from aeroloop.controllers.pixhawk.landing_targets import LandingTargets, target_from
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.precision_landing import GATE_PATIENCE_S, WAIT_BAND_M, WAIT_M
from aeroloop.controllers.pixhawk.types import FlightMode, Landed, LandingTarget, Refusal, SensorHealth
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from peers.ground_peer import Bench

PAD_W = (1.5, -1.0, 0.0)
LATENCY_NS = 80_000_000


class Companion:
    """Sends where the pad is, 30 times a second, late as a camera is."""

    def __init__(
        self, height_m: float = 10.0, pad_W: Vec3 = PAD_W, *, rest_height_m: float = 0.0, **values: float
    ) -> None:
        parameters = Parameters()
        for name, value in values.items():
            assert parameters.set(name, value) is None
        self.sim = Follower(PixhawkAutopilot(parameters, rest_height_m)).airborne(height_m)
        self.pad_W = pad_W
        self.sees: Callable[[], bool] = lambda: True
        self._next_ns = 0
        self.track: list[Vec3] = []

    def step(self) -> None:
        sim = self.sim
        if sim.t_ns >= self._next_ns:
            self._next_ns = sim.t_ns + NS // 30
            if self.sees():
                assert sim.logic.landing_target(LandingTarget(sim.t_ns - LATENCY_NS, self.pad_W)) is None
        sim.step()
        self.track.append(sim.pos)

    def until(self, done: Callable[[], bool], seconds: float) -> None:
        for _ in range(round(seconds / self.sim.dt_s)):
            if done():
                return
            self.step()
        raise AssertionError(f"not within {seconds} s: {self.sim.logic.status} {self.sim.texts[-5:]}")

    def fly(self, seconds: float) -> None:
        for _ in range(round(seconds / self.sim.dt_s)):
            self.step()

    def land(self, precision: int = 2, seconds: float = 90.0) -> None:
        assert self.sim.logic.land(precision) is None
        self.until(lambda: not self.sim.logic.status.armed, seconds)

    @property
    def off_m(self) -> float:
        return math.dist(self.sim.pos[:2], self.pad_W[:2])

    def said(self, text: str) -> int:
        return sum(text in each for each in self.sim.texts)


def test_it_lands_on_the_pad_and_disarms() -> None:
    companion = Companion()
    companion.land()
    assert companion.off_m < 0.05
    assert companion.sim.mode is FlightMode.HOLD
    assert companion.sim.texts[-2:] == ["Landed", "Disarmed after landing"]
    beside = [pos for pos in companion.track if math.dist(pos[:2], PAD_W[:2]) > 0.3]
    assert min(pos[2] for pos in beside) > 9.0, "first over the pad, then down"


def test_a_pad_on_a_roof_is_its_own_ground() -> None:
    """Below 3 m over it the descent is at landing speed, whatever home says."""
    companion = Companion(30.0, (0.0, 0.0, 18.0))
    assert companion.sim.logic.land(2) is None
    companion.until(lambda: companion.sim.pos[2] < 19.5, 60.0)
    assert companion.sim.vel[2] == pytest.approx(-0.7, abs=0.05)


def test_without_a_target_an_opportunistic_landing_is_a_normal_one() -> None:
    companion = Companion()
    companion.sees = lambda: False
    companion.land(1, 40.0)
    assert math.hypot(*companion.sim.pos[:2]) < 0.1
    assert companion.said("no target; landing here") == 1
    assert max(pos[2] for pos in companion.track) < 10.2


def test_without_a_target_a_required_landing_waits_searches_and_lands_where_it_is() -> None:
    companion = Companion(5.0)
    companion.sees = lambda: False
    assert companion.sim.logic.set_mode(FlightMode.PRECLAND) is None
    companion.fly(1.9)
    assert companion.said("searching") == 0
    companion.fly(8.0)
    assert companion.said("searching") == 1
    assert companion.sim.height == pytest.approx(10.0, abs=0.3), "PLD_SRCH_ALT above home"
    companion.until(lambda: not companion.sim.logic.status.armed, 60.0)
    assert companion.said("no target; landing here") == 1
    assert math.hypot(*companion.sim.pos[:2]) < 0.1


def test_a_search_stops_a_metre_above_where_it_sees_the_target() -> None:
    companion = Companion(2.0, PLD_SRCH_ALT=30.0)
    companion.sees = lambda: companion.sim.height > 6.0
    assert companion.sim.logic.set_mode(FlightMode.PRECLAND) is None
    companion.until(lambda: companion.said("target seen") == 1, 30.0)
    assert max(pos[2] for pos in companion.track) < 8.5
    companion.sees = lambda: True
    companion.until(lambda: not companion.sim.logic.status.armed, 60.0)
    assert companion.off_m < 0.05


def test_a_target_lost_in_the_descent_starts_the_landing_again_and_no_more_often_than_allowed() -> None:
    companion = Companion(10.0, PLD_MAX_SRCH=1, PLD_BTOUT=1.0, PLD_SRCH_TOUT=3.0)
    assert companion.sim.logic.land(2) is None
    for _ in range(2):
        companion.sees = lambda: True
        companion.until(lambda: companion.sim.logic.status.landed is Landed.LANDING, 30.0)
        companion.fly(1.0)
        companion.sees = lambda: False
        companion.fly(1.3)
    assert companion.said("target lost in descent") == 2
    assert companion.said("no more searches; landing here") == 1
    companion.sees = lambda: True
    companion.until(lambda: not companion.sim.logic.status.armed, 60.0)


def test_it_descends_for_pld_btout_and_no_longer_without_a_target() -> None:
    companion = Companion(10.0, PLD_BTOUT=1.0)
    assert companion.sim.logic.land(2) is None
    companion.until(lambda: companion.sim.height < 5.0, 60.0)
    companion.sees = lambda: False
    companion.fly(1.5)
    lowest = companion.sim.height
    companion.fly(1.0)
    assert companion.sim.logic.status.landed is Landed.IN_AIR
    assert companion.sim.height > lowest - 0.3


def test_close_to_the_pad_it_lands_without_seeing_it() -> None:
    companion = Companion(4.0, PLD_FAPPR_ALT=0.5)
    companion.sees = lambda: companion.sim.height > 0.45
    companion.land()
    assert companion.said("final approach") == 1
    assert companion.said("lost") == 0
    assert companion.off_m < 0.05


@pytest.mark.parametrize(("gate", "waits"), [(1, True), (0, False)])
def test_the_gate_stops_the_descent_beside_the_pad(gate: int, waits: bool) -> None:
    """The pad is moved by 0.8 m in the descent; PX4 would go on sinking."""
    companion = Companion(10.0, AL_PLD_GATE=gate)
    assert companion.sim.logic.land(2) is None
    companion.until(lambda: companion.sim.height < 3.0, 60.0)
    x, y, z = companion.pad_W
    companion.pad_W = (x + 0.8, y, z)
    before = companion.sim.height
    companion.fly(1.0)
    assert (before - companion.sim.height < 0.45) is waits
    companion.until(lambda: not companion.sim.logic.status.armed, 60.0)
    assert companion.off_m < 0.05


@pytest.mark.parametrize(("gate", "waits"), [(1, True), (0, False)])
@pytest.mark.parametrize("rest_height_m", [0.0, 0.21])
def test_the_gate_waits_above_the_pad_until_it_is_still(gate: int, waits: bool, rest_height_m: float) -> None:
    """The estimate has a speed of 0.15 m/s sideways, although the aircraft stays over the pad; a taller aircraft waits
    higher."""
    companion = Companion(4.0, (1.5, -1.0, -rest_height_m), rest_height_m=rest_height_m, AL_PLD_GATE=gate)
    companion.sim.change = lambda estimate: estimate._replace(vel_W=(0.15, 0.0, estimate.vel_W[2]))
    assert companion.sim.logic.land(2) is None
    companion.until(lambda: companion.sim.height < 0.3, 60.0)
    companion.fly(3.0)
    if waits:
        assert companion.sim.height == pytest.approx(WAIT_M, abs=WAIT_BAND_M)
        companion.sim.change = lambda estimate: estimate
        companion.fly(2.0)
    assert companion.sim.height < 0.05


@pytest.mark.parametrize(("gate", "waits"), [(1, True), (0, False)])
def test_the_gate_stops_the_descent_while_the_target_is_unseen(gate: int, waits: bool) -> None:
    companion = Companion(10.0, AL_PLD_GATE=gate)
    assert companion.sim.logic.land(2) is None
    companion.until(lambda: companion.sim.height < 4.0, 60.0)
    companion.sees = lambda: False
    companion.fly(2.0)
    before = companion.sim.height
    companion.fly(1.5)
    assert (before - companion.sim.height < 0.1) is waits


def test_over_the_pad_the_position_is_held_more_stiffly_and_within_limits() -> None:
    (ax, ay), integral = pad_hold.push((0.1, 0.0), (0.0, -0.2), (0.0, 0.0), 0.01)
    assert ax == pytest.approx(pad_hold.K_POS * 0.1 + pad_hold.K_INT * 0.001)
    assert ay == pytest.approx(-pad_hold.K_VEL * 0.2)
    assert integral == (pytest.approx(pad_hold.K_INT * 0.001), 0.0)
    for _ in range(10_000):
        far, integral = pad_hold.push((30.0, 40.0), (0.0, 0.0), integral, 0.01)
    assert math.hypot(*integral) == pytest.approx(pad_hold.INTEGRAL_M_S2)
    assert math.hypot(*far) == pytest.approx(pad_hold.K_POS * pad_hold.NEAR_M + pad_hold.INTEGRAL_M_S2)


@pytest.mark.parametrize(("gate", "pushes"), [(1, True), (0, False)])
def test_only_over_the_pad_and_with_the_gate_it_pushes(gate: int, pushes: bool) -> None:
    companion = Companion(10.0, AL_PLD_GATE=gate)
    sim = companion.sim
    assert sim.logic.land(2) is None
    companion.fly(0.5)
    assert math.dist(sim.setpoint.pos_W[:2], PAD_W[:2]) > pad_hold.NEAR_M
    assert math.hypot(*sim.setpoint.accel_W[:2]) < 3.0, "the trajectory's own"
    companion.until(lambda: sim.height < 5.0, 60.0)
    sim.change = lambda estimate: estimate._replace(pos_W=(PAD_W[0] + 0.1, PAD_W[1], estimate.pos_W[2]))
    companion.step()
    assert (sim.setpoint.accel_W[0] < -0.5) is pushes


def test_the_gate_does_not_wait_for_ever() -> None:
    companion = Companion(10.0)
    assert companion.sim.logic.land(2) is None
    companion.until(lambda: companion.sim.height < 3.0, 60.0)
    drift = iter(range(10**6))
    companion.sees = lambda: bool(companion.__setattr__("pad_W", (1.5 + 0.02 * next(drift), -1.0, 0.0)) or True)
    companion.fly(GATE_PATIENCE_S - 2.0)
    waiting = companion.sim.height
    assert waiting > 2.0, "the pad drives away"
    companion.fly(6.0)
    assert companion.sim.height < waiting - 0.7


def test_an_approach_that_never_settles_ends_where_it_is() -> None:
    companion = Companion(PLD_HACC_RAD=0.0)
    assert companion.sim.logic.land(2) is None
    companion.fly(10.5)
    assert companion.sim.texts[-1] == "Precision landing: approach too long; landing here", "whole: 50 characters"


def test_a_pilot_takes_over_from_a_precision_landing() -> None:
    companion = Companion()
    assert companion.sim.logic.land(2) is None
    companion.until(lambda: companion.sim.height < 6.0, 60.0)
    assert companion.sim.logic.set_mode(FlightMode.HOLD) is None
    companion.fly(5.0)
    assert companion.sim.height == pytest.approx(5.6, abs=0.4)


def test_position_lost_in_a_precision_landing_is_a_normal_landing() -> None:
    companion = Companion()
    assert companion.sim.logic.land(2) is None
    companion.fly(5.0)
    companion.sees = lambda: False
    companion.sim.change = lambda estimate: estimate._replace(position_ok=False)
    companion.fly(0.5)
    assert companion.sim.mode is FlightMode.LAND


@pytest.mark.parametrize(("param2", "off_m"), [(0.0, 1.8), (NAN, 1.8), (1.0, 0.0), (2.0, 0.0)])
def test_a_mission_lands_with_precision(param2: float, off_m: float) -> None:
    companion = Companion()
    sim = companion.sim
    land = item(mavlink.MAV_CMD_NAV_LAND, 0.0, 0.0, 0.0, (0.0, param2, 0.0, NAN))
    assert sim.logic.set_mission((item(16, 5.0, 0.0), land)) is None
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    companion.until(lambda: not sim.logic.status.armed, 90.0)
    assert companion.off_m == pytest.approx(off_m, abs=0.1)
    assert sim.logic.status.mission_reached == 1


def test_on_the_ground_and_without_position_it_is_refused() -> None:
    sim = Follower(PixhawkAutopilot(Parameters())).fly(0.1)
    assert sim.logic.land(2) is None
    assert sim.fly(0.1).texts == ["On the ground already"]
    assert sim.mode is FlightMode.HOLD
    blind = Follower(PixhawkAutopilot(Parameters()), change=lambda estimate: None, health=SensorHealth()).fly(0.1)
    refusal = blind.logic.land(2)
    assert refusal is not None
    assert refusal.reason == "No position: wait for satellites"


# Which targets are taken.


@pytest.mark.parametrize(
    ("t_ns", "pos_W", "own_W", "reason"),
    [
        (NS, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), ""),
        (NS // 2, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), ""),
        (NS // 2 - 1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), "image is older than 0.5 s"),
        (0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), "image is older than 0.5 s"),
        (2 * NS, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), "its time is in the future"),
        (NS, (math.nan, 0.0, 0.0), (0.0, 0.0, 0.0), "position is not finite"),
        (NS, (0.0, 0.0, math.inf), (0.0, 0.0, 0.0), "position is not finite"),
        (NS, (0.0, 0.0, 0.0), None, "own position is not known"),
        (NS, (199.0, 0.0, 0.0), (0.0, 0.0, 0.0), ""),
        (NS, (201.0, 0.0, 0.0), (0.0, 0.0, 0.0), "over 200 m away"),
    ],
)
def test_bad_targets_are_refused(t_ns: int, pos_W: Vec3, own_W: Vec3 | None, reason: str) -> None:
    targets = LandingTargets()
    refusal = targets.take(NS, LandingTarget(t_ns, pos_W), own_W)
    assert (refusal.reason if refusal else "") == (f"Landing target: {reason}" if reason else "")
    assert (targets.last is None) is bool(reason)


def test_targets_out_of_order_are_refused() -> None:
    targets = LandingTargets()
    own_W = (0.0, 0.0, 5.0)
    assert targets.take(NS, LandingTarget(NS, PAD_W), own_W) is None
    for t_ns in (NS, NS - 1):
        refusal = targets.take(NS + 1, LandingTarget(t_ns, (9.0, 9.0, 0.0)), own_W)
        assert refusal == Refusal("Landing target: images are out of order")
    assert targets.last == LandingTarget(NS, PAD_W)


def message(**changes: object) -> mavlink.MAVLink_landing_target_message:
    fields: dict[str, object] = {
        "time_usec": 1_000_000,
        "target_num": 0,
        "frame": mavlink.MAV_FRAME_LOCAL_NED,
        "angle_x": 0.0,
        "angle_y": 0.0,
        "distance": 5.0,
        "size_x": 0.2,
        "size_y": 0.2,
        "x": 2.0,
        "y": 3.0,
        "z": -1.0,
        "q": [1.0, 0.0, 0.0, 0.0],
        "type": mavlink.LANDING_TARGET_TYPE_VISION_FIDUCIAL,
        "position_valid": 1,
    }
    return mavlink.MAVLink_landing_target_message(**fields | changes)


def test_a_message_is_north_east_down_in_the_local_frame() -> None:
    assert target_from(message()) == LandingTarget(NS, (3.0, 2.0, 1.0))
    assert target_from(message(frame=12)) == Refusal("Landing target: frame 12 unsupported", temporary=False)
    without = target_from(message(position_valid=0))
    assert without == Refusal("Landing target: position_valid must be 1", temporary=False)


def test_refused_targets_are_counted_and_the_reason_is_sent_once() -> None:
    bench = Bench()
    (peer,) = bench.peers
    for _ in range(5):
        peer.mav.send(message(frame=12))
    assert bench.services.links[0].counters.bad_landing_targets == 5
    assert peer.texts() == "Landing target: frame 12 unsupported"
    peer.mav.send(message())
    assert bench.logic.calls[-1] == ("landing_target", LandingTarget(NS, (3.0, 2.0, 1.0)))
    bench.logic.refusal = Refusal("Landing target: over 200 m away")
    peer.mav.send(message())
    assert bench.services.links[0].counters.bad_landing_targets == 6
    assert peer.texts() == "Landing target: over 200 m away"


@pytest.mark.parametrize(
    ("param2", "call"),
    [(0.0, ("set_mode", FlightMode.LAND)), (1.0, ("land", 1)), (2.0, ("land", 2))],
)
def test_the_landing_command_names_the_precision(param2: float, call: tuple[object, ...]) -> None:
    bench = Bench()
    assert bench.peers[0].command(mavlink.MAV_CMD_NAV_LAND, 0.0, param2) == mavlink.MAV_RESULT_ACCEPTED
    assert bench.logic.calls[-1] == call
    assert bench.peers[0].command(mavlink.MAV_CMD_NAV_LAND, 0.0, 3.0) == mavlink.MAV_RESULT_DENIED


def test_the_mode_has_px4s_number() -> None:
    assert px4_modes.custom_mode(FlightMode.PRECLAND) == 4 << 16 | 9 << 24
    assert px4_modes.from_numbers(4, 9) is FlightMode.PRECLAND


def test_the_example_sends_a_target_that_is_taken() -> None:
    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "landing_target.py"))
    bench = Bench()
    example["send_target"](bench.peers[0], 1000.0, (2.0, 3.0, -1.0))
    assert bench.logic.calls[-1] == ("landing_target", LandingTarget(NS, (3.0, 2.0, 1.0)))
