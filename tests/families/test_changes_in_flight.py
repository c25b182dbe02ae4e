"""What a change in flight does to the simulated aircraft: mass, battery and wind, of every family that offers them."""

from __future__ import annotations

import pytest

import aeroloop
from aeroloop.core.change_offers import change_offers
from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe as wings
from aeroloop.families.helicopter import airframe as helicopters
from aeroloop.families.multirotor import airframe as multirotors
from aeroloop.families.tiltrotor.design import parameters

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
