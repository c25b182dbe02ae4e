"""Rotors in any flow against momentum theory, published curves and closed forms, one effect at a time.

Static thrust and torque are those of the file to 1e-13; heave damping agrees with -2 a s lambda / (16 lambda + a s)
times rho A w R, as Padfield has Z_w, to 1e-6: -0.202 N s/m for a rotor of the IRIS, 0.81 1/s for the aircraft.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from msgspec.structs import replace

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.families.multirotor import airframe
from aeroloop.models import quadrotor
from aeroloop.models import rotor_aerodynamics as model
from aeroloop.models.rotors import Rotors

IRIS = airframe.load("iris-aero")
R, SOLIDITY, SLOPE = 0.128, 0.12, 5.7
AREA, DENSITY = math.pi * R**2, 1.225
HOVER = float(quadrotor.hover_speeds_rad_s(IRIS.flight)[0])  # rad/s
HIGH_M = 1e9
Symbols = Any


def only(**effects: Any) -> Rotors:
    """The IRIS with these effects alone."""
    table = IRIS.rotors.aerodynamics
    assert table is not None
    off = dict.fromkeys(("inflow", "vortex_ring", "ground_effect", "flapping"), False)
    return replace(IRIS.rotors, aerodynamics=replace(table, **off | effects))


class Rotor:
    """One rotor of these, in the middle of nowhere."""

    def __init__(self, rotors: Rotors) -> None:
        size = {"vel_B": 3, "rate_B": 3, "height_m": 1, "up_B": 3, "density": 1, "speed": 1, "spin": 1}
        s: Symbols = {name: ca.SX.sym(name, count) for name, count in size.items()}
        blades = model.symbols(ca.SX(ca.DM(model.coefficients(rotors))))
        flow = model.Flow(s["vel_B"], s["rate_B"], s["height_m"], s["up_B"], s["density"])
        file: Symbols = model.Static(rotors.thrust_Ns2, rotors.torque_to_thrust_m, rotors.density_kg_m3)  # type: ignore[arg-type]
        self._load = ca.Function("load", list(s.values()), list(model.load(blades, flow, s["speed"], s["spin"], file)))

    def __call__(
        self,
        vel_B: tuple[float, float, float] = (0.0, 0.0, 0.0),
        *,
        rate_B: tuple[float, float, float] = (0.0, 0.0, 0.0),
        height_m: float = HIGH_M,
        up_B: tuple[float, float, float] = (0.0, 0.0, 1.0),
        density: float = DENSITY,
        speed: float = HOVER,
        spin: int = 1,
    ) -> tuple[Vec, float, Vec]:
        """Force, torque and moment of the hub."""
        force, torque, hub = self._load(vel_B, rate_B, height_m, up_B, density, speed, spin)
        return np.array(force).ravel(), float(torque), np.array(hub).ravel()

    def thrust_N(self, *args: Any, **named: Any) -> float:
        return float(self(*args, **named)[0][2])


EVERYTHING = Rotor(IRIS.rotors)
AXIAL = Rotor(only(inflow=True))
RING = Rotor(only(inflow=True, vortex_ring=True))


@pytest.mark.parametrize("speed", [100.0, HOVER, 1100.0])
@pytest.mark.parametrize("density", [1.225, 0.9])
def test_static_thrust_and_torque_are_those_of_the_file(speed: float, density: float) -> None:
    force, torque, hub = EVERYTHING(speed=speed, density=density)
    thrust = density / 1.225 * IRIS.rotors.thrust_Ns2 * speed**2
    assert force == pytest.approx([0.0, 0.0, thrust], rel=1e-13, abs=1e-12)
    assert torque == pytest.approx(0.06 * thrust, rel=1e-12)
    assert hub == pytest.approx([0.0, 0.0], abs=1e-12)


def test_with_every_effect_off_it_is_the_formula_of_the_file() -> None:
    force, torque, hub = Rotor(only())((3.0, -4.0, -6.0), rate_B=(1.0, 2.0, 3.0), height_m=0.1)
    assert force == pytest.approx([0.0, 0.0, IRIS.rotors.thrust_Ns2 * HOVER**2], rel=1e-15)
    assert torque == pytest.approx(0.06 * force[2], rel=1e-15) and not hub.any()


def test_heave_damping_is_that_of_blade_elements_and_momentum_theory() -> None:
    tip, lift = HOVER * R, SOLIDITY * SLOPE
    inflow = math.sqrt(IRIS.rotors.thrust_Ns2 / (2 * DENSITY * AREA)) / R  # over the tip speed, in hover
    expected = -DENSITY * AREA * tip * 2 * lift * inflow / (16 * inflow + lift)
    for rotor in (AXIAL, RING, EVERYTHING):
        slope = (rotor.thrust_N((0.0, 0.0, 1e-4)) - rotor.thrust_N((0.0, 0.0, -1e-4))) / 2e-4
        assert slope == pytest.approx(expected, rel=1e-6)
    assert -4 * expected / IRIS.body.mass_kg == pytest.approx(0.81, abs=0.005)  # 1/s
    # With the induced velocity of hover it would be the larger -rho a s A w R / 4.
    assert expected / (-DENSITY * lift * AREA * tip / 4) == pytest.approx(0.277, abs=0.001)


@pytest.mark.parametrize("climb", [-40.0, -30.0, 0.0, 1.0, 4.0, 8.0])
@pytest.mark.parametrize("in_plane", [0.0, 3.0, 12.0])
def test_thrust_is_that_of_blades_and_of_the_air(climb: float, in_plane: float) -> None:
    """Solved here by bisection: the thrust that blade elements and Glauert's formula have in common. In descent only
    where the rotor is a windmill: there 6 % of thrust are lacking at 12 m/s in the plane and -30 m/s, 1 % at 3 m/s."""
    tip, lift = HOVER * R, SOLIDITY * SLOPE
    pitch, flow = model.coefficients(IRIS.rotors)[1], (0.6 * in_plane, -0.8 * in_plane, climb)

    def of_blades(induced: float) -> float:
        ratio = (climb + induced) / tip
        return DENSITY * lift * AREA * tip**2 / 2 * (pitch * (1 / 3 + (in_plane / tip) ** 2 / 2) - ratio / 2)

    def of_air(induced: float) -> float:
        return 2 * DENSITY * AREA * induced * math.hypot(in_plane, climb + induced)

    low, high = 0.0, 40.0 if climb >= 0.0 else -climb / 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if of_air(middle) < of_blades(middle) else (low, middle)
    force, torque, _ = AXIAL(flow)
    near = 1e-9 if climb >= 0.0 or in_plane == 0.0 else 0.06
    assert force[2] == pytest.approx(of_blades(low), rel=near)
    # Power over that of the static profile torque: climb and induced, the latter times 1.15.
    profile = 0.06 * IRIS.rotors.thrust_Ns2 * HOVER**2 * HOVER - 1.15 * AXIAL.thrust_N() * _induced(AXIAL.thrust_N())
    profile *= 1 + (in_plane / tip) ** 2
    assert torque * HOVER - profile == pytest.approx(of_blades(low) * (climb + 1.15 * low), rel=3 * near)


def _induced(thrust: float) -> float:
    return math.sqrt(thrust / (2 * DENSITY * AREA))


def test_climb_power_is_that_of_momentum_theory() -> None:
    """At the same thrust: P / P_hover = x/2 + sqrt(x^2/4 + 1), without the profile's power."""
    rotor, faster = Rotor(only(inflow=True, induced_power_factor=1.0)), HOVER
    climb, thrust = 4.0, AXIAL.thrust_N()
    for _ in range(60):
        faster *= math.sqrt(thrust / rotor.thrust_N((0.0, 0.0, climb), speed=faster))
    power = rotor((0.0, 0.0, climb), speed=faster)[1] * faster - _profile_W(rotor, faster)
    hovering = rotor()[1] * HOVER - _profile_W(rotor, HOVER)
    x = climb / _induced(thrust)
    assert power / hovering == pytest.approx(x / 2 + math.sqrt(x**2 / 4 + 1), rel=1e-9)


