"""The tilt-rotor's flight as a batch: design model, Runge-Kutta 4, the scenario's law, the reference as a table.

    cycle: control, then three plant steps of four stages and a sample of the metrics

A command acts `link.delay_steps` plant steps after its cycle began. White noise of the
measured state is drawn from Philox, stream 0. What the bench has and this loop has not (air, an estimated state, lag of
the actuators, terrain) is refused when the loop is built.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from msgspec.structs import replace

from aeroloop.batch.layout import Layout
from aeroloop.batch.loop import Call, Loop, Repeat
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.families.tiltrotor.design import design, flight_law, parameters
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.families.tiltrotor.start import start_W
from aeroloop.ground.trajectories import build as build_path
from aeroloop.models import tiltrotor
from aeroloop.world.terrain import Level

HELD = 3
"""Commands that are kept: the newest and those of the two cycles before."""

PARAMETERS = {
    "vehicle.scale.mass": 1.0,
    "vehicle.scale.inertia": 1.0,
    "vehicle.scale.thrust_right": 1.0,
    "vehicle.scale.thrust_left": 1.0,
    "link.delay_steps": 0.0,
    "start.offset_W[0]": 0.0,
    "start.offset_W[1]": 0.0,
    "start.offset_W[2]": 0.0,
}
"""Numbers of a flight, with their values in the scenario: factors, plant steps and m."""

METRICS = (
    "pos_x_rms_m",
    "pos_y_rms_m",
    "pos_z_rms_m",
    "roll_rms_deg",
    "yaw_rms_deg",
    "pos_max_m",
    "roll_max_deg",
    "pitch_max_deg",
    "yaw_max_deg",
    "saturated_steps",
    "diverged",
    "flown_s",
)
"""Names of summary.json where it has them."""

_STAGES = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))
"""Runge-Kutta 4: position of the next stage, and weight of this one."""


def loop(scenario: TiltrotorScenario) -> Loop:
    """The flight of a scenario; ConfigError for what a batch cannot fly."""
    _check(scenario)
    return _Tiltrotor(scenario).loop()


def limits(scenario: TiltrotorScenario) -> dict[str, tuple[float, float]]:
    """Least and greatest values of those parameters that are whole numbers."""
    steps = round(scenario.controller.control.period_s / scenario.aircraft.world.step_s)
    return {"link.delay_steps": (0, steps * (HELD - 1))}


def table(scenario: TiltrotorScenario) -> Vec:
    """(cycles, 12) The reference of each cycle (8), the position of the next one (3), and 1 where it is compared."""
    period_s = scenario.controller.control.period_s
    path = build_path(scenario.controller.ground.trajectory)
    cycles = round(scenario.duration_s / period_s)
    points = [path(cycle * period_s) for cycle in range(cycles + 1)]
    rows = []
    for cycle, (now, after) in enumerate(pairwise(points)):
        reference = (*now.pos_W, now.yaw_rad, *now.vel_W, now.yaw_rate_rad_s)
        rows.append((*reference, *after.pos_W, float(cycle + 1 < cycles)))
    return np.array(rows)


def _check(scenario: TiltrotorScenario) -> None:
    aircraft = scenario.aircraft
    refused = {
        "world.drag": aircraft.world.has_drag,
        "world.terrain": aircraft.world.terrain != Level(),
        "sensors.fitted": bool(aircraft.sensors.fitted),
        "actuators.lag_s": aircraft.actuators.lag_s > 0,
        "vehicle.count": aircraft.vehicle.count > 1,
        "sensors.state": aircraft.sensors.state != "measured",
    }
    for key, is_refused in refused.items():
        if is_refused:
            raise ConfigError(f"{key}: a batch of the tilt-rotor flies without it; use the engine `bench`")


class _Tiltrotor:
    def __init__(self, scenario: TiltrotorScenario) -> None:
        self._scenario = scenario
        control = scenario.controller.control
        self._step_s = scenario.aircraft.world.step_s
        self._steps = round(control.period_s / self._step_s)
        self._plan = design(scenario.aircraft.vehicle.parameters, control.weights, control.period_s)
        self._law = flight_law(control, self._plan)
        self._params = ca.SX.sym("params", len(PARAMETERS))
        self._own = dict(zip(PARAMETERS, ca.vertsplit(self._params), strict=True))
        self._parts = Layout(
            {
                "x": 16,  # at the beginning of the step
                "stage": 16,  # where the next derivative is taken
                "sum": 16,  # of the weighted derivatives
                "memory": self._law.numel_in(2),
                "commands": 4 * HELD,  # newest first
                "effort": 4,  # of this step
                "squares": 5,
                "largest": 4,
                "compared": 1,
                "sampled": 1,
                "saturated": 1,
                "alive": 1,
            }
        )

    def loop(self) -> Loop:
        stage_rows = tuple((c * self._step_s, w * self._step_s) for c, w in _STAGES)
        sample_rows = tuple(((j + 1) / self._steps, float(j)) for j in range(self._steps))
        step = (
            Call(self._limited(), rows=sample_rows),
            Repeat(len(_STAGES), (Call(self._stage(), rows=stage_rows),)),
            Call(self._sample(), rows=sample_rows),
        )
        return Loop(
            start=self._start(),
            cycle=(Call(self._control()), Repeat(self._steps, step)),
            finish=self._finish(),
            parameters=tuple(PARAMETERS),
            metrics=METRICS,
            table_columns=12,
            steps_per_cycle=self._steps,
        )

    def _start(self) -> ca.Function:
        pos_W, vel_W = start_W(self._scenario)
        offset_W = ca.vertcat(*(self._own[f"start.offset_W[{i}]"] for i in range(3)))
        q = ca.SX(ca.DM(self._plan.q_eq))
        q[:3] = ca.DM(pos_W) + offset_W
        q[5] = self._scenario.aircraft.world.start_yaw_rad
        x = ca.vertcat(q, ca.DM(vel_W), ca.DM.zeros(5))
        zeros = {name: ca.SX.zeros(size) for name, size in self._parts.sizes.items()}
        hover = ca.repmat(ca.DM(self._plan.u_eq), HELD)
        state = self._parts.whole({**zeros, "x": x, "stage": x, "sum": x, "commands": hover, "alive": ca.SX(1)})
        return ca.Function("start", [self._params], [state], ["params"], ["state"])

    def _control(self) -> ca.Function:
        s, row = self._parts, ca.SX.sym("table", 12)
        stds = _noise(self._scenario)
        normals = {"normals": ca.SX.sym("normals", 16)} if stds.any() else {}
        sensors = s["x"] + (ca.DM(stds) * normals["normals"] if normals else 0)
        command, memory = self._law(sensors, row[:8], s["memory"])
        kept = ca.vertcat(command, s["commands"][: 4 * (HELD - 1)])
        return s.event("control", {"table": row, **normals}, {"memory": memory, "commands": kept})

    def _acting(self, step: Any) -> tuple[Any, Any]:
        """The limited command in this plant step of the cycle, and whether a limit was met."""
        commands = ca.vertsplit(self._parts["commands"], 4)
        command = commands[0]
        for age, older in enumerate(commands[1:]):
            command = ca.if_else(self._own["link.delay_steps"] > step + age * self._steps + 0.5, older, command)
        limits = self._scenario.aircraft.actuators
        high = ca.DM([limits.thrust_max_N, limits.thrust_max_N, limits.torque_max_Nm, limits.torque_max_Nm])
        low = ca.DM([0.0, 0.0, -limits.torque_max_Nm, -limits.torque_max_Nm])
        effort = ca.fmin(ca.fmax(command, low), high)
        limited = ca.logic_not(ca.logic_and(*(ca.logic_and(*pair) for pair in _pairs(effort == command))))
        return effort, limited

    def _limited(self) -> ca.Function:
        """Begins a plant step: the command that acts in it, and a count of those with an actuator at its limit."""
        s, row = self._parts, ca.SX.sym("row", 2)
        effort, limited = self._acting(row[1])
        saturated = s["saturated"] + ca.logic_and(s["alive"], limited)
        return s.event("limited", {"params": self._params, "row": row}, {"effort": effort, "saturated": saturated})

    def _stage(self) -> ca.Function:
        """One stage of Runge-Kutta: the derivative, its part in the sum, and where the next one is taken."""
        s, row = self._parts, ca.SX.sym("row", 2)
        q, qd = s["stage"][:8], s["stage"][8:]
        M, h, B = tiltrotor.matrices(self._scaled(), q, qd)
        strength = ca.vertcat(*(self._own[f"vehicle.scale.thrust_{side}"] for side in ("right", "left")), 1, 1)
        force = B @ (strength * s["effort"]) - h
        D, LT, order = ca.ldl(M, False)  # symmetric: fewer operations than the QR of `ca.solve`
        derivative = ca.vertcat(qd, ca.ldl_solve(force, D, LT, order))
        return s.event(
            "stage",
            {"params": self._params, "row": row},
            {"stage": s["x"] + row[0] * derivative, "sum": s["sum"] + row[1] * derivative},
        )

    def _scaled(self) -> tiltrotor.Parameters:
        """The parameter set with this flight's mass and inertias."""
        own = parameters(self._scenario.aircraft.vehicle.parameters)
        mass, inertia = self._own["vehicle.scale.mass"], self._own["vehicle.scale.inertia"]
        scaled: tiltrotor.Parameters = replace(
            own,
            fuselage_mass_kg=mass * own.fuselage_mass_kg,
            pod_mass_kg=tuple(mass * m for m in own.pod_mass_kg),
            fuselage_inertia_kgm2=tuple(tuple(inertia * i for i in row) for row in own.fuselage_inertia_kgm2),
            pod_inertia_kgm2=tuple(tuple(inertia * i for i in row) for row in own.pod_inertia_kgm2),
        )
        return scaled

    def _sample(self) -> ca.Function:
        """Ends a plant step: the new state, whether the aircraft still flies, and its part in the metrics."""
        s, row, reference = self._parts, ca.SX.sym("row", 2), ca.SX.sym("table", 12)
        x = s["sum"]
        error_W = x[:3] - (reference[:3] + row[0] * (reference[8:11] - reference[:3]))
        distance_m = ca.sqrt(ca.sumsqr(error_W))
        angles = ca.vertcat(x[3], x[4], x[5])
        bound_m = self._scenario.aircraft.world.bound_m
        upright = ca.cos(x[3]) * ca.cos(x[4]) > 0
        pods_valid = ca.logic_and(ca.fabs(x[6]) < math.pi, ca.fabs(x[7]) < math.pi)
        within = ca.logic_and(ca.sumsqr(x[:3]) <= bound_m**2, ca.logic_and(upright, pods_valid))
        alive = ca.logic_and(s["alive"], within)
        counted = ca.logic_and(alive, reference[11])
        squares = ca.vertcat(error_W * error_W, x[3] * x[3], x[5] * x[5])
        largest = ca.vertcat(ca.if_else(counted, distance_m, 0), ca.if_else(alive, ca.fabs(angles), 0))
        weights = [counted] * 3 + [alive] * 2
        added = ca.vertcat(*(ca.if_else(w, e, 0) for w, e in zip(weights, ca.vertsplit(squares), strict=True)))
        changes = {
            "x": x,
            "stage": x,
            "squares": s["squares"] + added,
            "largest": ca.fmax(s["largest"], largest),
            "compared": s["compared"] + counted,
            "sampled": s["sampled"] + alive,
            "alive": alive,
        }
        return s.event("sample", {"row": row, "table": reference}, changes)

    def _finish(self) -> ca.Function:
        s = self._parts
        degrees = 180 / math.pi
        counts = ca.vertcat(*[ca.fmax(s["compared"], 1)] * 3, *[ca.fmax(s["sampled"], 1)] * 2)
        rms = ca.sqrt(s["squares"] / counts)
        made = ca.vertcat(
            rms[:3],
            degrees * rms[3:],
            s["largest"][0],
            degrees * s["largest"][1:],
            s["saturated"],
            1 - s["alive"],
            self._step_s * s["sampled"],
        )
        return ca.Function("finish", [s.symbol], [made], ["state"], ["metrics"])


def _noise(scenario: TiltrotorScenario) -> Vec:
    """(16,) Standard deviations of the measured state."""
    table = scenario.aircraft.sensors
    stds = [table.pos_std_m] * 3 + [table.angle_std_rad] * 3 + [table.tilt_std_rad] * 2
    return np.array([*stds, *[table.vel_std_m_s] * 3, *[table.rate_std_rad_s] * 5])


def _pairs(truths: Any) -> list[Any]:
    each = ca.vertsplit(truths)
    return [each[:2], each[2:]]
