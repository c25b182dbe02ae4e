"""Logs the rows of a multirotor once per step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core.signals import NS
from aeroloop.core.stream import Publish
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.sensors.rows import row_of
from aeroloop.sensors.suite import Sample
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Vehicle

AIR_PERIOD_NS = NS // 50


class MultirotorRows(CommonRows):
    def __init__(self, publish: Mapping[str, Publish], rotors: int) -> None:
        super().__init__(publish)
        self._truth, self._command, self._effort, self._air = (
            publish[stream] for stream in ("truth", "command", "effort", "air")
        )
        self._air_ns = 0
        self._absent = (math.nan,) * (MOST_ROTORS - rotors)

    def step(self, vehicle: Vehicle[Any, Any], effort: RotorEffort, samples: list[Sample]) -> None:
        t_ns, around = vehicle.t_ns, vehicle.surroundings
        _, pos_W, quat_WB, vel_W, rate_B, _ = vehicle.state
        t_s, absent = t_ns / NS, self._absent
        self._truth(t_s, *pos_W, *vel_W, *quat_WB, *rate_B)
        self._command(t_s, *vehicle.command, *absent)
        self._effort(t_s, *effort.speed_rad_s, *absent)
        if t_ns >= self._air_ns and around is not None:
            self._air_ns += AIR_PERIOD_NS
            self._air(t_s, *around.air.wind_W, around.air.density_kg_m3, around.ground_m)
        for sample in samples:
            stream, values = row_of(sample)
            if stream == "tachometer":
                values = (*values, *absent)
            self._publish[stream](t_s, *values)
