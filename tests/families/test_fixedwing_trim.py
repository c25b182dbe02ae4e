"""Trims and modes of the fixed wings: the known ones, the whole range, refusals, and the motion itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fixedwing_flights import AEROSONDE, DENSITY, NAMES, STILL, derivative
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from aeroloop.actuators.servos import Hinges
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.modes import LATERAL, LONGITUDINAL, linear_model, modes, table
from aeroloop.families.fixedwing.trim import GRAVITY_M_S2, trim
from aeroloop.models import fixedwing
from aeroloop.models.fixedwing_tables import LinearDrag

FRAMES = {name: airframe.load(name) for name in NAMES}


@pytest.mark.parametrize(
    ("speed", "alpha_deg", "elevator_deg", "throttle"), [(20.0, 5.9, -15.5, 0.57), (25.0, 2.9, -7.2, 0.68)]
)
def test_the_aerosonde_trims_where_it_is_known_to(
    speed: float, alpha_deg: float, elevator_deg: float, throttle: float
) -> None:
    found = trim(AEROSONDE, speed)
    assert math.degrees(found.alpha_rad) == pytest.approx(alpha_deg, abs=0.05)
    assert math.degrees(found.controls[1]) == pytest.approx(elevator_deg, abs=0.05)
    assert found.controls[3] == pytest.approx(throttle, abs=0.005)


def test_the_other_drag_of_the_literature_does_not_trim_there() -> None:
    linear = LinearDrag(zero=0.043, alpha=0.03, pitch_rate=0.0, elevator=0.0135)
    throttle = trim(replace(AEROSONDE, drag=linear), 20.0).controls[3]
    assert throttle == pytest.approx(0.622, abs=0.005)


@pytest.mark.parametrize("name", NAMES)
def test_trims_over_its_whole_range(name: str) -> None:
    frame = airframe.load(name)
    before: tuple[float, float] = (math.inf, 0.0)
    for speed in np.linspace(frame.cruise.speed_min_m_s, frame.cruise.speed_max_m_s, 9):
        found = trim(frame, float(speed))
        assert found.residual < 1e-9
        assert found.alpha_rad < before[0]
        assert found.controls[3] > before[1]  # both fly faster than where the least throttle is
        before = (found.alpha_rad, found.controls[3])


@settings(max_examples=25)
@given(st.sampled_from(NAMES), st.floats(19, 27), st.floats(-30, 30), st.floats(-0.05, 0.1))
def test_every_trim_of_ordinary_flight_is_found(name: str, speed: float, bank_deg: float, climb_rad: float) -> None:
    frame = FRAMES[name]
    rate = GRAVITY_M_S2 * math.tan(math.radians(bank_deg)) / speed
    found = trim(frame, speed, turn_rate_rad_s=rate, climb_rad=climb_rad)
    dot = derivative(frame, found.state(), np.array(found.controls))
    assert dot[9:13] == pytest.approx(np.zeros(4), abs=1e-9)
    assert dot[7:9] == pytest.approx([-rate * found.vel_W[1], rate * found.vel_W[0]], abs=1e-8)
    assert found.vel_W[2] == pytest.approx(speed * math.sin(climb_rad))


@pytest.mark.parametrize(
    ("speed", "climb_rad", "says"),
    [
        (15.0, 0.0, r"deg of elevator, expected -25\.0 deg to 25\.0 deg"),
        (45.0, 0.0, "of throttle, expected 0 to 1"),
        (5.0, 0.0, "the airframe cannot fly at 5 m/s"),
        (20.0, 1.0, "of throttle, expected 0 to 1"),
        (-3.0, 0.0, "expected an airspeed above 0"),
        (math.nan, 0.0, "expected an airspeed above 0"),
    ],
)
def test_what_cannot_be_flown_is_refused(speed: float, climb_rad: float, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as refusal:
        trim(AEROSONDE, speed, climb_rad=climb_rad)
    assert "\n" not in str(refusal.value)


def test_roll_answers_the_aileron_as_published() -> None:
    """phi'' = -a1 phi' + a2 da with a1 = 18.1, a2 = 83.8 at 20 m/s."""
    model = linear_model(AEROSONDE, 20.0)
    assert -model.A[3, 3] == pytest.approx(18.1, abs=0.05)
    assert model.B[3, 0] == pytest.approx(83.8, abs=0.05)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("speed", [18.0, 20.0, 25.0])
