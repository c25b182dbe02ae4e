"""What a change in flight does to the simulated aircraft: mass, battery and wind, of every family that offers them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aeroloop
from aeroloop.core.change_offers import change_offers
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.families.fixedwing import airframe as wings
from aeroloop.families.helicopter import airframe as helicopters
from aeroloop.families.multirotor import airframe as multirotors
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.sim.collisions import rotation
from aeroloop.sim.vehicle import Vehicle

G_M_S2 = 9.8
PERIOD_S = 0.02
MASS_KG = {
    "tiltrotor-wind": lambda vehicle: parameters(vehicle.parameters).mass_kg,
    "quad-hover": lambda vehicle: multirotors.load(vehicle.airframe).body.mass_kg,
    "fixedwing-loiter": lambda vehicle: wings.load(vehicle.airframe).body.mass_kg,
    "heli-hover": lambda vehicle: helicopters.load(vehicle.airframe).body.mass_kg,
}
LIFTED = {"quad-hover": 50}
"""Periods at 80 % of all motors, for an aircraft that starts on the ground; the others start in the air."""


def in_the_air(name: str) -> aeroloop.Bench:
    bench = aeroloop.bench(name, set={"world.wind": {"steady_W": [0.1, 0.0, 0.0]}}, period_s=PERIOD_S)
    bench.reset()
    for _ in range(LIFTED.get(name, 0)):
        bench.step([0.8] * len(bench.channels))
    return bench


def climbs_m_s2(bench: aeroloop.Bench) -> float:
    """Vertical acceleration over the next period, with the command held."""
    before = bench.step().truth.vel_W[2]
    return (bench.step().truth.vel_W[2] - before) / PERIOD_S


@pytest.mark.parametrize("name", MASS_KG)
def test_a_payload_weighs_down_by_its_share_of_the_mass_and_can_be_taken_off(name: str) -> None:
    bench = in_the_air(name)
    mass_kg = MASS_KG[name](bench.scenario.aircraft.vehicle)  # type: ignore[attr-defined, no-untyped-call]
    empty = climbs_m_s2(bench)
    bench.change("payload.mass_kg", 0.1 * mass_kg)
    laden = climbs_m_s2(bench)
    assert laden == pytest.approx((empty + G_M_S2) / 1.1 - G_M_S2, abs=0.1), "the same lift, a tenth more mass"
    bench.change("payload.mass_kg", 0.0)
    assert climbs_m_s2(bench) == pytest.approx(empty, abs=0.2)


@pytest.mark.parametrize("name", ["tiltrotor-wind", "quad-hover"])
def test_thrust_falls_with_the_square_of_the_battery_voltage(name: str) -> None:
    bench = in_the_air(name)
    full = climbs_m_s2(bench)
    bench.change("battery.voltage", 0.9)
    for _ in range(10):  # its motors lag
        bench.step()
    assert climbs_m_s2(bench) + G_M_S2 == pytest.approx(0.81 * (full + G_M_S2), abs=0.35)


@pytest.mark.parametrize("name", MASS_KG)
def test_a_wind_is_that_of_the_air_from_the_next_step_on(name: str) -> None:
    bench = in_the_air(name)
    assert bench._craft is not None and bench._craft.vehicle.surroundings is not None
    bench.change("world.wind.steady_W", (5.0, -2.0, 0.5))
    bench.step()
    assert bench._craft.vehicle.surroundings.air.wind_W == (5.0, -2.0, 0.5)


def test_what_a_flight_has_not_is_not_offered() -> None:
    def keys(name: str, **more: object) -> list[str]:
        plan = aeroloop.scenario(name, set=more).plan
        return [offer.key for offer in change_offers(plan)]  # type: ignore[arg-type]

    assert keys("tiltrotor-spiral") == ["battery.voltage", "payload.mass_kg"], "without air there is no wind"
    assert "payload.mass_kg" not in keys("quad-hover", payload={"mass_kg": 0.2})
    assert "battery.voltage" not in keys("heli-hover") and keys("rrr-circle") == []
    with aeroloop.bench("rrr-circle") as robot:
        robot.reset()
        with pytest.raises(
            ConfigError, match=r"battery\.voltage: cannot be changed in this flight; expected one of: none"
        ):
            robot.change("battery.voltage", 0.5)


@pytest.mark.parametrize("name", [name for name in MASS_KG if name != "fixedwing-loiter"])
def test_a_payload_takes_part_in_a_collision(name: str) -> None:
    """An impulse at the centre of mass changes the velocity by its share of aircraft and payload, and turns nothing."""
    bench = in_the_air(name)
    assert bench._craft is not None
    vehicle, pushed_Ns = bench._craft.vehicle, np.array([0.5, -0.2, 0.1])
    mass_kg = MASS_KG[name](bench.scenario.aircraft.vehicle)  # type: ignore[attr-defined, no-untyped-call]
    for payload_kg in (0.0, 0.4):
        bench.change("payload.mass_kg", payload_kg)
        bench.step()
        assert _pushed(vehicle, pushed_Ns) == pytest.approx(pushed_Ns / (mass_kg + payload_kg), abs=1e-6)


def test_a_payload_beside_the_centre_moves_the_centre_of_what_collides() -> None:
    offset_B, payload_kg = np.array([0.02, 0.0, -0.1]), 0.3
    at_once = {"mass_kg": payload_kg, "offset_B_m": offset_B.tolist(), "from_s": 0.0}
    bench = aeroloop.bench("quad-hover", set={"payload": at_once}, period_s=PERIOD_S)
    bench.reset()
    bench.step()
    assert bench._craft is not None
    vehicle = bench._craft.vehicle
    empty_kg = MASS_KG["quad-hover"](bench.scenario.aircraft.vehicle)  # type: ignore[attr-defined, no-untyped-call]
    struck = vehicle.solid.struck(vehicle.state)
    centre_B = rotation(vehicle.state).T @ (struck.pos_W - vehicle.state.pos_W)
    assert centre_B == pytest.approx(payload_kg / (empty_kg + payload_kg) * offset_B, abs=1e-6)
    assert _pushed(vehicle, np.array([0.0, 0.0, 2.0]))[2] == pytest.approx(2.0 / (empty_kg + payload_kg), abs=1e-6)


def _pushed(vehicle: Vehicle[Any, Any], impulse_W: Vec) -> Vec:
    """The change of velocity by an impulse at the centre of mass, which changes no rate."""
    assert vehicle.solid is not None
    before, struck = vehicle.state, vehicle.solid.struck(vehicle.state)
    struck.push(struck.pos_W, impulse_W)
    vehicle.solid.apply(struck, before)
    vehicle.read_state()
    assert vehicle.state.rate_B == pytest.approx(before.rate_B, abs=1e-9)
    return np.array(vehicle.state.vel_W) - before.vel_W
