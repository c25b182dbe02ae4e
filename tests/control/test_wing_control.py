"""The inner loops of the fixed wing: signs, limits, what they learn, and that an airframe's file is enough."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control.wing import COMMAND, MEMORY, cntr
from aeroloop.control.wing_gains import Bandwidths, WingDynamics, design
from aeroloop.estimation.wing import ESTIMATE
from aeroloop.families.fixedwing.airframe import load, names
from aeroloop.families.fixedwing.law import wing_dynamics
from aeroloop.families.fixedwing.trim import trim

PERIOD_S, HEIGHT_M = 0.05, 500.0
PLACE = {name: i for i, (name, _) in enumerate(ESTIMATE)}
KEPT = {name: i for i, (name, _) in enumerate(MEMORY)}
DYNAMICS = {name: wing_dynamics(load(name)) for name in names()}
AEROSONDE = DYNAMICS["aerosonde"]
SPEED_M_S = AEROSONDE.airspeed_m_s


class Loops:
    """The law with its memory, and an estimate that starts in the trim."""

    def __init__(self, dynamics: WingDynamics = AEROSONDE, bandwidths: Bandwidths | None = None) -> None:
        self._run = Evaluator(cntr(design(dynamics, bandwidths), PERIOD_S))
        self.estimate = np.zeros(len(ESTIMATE))
        self.set(pos_z=HEIGHT_M, vel_x=SPEED_M_S, pitch=-dynamics.alpha_rad, airspeed=SPEED_M_S, ground_speed=SPEED_M_S)
        self.wanted = [0.0, HEIGHT_M, SPEED_M_S]

    def set(self, **values: float) -> Loops:
        for name, value in values.items():
            self.estimate[PLACE[name]] = value
        return self

    def tick(self, count: int = 1) -> dict[str, float]:
        for _ in range(count):
            self._run.inputs[0][:], self._run.inputs[1][:] = self.estimate, self.wanted
            self._run()
            self._run.inputs[2][:] = self._run.outputs[1]
        return dict(zip((name for name, _ in COMMAND), self._run.outputs[0].tolist(), strict=True))

    def kept(self, name: str) -> float:
        return float(self._run.outputs[1][KEPT[name]])


def test_the_trim_is_left_alone() -> None:
    found = Loops().tick(20)
    assert list(found.values()) == pytest.approx([0.0, AEROSONDE.elevator_rad, 0.0, AEROSONDE.throttle])


@pytest.mark.parametrize(
    ("values", "surface", "sign"),
    [
        ({"roll": 0.2}, "aileron", -1),
        ({"rate_x": 0.5}, "aileron", -1),
        ({"rate_y": 0.2}, "elevator", -1),  # nose goes down
        ({"pitch": -0.25}, "elevator", 1),  # nose too high
        ({"pos_z": HEIGHT_M - 5}, "elevator", -1),
        ({"vel_z": 1.0}, "elevator", 1),
        ({"airspeed": SPEED_M_S - 0.3}, "throttle", 1),
        ({"vel_z": 1.0}, "throttle", -1),
        ({"airspeed": SPEED_M_S + 2.5}, "elevator", -1),  # far too fast: climb
    ],
)
def test_each_loop_pushes_back(values: dict[str, float], surface: str, sign: int) -> None:
    loops = Loops()
    trimmed = loops.tick()[surface]
    assert sign * (loops.set(**values).tick()[surface] - trimmed) > 1e-3


def test_the_yaw_damper_forgets_a_steady_turn() -> None:
    loops = Loops()
    loops.tick()
    assert loops.set(rate_z=0.2).tick()["rudder"] < -0.005
    assert loops.tick(300)["rudder"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", names())
def test_what_a_turn_needs_is_known_beforehand(name: str) -> None:
    """Fed forward from the level trim, the trim of a turn is met without waiting for an integral."""
    airframe, d = load(name), DYNAMICS[name]
    turn = trim(airframe, turn_rate_rad_s=-0.2)
    loops = Loops(d).set(roll=turn.roll_rad, pitch=turn.pitch_rad)
    loops.set(rate_x=turn.rate_B[0], rate_y=turn.rate_B[1], rate_z=turn.rate_B[2])
    loops.wanted[0] = turn.roll_rad
    found = loops.tick()
    level = trim(airframe)
    for i, surface, share in ((0, "aileron", 0.35), (1, "elevator", 0.1), (3, "throttle", 0.1)):
        needed, given = turn.controls[i] - level.controls[i], found[surface] - level.controls[i]
        assert given == pytest.approx(needed, rel=share), surface


@pytest.mark.parametrize("name", names())
def test_roll_follows_as_a_first_order_lag(name: str) -> None:
    """On the roll equation alone, p' = -a1 p + a2 aileron."""
    d = DYNAMICS[name]
    loops = Loops(d)
    loops.wanted[0] = 0.3
    roll = p = 0.0
    history = []
    for _ in range(60):
        aileron = loops.set(roll=roll, rate_x=p).tick()["aileron"]
        for _ in range(10):
            p += PERIOD_S / 10 * (-d.roll_damping_per_s * p + d.roll_aileron_per_s2 * aileron)
            roll += PERIOD_S / 10 * p
        history.append(roll)
    reached_s = PERIOD_S * next(i for i, value in enumerate(history, 1) if value > 0.3 * (1 - math.exp(-1)))
    assert reached_s == pytest.approx(Bandwidths().roll_lag_s, abs=0.11)
    assert max(history) < 0.3 * 1.08
    assert history[-1] == pytest.approx(0.3, abs=0.003)


