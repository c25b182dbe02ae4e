"""A multirotor that a stand holds in the air, and one whose own numbers differ from those of its controller."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.families.multirotor import airframe, build
from aeroloop.families.multirotor.scale import Scale
from aeroloop.sensors.imu import ImuSample

HOVER = 0.6


def scenario(*changes: str) -> Any:
    still = ("world.wind.steady_W=[0.0, 0.0, 0.0]", "world.wind.turbulence.w20_m_s=0.0", 'sensors.preset="ideal"')
    return scenario_files.load(scenario_files.find("quad-air"), (*still, "world.stand.until_s=0.1", *changes))


def flown(command: float, seconds: float, *changes: str, compiled: bool = True) -> Any:
    events: list[Any] = []
    publish: Any = defaultdict(lambda: lambda *row: None, event=lambda *row: events.append(row))
    vehicle = build.vehicle(scenario(*changes), 0, publish, compiled=compiled)
    samples = vehicle.tap()
    vehicle.command = (command,) * 4
    vehicle.advance(round(seconds * 1e9), exact=True)
    return vehicle, samples, events


def test_the_stand_holds_until_it_lets_go() -> None:
    vehicle, samples, events = flown(HOVER, 0.1)
    assert vehicle.state.pos_W == (0.0, 0.0, 6.0) and vehicle.state.vel_W == (0.0, 0.0, 0.0)
    imu = [sample for sample in samples if isinstance(sample, ImuSample)]
    assert len(imu) == 25 and all(9.7 < sample.accel_B[2] < 9.9 and sample.rate_B == (0, 0, 0) for sample in imu)
    vehicle.advance(int(0.2e9), exact=True)
    assert 0 < abs(vehicle.state.pos_W[2] - 6.0) < 0.1
    assert events == []  # neither in the stand nor at its end it touches the ground


def test_without_thrust_it_falls_from_the_stand() -> None:
    vehicle, _, _ = flown(0.0, 0.6)
    assert vehicle.state.pos_W[2] == pytest.approx(6.0 - 0.5 * 9.807 * 0.5**2, abs=0.02)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "MuJoCo"])
def test_factors_act_in_both_worlds(compiled: bool) -> None:
    """A heavier aircraft accelerates less in proportion; more thrust lifts more; a weak rotor rolls it."""
    factors = ("vehicle.scale.mass=1.25", "vehicle.scale.inertia=2.0", "vehicle.scale.thrust=1.1")
    weak = "vehicle.scale.rotors=[0.9, 1.0, 1.0, 1.0]"
    plain, _, _ = flown(HOVER, 0.3, compiled=compiled)
    heavy, _, _ = flown(HOVER, 0.3, "vehicle.scale.mass=1.25", compiled=compiled)
    lifted, _, _ = flown(HOVER, 0.3, "vehicle.scale.thrust=1.25", "vehicle.scale.mass=1.25", compiled=compiled)
    rolled, _, _ = flown(HOVER, 0.3, weak, compiled=compiled)
    slower, _, _ = flown(HOVER, 0.3, weak, "vehicle.scale.inertia=2.0", compiled=compiled)
    g = 9.807
    assert heavy.state.accel_W[2] + g == pytest.approx((plain.state.accel_W[2] + g) / 1.25, rel=5e-3)
    assert lifted.state.accel_W[2] == pytest.approx(plain.state.accel_W[2], abs=0.05)
    turning = np.linalg.norm(rolled.state.rate_B)
    assert turning > 0.1 and np.linalg.norm(slower.state.rate_B) == pytest.approx(turning / 2, rel=0.1)
    one, other = (flown(HOVER, 0.5, *factors, weak, compiled=which)[0].state for which in (True, False))
    assert np.allclose(one.pos_W, other.pos_W, atol=1e-5)


def test_without_factors_the_airframe_is_the_same_object() -> None:
    iris = airframe.load("iris")
    assert airframe.scaled(iris, Scale()) is iris and airframe.scaled(iris, Scale(rotors=(1.0,) * 4)) is iris
    assert airframe.scaled(iris, Scale(mass=1.1)).body.mass_kg == pytest.approx(1.65)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("world.stand.pos_W=[0.0, 0.0, 0.5]", "at least 1 m"),
        ('world.terrain={kind="slope", east=0.1}', "stand: it is on level ground"),
        ("vehicle.scale.rotors=[1.0, 1.0]", "expected 4 factors"),
        ("vehicle.scale.mass=0.0", "vehicle.scale.mass"),
    ],
)
def test_bad_keys_are_refused(change: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        airframe.check(scenario(change))
