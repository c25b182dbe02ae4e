"""Pitot tube along body x: differential pressure of incompressible flow.

dp = sign(u) rho u^2 / 2,  u = forward component of velocity relative to the air
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from aeroloop.core.config import note
from aeroloop.core.signals import NS
from aeroloop.sensors.noise import Channel, Errors, Streams
from aeroloop.sensors.scene import Scene
from aeroloop.sensors.schedule import Sensor

SEA_LEVEL_KG_M3 = 1.225


class AirspeedSample(NamedTuple):
    t_ns: int  # taken
    ready_ns: int  # delivered
    pressure_Pa: float  # differential
    indicated_m_s: float  # the speed that gives this pressure in standard air at sea level
    temperature_K: float


class AirspeedConfig(Sensor, frozen=True):
    """Airspeed sensor."""

    pressure: Annotated[Errors, note("differential pressure, pascal")] = Errors()
    temperature: Annotated[Errors, note("kelvin")] = Errors()


class Airspeed:
    def __init__(self, config: AirspeedConfig, streams: Streams) -> None:
        self._delay_ns = round(config.delay_s * NS)
        self._pressure = Channel(config.pressure, config.period_s, 1, streams.child("pressure"))
        self._temperature = Channel(config.temperature, config.period_s, 1, streams.child("temperature"))
        self.channels = {"pressure": self._pressure, "temperature": self._temperature}

    def measure(self, scene: Scene, steps: int) -> AirspeedSample:
        state, air, forward_W = scene.state, scene.air, scene.R_BW[0]
        (vx, vy, vz), (wx, wy, wz) = state.vel_W, air.wind_W
        u = forward_W[0] * (vx - wx) + forward_W[1] * (vy - wy) + forward_W[2] * (vz - wz)
        pressure = self._pressure.measure1(0.5 * air.density_kg_m3 * u * abs(u), steps)
        temperature = self._temperature.measure1(air.temperature_K, steps)
        indicated = math.copysign(math.sqrt(2.0 * abs(pressure) / SEA_LEVEL_KG_M3), pressure)
        return AirspeedSample(state.t_ns, state.t_ns + self._delay_ns, pressure, indicated, temperature)
