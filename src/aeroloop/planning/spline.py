"""Clamped uniform B-splines in the plane: bases, knot refinement, curvature with a proven bound, arc-length tables.

A curve is b(u) = sum_i B_i(u) c_i, u in [0, 1], given by its control points c (n, 2) alone: the knots are uniform
between clamped ends. Degree 4, so that curvature and its rate are continuous.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.interpolate import BSpline

DEGREE = 4

Array = NDArray[np.float64]


class Samples(NamedTuple):
    """Points of a curve at equal steps of arc length, including the ends. Headings are continuous beyond half a
    turn."""

    step: float
    x: Array
    y: Array
    psi: Array
    kappa: Array

    @property
    def length(self) -> float:
        return self.step * (len(self.x) - 1)


def knots(count: int) -> Array:
    """The knots of a curve with this number of control points."""
    inner = np.linspace(0.0, 1.0, count - DEGREE + 1)
    return np.concatenate([np.zeros(DEGREE), inner, np.ones(DEGREE)])


@cache
def basis(count: int, derivative: int) -> BSpline:
    """u -> one row of `count` values: the basis functions, or one of their derivatives."""
    one = BSpline(knots(count), np.eye(count), DEGREE)
    return one.derivative(derivative) if derivative else one


def energy(count: int, derivative: int) -> Array:
    """Q with c'Qc = integral of |d^k b / du^k|^2, exact: Gauss' rule on each span."""
    u, weight = _gauss(count)
    rows = basis(count, derivative)(u)
    return np.asarray(rows.T @ (weight[:, None] * rows))


def _gauss(count: int) -> tuple[Array, Array]:
    at, weight = leggauss(DEGREE + 1)
    edges = np.linspace(0.0, 1.0, count - DEGREE + 1)
    half = np.diff(edges)[:, None] / 2.0
    return ((edges[:-1, None] + half) + half * at).ravel(), (half * weight).ravel()


@cache
def refinement(count: int, times: int) -> Array:
    """T with c_fine = T c: the same curve on knots `times` as dense. Span i lies in the hull of points i .. i + 4."""
    curve = basis(count, 0)
    spans = count - DEGREE
    for index in range(1, spans * times):
        if index % times:
            curve = curve.insert_knot(index / (spans * times))
    return np.asarray(curve.c)


def curvature(control: Array, u: Array) -> Array:
    """Signed curvature, positive to the left."""
    first, second = (basis(len(control), k)(u) @ control for k in (1, 2))
    return np.asarray((first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / np.hypot(*first.T) ** 3)


def curvature_bound(control: Array, pieces: int = 32) -> float:
    """An upper bound of |curvature|.

    On each piece of each span, x'y'' - y'x'' and |b'|^2 are polynomials (of degree 5 and 6), which lie between the
    least and the greatest of their Bernstein coefficients: |kappa| <= max |numerator| / (min |b'|^2)^(3/2).
    """
    count = len(control)
    edges = np.linspace(0.0, 1.0, (count - DEGREE) * pieces + 1)

    def coefficients(degree: int) -> tuple[Array, Array]:
        at = (np.arange(degree + 1) + 0.5) / (degree + 1)
        u = (edges[:-1, None] + np.diff(edges)[:, None] * at).ravel()
        first, second = (basis(count, k)(u) @ control for k in (1, 2))
        power = np.arange(degree + 1)
        choose = np.array([comb(degree, k) for k in power])
        values_of = choose * at[:, None] ** power * (1.0 - at[:, None]) ** (degree - power)
        cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
        squared = (first**2).sum(axis=1)
        shape = (len(edges) - 1, degree + 1)
        found = [np.linalg.solve(values_of, values.reshape(shape).T).T for values in (cross, squared)]
        return found[0], found[1]

    numerator, _ = coefficients(2 * DEGREE - 3)
    _, squared = coefficients(2 * DEGREE - 2)
    slowest = squared.min(axis=1)
    if slowest.min() <= 0.0:
        return float("inf")
    return float((np.abs(numerator).max(axis=1) / slowest**1.5).max())


def sampled(control: Array, longest_step: float) -> Samples:
    """The curve at equal steps of arc length, none longer than `longest_step`."""
    count = len(control)
    edges = np.linspace(0.0, 1.0, 32 * (count - DEGREE) + 1)

    def speed(u: Array) -> Array:
        return np.asarray(np.hypot(*(basis(count, 1)(u) @ control).T))

    step, u = even_parameters(speed, edges, longest_step)
    points, first = (basis(count, k)(u) @ control for k in (0, 1))
    psi = np.unwrap(np.arctan2(first[:, 1], first[:, 0]))
    return Samples(step, points[:, 0], points[:, 1], psi, curvature(control, u))


def even_parameters(speed: Callable[[Array], Array], edges: Array, longest_step: float) -> tuple[float, Array]:
    """Parameters at equal steps of arc length, with the step, for a curve that is smooth between two of `edges`.
    `speed`: length of its derivative."""
    at, weight = leggauss(6)
    half = np.diff(edges) / 2.0
    u = (edges[:-1] + half)[:, None] + half[:, None] * at
    along = np.concatenate([[0.0], np.cumsum((speed(u.ravel()).reshape(u.shape) @ weight) * half)])
    steps = int(np.ceil(along[-1] / longest_step - 1e-9))
    wanted = np.linspace(0.0, along[-1], steps + 1)
    u = np.interp(wanted, along, edges)
    for _ in range(3):  # Newton: the length up to u from the nearest edge below it
        index = np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(edges) - 2)
        part = (u - edges[index]) / 2.0
        inside = (edges[index] + part)[:, None] + part[:, None] * at
        reached = along[index] + (speed(inside.ravel()).reshape(inside.shape) @ weight) * part
        u = np.clip(u + (wanted - reached) / speed(u), edges[0], edges[-1])
    return float(along[-1]) / steps, u
