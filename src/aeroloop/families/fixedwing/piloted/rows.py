"""Logs the rows of a fixed wing with an external autopilot: commands and every sensor sample too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.signals import NS
from aeroloop.core.stream import Publish
from aeroloop.families.fixedwing.rows import TRUTH_PERIOD_NS, FixedWingRows
from aeroloop.sensors.rows import row_of
from aeroloop.sim.vehicle import Vehicle


class PilotedRows(FixedWingRows):
    def __init__(self, publish: Mapping[str, Publish]) -> None:
        super().__init__(publish)
        self._command_ns = 0  # time of the next row

    def step(self, vehicle: Vehicle[Any, Any], effort: SurfaceEffort, samples: list[Any]) -> None:
        super().step(vehicle, effort, samples)
        t_s = vehicle.t_ns / NS
        if vehicle.t_ns >= self._command_ns:
            self._command_ns += TRUTH_PERIOD_NS
            self._publish["command"](t_s, *vehicle.command)
        for sample in samples:
            stream, values = row_of(sample)
            self._publish[stream](t_s, *values)
