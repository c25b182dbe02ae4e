"""The fixed wing in rotating air, its start in turbulence, and what the other families do with the same wind."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from fixedwing_flights import AEROSONDE, DENSITY, NAMES, STILL, some_state

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.core.signals import Air
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.build import Start, build_world
from aeroloop.flight.inline import fly_inline
from aeroloop.models import fixedwing
from aeroloop.models.rigid_body import RATE
from aeroloop.recording.log import Log, log_sha256
from aeroloop.world.flight_model import FlightModelInGusts

CONTROLS = np.array([0.05, -0.2, 0.03, 0.5])
AIR = Air(STILL, 101325.0, 288.15, DENSITY)
STEP_NS = 5_000_000


def torque_B(name: str, state: Vec, controls: Vec, wind_W: Vec) -> Vec:
    return np.array(fixedwing.forces(airframe.load(name))(state, controls, wind_W, DENSITY)[1]).ravel()


def in_gusts(name: str, state: Vec, gust_rate_W: Vec) -> Vec:
    u = np.concatenate([CONTROLS, np.zeros(3), [DENSITY, GRAVITY_M_S2], gust_rate_W])
    return np.array(fixedwing.dynamics_in_gusts(airframe.load(name))(state, u)).ravel()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_air_that_rotates_with_the_aircraft_is_air_in_which_it_does_not_rotate(name: str, seed: int) -> None:
    """Of the aerodynamics: the gyroscopic torque is that of the true rates."""
    rng = np.random.default_rng(seed)
    state = some_state(rng, 22.0)
    R = np.array(fixedwing.rigid_body.rotation(state[3:7]))
    inertia = np.array(airframe.load(name).body.inertia_rows_kgm2)
    rate_B = state[RATE]
    gone = state.copy()
    gone[RATE] = 0.0
    made = inertia @ in_gusts(name, state, R @ rate_B)[RATE] + np.cross(rate_B, inertia @ rate_B)
    assert made == pytest.approx(torque_B(name, gone, CONTROLS, np.zeros(3)), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_without_rotation_it_is_the_other_model(seed: int) -> None:
    state = some_state(np.random.default_rng(seed), 22.0)
    still = np.concatenate([CONTROLS, np.zeros(3), [DENSITY, GRAVITY_M_S2]])
    own = np.array(fixedwing.dynamics(AEROSONDE)(state, still)).ravel()
    assert in_gusts("aerosonde", state, np.zeros(3)) == pytest.approx(own, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_gust_rate_turns_the_aircraft_with_it(axis: int) -> None:
    """Damping draws the body rate towards that of the air."""
    state = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 20.0, 0.0, -2.0, 0.0, 0.0, 0.0])
    gust = np.zeros(3)
    gust[axis] = 0.1
    turned = in_gusts("aerosonde", state, gust)[RATE] - in_gusts("aerosonde", state, np.zeros(3))[RATE]
    assert turned[axis] > 0.05


def test_the_world_in_gusts_reads_the_rates_before_each_step_and_after_an_exchange() -> None:
    world, servos = build_world(AEROSONDE, Start((0.0, 0.0, 300.0)), Evaluator, in_gusts=True)
    assert isinstance(world, FlightModelInGusts)
    effort = SimpleNamespace(controls=servos.controls)
    world.air_rate_W = lambda: (0.5, 0.0, 0.0)
    world.step(effort, AIR, GRAVITY_M_S2, STEP_NS)
    rolling = world.state(0).rate_B[0]
    world.exchange(Evaluator(fixedwing.step_in_gusts(AEROSONDE)))
    world.step(effort, AIR, GRAVITY_M_S2, STEP_NS)
    assert 0.005 < rolling < 0.5 and world.state(0).rate_B[0] > 1.5 * rolling


def flown(name: str, *settings: str) -> Log:
    flight = fly_inline(load_plan(scenario_files.find(name), ("checks=[]", *settings)))
    assert flight.ended == "completed"
    return flight.logs[0]


TURBULENCE = "world.wind.turbulence"
UNFADED = f"{TURBULENCE}.fade_in_s=0.0"


def test_turbulence_that_fades_in_leaves_the_trim_of_the_start() -> None:
    """Moderate turbulence at full strength puts the wing at 13.6 deg of angle of attack at t = 0, where 6.72 deg are
    trim. The shipped flight fades in."""
    settings = ("duration_s=1.0", "seed=21")
    hit, faded = (
        np.degrees(flown("fixedwing-loiter", *settings, *more).column("truth", "alpha_rad"))
        for more in ((UNFADED,), ())
    )
    assert hit[0] == pytest.approx(13.57, abs=0.01)
    assert faded[0] == pytest.approx(6.72, abs=0.01)
    assert np.abs(faded - faded[0]).max() < 1.5 < np.abs(hit - faded[0]).max()


def test_a_start_in_a_wind_over_height_is_trimmed_in_the_wind_there() -> None:
    """8 m/s at 10 m above the ground are 12 m/s there."""
    still = (f"{TURBULENCE}.w20_m_s=0.0", "duration_s=0.2")
    windy = (*still, "world.wind.steady_W=[8.0,0.0,0.0]", 'world.wind.profile={kind="power"}')
    calm, wind = (flown("fixedwing-loiter", *settings) for settings in (still, windy))
    speed = wind.column("air", "wind_x_m_s")[0]
    over_m = wind.column("truth", "z_m")[0] - wind.column("truth", "ground_m")[0]
    assert speed == pytest.approx(8.0 * (over_m / 10.0) ** (1 / 7)) and speed > 11.0
    own_m_s = calm.column("truth", "vx_m_s")[0]
    assert wind.column("truth", "vx_m_s")[0] - own_m_s == pytest.approx(speed)
    for column in ("alpha_rad", "beta_rad", "airspeed_m_s"):
        assert wind.column("truth", column)[0] == pytest.approx(calm.column("truth", column)[0], abs=1e-9)


def test_gust_rates_roll_the_wing_and_are_logged() -> None:
    """Other draws of the same turbulence, so compared are the sizes of its roll accelerations."""
    settings = ("duration_s=25.0", "seed=0")
    plain, rates = (flown("fixedwing-loiter", *settings, f"{TURBULENCE}.rates={on}") for on in ("false", "true"))
    rolls = [np.diff(log.column("truth", "rate_x_rad_s")).std() for log in (rates, plain)]
    assert rolls[0] > 1.15 * rolls[1]
    assert len(plain.rows["gust_rate"]) == 0
    assert (rates.column("gust_rate", "t_s") == rates.column("air", "t_s")).all()
    assert (rates.rows["gust_rate"][0, 2:] == 0.0).all() and 0.05 < rates.column(
        "gust_rate", "rate_x_rad_s"
    ).std() < 0.2


EVERYTHING = (
    "duration_s=3.0",
    "world.wind.steady_W=[3.0,-2.0,0.0]",
    'world.wind.profile={kind="log"}',
    "world.wind.terrain={speed_up=1.6}",
    'world.wind.turbulence={w20_m_s=7.7,model="von_karman",altitude="auto",exceedance=1e-3,fade_in_s=1.0}',
)


@pytest.mark.parametrize("name", ["quad-wind", "tiltrotor-wind", "heli-hover", "fixedwing-loiter"])
def test_every_family_flies_in_it(name: str) -> None:
    """The same seed, the same flight."""
    ground = () if name == "fixedwing-loiter" else ('world.terrain={kind="slope",east=0.02}',)
    log, again = (flown(name, *EVERYTHING, *ground) for _ in range(2))
    assert log_sha256(log) == log_sha256(again)
    wind = np.array([log.column("air", f"wind_{axis}_m_s") for axis in "xyz"])
    assert math.hypot(*wind[:2, 0]) < 6.0 and np.isfinite(wind).all()
    assert wind.std(axis=1).min() > 0.01


@pytest.mark.parametrize("name", ["quad-wind", "tiltrotor-wind", "heli-hover"])
def test_gust_rates_are_refused_where_nothing_feels_them(name: str) -> None:
    with pytest.raises(ConfigError, match=r"world: wind\.turbulence\.rates: gust rates act on fixed wings alone"):
        load_plan(scenario_files.find(name), (f"{TURBULENCE}.rates=true",))
