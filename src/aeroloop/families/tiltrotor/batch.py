"""The tilt-rotor's flight as a batch: design model, Runge-Kutta 4, the scenario's law, the reference as a table.

    cycle: three plant steps of four stages and a sample of the metrics, then control

The board's request takes `link.to_plant.delay_s` to the plant, and so does its command: sensors are read that long
after the board's timer, and their command acts as long again after that. A cycle is the time between two readings; the
first one is the time before the first reading, with the command of hover. Where a command changes within a plant step,
the step has the mean of both over time. White noise of the measured state is drawn from Philox, stream `STATE`. What
the bench has and this loop has not (air, an estimated state, lag of the actuators, terrain) is refused when the loop is
built.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.batch.flights import Plan
from aeroloop.batch.layout import Layout
from aeroloop.batch.loop import Call, Item, Loop, Repeat
from aeroloop.control import mpc
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.impairment import Impairment
from aeroloop.core.scenario import with_value
from aeroloop.core.signals import SENSOR_COUNT
from aeroloop.families.tiltrotor.batch_channels import STATE
from aeroloop.families.tiltrotor.batch_mpc import FALLBACKS, PredictiveControl
from aeroloop.families.tiltrotor.design import Design, flight_law, of_scenario, parameters, scaled
from aeroloop.families.tiltrotor.scenario import Rotors, TiltrotorScenario
from aeroloop.families.tiltrotor.start import start_W
from aeroloop.ground.trajectories import build as build_path
from aeroloop.models import tiltrotor
from aeroloop.world.terrain import Level

SCALES = ("mass", "inertia", "thrust_right", "thrust_left")
DELAY = "link.to_plant.delay_s"
OFFSET = "world.start_offset_W"
PARAMETERS = (*(f"vehicle.scale.{name}" for name in SCALES), DELAY, *(f"{OFFSET}[{axis}]" for axis in range(3)))
"""Keys of the scenario that may differ between flights."""

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

SCALE_RANGE = (0.1, 10.0)

_STAGES = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))
"""Runge-Kutta 4: position of the next stage, and weight of this one."""


_BOARD = "overruns board_restarts late_cycles sensor_losses safe_commands implausible_sensors implausible_commands"
ALWAYS = dict.fromkeys((*_BOARD.split(), "law_not_finite", FALLBACKS, "references_lost", "board_messages_lost"), 0.0)
"""Metrics of the bench that no flight of a batch changes: in lockstep without impairment no board is late or lost."""


def plan(scenario: TiltrotorScenario) -> Plan:
    """The flight of a scenario; ConfigError for what a batch cannot fly."""
    _check(scenario)
    loop = _Tiltrotor(scenario).loop()
    return Plan(
        loop,
        table(scenario),
        _values(scenario),
        ranges={
            **{f"vehicle.scale.{name}": SCALE_RANGE for name in SCALES},
            DELAY: (0.0, scenario.controller.control.period_s),  # a later request finds the board in its next cycle
        },
        always={name: value for name, value in ALWAYS.items() if name not in loop.metrics},
    )


def _values(scenario: TiltrotorScenario) -> dict[str, float]:
    """The parameters in the scenario."""
    own = scenario.aircraft
    scales = [float(getattr(own.vehicle.scale, name)) for name in SCALES]
    numbers = (*scales, scenario.link.to_plant.delay_s, *own.world.start_offset_W)
    return dict(zip(PARAMETERS, numbers, strict=True))


COLUMNS = 20


def table(scenario: TiltrotorScenario) -> Vec:
    """(cycles + 1, 20) The reference of the control at the end of a cycle (8), the positions of the reference at its
    beginning, one period later and two periods later (9), the time that the flight and its references last from its
    beginning (2), and 0 in the first cycle, which is the time before the first reading."""
    period_s = scenario.controller.control.period_s
    path = build_path(scenario.controller.ground.trajectory)
    cycles = round(scenario.duration_s / period_s)
    points = [path(cycle * period_s) for cycle in range(cycles + 2)]
    rows = []
    for cycle in range(cycles + 1):
        now, began = points[cycle], max(0, cycle - 1)
        reference = (*now.pos_W, now.yaw_rad, *now.vel_W, now.yaw_rate_rad_s)
        positions = [value for point in points[began : began + 3] for value in point.pos_W]
        left_s = ((cycles - began) * period_s, (cycles - 1 - began) * period_s)
        rows.append((*reference, *positions, *left_s, float(cycle > 0)))
    return np.array(rows)


def _check(scenario: TiltrotorScenario) -> None:
    aircraft, link = scenario.aircraft, scenario.link
    only_delay = Impairment(delay_s=link.to_plant.delay_s)
    refused = {
        "link.to_board": link.to_board.active,
        "link.to_plant": link.to_plant != only_delay,
        "faults": bool(scenario.planned),
        "changes": bool(scenario.changes),
        "world.earth_rotation": aircraft.world.earth_rotation,
        "world.objects": bool(aircraft.world.objects or aircraft.world.scene),
        "vehicle.rotors": aircraft.vehicle.rotors != Rotors(),
        "world.drag": aircraft.world.has_drag,
        "world.terrain": aircraft.world.terrain != Level(),
        "sensors.fitted": bool(aircraft.sensors.fitted),
        "actuators.lag_s": aircraft.actuators.lag_s > 0,
        "vehicle.count": aircraft.vehicle.count > 1,
        "sensors.state": aircraft.sensors.state != "measured",
    }
    for key, is_refused in refused.items():
        if is_refused:
            raise ConfigError(f"{key}: a batch of the tilt-rotor flies without it; expected engine = bench")


class _Tiltrotor:
    def __init__(self, scenario: TiltrotorScenario) -> None:
        self._scenario = scenario
        control = scenario.controller.control
        self._step_s = scenario.aircraft.world.step_s
        self._steps = round(control.period_s / self._step_s)
        self._plan = of_scenario(scenario)
        self._law = flight_law(control, self._plan)
        self._predictive = _predictive(scenario, self._plan)
        self._params = ca.SX.sym("params", len(PARAMETERS))
        self._own = dict(zip(PARAMETERS, ca.vertsplit(self._params), strict=True))
        self._parts = Layout(
            {
                "x": 16,  # at the beginning of the step
                "stage": 16,  # where the next derivative is taken
                "sum": 16,  # of the weighted derivatives
                "memory": self._law.numel_in(2),
                "commands": 8,  # the newest, and that of the cycle before
                "effort": 4,  # of this step
                "squares": 5,
                "largest": 4,
                "compared": 1,
                "sampled": 1,
                "saturated": 1,
                "alive": 1,
                "duration": 1,  # of the whole flight, s
                **(self._predictive.parts if self._predictive else {}),
            }
        )

    def loop(self) -> Loop:
        step_rows = tuple((float(j + 1),) for j in range(self._steps))
        step = (
            Call(self._limited(), rows=step_rows),
            Repeat(len(_STAGES), (Call(self._stage(), rows=_STAGES),)),
            Call(self._sample(), rows=step_rows),
        )
        return Loop(
            start=self._start(),
            cycle=(Repeat(self._steps, step), *self._control()),
            finish=self._finish(),
            parameters=PARAMETERS,
            metrics=(*METRICS, *([FALLBACKS] if self._predictive else [])),
            table_columns=COLUMNS,
            steps_per_cycle=self._steps,
        )

    def _dt_s(self, row: Any) -> Any:
        """Length of a plant step; in the first cycle the steps fill the time before the first reading."""
        first_s = self._own[DELAY] / self._steps
        return row[19] * self._step_s + (1 - row[19]) * first_s

    def _at_s(self, row: Any, steps: Any) -> Any:
        """Time since the board's timer at the end of the cycle's plant step number `steps`."""
        return row[19] * self._own[DELAY] + steps * self._dt_s(row)

    def _start(self) -> ca.Function:
        pos_W, vel_W = start_W(with_value(self._scenario, OFFSET, (0.0, 0.0, 0.0)))
        offset_W = ca.vertcat(*(self._own[f"{OFFSET}[{axis}]"] for axis in range(3)))
        q = ca.SX(ca.DM(self._plan.q_eq))
        q[:3] = ca.DM(pos_W) + offset_W
        q[5] = self._scenario.aircraft.world.start_yaw_rad
        x = ca.vertcat(q, ca.DM(vel_W), ca.DM.zeros(5))
        zeros = {name: ca.SX.zeros(size) for name, size in self._parts.sizes.items()}
        hover = ca.repmat(ca.DM(self._plan.u_eq), 2)
        state = self._parts.whole({**zeros, "x": x, "stage": x, "sum": x, "commands": hover, "alive": ca.SX(1)})
        return ca.Function("start", [self._params], [state], ["params"], ["state"])

    def _control(self) -> tuple[Item, ...]:
        s, row = self._parts, ca.SX.sym("table", COLUMNS)
        stds = _noise(self._scenario)
        normals = {"normals": ca.SX.sym("normals", SENSOR_COUNT)} if stds.any() else {}
        inputs = {"table": row, **normals}
        sensors = s["x"] + (ca.DM(stds) * normals["normals"] if normals else 0)
        if self._predictive:
            return self._predictive.calls(s, sensors, inputs, row[:8])
        command, memory = self._law(sensors, row[:8], s["memory"])
        kept = ca.vertcat(command, s["commands"][:4])
        return (Call(s.event("control", inputs, {"memory": memory, "commands": kept}), stream=STATE),)

    def _limits(self, command: Any) -> tuple[Any, Any]:
        """The command within the actuators' limits, and whether one was met."""
        limits = self._scenario.aircraft.actuators
        high = ca.DM([limits.thrust_max_N, limits.thrust_max_N, limits.torque_max_Nm, limits.torque_max_Nm])
        low = ca.DM([0.0, 0.0, -limits.torque_max_Nm, -limits.torque_max_Nm])
        effort = ca.fmin(ca.fmax(command, low), high)
        limited = ca.logic_not(ca.logic_and(*(ca.logic_and(*pair) for pair in _pairs(effort == command))))
        return effort, limited

    def _limited(self) -> ca.Function:
        """Begins a plant step: the effort in it, and a count of those at whose end an actuator is at its limit. The
        newest command acts in a part of the step, from 0 to 1, the one before in the rest."""
        s, step = self._parts, ca.SX.sym("row", 1)
        (newest, was_limited), (older, older_limited) = map(self._limits, ca.vertsplit(s["commands"], 4))
        share = ca.fmin(ca.fmax(step - self._own[DELAY] / self._step_s, 0), 1)
        effort = older + share * (newest - older)
        limited = ca.if_else(share > 0, was_limited, older_limited)
        saturated = s["saturated"] + ca.logic_and(s["alive"], limited)
        return s.event("limited", {"params": self._params, "row": step}, {"effort": effort, "saturated": saturated})

    def _stage(self) -> ca.Function:
        """One stage of Runge-Kutta: the derivative, its part in the sum, and where the next one is taken."""
        s, row, cycle = self._parts, ca.SX.sym("row", 2), ca.SX.sym("table", COLUMNS)
        q, qd = s["stage"][:8], s["stage"][8:]
        M, h, B = tiltrotor.matrices(self._scaled(), q, qd)
        strength = ca.vertcat(*(self._own[f"vehicle.scale.thrust_{side}"] for side in ("right", "left")), 1, 1)
        force = B @ (strength * s["effort"]) - h
        D, LT, order = ca.ldl(M, False)  # symmetric: fewer operations than the QR of `ca.solve`
        derivative = ca.vertcat(qd, ca.ldl_solve(force, D, LT, order))
        part = self._dt_s(cycle) * derivative
        return s.event(
            "stage",
            {"params": self._params, "row": row, "table": cycle},
            {"stage": s["x"] + row[0] * part, "sum": s["sum"] + row[1] * part},
        )

    def _scaled(self) -> tiltrotor.Parameters:
        """The parameter set with this flight's mass and inertias."""
        own = parameters(self._scenario.aircraft.vehicle.parameters)
        return scaled(own, self._own["vehicle.scale.mass"], self._own["vehicle.scale.inertia"])

    def _sample(self) -> ca.Function:
        """Ends a plant step: the new state, whether the aircraft still flies, and its part in the metrics."""
        s, step, row = self._parts, ca.SX.sym("row", 1), ca.SX.sym("table", COLUMNS)
        x, at_s = s["sum"], self._at_s(row, step)
        first, second, third = ca.vertsplit(row[8:17], 3)
        periods = at_s / self._plan.period_s
        later = [ca.fmin(ca.fmax(periods - n, 0), 1) for n in range(2)]
        error_W = x[:3] - (first + later[0] * (second - first) + later[1] * (third - second))
        distance_m = ca.sqrt(ca.sumsqr(error_W))
        angles = ca.vertcat(x[3], x[4], x[5])
        bound_m = self._scenario.aircraft.world.bound_m
        upright = ca.cos(x[3]) * ca.cos(x[4]) > 0
        pods_valid = ca.logic_and(ca.fabs(x[6]) < math.pi, ca.fabs(x[7]) < math.pi)
        within = ca.logic_and(ca.sumsqr(x[:3]) <= bound_m**2, ca.logic_and(upright, pods_valid))
        alive = ca.logic_and(s["alive"], within)
        until_s = at_s - self._step_s / 4  # rounding
        flown = ca.logic_and(alive, until_s <= row[17])
        compared = ca.logic_and(alive, until_s <= row[18])
        sampled, counted = ca.logic_and(flown, row[19]), ca.logic_and(compared, row[19])
        squares = ca.vertcat(error_W * error_W, x[3] * x[3], x[5] * x[5])
        largest = ca.vertcat(ca.if_else(compared, distance_m, 0), ca.if_else(flown, ca.fabs(angles), 0))
        weights = [counted] * 3 + [sampled] * 2
        added = ca.vertcat(*(ca.if_else(w, e, 0) for w, e in zip(weights, ca.vertsplit(squares), strict=True)))
        changes = {
            "x": x,
            "stage": x,
            "squares": s["squares"] + added,
            "largest": ca.fmax(s["largest"], largest),
            "compared": s["compared"] + counted,
            "sampled": s["sampled"] + sampled,
            "alive": alive,
            "duration": ca.if_else(row[19], s["duration"], row[17]),
        }
        return s.event("sample", {"params": self._params, "row": step, "table": row}, changes)

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
            ca.if_else(s["alive"], s["duration"], self._step_s * s["sampled"]),
            *([s[FALLBACKS]] if self._predictive else []),
        )
        return ca.Function("finish", [s.symbol], [made], ["state"], ["metrics"])


def _predictive(scenario: TiltrotorScenario, plan: Design) -> PredictiveControl | None:
    control = scenario.controller.control
    if control.law != "mpc" or control.law_file:
        return None
    problem = plan.predictive_problem(control.mpc)
    prepare = mpc.prepare(problem, plan.K, plan.state_eq, plan.u_eq, plan.period_s)
    return PredictiveControl(problem, prepare, mpc.choose(problem, plan.u_eq))


def _noise(scenario: TiltrotorScenario) -> Vec:
    """(16,) Standard deviations of the measured state."""
    table = scenario.aircraft.sensors
    stds = [table.pos_std_m] * 3 + [table.angle_std_rad] * 3 + [table.tilt_std_rad] * 2
    return np.array([*stds, *[table.vel_std_m_s] * 3, *[table.rate_std_rad_s] * 5])


def _pairs(truths: Any) -> list[Any]:
    each = ca.vertsplit(truths)
    return [each[:2], each[2:]]
