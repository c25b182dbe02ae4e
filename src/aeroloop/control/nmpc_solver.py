"""Real-time iteration: in every control period one quadratic program about the shifted guess of the last period.

    solve      measured state and reference -> quadratic program -> one full step of the guess -> its first input
    shift      the guess of the next period: the same trajectory, one control period later
    prepare    differentiate the model along it, condense and factorise, before the next measurement

(Diehl, Bock, Schloeder 2005.) Errors and limits are replaced by their linear models too (Gauss and Newton). The guess
is the memory. The first period has none: its guess is the measured state at rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from aeroloop.control import nmpc, nmpc_qp
from aeroloop.control.host_law import Build, Solution
from aeroloop.core.frames import Vec


@dataclass(frozen=True)
class NonlinearLaw:
    """A problem, and what connects it with measurement and command."""

    problem: nmpc.Problem
    front: ca.Function  # (measured, reference, memory, last input) -> (z_0, references (r, N + 1), disturbance, memory)
    command: ca.Function  # first input -> command
    period_s: float
    gap_max: float  # with larger gaps between the steps of its guess a solution is not used

    @cached_property
    def functions(self) -> tuple[ca.Function, ...]:
        """What becomes C: front, command, and the models along a guess."""
        return self.front, self.command, nmpc.along(self.problem), nmpc.outputs(self.problem)


@dataclass(frozen=True)
class Linear:
    """Linear models about a guess."""

    A: Vec  # (N, z, z)
    after: Vec  # (N, z) states after each step, with a reference of 0
    E: Vec  # (N, errors and limits, z)
    of_inputs: Vec  # (N, z, N u) change of each state by the inputs
    program: nmpc_qp.Prepared


class RealTimeIteration:
    """A `Solver` of `control.host_law`."""

    def __init__(self, law: NonlinearLaw, build: Build) -> None:
        p = self._p = law.problem
        self._share, self._gap_max = law.period_s / p.step_s, law.gap_max
        self._front, self._command, self._along, self._outputs = map(build, law.functions)
        w, b, N = p.weights, p.bounds, p.steps
        self._errors = len(w.Q)
        self._root_Q, self._root_P = np.sqrt(w.Q), np.linalg.cholesky(w.P).T
        self._damped = np.flatnonzero(w.change)
        self._root_change = np.sqrt(w.change[self._damped])
        self._R = np.tile(w.R, N)
        self._low = np.concatenate([np.tile(b.u_low, N), np.tile(b.low, N)])
        self._high = np.concatenate([np.tile(b.u_high, N), np.tile(b.high, N)])
        sizes = (1, len(self._front.outputs[3]), p.u, p.z * (N + 1), p.u * N, p.reference * (N + 1), p.disturbance)
        ends = np.cumsum(sizes).tolist()
        self.memory = ends[-1]
        _, self._kept, self._last, *self._parts = (
            slice(end - size, end) for end, size in zip(ends, sizes, strict=True)
        )
        self.found: Vec = np.tile(p.u_rest, (N, 1))  # (N, u) inputs of the last solution, for whoever examines it
        self._linear: Linear | None = None
        self._about: Vec = np.empty(0)

    def solve(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> Solution:
        front, kept = self._front, self._kept
        front.inputs[0][:], front.inputs[1][:], front.inputs[2][:] = measured, reference, memory[kept]
        front.inputs[3][:] = memory[self._last]
        front()
        z_0 = front.outputs[0]
        after[:] = memory
        started, after[0], after[kept] = bool(memory[0]), 1.0, front.outputs[3]
        Z, U, before, disturbance = self._split(after)
        references = front.outputs[1].reshape(before.shape)
        if not started:
            Z[:], U[:], before[:], disturbance[:] = z_0, self._p.u_rest, references, front.outputs[2]
        gap = self._iterate(self._linearised(Z, U, before, disturbance), Z, U, z_0, references)
        if gap is None:
            return Solution(None)
        if not gap <= self._gap_max:
            return Solution(None, gap)
        self._command.inputs[0][:] = after[self._last] = U[0]
        self._command()
        self.found = U.copy()
        self._shift(Z, U)
        before[:], disturbance[:] = references, front.outputs[2]
        return Solution(self._command.outputs[0].copy(), gap)

    def prepare(self, after: Vec) -> None:
        if after[0]:
            self._linearised(*self._split(after))

    def kept(self, memory: Vec) -> tuple[Vec, Vec, Vec]:
        """Of a memory: what `front` is given, its own and the last input; and the disturbance of the linear models."""
        return memory[self._kept], memory[self._last], memory[self._parts[3]]

    def iterated(
        self, z_0: Vec, references: Vec, iterations: int, U: Vec | None = None, disturbance: Vec | None = None
    ) -> tuple[Vec, Vec]:
        """States and inputs after many iterations from the inputs given, or from rest."""
        p, acting = self._p, np.zeros(self._p.disturbance) if disturbance is None else disturbance
        inputs = np.tile(p.u_rest, (p.steps, 1)) if U is None else U.copy()
        Z = np.tile(z_0, (p.steps + 1, 1)) if U is None else self.rolled(z_0, inputs, references, acting)
        for _ in range(iterations):
            if self._iterate(self._linearised(Z, inputs, references, acting), Z, inputs, z_0, references) is None:
                raise ArithmeticError("an iteration found no solution")
        return Z, inputs

    def rolled(self, z_0: Vec, U: Vec, references: Vec, disturbance: Vec | None = None) -> Vec:
        """States of the model with these inputs."""
        p, run = self._p, self._along
        Z = np.tile(z_0, (p.steps + 1, 1))
        shares = nmpc.integrals_of_reference(p, references)
        run.inputs[1][:], run.inputs[2][:] = U.ravel(), 0.0 if disturbance is None else disturbance
        for k in range(p.steps):
            run.inputs[0][:] = Z[:-1].ravel()
            run()
            Z[k + 1] = run.outputs[0].reshape(p.steps, p.z)[k]
            Z[k + 1, p.x :] -= shares[k]
        return Z

    def cost(self, z_0: Vec, U: Vec, references: Vec, disturbance: Vec | None = None) -> float:
        """Of the problem, with these inputs."""
        p, w, b = self._p, self._p.weights, self._p.bounds
        values = self._evaluate(self.rolled(z_0, U, references, disturbance), references)[0]
        errors, limits = values[:, : self._errors], values[:, self._errors :]
        slack = np.maximum(limits - b.high, 0.0) + np.minimum(limits - b.low, 0.0)
        last = self._root_P @ errors[-1]
        states = float(np.sum(w.Q * errors[:-1] ** 2) + last @ last)
        return states + float(np.sum(w.R * (U - p.u_rest) ** 2) + w.slack * np.sum(slack**2))

    def _iterate(self, linear: Linear | None, Z: Vec, U: Vec, z_0: Vec, references: Vec) -> float | None:
        """One step of the guess in place; its largest gap before, or None without a solution."""
        p = self._p
        if linear is None:
            return None
        gaps = linear.after - Z[1:]
        gaps[:, p.x :] -= nmpc.integrals_of_reference(p, references)
        change = np.empty_like(gaps)  # of the states, with the inputs of the guess
        now = z_0 - Z[0]
        for k in range(p.steps):
            now = change[k] = linear.A[k] @ now + gaps[k]
        values = self._evaluate(Z, references)[0] + np.einsum("kij,kj->ki", linear.E, change)
        errors, limits = values[:, : self._errors], values[:, self._errors :]
        weighted = errors * self._root_Q
        weighted[-1] = self._root_P @ errors[-1]
        du = nmpc_qp.solve(
            linear.program,
            np.concatenate([weighted.ravel(), (change[:, self._damped] * self._root_change).ravel()]),
            (U - p.u_rest).ravel(),
            np.concatenate([U.ravel(), limits.ravel()]),
            self._low,
            self._high,
        )
        if du is None or not np.all(np.isfinite(du)):
            return None
        Z[0] = z_0
        Z[1:] += change + linear.of_inputs @ du
        U += du.reshape(U.shape)
        np.clip(U, p.bounds.u_low, p.bounds.u_high, out=U)  # the program meets its bounds to its tolerance
        return float(np.max(np.abs(gaps[:, : p.x])))

    def _linearised(self, Z: Vec, U: Vec, references: Vec, disturbance: Vec) -> Linear | None:
        """Models about this guess; those of the last call if it was the same. None: not finite."""
        p, run = self._p, self._along
        about = np.concatenate([disturbance, Z.ravel(), U.ravel(), references.ravel()])
        if np.array_equal(about, self._about):
            return self._linear
        run.inputs[0][:], run.inputs[1][:], run.inputs[2][:] = Z[:-1].ravel(), U.ravel(), disturbance
        run()
        S = run.outputs[1].reshape(p.steps, p.z + p.u, p.z).transpose(0, 2, 1)
        E = self._evaluate(Z, references)[1]
        self._about, self._linear = about, None
        if np.all(np.isfinite(S)) and np.all(np.isfinite(E)):
            self._linear = self._condensed(S, run.outputs[0].reshape(p.steps, p.z).copy(), E)
        return self._linear

    def _condensed(self, S: Vec, after: Vec, E: Vec) -> Linear:
        p = self._p
        A, of_inputs = S[:, :, : p.z].copy(), np.zeros((p.steps, p.z, p.steps * p.u))
        V = np.zeros((p.steps, self._errors, p.steps * p.u))
        rows = np.zeros((p.steps, E.shape[1] - self._errors, p.steps * p.u))
        for k in range(p.steps):
            here, end = of_inputs[k], (k + 1) * p.u
            if k > 0:
                here[:, : end - p.u] = A[k] @ of_inputs[k - 1][:, : end - p.u]
            here[:, end - p.u : end] = S[k, :, p.z :]
            both = E[k] @ here[:, :end]
            V[k, :, :end], rows[k, :, :end] = both[: self._errors], both[self._errors :]
        V[:-1] *= self._root_Q[:, None]
        V[-1] = self._root_P @ V[-1]
        damped = of_inputs[:, self._damped, :] * self._root_change[:, None]
        V_all = np.concatenate([V.reshape(-1, V.shape[2]), damped.reshape(-1, V.shape[2])])
        program = nmpc_qp.prepared(V_all, rows.reshape(-1, rows.shape[2]), self._R, p.weights.slack)
        return Linear(A, after, E, of_inputs, program)

    def _evaluate(self, Z: Vec, references: Vec) -> tuple[Vec, Vec]:
        """Errors and limits of steps 1 to N, and their Jacobians."""
        p, run = self._p, self._outputs
        run.inputs[0][:], run.inputs[1][:] = Z[1:].ravel(), references[1:].ravel()
        run()
        values, jacobians = run.outputs
        return values.reshape(p.steps, -1), jacobians.reshape(p.steps, p.z, -1).transpose(0, 2, 1)

    def _shift(self, Z: Vec, U: Vec) -> None:
        """One control period later; the last input is held."""
        Z[:-1] += self._share * np.diff(Z, axis=0)
        U[:-1] += self._share * np.diff(U, axis=0)

    def _split(self, after: Vec) -> tuple[Vec, Vec, Vec, Vec]:
        """Views: states and inputs of the guess, and references and disturbance of the linear models about it, those of
        the period before."""
        p = self._p
        shapes = ((p.steps + 1, p.z), (p.steps, p.u), (p.steps + 1, p.reference), (p.disturbance,))
        Z, U, references, d = (after[part].reshape(shape) for part, shape in zip(self._parts, shapes, strict=True))
        return Z, U, references, d
