"""The board's control period in a wing's batch: estimation, inner loops and path following on the first circle.

The same functions as on the board (`autopilot.py`), in coordinates about the middle of the flight. What the board does
once, at its first fix, is a selection here.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from aeroloop.control.path_following import tuning
from aeroloop.core.wing_signals import BoardParameter
from aeroloop.estimation import wing
from aeroloop.estimation.wing_navigation import esti_nav
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.batch_local import Local
from aeroloop.families.fixedwing.design import flight_law
from aeroloop.families.fixedwing.law import lift
from aeroloop.families.fixedwing.operating import console
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.world.earth import Earth

X, Y, ROLL, COURSE, GROUND_SPEED = 0, 1, 6, 13, 14  # indices into the estimate
PARTS = {"attitude": len(wing.ATTITUDE), "navigation": len(wing.NAVIGATION), "path": 4, "setpoint": 1, "centre": 2}
"""State of the board, beside the memory of the inner loops; `setpoint` is the roll, `centre` that of the circle."""


class Board:
    def __init__(self, scenario: FixedWingScenario, local: Local) -> None:
        self._local, self._law = local, flight_law(scenario)
        self._parameters = [spec.default for spec in console(scenario).parameters]
        flown = airframes.load(scenario.aircraft.vehicle.airframe)
        felt = lift(self._law.dynamics, flown.cruise.density_kg_m3)
        self._navigation = esti_nav(felt, self._law.period_s, air=local.pressure_height)
        self._own_law = bool(scenario.controller.control.law_file)
        field_x, field_y, _ = Earth(scenario.aircraft.world.home).field_W_T((0.0, 0.0, 0.0))
        self._azimuth_rad = math.atan2(field_y, field_x)
        d = self._law.dynamics
        self.trim = (0.0, d.elevator_rad, 0.0, d.throttle)

    @property
    def sizes(self) -> dict[str, int]:
        return {**PARTS, "memory": int(self._law.cntr.numel_in(2))}

    def step(self, state: dict[str, Any], sensed: dict[str, Any], first: Any) -> tuple[Any, Any, dict[str, Any]]:
        """The command, the estimate, and the next state. `sensed`: gyro, accel, field, static (from the local
        pressure), dynamic, fresh, fix (position and velocity)."""
        fix_pos, fix_vel = sensed["fix"][:3], sensed["fix"][3:]
        attitude, navigation = self._initial(fix_pos, fix_vel, sensed["static"])
        attitude = ca.if_else(first, attitude, state["attitude"])
        navigation = ca.if_else(first, navigation, state["navigation"])
        attitude = self._law.esti_atti(
            attitude, navigation, sensed["gyro"], sensed["accel"], sensed["field"], self._azimuth_rad
        )
        pressures, fix = ca.vertcat(sensed["static"], sensed["dynamic"]), ca.vertcat(sensed["fresh"], sensed["fix"])
        estimate, navigation = self._navigation(navigation, attitude, sensed["accel"], pressures, fix)
        command, memory = self._control(estimate, state)
        path, setpoint, centre = self._follow(estimate, state, first)
        after = {"attitude": attitude, "navigation": navigation, "memory": memory}
        return command, estimate, {**after, "path": path, "setpoint": setpoint, "centre": centre}

    def _initial(self, pos: Any, vel: Any, static: Any) -> tuple[Any, Any]:
        """As `wing.initial`: wings level on the ground track."""
        course, speed = ca.atan2(vel[1], vel[0]), ca.sqrt(ca.sumsqr(vel[:2]))
        half = -self._law.dynamics.alpha_rad / 2
        cp, sp, cy, sy = math.cos(half), math.sin(half), ca.cos(course / 2), ca.sin(course / 2)
        attitude = ca.vertcat(cp * cy, -sp * sy, sp * cy, cp * sy, ca.SX.zeros(6))
        height_m, _ = self._local.pressure_height(static)
        wind = vel[:2] - speed * ca.vertcat(ca.cos(course), ca.sin(course))
        return attitude, ca.vertcat(pos, vel, ca.SX.zeros(6), pos[2] - height_m, wind, speed, 0)

    def _control(self, estimate: Any, state: dict[str, Any]) -> tuple[Any, Any]:
        """A law of the user's reads true heights; the built-in one only their difference, which needs no large ones."""
        height_m, seen = 0.0, estimate
        if self._own_law:
            height_m = self._parameters[BoardParameter.HEIGHT]
            seen = estimate + ca.vertcat(ca.DM(self._local.centre_W), ca.DM.zeros(estimate.numel() - 3))
        setpoint = ca.vertcat(state["setpoint"], height_m, self._parameters[BoardParameter.AIRSPEED])
        command, memory = self._law.cntr(seen, setpoint, state["memory"])[:2]
        return command, memory

    def _follow(self, estimate: Any, state: dict[str, Any], first: Any) -> tuple[Any, Any, Any]:
        """PFOL on a circle to the left, tangent to the course of the first estimate."""
        radius_m = self._parameters[BoardParameter.LOITER_RADIUS]
        x, y, course = estimate[X], estimate[Y], estimate[COURSE]
        new = ca.vertcat(x - radius_m * ca.sin(course), y + radius_m * ca.cos(course))
        centre = ca.if_else(first, new, state["centre"])
        angle = ca.atan2(y - new[1], x - new[0])
        angle = ca.if_else(angle < 0, angle + 2 * math.pi, angle)
        s_m = ca.if_else(first, angle * radius_m, state["path"][0])
        at = s_m / radius_m
        point = ca.vertcat(
            centre[0] + radius_m * ca.cos(at), centre[1] + radius_m * ca.sin(at), at + math.pi / 2, 1 / radius_m
        )
        flight = ca.vertcat(x, y, course, estimate[GROUND_SPEED], estimate[ROLL])
        guidance, path = self._law.pfol(
            ca.vertcat(s_m, state["path"][1:]),
            flight,
            point,
            self._parameters[BoardParameter.ROLL_LIMIT],
            ca.DM(tuning(self._law.path_gains)),
        )
        length_m = 2 * math.pi * radius_m
        path[0] = ca.if_else(path[0] >= length_m, path[0] - length_m, path[0])
        return path, guidance[0], centre

    def initial_path(self) -> Any:
        return ca.DM([0.0, self._law.path_gains.lag_s, 0.0, 0.0])
