"""The Aerosonde's two drags, the elevator's drag, and a propeller beyond the range of its fits."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from fixedwing_flights import AEROSONDE, DENSITY, STILL
from msgspec.structs import replace

from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.families.fixedwing.modes import modes
from aeroloop.families.fixedwing.trim import trim
from aeroloop.models import fixedwing
from aeroloop.models.fixedwing_tables import PolarDrag

PARASITIC = airframes.load("aerosonde-parasitic")
STATE = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
V = 7  # index of the velocity's first component in a state
THROTTLES = np.linspace(0.0, 1.0, 201)


def lift_over_drag(airframe: Airframe, speed_m_s: float) -> float:
    """Of the air's force alone, in level flight."""
    at = trim(airframe, speed_m_s)
    gliding = replace(airframe.propulsion, thrust_fit=(0.0, 0.0, 0.0), advance_range=None)
    force_B, _ = fixedwing.forces(replace(airframe, propulsion=gliding))(at.state(), at.controls, STILL, DENSITY)
    x, _, z = np.array(force_B).ravel()
    sin, cos = math.sin(at.alpha_rad), math.cos(at.alpha_rad)
    return float((z * cos + x * sin) / (z * sin - x * cos))


def thrust_function(airframe: Airframe, density: float = DENSITY) -> ca.Function:
    """(airspeed, throttle) -> thrust and torque at the shaft: the difference to a propeller without force."""
    state, throttle, speed = ca.SX(STATE), ca.SX.sym("throttle"), ca.SX.sym("speed")
    state[V] = speed
    none = replace(airframe.propulsion, thrust_fit=(0.0, 0.0, 0.0), torque_fit=(1e-12, 0.0, 0.0), advance_range=None)
    with_and_without = [
        fixedwing.forces(p)(state, ca.vertcat(0, 0, 0, throttle), ca.DM.zeros(3), density)
        for p in (airframe, replace(airframe, propulsion=none))
    ]
    (force, torque), (bare_force, bare_torque) = with_and_without
    return ca.Function("thrust", [speed, throttle], [force[0] - bare_force[0], bare_torque[0] - torque[0]])


def thrusts(airframe: Airframe, speed_m_s: float, density: float = DENSITY) -> np.ndarray:
    made = thrust_function(airframe, density)
    return np.array([float(made(speed_m_s, throttle)[0]) for throttle in THROTTLES])


@pytest.mark.parametrize(("airframe", "expected"), [(AEROSONDE, (41.1, 63.9, 99.7)), (PARASITIC, (15.5, 10.7, 7.75))])
def test_lift_over_drag(airframe: Airframe, expected: tuple[float, ...]) -> None:
    assert [lift_over_drag(airframe, speed) for speed in (20.0, 25.0, 30.0)] == pytest.approx(expected, rel=0.005)


def test_a_polar_with_the_same_parasitic_drag_has_the_drag_of_lift_too() -> None:
    assert isinstance(AEROSONDE.drag, PolarDrag)
    polar = replace(AEROSONDE, drag=replace(AEROSONDE.drag, parasitic=0.043))
    found = [lift_over_drag(polar, speed) for speed in (20.0, 25.0, 30.0)]
    assert found == pytest.approx((12.46, 9.72, 7.38), rel=0.002)


def test_all_else_is_the_published_set() -> None:
    same = replace(
        PARASITIC,
        drag=AEROSONDE.drag,
        cruise=AEROSONDE.cruise,
        propulsion=replace(PARASITIC.propulsion, advance_range=None),
    )
    assert same == AEROSONDE


@pytest.mark.parametrize(
    ("gravity_m_s2", "alpha", "elevator", "aileron", "throttle"),
    [(9.8, 0.05001, -0.124778, 0.0018365, 0.676752), (9.81, 0.05011, -0.125044, 0.001837, 0.676776)],
)
def test_with_signed_elevator_drag_it_trims_as_the_books_code(
    gravity_m_s2: float, alpha: float, elevator: float, aileron: float, throttle: float
) -> None:
    """mavsim_public at 25 m/s; its gravity is 9.8. With the absolute deflection the throttle is 0.6849."""
    signed = replace(AEROSONDE, drag=replace(AEROSONDE.drag, elevator_signed=True))
    at = trim(signed, 25.0, gravity_m_s2=gravity_m_s2)
    assert at.alpha_rad == pytest.approx(alpha, abs=5e-6)
    assert at.controls[0] == pytest.approx(aileron, abs=1e-6)
    assert at.controls[1] == pytest.approx(elevator, abs=1e-6)
    assert at.controls[3] == pytest.approx(throttle, abs=3e-6)
    assert trim(AEROSONDE, 25.0).controls[3] == pytest.approx(0.6849, abs=5e-5)