def _profile_W(rotor: Rotor, speed: float) -> float:
    thrust = rotor.thrust_N(speed=speed)
    return rotor(speed=speed)[1] * speed - thrust * _induced(thrust)


def curve(vortex_ring: float) -> Callable[[float], float]:
    x = ca.SX.sym("x")
    function = ca.Function("axial", [x], [model.axial(x, ca.SX(vortex_ring))])
    return lambda climb: float(function(climb))


def test_induced_velocity_in_descent_is_leishmans_curve() -> None:
    """Its values to the change of the last coefficient, 0.0016 x^4; momentum theory from hover on and at -2."""
    ring = curve(1.0)
    for x in (-0.5, -0.8, -1.0, -1.2, -1.4, -1.6, -1.8, -1.999):
        published = 1.0 - 1.125 * x - 1.372 * x**2 - 1.718 * x**3 - 0.655 * x**4
        assert ring(x) == pytest.approx(published, abs=0.00163 * x**4)
    assert ring(-1.4) == pytest.approx(2.08, abs=0.01)  # the largest
    assert ring(-2.0) == pytest.approx(1.0) and ring(-3.0) == pytest.approx(1.5 - math.sqrt(1.25))
    assert ring(0.0) == 1.0 and ring(3.0) == pytest.approx(-1.5 + math.sqrt(3.25))
    assert (ring(1e-5) - ring(-1e-5)) / 2e-5 == pytest.approx(-0.5, abs=1e-4)


