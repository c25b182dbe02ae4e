"""Each part of a multirotor's batch against the bench's stage, with the same random numbers."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import casadi as ca
import numpy as np
import pytest

from aeroloop.core import philox, scenario_files
from aeroloop.core.signals import NS
from aeroloop.families.multirotor import batch_plant, batch_sensors, build
from aeroloop.families.multirotor.batch_air import LocalAir
from aeroloop.families.multirotor.batch_setup import COLUMNS, HELD_NOW, Setup
from aeroloop.sensors.barometer import BarometerSample, pressure_altitude_m
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth

FLIGHT, SEED, STEPS, RELEASED = 11, 5, 300, 40
NEAR = {"imu": 1e-5, "magnetometer": 1e-11, "barometer": 1e-4, "gnss": 2e-5}
"""Of the largest difference, in the units of the samples."""


def scenario(*changes: str) -> Any:
    own = (
        'noise.generator="philox"',
        f"noise.flight={FLIGHT}",
        f"seed={SEED}",
        "sensors.gnss.start_s=0.2",
        f"world.stand.until_s={RELEASED * 0.004}",
        "world.stand.pos_W=[3.0, -2.0, 20.0]",
    )
    return scenario_files.load(scenario_files.find("quad-air"), (*own, *changes))


def numbers(counter: int, stream: int, count: int) -> Any:
    return philox.normals(FLIGHT, SEED, counter, stream, count).astype(float)


class Twin:
    """The events of a batch, called one by one in double precision."""

    def __init__(self, own: Any) -> None:
        self.setup = setup = Setup(own)
        self.params = list(setup.defaults.values())
        self.state = batch_plant.start(setup)(self.params)
        self._step, self._gust, self._first = (
            make(setup) for make in (batch_plant.step, batch_plant.gust, batch_plant.first_gust)
        )
        self._measure = {}
        self._noise = {}
        for name, noise in setup.noise.items():
            normals = ca.SX.sym("normals", noise.count)
            made = getattr(batch_sensors, name)(setup, normals)
            self._measure[name] = ca.Function(name, [setup.parts.symbol, setup.params, normals], list(made))
            self._noise[name] = np.array(
                ca.evalf(noise.first(ca.DM(numbers(noise.origin, noise.stream, noise.first_count))))
            )
            self._put(f"{name}_noise", self._noise[name])
        self.sample("imu", 1)  # the bench draws an error for time 0
        self.state = self._first(self.state, self.params, numbers(0, 0, 5))

    def _put(self, part: str, values: Any) -> None:
        names = list(self.setup.parts.sizes)
        at = sum(self.setup.parts.sizes[name] for name in names[: names.index(part)])
        self.state[at : at + self.setup.parts.sizes[part]] = values

    def step(self, n: int, command: Any) -> None:
        self._put("commands", list(command) + [0.0] * 16)
        row = np.zeros(COLUMNS)
        row[HELD_NOW] = n <= RELEASED
        self.state = self._step(self.state, self.params, row)
        self.state = self._gust(self.state, self.params, numbers(n + 1, 0, 5))

    def sample(self, sensor: str, counter: int) -> Any:
        noise = self.setup.noise[sensor]
        measured, memory = self._measure[sensor](self.state, self.params, numbers(counter, noise.stream, noise.count))
        self._put(f"{sensor}_noise", memory)
        return np.array(measured).ravel()


CHANGES = {
    "scenario": (),
    "every error": (
        "vehicle.scale.mass=1.2",
        "vehicle.scale.inertia=0.8",
        "vehicle.scale.thrust=1.3",
        "vehicle.scale.rotors=[1.0, 0.95, 1.0, 1.05]",
        "sensors.imu.gyro.errors.turn_on_std=0.01",
        "sensors.imu.gyro.errors.walk=0.001",
        "sensors.imu.gyro.scale_error=[0.01, 0.0, -0.01]",
        "sensors.imu.accel.errors.offset=[0.1, 0.0, 0.2]",
        "sensors.imu.accel.errors.range=[-20.0, 12.0]",
        "sensors.magnetometer.hard_iron_B_T=[1e-6, 0.0, 2e-6]",
        "sensors.magnetometer.current_B_T_per_A=[1e-7, 0.0, 0.0]",
        "sensors.barometer.port_coefficient=-0.1",
        "sensors.barometer.pressure.walk=1.0",
    ),
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_plant_wind_and_sensors_are_the_benchs(changes: tuple[str, ...]) -> None:
    own = scenario(*changes)
    vehicle = build.vehicle(own, 0, defaultdict(lambda: lambda *row: None))
    inbox, twin = vehicle.tap(), Twin(own)
    origin = pressure_altitude_m(Atmosphere(own.aircraft.world.day).at(own.aircraft.world.home.alt_m)[0])
    earth, rng = Earth(own.aircraft.home), np.random.default_rng(2)
    compared: dict[str, float] = defaultdict(float)
    command = np.full(4, 0.55)
    for n in range(1, STEPS + 1):
        command = np.clip(command + 0.03 * rng.standard_normal(4), 0.2, 0.9)
        vehicle.command = tuple(command.tolist())
        vehicle.advance(n * vehicle.step_ns, exact=True)
        twin.step(n, command)
        state, motion = vehicle.state, np.array(twin.state[:19]).ravel()
        assert np.allclose(motion[:7], [*state.pos_W, *state.quat_WB], atol=2e-7), n
        assert np.allclose(motion[7:13], [*state.vel_W, *state.rate_B], atol=1e-6), n
        for sample in inbox:
            bench: tuple[float, ...]
            match sample:
                case ImuSample():
                    name, bench, counter = "imu", (*sample.rate_B, *sample.accel_B), n + 1
                case MagnetometerSample():
                    name, bench, counter = "magnetometer", sample.field_B_T, n // 5 * 5 + 5
                case BarometerSample():
                    name, bench, counter = "barometer", (sample.pressure_altitude_m - origin,), n // 5 * 5 + 5
                case GnssSample():
                    place_W = earth.pos_W(sample.lat_deg, sample.lon_deg, sample.alt_m)
                    taken = round(sample.t_ns / NS / 0.004)
                    if taken != n:
                        continue  # it was compared when it was taken
                    name, bench, counter = "gnss", (*place_W, *sample.vel_W), taken + 25
            compared[name] = max(compared[name], np.max(np.abs(twin.sample(name, counter) - bench)))
        inbox.clear()
    assert np.linalg.norm(np.array(vehicle.state.pos_W) - (3, -2, 20)) > 0.3  # it was released, and flew
    expected = {name: near for name, near in NEAR.items() if name != "gnss" or "gnss" in compared}
    assert {name: compared[name] <= near for name, near in expected.items()} == dict.fromkeys(expected, True), compared


def test_fixes_are_the_benchs() -> None:
    own = scenario("sensors.gnss.delay_s=0.0")
    vehicle = build.vehicle(own, 0, defaultdict(lambda: lambda *row: None))
    inbox, twin, earth = vehicle.tap(), Twin(own), Earth(own.aircraft.home)
    found = 0
    for n in range(1, 160):
        vehicle.command = (0.6, 0.6, 0.6, 0.62)
        vehicle.advance(n * vehicle.step_ns, exact=True)
        twin.step(n, vehicle.command)
        for sample in inbox:
            if isinstance(sample, GnssSample):
                place_W = earth.pos_W(sample.lat_deg, sample.lon_deg, sample.alt_m)
                made = twin.sample("gnss", n + 25)
                assert np.allclose(made, [*place_W, *sample.vel_W], atol=NEAR["gnss"])
                found += 1
        inbox.clear()
    assert found == 5


def test_local_air_is_that_of_the_earth() -> None:
    world = scenario("world.home.alt_m=1500.0", "world.day.sea_level_temperature_K=300.0").aircraft.world
    air, earth, atmosphere = LocalAir.at(world.home, world.day), Earth(world.home), Atmosphere(world.day)
    rng = np.random.default_rng(1)
    at_home = pressure_altitude_m(atmosphere.at(world.home.alt_m)[0])
    for _ in range(50):
        x, y, z = rng.uniform(-1000, 1000, 3).tolist()
        place = earth.place((x, y, z))
        pressure, _, density = atmosphere.at(place.alt_m)
        pos_W, error_Pa = ca.DM([x, y, z]), float(rng.normal(0, 5))
        assert float(air.gravity(pos_W)) == pytest.approx(place.gravity_m_s2, abs=2e-6)
        assert float(air.density(pos_W)) == pytest.approx(density, rel=1e-7)
        assert np.allclose(np.array(ca.DM(ca.evalf(air.field_W_T(pos_W)))).ravel(), place.field_W_T, atol=1e-12)
        expected = pressure_altitude_m(pressure + error_Pa) - at_home
        assert float(air.pressure_altitude_m(pos_W, error_Pa)) == pytest.approx(expected, abs=2e-4)
