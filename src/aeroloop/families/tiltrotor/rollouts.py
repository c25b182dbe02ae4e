"""Rollouts of the tilt-rotor for sampling-based predictive control, as a loop of the batch engine.

One rollout is a flight of the design model over the horizon, in closed loop:

    u_k = limited(u_eq + sum over m of W_km knot_m - K e_k),   e_k: the errors from the reference with their integrals
    cost = sum over k of e_{k+1}' Q e_{k+1} + (u_k - u_eq)' R (u_k - u_eq) + penalties;   the last e with P, not Q

K, Q, R and P are those of the LQR problem with the step of the horizon. A knot is the plan's value with normal noise.
A penalty is the square of what exceeds a bound on roll or yaw. Positions are relative to the reference's at the start,
so that single precision suffices anywhere. What changes from cycle to cycle, or with a setting, is in the table: one
program serves every horizon, noise and bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.batch.layout import Layout
from aeroloop.batch.loop import Call, Loop, Repeat
from aeroloop.control.lqr import INTEGRATED
from aeroloop.control.mppi import AUGMENTED, INPUTS, STATES, Columns
from aeroloop.control.toolkit import REFERENCED, ROLL, YAW
from aeroloop.core.frames import Vec
from aeroloop.models import tiltrotor

STAGES = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))
"""Runge-Kutta 4: position of the next stage, and weight of this one."""
FIRST = 1 << 20
"""More cycles than a horizon has: what is called so seldom is called in the first one only."""
PARAMETERS = ("noise", "plan")
"""Of a rollout: factors on the noise and on the plan; (0, 1) is the plan itself, (0, 0) the feedback alone."""


@dataclass(frozen=True)
class Regulator:
    """The LQR problem with the step of the horizon: what a rollout does and what it costs."""

    state_eq: Vec  # (16,)
    u_eq: Vec  # (4,)
    K: Vec  # (4, 20)
    Q: Vec  # (20,)
    R: Vec  # (4,)
    P: Vec  # (20, 20)
    input_low: Vec  # (4,) N, N m
    input_high: Vec  # (4,)


def loop(model: tiltrotor.Parameters, regulator: Regulator, knots: int, step_s: float, substeps: int) -> Loop:
    """`substeps` of Runge-Kutta in a step of the horizon."""
    return _Rollout(model, regulator, knots, step_s, substeps).loop()


class _Rollout:
    def __init__(
        self, model: tiltrotor.Parameters, regulator: Regulator, knots: int, step_s: float, substeps: int
    ) -> None:
        self._model, self._regulator, self._knots = model, regulator, knots
        self._step_s, self._substeps = step_s, substeps
        self._columns = Columns(knots)
        self._table = ca.SX.sym("table", self._columns.count)
        self._parts = Layout(
            {
                "x": STATES,  # at the beginning of the Runge-Kutta step
                "stage": STATES,  # where the next derivative is taken
                "sum": STATES,  # of the weighted derivatives
                "error": AUGMENTED,
                "knots": INPUTS * knots,
                "effort": INPUTS,
                "cost": 1,
            }
        )

    def loop(self) -> Loop:
        h_s = self._step_s / self._substeps
        rows = tuple((c * h_s, w * h_s) for c, w in STAGES)
        step = (Repeat(len(STAGES), (Call(self._stage(), rows=rows),)), Call(self._settle()))
        return Loop(
            start=self._start(),
            cycle=(
                Call(self._begin(), every=FIRST),
                Call(self._control()),
                Repeat(self._substeps, step),
                Call(self._score()),
            ),
            finish=self._finish(),
            parameters=PARAMETERS,
            metrics=("cost", *(f"knot_{m}_{i}" for m in range(self._knots) for i in range(INPUTS))),
            table_columns=self._columns.count,
            steps_per_cycle=self._substeps,
        )

    def _column(self, name: str) -> Any:
        return self._table[self._columns.slices[name]]

    def _start(self) -> ca.Function:
        """Nothing yet: the table has the state."""
        s, own = self._parts, ca.SX.sym("params", len(PARAMETERS))
        zeros = {name: ca.SX.zeros(size) for name, size in s.sizes.items()}
        return ca.Function("start", [own], [s.whole(zeros)], ["params"], ["state"])

    def _begin(self) -> ca.Function:
        s, own = self._parts, ca.SX.sym("params", len(PARAMETERS))
        normals = ca.SX.sym("normals", INPUTS * self._knots)
        std = ca.repmat(self._column("std"), self._knots)
        knots = own[1] * self._column("plan") + own[0] * std * normals
        x, integral = self._column("state")[:STATES], self._column("state")[STATES:]
        error = ca.vertcat(self._error(x, self._column("reference")), integral)
        parts = {"x": x, "stage": x, "sum": x, "error": error, "knots": knots}
        return s.event("begin", {"params": own, "table": self._table, "normals": normals}, parts)

    def _error(self, x: Any, reference: Any) -> Any:
        target = ca.SX(ca.DM(self._regulator.state_eq))
        target[list(REFERENCED)] = reference
        return x - target

    def _control(self) -> ca.Function:
        s, r = self._parts, self._regulator
        added = ca.reshape(s["knots"], INPUTS, self._knots) @ self._column("blend")
        command = ca.DM(r.u_eq) + added - ca.DM(r.K) @ s["error"]
        effort = ca.fmin(ca.fmax(command, ca.DM(r.input_low)), ca.DM(r.input_high))
        cost = s["cost"] + ca.dot(ca.DM(r.R), (effort - ca.DM(r.u_eq)) ** 2)
        return s.event("control", {"table": self._table}, {"effort": effort, "cost": cost})

    def _stage(self) -> ca.Function:
        """One stage of Runge-Kutta: the derivative, its part in the sum, and where the next one is taken."""
        s, row = self._parts, ca.SX.sym("row", 2)
        q, qd = s["stage"][:8], s["stage"][8:]
        M, h, B = tiltrotor.matrices(self._model, q, qd)
        D, LT, order = ca.ldl(M, False)  # symmetric: fewer operations than the QR of `ca.solve`
        force = tiltrotor.applied(self._model, q, qd, s["effort"], B) - h
        derivative = ca.vertcat(qd, ca.ldl_solve(force, D, LT, order))
        return s.event(
            "stage",
            {"row": row},
            {"stage": s["x"] + row[0] * derivative, "sum": s["sum"] + row[1] * derivative},
        )

    def _settle(self) -> ca.Function:
        """Ends a Runge-Kutta step."""
        s = self._parts
        return s.event("settle", {}, {"x": s["sum"], "stage": s["sum"]})

    def _score(self) -> ca.Function:
        """Ends a step of the horizon: the new errors and what they cost."""
        s = self._parts
        error = self._error(s["x"], self._column("reference_next"))
        tracked = list(INTEGRATED)
        integral = s["error"][STATES:] + self._step_s / 2 * (error[tracked] + s["error"][tracked])
        augmented = ca.vertcat(error, integral)
        cost = s["cost"] + ca.dot(ca.DM(self._regulator.Q), augmented**2)
        bounds, penalties = self._column("bounds"), self._column("penalties")
        for i, angle in enumerate((s["x"][ROLL], error[YAW])):
            cost += penalties[i] * ca.fmax(ca.fabs(angle) - bounds[i], 0) ** 2
        return s.event("score", {"table": self._table}, {"error": augmented, "cost": cost})

    def _finish(self) -> ca.Function:
        s = self._parts
        rest = self._regulator.P - np.diag(self._regulator.Q)
        cost = s["cost"] + ca.bilin(ca.DM(rest), s["error"], s["error"])
        return ca.Function("finish", [s.symbol], [ca.vertcat(cost, s["knots"])], ["state"], ["metrics"])