def test_the_published_fit_brakes_more_with_some_throttle_than_with_none() -> None:
    published = thrusts(AEROSONDE, 20.0)
    assert published[0] == pytest.approx(-14.4, abs=0.05)
    lowest = int(np.argmin(published))
    assert THROTTLES[lowest] == pytest.approx(0.11, abs=0.01)
    assert published[0] - published[lowest] == pytest.approx(0.99, abs=0.02)
    assert thrusts(AEROSONDE, 20.0, 1.225)[0] - thrusts(AEROSONDE, 20.0, 1.225).min() == pytest.approx(0.96, abs=0.02)


@pytest.mark.parametrize("speed", [0.0, 5.0, 20.0, 30.0])
def test_within_its_range_thrust_never_falls_while_throttle_rises(speed: float) -> None:
    clamped, published = thrusts(PARASITIC, speed), thrusts(AEROSONDE, speed)
    assert (np.diff(clamped) >= -1e-12).all()
    assert clamped[-1] == pytest.approx(published[-1], rel=1e-12)  # within the range nothing changes
    _, most = PARASITIC.propulsion.advance_range or (0.0, 0.0)
    d, (t0, t1, t2) = PARASITIC.propulsion.diameter_m, PARASITIC.propulsion.thrust_fit
    windmill_N = DENSITY * speed**2 * d**2 * (t0 + t1 * most + t2 * most**2) / most**2
    assert clamped[0] == pytest.approx(windmill_N, abs=1e-9)
    if speed == 20.0:
        assert windmill_N == pytest.approx(-1.98, abs=0.01)  # of 6.9 N of drag in level flight, instead of 14.4


def test_below_its_range_a_propeller_is_as_if_it_stood_in_still_air() -> None:
    """rho n^2 D^4 CT(J_min), where the motor holds the torque rho n^2 D^5 CQ(J_min)."""
    low, d, density, speed = 0.4, 0.508, DENSITY, 4.0
    propulsion = replace(AEROSONDE.propulsion, advance_range=(low, 0.73))
    made = thrust_function(replace(AEROSONDE, propulsion=propulsion))
    thrust, shaft = (float(value) for value in made(speed, 1.0))
    fit = [
        f[0] + f[1] * low + f[2] * low**2 for f in (AEROSONDE.propulsion.thrust_fit, AEROSONDE.propulsion.torque_fit)
    ]
    n = math.sqrt(thrust / (density * d**4 * fit[0]))
    assert speed / (n * d) < low
    assert shaft == pytest.approx(density * n**2 * d**5 * fit[1], rel=1e-9)
    constant = 60 / (2 * math.pi * 145.0)
    assert shaft == pytest.approx(constant * ((44.4 - constant * 2 * math.pi * n) / 0.042 - 1.5), rel=1e-9)
    above = thrust_function(replace(AEROSONDE, propulsion=replace(propulsion, advance_range=None)))
    assert [float(v) for v in made(20.0, 0.9)] == pytest.approx([float(v) for v in above(20.0, 0.9)], rel=1e-12)


def test_a_throttle_that_is_nan_stays_nan() -> None:
    assert math.isnan(float(thrust_function(PARASITIC)(20.0, math.nan)[0]))


def test_modes_with_parasitic_drag() -> None:
    """Drag damps the phugoid, and changes nothing else."""
    published = {mode.name: mode.eigenvalue for mode in modes(AEROSONDE, 25.0)}
    found = {mode.name: mode.eigenvalue for mode in modes(PARASITIC, 25.0)}
    assert published["phugoid"] == pytest.approx(-0.108 + 0.488j, abs=1e-3)
    assert found["phugoid"] == pytest.approx(-0.143 + 0.478j, abs=1e-3)
    for name in ("short period", "Dutch roll", "roll", "spiral"):
        assert found[name] == pytest.approx(published[name], rel=3e-3)
    assert published["short period"] == pytest.approx(-4.879 + 9.870j, abs=2e-3)
    assert published["Dutch roll"] == pytest.approx(-1.141 + 4.655j, abs=1e-3)
    assert published["roll"].real == pytest.approx(-22.44, abs=0.01)
    assert published["spiral"].real == pytest.approx(0.089, abs=1e-3)


def test_the_books_signed_drag_gives_its_phugoid() -> None:
    signed = replace(AEROSONDE, drag=replace(AEROSONDE.drag, elevator_signed=True))
    found = {mode.name: mode.eigenvalue for mode in modes(signed, 25.0)}
    assert found["phugoid"] == pytest.approx(-0.104 + 0.489j, abs=1e-3)
