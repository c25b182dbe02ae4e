"""Logs the rows of a tilt-rotor once per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aeroloop.core.frames import euler_from_quat
from aeroloop.core.signals import NS, Effort, NavEstimate
from aeroloop.core.stream import Publish
from aeroloop.sensors.rows import row_of
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Surroundings, Vehicle

SLOW_PERIOD_NS = NS // 50
"""Period of slow rows: air and estimate."""


class TiltrotorRows(CommonRows):
    def __init__(
        self, publish: Mapping[str, Publish], period_ns: int, estimate: Callable[[], NavEstimate | None]
    ) -> None:
        super().__init__(publish)
        self._period_ns, self._estimate = period_ns, estimate
        self._slow_ns = 0  # time of the next slow rows

    def step(self, vehicle: Vehicle[Any, Any], effort: Effort, samples: list[Any]) -> None:
        truth, t_s = vehicle.state, vehicle.t_ns / NS
        self._publish["truth"](
            t_s,
            *truth.pos_W,
            *truth.vel_W,
            *truth.quat_WB,
            *truth.rate_B,
            *euler_from_quat(truth.quat_WB),
            *truth.tilt_rad,
            *truth.tilt_rate_rad_s,
        )
        self._publish["effort"](t_s, *effort.thrust_N, *effort.tilt_torque_Nm, effort.saturated)
        if vehicle.t_ns % self._period_ns == 0:
            self._publish["clock"](t_s)
        if vehicle.surroundings is None:
            return
        for sample in samples:
            stream, values = row_of(sample)
            self._publish[stream](t_s, *values)
        if vehicle.t_ns >= self._slow_ns:
            self._slow_ns += SLOW_PERIOD_NS
            self._slow(t_s, vehicle.surroundings)

    def _slow(self, t_s: float, around: Surroundings) -> None:
        self._publish["air"](t_s, *around.air.wind_W, around.air.density_kg_m3, around.ground_m)
        estimate = self._estimate()
        if estimate is not None:
            _, pos_W, vel_W, quat_WB, _, *stds, _, _, _ = estimate
            self._publish["estimate"](t_s, *pos_W, *vel_W, *quat_WB, *stds)