def test_modes_are_those_of_an_aircraft(name: str, speed: float) -> None:
    found = {mode.name: mode for mode in modes(airframe.load(name), speed)}
    assert list(found) == ["short period", "phugoid", "Dutch roll", "roll", "spiral"]
    short, phugoid, dutch = found["short period"], found["phugoid"], found["Dutch roll"]
    assert short.frequency_rad_s > 5.0
    assert 0.3 < short.damping < 0.9
    assert 0.3 < phugoid.frequency_rad_s < 1.0 < 10 * phugoid.frequency_rad_s < short.frequency_rad_s
    assert phugoid.damping > 0.0
    assert phugoid.period_s is not None
    assert dutch.period_s is not None
    assert 0.1 < dutch.damping < 0.5
    assert 0.0 < found["roll"].time_constant_s < 0.1
    assert found["roll"].period_s is None
    assert abs(found["spiral"].time_constant_s) > 5.0


def test_the_modes_are_those_of_the_motion_itself() -> None:
    """The blocks leave nothing out: their eigenvalues are the whole system's, and the flown phugoid has its period."""
    model = linear_model(AEROSONDE, 20.0)
    whole = np.sort_complex(np.linalg.eigvals(model.A))
    blocks = np.sort_complex(
        np.concatenate([np.linalg.eigvals(model.block(states)) for states in (LONGITUDINAL, LATERAL)])
    )
    assert np.abs(whole - blocks).max() < 0.02
    frame = replace(AEROSONDE, propulsion=replace(AEROSONDE.propulsion, spin=0))  # no spiral comes in between
    phugoid, level = modes(frame, 20.0)[1], trim(frame, 20.0)
    state, run = level.state(), Evaluator(fixedwing.step(frame))
    state[7] += 0.2
    run.outputs[0][:], run.inputs[2][0] = state, 0.01
    run.inputs[1][:] = [*level.controls, *STILL, DENSITY, GRAVITY_M_S2]
    speeds = []
    for _ in range(3000):
        run.inputs[0][:] = run.outputs[0]
        run()
        speeds.append(math.hypot(*run.outputs[0][7:10]) - 20.0)
    late = np.array(speeds[200:])  # the short period is over
    crossings_s = 0.01 * np.flatnonzero(late[:-1] * late[1:] < 0.0)
    assert len(crossings_s) >= 5
    assert phugoid.period_s is not None
    assert 2 * np.diff(crossings_s).mean() == pytest.approx(phugoid.period_s, rel=0.02)


def test_the_table_says_it_in_words() -> None:
    text = table(AEROSONDE, 20.0)
    assert text.startswith("trim at 20 m/s: angle of attack 5.9 deg, elevator -15.5 deg, throttle 0.57")
    for word in ("short period", "phugoid", "Dutch roll", "roll", "spiral"):
        assert word in text


def test_an_elevator_that_its_servo_cannot_hold_is_refused() -> None:
    weak = Hinges(torque_Nm=(1.0, 0.01, 1.0), area_m2=(0.02,) * 3, chord_m=(0.05,) * 3, moment_1_rad=(0.5,) * 3)
    hinged = replace(AEROSONDE, servos=replace(AEROSONDE.servos, hinges=weak))
    held_deg = math.degrees(0.01 / (0.5 * DENSITY * 400 * 0.02 * 0.05 * 0.5))
    with pytest.raises(
        ConfigError, match=rf"-15\.5 deg of elevator, expected -{held_deg:.1f} deg to {held_deg:.1f} deg"
    ):
        trim(hinged, 20.0)
    assert trim(hinged, 35.0) == trim(AEROSONDE, 35.0)  # it needs 0.2 deg there