@pytest.mark.parametrize("vortex_ring", [0.0, 1.0])
def test_the_curve_is_continuous(vortex_ring: float) -> None:
    found = curve(vortex_ring)
    values = [found(x) for x in np.linspace(-4.0, 3.0, 7001)]
    # The tangent is vertical where the windmill state begins: sqrt(0.001) there.
    assert np.max(np.abs(np.diff(values))) < 0.035
    assert np.max(np.abs(np.diff([found(x) for x in np.linspace(-1.99, 3.0, 4991)]))) < 0.005


def test_johnsons_cubic_joins_the_branches_without_the_vortex_ring() -> None:
    found = curve(0.0)
    for x in (-1.2, -1.5, -1.8):
        assert found(x) == pytest.approx(x * (0.373 * x**2 - 1.991), abs=2e-3)
    assert found(-1.0) == pytest.approx((1 + math.sqrt(5)) / 2)
    assert found(-2.0) == pytest.approx(1.0)


def test_the_vortex_ring_takes_damping_away_in_descent_and_not_in_forward_flight() -> None:
    def damping(rotor: Rotor, sink: float, forward: float = 0.0) -> float:
        lower, upper = rotor.thrust_N((forward, 0.0, -sink - 0.05)), rotor.thrust_N((forward, 0.0, -sink + 0.05))
        return (lower - upper) / 0.1

    for sink in (2.0, 4.0, 6.0):
        assert 0.0 < damping(RING, sink) < 0.8 * damping(AXIAL, sink)
    assert damping(RING, 6.0) < 0.4 * damping(AXIAL, 6.0)
    assert RING.thrust_N((12.0, 0.0, -4.0)) == pytest.approx(AXIAL.thrust_N((12.0, 0.0, -4.0)), rel=0.02)
    sinking = [RING.thrust_N((0.0, 0.0, -s)) for s in np.linspace(0.0, 30.0, 601)]
    assert np.all(np.diff(sinking) > -1e-9) and np.max(np.diff(sinking)) < 0.1


@pytest.mark.parametrize("height_m", [0.064, 0.08, 0.128, 0.256, 1.0])
def test_ground_effect_is_cheeseman_and_bennetts(height_m: float) -> None:
    free, rotor = AXIAL.thrust_N(), Rotor(only(inflow=True, ground_effect=True))
    force, torque, _ = rotor(height_m=height_m)
    assert force[2] / free == pytest.approx(1 / (1 - (R / (4 * height_m)) ** 2), rel=1e-12)
    assert torque == pytest.approx(rotor()[1], rel=1e-12)  # at the same power


def test_ground_effect_has_its_limits() -> None:
    rotor = Rotor(only(ground_effect=True))
    free = rotor.thrust_N()
    for height_m in (0.06, 0.0, -1.0):
        assert rotor.thrust_N(height_m=height_m) / free == pytest.approx(4 / 3, rel=1e-9)
    assert rotor.thrust_N(height_m=0.1, up_B=(0.0, 0.6, -0.8)) == free  # the wash of an inverted rotor goes up
    tilted = rotor.thrust_N(height_m=0.1, up_B=(0.0, 0.6, 0.8)) / free
    assert tilted == pytest.approx(1 / (1 - (R * 0.8 / 0.4) ** 2), rel=1e-9)
    induced = _induced(free)
    forward = rotor.thrust_N((2 * induced, 0.0, 0.0), height_m=0.1) / free
    assert forward == pytest.approx(1 / (1 - (R / 0.4) ** 2 / 5), rel=1e-9)


