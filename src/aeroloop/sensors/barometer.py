"""Barometer: static pressure, the altitude at which the standard atmosphere has it, and the temperature inside.

Air that flows past the static port changes its pressure by a fraction of the dynamic pressure. With a temperature of
its own, the sensor measures that, and its pressure has an offset that grows with it.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from aeroloop.core.config import meta, note
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.core.signals import NS
from aeroloop.sensors.noise import Channel, Errors, Streams
from aeroloop.sensors.scene import Scene
from aeroloop.sensors.schedule import Sensor
from aeroloop.sensors.thermal import Temperature, Thermal

# ISO 2533, troposphere; the exponent is R L / g0.
SEA_LEVEL_PA = 101_325.0
SEA_LEVEL_K = 288.15
LAPSE_K_PER_M = 0.0065
EXPONENT = 287.05287 * LAPSE_K_PER_M / GRAVITY_M_S2


class BarometerSample(NamedTuple):
    t_ns: int  # taken
    ready_ns: int  # delivered
    pressure_Pa: float
    pressure_altitude_m: float
    temperature_K: float


class BarometerConfig(Sensor, frozen=True):
    """Barometer."""

    pressure: Annotated[Errors, note("pascal; its drift models the weather and the sensor's temperature")] = Errors()
    temperature: Annotated[Errors, note("kelvin")] = Errors()
    port_coefficient: Annotated[
        float, meta("-", "fraction of the dynamic pressure at the static port", ge=-2, le=2)
    ] = 0.0
    thermal: Annotated[Thermal | None, note("temperature of the sensor; left out: that of the air")] = None
    temperature_offset_Pa_per_K: Annotated[
        float,
        meta("Pa/K", "change of the offset with temperature; needs `thermal`", ge=-1e3, le=1e3),
    ] = 0.0

    def __post_init__(self) -> None:
        if self.thermal is None and self.temperature_offset_Pa_per_K:
            raise ValueError("temperature_offset_Pa_per_K: needs the table thermal, with its time_s")


class Barometer:
    def __init__(self, config: BarometerConfig, streams: Streams) -> None:
        self._delay_ns = round(config.delay_s * NS)
        self._port = config.port_coefficient
        self._warm = None if config.thermal is None else Temperature(config.thermal, config.period_s)
        self._pa_per_K = config.temperature_offset_Pa_per_K
        self._pressure = Channel(config.pressure, config.period_s, 1, streams.child("pressure"))
        self._temperature = Channel(config.temperature, config.period_s, 1, streams.child("temperature"))
        self.channels = {"pressure": self._pressure, "temperature": self._temperature}

    def measure(self, scene: Scene, steps: int) -> BarometerSample:
        state, air = scene.state, scene.air
        pressure = air.pressure_Pa
        if self._port:
            (vx, vy, vz), (wx, wy, wz) = state.vel_W, air.wind_W
            speed2 = (vx - wx) ** 2 + (vy - wy) ** 2 + (vz - wz) ** 2
            pressure += self._port * 0.5 * air.density_kg_m3 * speed2
        kelvin = air.temperature_K
        if self._warm is not None:
            pressure += self._pa_per_K * self._warm.advance(kelvin, steps)
            kelvin = self._warm.kelvin
        pressure = self._pressure.measure1(pressure, steps)
        temperature = self._temperature.measure1(kelvin, steps)
        altitude = pressure_altitude_m(pressure)
        return BarometerSample(state.t_ns, state.t_ns + self._delay_ns, pressure, altitude, temperature)


def pressure_altitude_m(pressure_Pa: float) -> float:
    """Geopotential altitude of a pressure in the standard troposphere, valid up to 11 km."""
    ratio = max(pressure_Pa, 1.0) / SEA_LEVEL_PA
    return SEA_LEVEL_K / LAPSE_K_PER_M * (1.0 - float(ratio**EXPONENT))
