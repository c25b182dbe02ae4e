"""What is logged of a tilt-rotor once a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aeroloop.core.frames import euler_from_quat
from aeroloop.core.signals import NS, Effort, Event
from aeroloop.sim.exchange import Row
from aeroloop.sim.vehicle import Vehicle


class TiltrotorRows:
    def __init__(self, publish: Mapping[str, Callable[..., None]], period_ns: int) -> None:
        self._publish, self._period_ns = publish, period_ns

    def step(self, vehicle: Vehicle[Any, Any], effort: Effort, samples: list[Any]) -> None:
        truth, t_s = vehicle.state, vehicle.t_ns / NS
        self._publish["truth"](
            t_s,
            *truth.pos_W,
            *euler_from_quat(truth.quat_WB),
            *truth.tilt_rad,
            *truth.vel_W,
            *truth.rate_B,
            *truth.tilt_rate_rad_s,
            *truth.quat_WB,
        )
        self._publish["effort"](t_s, *effort.thrust_N, *effort.tilt_torque_Nm, effort.saturated)
        if vehicle.t_ns % self._period_ns == 0:
            self._publish["clock"](t_s)

    def event(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["plant_event"](t_ns / NS, event, value)

    def fault(self, t_ns: int, row: Row) -> None:
        self._publish["plant_fault"](t_ns / NS, *row)

    def pace(self, t_ns: int, lateness_s: float, missed: int) -> None:
        self._publish["pace"](t_ns / NS, lateness_s, missed)