def test_a_hinged_disc_tilts_backwards_in_forward_flight() -> None:
    """2 mu (4/3 theta - lambda) backwards and 4/3 mu b0 to the side on which the blades go back."""
    rotor, tip = Rotor(only(flapping=True, flap_frequency=1.0)), HOVER * R
    _, pitch, _, _, _, lock, _, inflow = model.coefficients(only())[:8]
    mu, b0 = 4.0 / tip, lock * (pitch / 8 - inflow / 6)
    for spin in (1, -1):
        force, _, hub = rotor((4.0, 0.0, 0.0), spin=spin)
        assert force[0] / force[2] == pytest.approx(-2 * mu * (4 / 3 * pitch - inflow), rel=1e-9)
        assert force[1] / force[2] == pytest.approx(-spin * 4 / 3 * mu * b0, rel=1e-9)
        assert not hub.any()
    assert force[0] == pytest.approx(-0.0345, abs=1e-4)  # N; the drag of `drag_Ns2_m` is 0.56 N there
    slanted = rotor((2.4, 3.2, 0.0))[0]
    along = rotor((4.0, 0.0, 0.0))[0]
    assert slanted[:2] == pytest.approx([0.6 * along[0] - 0.8 * along[1], 0.8 * along[0] + 0.6 * along[1]], rel=1e-9)


def test_a_hinged_disc_lags_behind_the_body() -> None:
    """By 16 / (g w) of its rate, which damps; and by 1/w across, against the gyroscopic torque of the blades."""
    rotor = Rotor(only(flapping=True, flap_frequency=1.0))
    lock = model.coefficients(only())[5]
    for spin in (1, -1):
        force, _, _ = rotor(rate_B=(2.0, 0.0, 0.0), spin=spin)
        assert force[1] / force[2] == pytest.approx(16 / lock * 2.0 / HOVER, rel=1e-9)
        assert force[0] / force[2] == pytest.approx(-spin * 2.0 / HOVER, rel=1e-9)
        force, _, _ = rotor(rate_B=(0.0, 2.0, 0.0), spin=spin)
        assert force[0] / force[2] == pytest.approx(-16 / lock * 2.0 / HOVER, rel=1e-9)


def test_a_stiff_blade_carries_its_moment_to_the_hub() -> None:
    """Without motion of the blades the advancing side lifts more: rho a s A R V U (theta/3 - lambda/4) / 2 of rolling
    moment, which is the limit of a high flap frequency."""
    tip, lift = HOVER * R, SOLIDITY * SLOPE
    pitch, inflow = (model.coefficients(only())[i] for i in (1, 7))
    for spin in (1, -1):
        force, _, hub = Rotor(only(flapping=True, flap_frequency=10.0))((4.0, 0.0, 0.0), spin=spin)
        rolling = DENSITY * lift * AREA * R * tip * 4.0 * (pitch / 3 - inflow / 4) / 2
        assert hub[0] == pytest.approx(-spin * rolling, rel=0.01)
        assert abs(force[0] / force[2]) < 1e-4 and abs(hub[1]) < 0.01 * rolling
    hub = Rotor(only(flapping=True))((4.0, 0.0, 0.0))[2]
    assert hub[1] < -0.01, "nose up"


def test_stopped_rotors_have_no_loads_and_nothing_is_infinite() -> None:
    force, torque, hub = EVERYTHING((5.0, -3.0, -12.0), rate_B=(1.0, 1.0, 1.0), height_m=0.1, speed=0.0)
    assert np.max(np.abs([*force, torque, *hub])) < 1e-5
    rng = np.random.default_rng(0)
    for _ in range(2000):
        found = EVERYTHING(
            tuple(rng.normal(0, 15, 3)),
            height_m=rng.normal(0, 1),
            up_B=(0.0, 0.0, rng.uniform(-1, 1)),
            speed=rng.choice([0.0, rng.uniform(0, 1100)]),
        )
        assert all(np.isfinite(part).all() for part in found)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"vortex_ring": True}, "rotors.aerodynamics.vortex_ring: expected inflow = true"),
        ({"flapping": True, "lock_number": None}, "rotors.aerodynamics.lock_number: missing"),
        ({"inflow": True, "radius_m": 0.5}, "expected less than rotors.torque_to_thrust_m, which is 0.06 m"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(table: dict[str, Any], message: str) -> None:
    rotors = only(**table)
    if "radius_m" in table:
        rotors = replace(rotors, torque_to_thrust_m=0.006, aerodynamics=replace(only(inflow=True).aerodynamics))
        message = message.replace("0.06 m", "0.006 m")
    with pytest.raises(ConfigError, match=message):
        model.check(rotors, "own.toml")
