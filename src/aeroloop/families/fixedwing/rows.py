"""Logs the rows of a fixed wing once per step, or less often."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from aeroloop.actuators.propeller_power import PropellerPower
from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.frames import Vec3, euler_from_quat
from aeroloop.core.signals import NS, Air, RigidState
from aeroloop.core.stream import Publish
from aeroloop.sensors.scene import body_from_world, times
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Vehicle

TRUTH_PERIOD_NS = NS // 50
AIR_PERIOD_NS = NS // 20


class FixedWingRows(CommonRows):
    def __init__(self, publish: Mapping[str, Publish]) -> None:
        super().__init__(publish)
        self._truth_ns = self._air_ns = 0  # time of the next row
        self._log_air = self._air
        self.power: PropellerPower | None = None  # a simulated battery

    def step(self, vehicle: Vehicle[Any, Any], effort: SurfaceEffort, samples: list[Any]) -> None:
        t_ns, t_s = vehicle.t_ns, vehicle.t_ns / NS
        if t_ns >= self._truth_ns or vehicle.ended:
            self._truth_ns += TRUTH_PERIOD_NS
            self._publish["truth"](t_s, *_truth(vehicle))
            self._publish["effort"](t_s, *effort.controls, effort.saturated)
            if self.power is not None:
                self._publish["power"](t_s, *self.power.battery.row, self.power.motor_A, self.power.duty)
        if t_ns >= self._air_ns and vehicle.surroundings is not None:
            self._air_ns += AIR_PERIOD_NS
            self._log_air(t_s, vehicle.state, vehicle.surroundings.air)

    def log_gust_rates(self, rate_W: Callable[[], Vec3]) -> None:
        """From now on, beside each row of the air."""

        def air_and_rates(t_s: float, state: RigidState, air: Air) -> None:
            self._air(t_s, state, air)
            self._publish["gust_rate"](t_s, *times(body_from_world(state.quat_WB), *rate_W()))

        self._log_air = air_and_rates

    def _air(self, t_s: float, state: RigidState, air: Air) -> None:
        self._publish["air"](t_s, *air.wind_W, air.density_kg_m3)


def _truth(vehicle: Vehicle[Any, Any]) -> tuple[float, ...]:
    state, around = vehicle.state, vehicle.surroundings
    assert around is not None
    relative_W = [v - w for v, w in zip(state.vel_W, around.air.wind_W, strict=True)]
    u, left, up = times(body_from_world(state.quat_WB), *relative_W)
    return (
        *state.pos_W,
        *state.vel_W,
        *state.quat_WB,
        *state.rate_B,
        *euler_from_quat(state.quat_WB),
        math.hypot(u, left, up),
        math.atan2(-up, u),
        math.atan2(-left, math.hypot(u, up)),
        around.ground_m,
    )
