"""Pose graph: Levenberg-Marquardt on sparse normal equations.

Residual of an edge: e = log(Z^-1 T_i^-1 T_j) / sigma, sigma the same for all six. A pose is changed from the right,
T exp(d), so de/dd_j = Jr^-1(e) and de/dd_i = -Jr^-1(e) Ad((T_i^-1 T_j)^-1). Node 0 is fixed. Cost of an odometry edge:
|e|^2 / 2; of a loop: Cauchy, k^2/2 log(1 + |e|^2/k^2), so that a false loop loses its influence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, diags
from scipy.sparse.linalg import splu

from aeroloop.perception.slam import se3
from aeroloop.perception.slam.se3 import Array

FIRST_DAMPING, LOWEST_DAMPING, HIGHEST_DAMPING = 1e-6, 1e-12, 1e12


@dataclass(frozen=True)
class Edge:
    """Measured pose of node `j` in the frame of node `i`."""

    i: int
    j: int
    Z_ij: Array  # (4, 4)
    sigma: float  # of all six components, m and rad
    loop: bool = False


@dataclass(frozen=True)
class Optimised:
    T_W: Array  # (n, 4, 4)
    cost: float
    iterations: int


def optimise(
    T_W: Array, edges: Sequence[Edge], *, cauchy: float = 3.0, iterations: int = 50, tolerance: float = 1e-10
) -> Optimised:
    """The poses of least cost near the given ones."""
    table = _Table.of(edges, cauchy)
    poses = np.array(T_W, dtype=float)
    residuals = table.residuals(poses)
    cost, damping, done = table.cost(residuals), FIRST_DAMPING, 0
    while len(poses) > 1 and table.count and done < iterations and damping < HIGHEST_DAMPING:
        done += 1
        H, gradient = table.normal_equations(poses, residuals)
        step = splu(csc_matrix(H + diags(damping * np.maximum(H.diagonal(), 1e-9)))).solve(-gradient)
        tried = poses.copy()
        tried[1:] = poses[1:] @ se3.exp(step.reshape(-1, 6))
        residuals_tried = table.residuals(tried)
        cost_tried = table.cost(residuals_tried)
        if not cost_tried <= cost:
            damping *= 10.0
            continue
        gained, poses, residuals = cost - cost_tried, tried, residuals_tried
        cost, damping = cost_tried, max(damping / 10.0, LOWEST_DAMPING)
        if gained <= tolerance * cost or float(np.abs(step).max()) < 1e-9:
            break
    return Optimised(poses, cost, done)


def cost_of(T_W: Array, edges: Sequence[Edge], cauchy: float = 3.0) -> float:
    table = _Table.of(edges, cauchy)
    return table.cost(table.residuals(T_W))


@dataclass(frozen=True)
class _Table:
    """Edges as columns."""

    i: NDArray[np.intp]
    j: NDArray[np.intp]
    inverse_Z: Array
    sigma: Array
    loop: NDArray[np.bool_]
    cauchy: float

    @classmethod
    def of(cls, edges: Sequence[Edge], cauchy: float) -> _Table:
        measured = np.array([edge.Z_ij for edge in edges]).reshape(-1, 4, 4)
        return cls(
            np.array([edge.i for edge in edges], dtype=np.intp),
            np.array([edge.j for edge in edges], dtype=np.intp),
            se3.inverse(measured),
            np.array([edge.sigma for edge in edges], dtype=float),
            np.array([edge.loop for edge in edges], dtype=bool),
            cauchy,
        )

    @property
    def count(self) -> int:
        return len(self.i)

    def residuals(self, T_W: Array) -> Array:
        """Not divided by sigma."""
        return se3.log(self.inverse_Z @ se3.inverse(T_W[self.i]) @ T_W[self.j])

    def cost(self, residuals: Array) -> float:
        squared = np.sum(residuals**2, axis=1) / self.sigma**2
        robust = self.cauchy**2 * np.log1p(squared / self.cauchy**2)
        return 0.5 * float(np.sum(np.where(self.loop, robust, squared)))

    def normal_equations(self, T_W: Array, residuals: Array) -> tuple[csc_matrix, Array]:
        """Hessian (Gauss-Newton, edges weighted by their robust cost) and gradient, without the fixed node."""
        squared = np.sum(residuals**2, axis=1) / self.sigma**2
        weights = np.where(self.loop, 1.0 / (1.0 + squared / self.cauchy**2), 1.0) / self.sigma**2
        relative = se3.inverse(T_W[self.i]) @ T_W[self.j]
        J_j = se3.inverse_right_jacobian(residuals)
        J_i = -J_j @ se3.adjoint(se3.inverse(relative))
        size = 6 * len(T_W)
        rows, columns, values = [], [], []
        gradient = np.zeros((len(T_W), 6))
        for node_a, J_a in ((self.i, J_i), (self.j, J_j)):
            weighted = np.swapaxes(J_a, 1, 2) * weights[:, None, None]
            np.add.at(gradient, node_a, (weighted @ residuals[..., None])[..., 0])
            for node_b, J_b in ((self.i, J_i), (self.j, J_j)):
                blocks = weighted @ J_b
                r, c = np.broadcast_arrays(
                    6 * node_a[:, None, None] + np.arange(6)[None, :, None],
                    6 * node_b[:, None, None] + np.arange(6)[None, None, :],
                )
                rows.append(r.ravel())
                columns.append(c.ravel())
                values.append(blocks.ravel())
        where = (np.concatenate(rows), np.concatenate(columns))
        H = csc_matrix((np.concatenate(values), where), shape=(size, size))
        return H[6:, 6:], gradient[1:].ravel()