finite = st.floats(-1e3, 1e3)


@given(estimates=st.lists(st.tuples(*[finite] * len(ESTIMATE)), min_size=2, max_size=4), roll=st.floats(-1.5, 1.5))
def test_no_estimate_gets_past_limits_and_rates(estimates: list[tuple[float, ...]], roll: float) -> None:
    loops, b = Loops(), Bandwidths()
    loops.wanted[0] = roll
    before = np.array(list(loops.tick().values()))
    step = PERIOD_S * np.array([b.surface_rate_rad_s] * 3 + [b.throttle_rate_per_s])
    for estimate in estimates:
        loops.estimate[:] = estimate
        found = np.array(list(loops.tick().values()))
        assert np.all(found >= AEROSONDE.low) and np.all(found <= AEROSONDE.high)
        assert np.all(np.abs(found - before) <= step + 1e-12)
        before = found


@pytest.mark.parametrize(
    ("values", "integral", "surface"),
    [
        ({"airspeed": 10.0}, "speed_integral", "throttle"),
        ({"roll": -1.2}, "roll_integral", "aileron"),
        ({"pitch": 0.6}, "pitch_integral", "elevator"),
    ],
)
def test_no_integral_winds_up(values: dict[str, float], integral: str, surface: str) -> None:
    """A minute at the limit leaves nothing behind that a minute more would add to."""
    loops = Loops()
    at_limit = loops.set(**values).tick(1200)[surface]
    assert at_limit in (AEROSONDE.low + AEROSONDE.high)
    learned = loops.kept(integral)
    loops.tick(1200)
    assert loops.kept(integral) == pytest.approx(learned, abs=1e-9)


def test_an_airspeed_that_stays_wrong_is_learned() -> None:
    loops = Loops()
    first = loops.set(airspeed=SPEED_M_S - 0.2).tick()["throttle"]
    assert loops.tick(100)["throttle"] > first + 0.02


def test_the_throttle_sees_a_change_of_airspeed_coming() -> None:
    steady, rising = Loops(), Loops()
    rising.set(airspeed=SPEED_M_S - 0.1).tick()
    steady.tick()
    assert rising.set(airspeed=SPEED_M_S).tick()["throttle"] < steady.tick()["throttle"] - 0.02


def test_gains_shrink_with_the_surfaces_power() -> None:
    twice = replace(AEROSONDE, roll_aileron_per_s2=2 * AEROSONDE.roll_aileron_per_s2)
    assert design(twice).roll_p == pytest.approx(design(AEROSONDE).roll_p / 2)
    assert design(replace(AEROSONDE, thrust_m_s2=2 * AEROSONDE.thrust_m_s2)).speed_p_s_m == pytest.approx(
        design(AEROSONDE).speed_p_s_m / 2
    )


def test_the_derivatives_are_those_that_are_known_for_the_aerosonde() -> None:
    """a1 and a2 of its roll equation at 20 m/s, and its trim: angle of attack, elevator, throttle."""
    assert AEROSONDE.roll_damping_per_s == pytest.approx(18.1, rel=0.01)
    assert AEROSONDE.roll_aileron_per_s2 == pytest.approx(83.8, rel=0.01)
    assert math.degrees(AEROSONDE.alpha_rad) == pytest.approx(5.9, abs=0.1)
    assert math.degrees(AEROSONDE.elevator_rad) == pytest.approx(-15.5, abs=0.1)
    assert AEROSONDE.throttle == pytest.approx(0.57, abs=0.01)
