"""What is logged of a tilt-rotor once a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.core.frames import euler_from_quat
from aeroloop.core.signals import NS, Effort
from aeroloop.core.stream import Publish
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Vehicle


class TiltrotorRows(CommonRows):
    def __init__(self, publish: Mapping[str, Publish], period_ns: int) -> None:
        super().__init__(publish)
        self._period_ns = period_ns

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
