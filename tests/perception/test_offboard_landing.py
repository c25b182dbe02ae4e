"""Landing by offboard setpoints: phases, requests and setpoints alone, and the messages."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.perception.landing_filter import PadEstimate
from aeroloop.perception.landing_states import State
from aeroloop.perception.offboard_landing import (
    Flight,
    OffboardSettings,
    Outcome,
    Own,
    Phase,
    Request,
    Setpoint,
    Step,
    begin,
    command,
    position_target,
    step,
)

RULES = OffboardSettings()
ABOVE = Own(0.0, (0.0, 0.0, 5.0), (0.0, 0.0, 0.0), armed=True, offboard=False, landed=False)
FRAMES = (True,) * 8
STEP_S = 0.04


def pad(t_s: float, x: float = 0.0, y: float = 0.0, vel_W: tuple[float, float] = (0.0, 0.0)) -> PadEstimate:
    return PadEstimate(t_s, (x, y), vel_W, 0.0, 1e-4, 0.0, 1e-4, 1e-4)


class Rig:
    """Steps with the same aircraft; the pad is seen in every frame unless told otherwise."""

    def __init__(self, own: Own = ABOVE, rules: OffboardSettings = RULES) -> None:
        self.t_s, self.own, self.rules = 0.0, own, rules
        self.flight: Flight = begin(0.0, own, (0.0, 0.0), 0.0)
        self.requests: list[Request] = []
        self.last = Step(self.flight, None, None)

    def run(self, seconds: float, own: Own | None = None, at: tuple[float, float] | None = (0.0, 0.0)) -> Rig:
        self.own = own or self.own
        for _ in range(round(seconds / STEP_S)):
            self.t_s += STEP_S
            seen = None if at is None else pad(self.t_s - 0.1, *at)
            frames = FRAMES if at is not None else (False,) * 8
            self.last = step(self.flight, self.t_s, self.own._replace(t_s=self.t_s), seen, frames, self.rules)
            self.flight = self.last.flight
            self.requests += [self.last.request] if self.last.request else []
        return self

    def flying(self) -> Rig:
        self.run(1.2)
        return self.run(STEP_S, self.own._replace(offboard=True))


def test_setpoints_are_streamed_for_a_second_before_the_mode_is_requested() -> None:
    rig = Rig().run(0.96)
    assert rig.last.setpoint == Setpoint((0.0, 0.0, 5.0), (0.0, 0.0, 0.0))
    assert rig.requests == []
    rig.run(0.1)
    assert rig.requests == [Request.OFFBOARD]
    rig.run(2.0)
    assert rig.requests == [Request.OFFBOARD] * 3, "repeated until the mode is there"
    rig.run(STEP_S, ABOVE._replace(offboard=True))
    assert rig.flight.phase is Phase.FLY


def test_a_refused_mode_ends_the_landing() -> None:
    rig = Rig().run(11.2)
    assert (rig.flight.phase, rig.flight.outcome) == (Phase.OVER, Outcome.REFUSED)
    assert rig.last[1:] == (None, None)


@pytest.mark.parametrize(("armed", "outcome"), [(True, Outcome.TAKEN_OVER), (False, Outcome.LANDED)])
def test_an_autopilot_that_leaves_the_mode_is_left_alone(armed: bool, outcome: Outcome) -> None:
    rig = Rig().flying().run(STEP_S, ABOVE._replace(armed=armed, offboard=False))
    assert rig.flight.outcome is outcome
    assert rig.run(1.0).last[1:] == (None, None)


@pytest.mark.parametrize(("without", "asked"), [("land", Request.LAND), ("hold", Request.HOLD)])
def test_without_a_pad_the_autopilot_lands_or_holds(without: str, asked: Request) -> None:
    rules = OffboardSettings(without=without)  # type: ignore[arg-type]
    rig = Rig(rules=rules).flying().run(32.0, at=None)
    assert rig.flight.memory.state is State.GIVEN_UP
    assert set(rig.requests) == {Request.OFFBOARD, asked}
    assert rig.last.setpoint is not None, "until the autopilot has changed its mode"
    assert rig.last.setpoint.vel_W[2] == 0.0
    rig.run(STEP_S, rig.own._replace(offboard=False), at=None)
    assert rig.flight.outcome is Outcome.GIVEN_UP


def test_it_lands_and_asks_for_the_motors_to_stop() -> None:
    rig = Rig().flying().run(2.0)
    assert rig.flight.memory.state is State.DESCEND
    low = ABOVE._replace(pos_W=(0.0, 0.0, 0.2), offboard=True)
    rig.run(STEP_S, low)
    assert rig.flight.memory.state is State.LAND
    rig.run(3.0)
    assert rig.last.setpoint is not None
    assert rig.last.setpoint.pos_W[2] == pytest.approx(0.2 - RULES.reach_z_m), "below the ground: the autopilot lands"
    rig.run(1.5, low._replace(landed=True))
    assert rig.flight.memory.state is State.DONE
    assert rig.requests[-2:] == [Request.DISARM] * 2
    rig.run(STEP_S, low._replace(landed=True, armed=False))
    assert rig.flight.outcome is Outcome.LANDED


def test_a_driving_pad_is_met_with_its_velocity() -> None:
    rig = Rig().flying().run(1.0)
    own = rig.own._replace(t_s=rig.t_s, vel_W=(0.5, 0.0, 0.0))
    seen = pad(rig.t_s, vel_W=(0.5, 0.0))
    setpoint = step(rig.flight, rig.t_s, own, seen, FRAMES, RULES).setpoint
    assert setpoint is not None
    assert setpoint.vel_W[:2] == pytest.approx((0.5, 0.0), abs=1e-6)
    assert setpoint.pos_W[:2] == pytest.approx((0.0, 0.0), abs=1e-6)
    late = step(rig.flight, rig.t_s + 0.1, own, seen, FRAMES, RULES).setpoint
    assert late is not None
    assert late.pos_W[0] == pytest.approx(0.05), "pad and aircraft are predicted to the time of the step"


def test_beside_the_pad_it_is_pushed_back_and_far_from_it_no_harder() -> None:
    near, far = (Rig().flying().run(0.2, at=(x, 0.0)).last.setpoint for x in (0.1, 8.0))
    assert near is not None
    assert far is not None
    assert near.vel_W[0] > RULES.k_pos * 0.1
    assert far.vel_W[0] == 0.0
    assert far.pos_W[0] == pytest.approx(RULES.reach_m), "it approaches at a moderate speed"


def test_the_descent_ends_softly_above_the_pad() -> None:
    rig = Rig().flying().run(2.0)
    sinks = []
    for height_m in (1.0, 0.4, 0.3, 0.25):
        rig.run(STEP_S, ABOVE._replace(pos_W=(0.035, 0.0, height_m + 0.02), offboard=True))
        assert rig.flight.memory.state is State.DESCEND
        assert rig.last.setpoint is not None
        sinks.append(-rig.last.setpoint.vel_W[2])
    assert sinks == pytest.approx([0.6, 0.33, 0.18, 0.105], abs=1e-6)


moments = st.tuples(
    st.sampled_from([-0.1, 0.0, 0.033, 0.5, 2.0]),  # time to the next
    st.sampled_from([(0.3, -0.2, 4.0), (0.31, -0.2, 0.5), (0.3, -0.2, 0.19), (9.0, 2.0, 3.0), (math.nan, 0.0, 1.0)]),
    st.sampled_from([(0.2, 0.0, 0.0), (1.0, -2.0, 0.5), (0.0, math.inf, 0.0)]),
    st.booleans(),  # seen
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(State)), st.lists(moments, min_size=1, max_size=60))
def test_setpoints_are_finite_never_go_back_in_time_and_do_not_descend_while_the_pad_is_unseen(
    state: State,
    seen: list[tuple[float, tuple[float, float, float], tuple[float, float, float], bool, tuple[bool, bool, bool]]],
) -> None:
    """For longer than 1 s; below 0.1 m of camera height LAND is blind by design."""
    flight = begin(0.0, ABOVE, (0.0, 0.0), 0.0)
    flight = flight._replace(phase=Phase.FLY, memory=flight.memory._replace(state=state))
    t_s, last_s, sent_s, estimate = 0.0, -math.inf, -math.inf, None
    for dt_s, pos_W, vel_W, visible, (armed, offboard, landed) in seen:
        t_s += dt_s
        if visible and t_s > last_s:
            last_s, estimate = t_s, pad(t_s, 0.3, -0.2)
        own = Own(t_s, pos_W, vel_W, armed or t_s < 5.0, offboard or t_s < 5.0, landed)
        flight, setpoint, _ = step(flight, t_s, own, estimate, (visible,) * 8, RULES)
        if setpoint is None:
            continue
        assert t_s >= sent_s
        sent_s = t_s
        assert all(map(math.isfinite, (*setpoint.pos_W, *setpoint.vel_W)))
        blind = flight.memory.state in (State.LAND, State.DONE) and pos_W[2] - 0.02 < RULES.landing.blind_m + 1e-6
        if t_s - last_s > 1.0 + 1e-6 and not blind:
            assert setpoint.vel_W[2] >= 0.0, flight.memory.state


def test_a_taller_aircraft_waits_higher() -> None:
    """Standing, its origin is 0.21 m above the pad: it must not stand there and wait for the last decimetres."""
    rig = Rig(rules=OffboardSettings(rest_height_m=0.21)).flying().run(2.0)
    rig.run(STEP_S, ABOVE._replace(pos_W=(0.035, 0.0, 0.21 + 0.145), offboard=True))
    assert rig.flight.memory.state is State.DESCEND
    assert rig.last.setpoint is not None
    assert rig.last.setpoint.vel_W[2] == pytest.approx(0.0, abs=1e-6)
    rig.run(STEP_S, ABOVE._replace(pos_W=(0.0, 0.0, 0.21 + 0.145), offboard=True))
    assert rig.flight.memory.state is State.LAND


# The messages.


def test_a_setpoint_is_a_position_and_a_velocity_north_east_down() -> None:
    message = position_target(12.5, Setpoint((1.0, 2.0, 3.0), (0.1, 0.2, -0.3)))
    assert message.get_type() == "SET_POSITION_TARGET_LOCAL_NED"
    assert (message.time_boot_ms, message.coordinate_frame, message.type_mask) == (12500, 1, 3520)
    assert (message.x, message.y, message.z) == (2.0, 1.0, -3.0)
    assert (message.vx, message.vy, message.vz) == (0.2, 0.1, 0.3)
    assert (message.target_system, message.target_component) == (1, 1)


@pytest.mark.parametrize(
    ("asked", "number", "params"),
    [
        (Request.OFFBOARD, mavlink.MAV_CMD_DO_SET_MODE, (1.0, 6.0, 0.0)),
        (Request.HOLD, mavlink.MAV_CMD_DO_SET_MODE, (1.0, 4.0, 3.0)),
        (Request.DISARM, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, (0.0, 0.0, 0.0)),
        (Request.LAND, mavlink.MAV_CMD_NAV_LAND, (0.0, 0.0, 0.0)),
    ],
)
def test_each_request_is_a_command(asked: Request, number: int, params: tuple[float, ...]) -> None:
    message = command(asked)
    assert (message.command, message.param1, message.param2, message.param3) == (number, *params)
