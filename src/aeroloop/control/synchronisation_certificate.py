"""Stability of the synchronised axes with frozen weights: the discrete closed loop of one axis, inside the boundary
layer, has a spectral radius below 1 for all weights of the box, all plants of a range and 0 or 1 sample of delay.

With equal axes and weights the loop separates into the common mode, where the coupling matrix is 0 and the network
silent, and differential modes, where the coupling matrix is one of its other eigenvalues.

Radii depend on the model of the plant in the fourth digit. Here the plant is exact for inputs held over a sample. For
the joints at the heavy, weak corner this gives 1.0038 for ti = 0.03 s, 1.0006 for 0.06 s and 0.9995 for 0.08 s. The
notes that the gains come from have 1.0010, 1.0004 and less than 1: the same verdicts. Other integrations of the plant
(Euler, semi-implicit, no lag of the torque), with and without rate filter and delay, give 0.9994 to 1.0010 for 0.06 s,
which covers 1.0004, but 1.0022 to 1.0041 for 0.03 s: none of these loops has the 1.0010. At gs = 80 1/s the light
corner has 1.0078 here and 0.9935 with a semi-implicit plant, whose delay is half a sample less: this model is stricter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aeroloop.control import synchronisation
from aeroloop.control.synchronisation import Axes, Coupling
from aeroloop.control.synchronisation_gains import Gains
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec

DELAYS = (0, 1)
WEIGHT_LEVELS = (0.0, 0.5, 1.0)
"""Of the largest weights."""


class Plants(Protocol):
    """A range of plants of one axis."""

    @property
    def gain_ratio(self) -> float:
        """Largest ratio of the plant's input gain to the nominal one, for the bound on the learning rate."""

    def corners(self, period_s: float) -> Iterator[tuple[str, Vec, Vec]]:
        """Name, and the matrices of x[k+1] = A x[k] + B u[k]; the measured value is x[0]."""


@dataclass(frozen=True)
class RotorPlants:
    """y' = (gain u - y) / lag."""

    lag_s: tuple[float, ...] = (0.011, 0.029)
    gain: tuple[float, ...] = (0.7, 1.05)
    gain_ratio: float = 1.44  # the IRIS spins up with 12.5 ms, the nominal lag is 18 ms

    def corners(self, period_s: float) -> Iterator[tuple[str, Vec, Vec]]:
        for lag_s, gain in itertools.product(self.lag_s, self.gain):
            end = np.exp(-period_s / lag_s)
            yield f"lag {1e3 * lag_s:.3g} ms, gain {gain:g}", np.array([[end]]), np.array([gain * (1.0 - end)])


@dataclass(frozen=True)
class JointPlants:
    """inertia y'' = effectiveness torque, torque' = (u - torque) / lag."""

    inertia_kgm2: tuple[float, ...] = (0.017, 0.076)
    effectiveness: tuple[float, ...] = (0.5, 1.0)
    lag_s: float = 0.002
    gain_ratio: float = 1.0

    def corners(self, period_s: float) -> Iterator[tuple[str, Vec, Vec]]:
        for inertia, effectiveness in itertools.product(self.inertia_kgm2, self.effectiveness):
            name = f"inertia {inertia:g} kg m2, effectiveness {effectiveness:g}"
            yield name, *_held(effectiveness / inertia, self.lag_s, period_s)


def _held(per_torque: float, lag_s: float, h: float) -> tuple[Vec, Vec]:
    """Exact step of angle, rate and torque with u held: torque decays to u, rate and angle integrate it."""
    end = float(np.exp(-h / lag_s))
    once, twice = lag_s * (1.0 - end), lag_s * (h - lag_s * (1.0 - end))  # integrals of the decaying part
    a = np.array([[1.0, h, per_torque * twice], [0.0, 1.0, per_torque * once], [0.0, 0.0, end]])
    return a, np.array([per_torque * (h * h / 2 - twice), per_torque * (h - once), 1.0 - end])


@dataclass(frozen=True)
class Corner:
    """One closed loop of the certificate."""

    plant: str
    weights: tuple[float, float, float]
    delay: int
    mode: str
    radius: float

    def __str__(self) -> str:
        w = ", ".join(f"{weight:g}" for weight in self.weights)
        return f"{self.plant}, weights P, I, D = {w}, {self.delay} sample of delay, {self.mode} mode"


def worst(axes: Axes, gains: Gains, coupling: Coupling, plants: Plants) -> Corner:
    """The corner with the largest spectral radius."""
    modes = sorted(
        {round(float(m), 9) for m in np.linalg.eigvalsh(synchronisation.coupling_matrix(axes.count, coupling))}
    )
    corners = []
    for plant, a, b in plants.corners(axes.period_s):
        for mode in modes:
            network = gains.gs > 0.0 and mode > 0.0
            for levels in itertools.product(WEIGHT_LEVELS if network else (0.0,), repeat=3):
                p, i, d = (x * y for x, y in zip(levels, synchronisation.WEIGHT_MAX, strict=True))
                for delay in DELAYS:
                    loop = _closed(axes, gains, (p, i, d), mode, a, b, delay)
                    radius = float(np.max(np.abs(np.linalg.eigvals(loop))))
                    name = "differential" if mode > 0.0 else "common"
                    corners.append(Corner(plant, (p, i, d), delay, name, radius))
    return max(corners, key=lambda corner: corner.radius)


def check(
    axes: Axes,
    gains: Gains,
    coupling: Coupling,
    plants: Plants,
    source: str = "synchronisation",
    *,
    certified: bool = True,
) -> None:
    """ConfigError if learning or, unless not `certified`, the frozen-weight loop can be unstable; it names the
    corner."""
    rate = plants.gain_ratio * gains.gs * axes.period_s**2
    if gains.eta * rate >= 2.0:
        raise ConfigError(
            f"{source}.eta: learning is stable below {2.0 / rate:.0f} 1/s with this gs and period, not {gains.eta:g}"
        )
    if not certified:
        return
    corner = worst(axes, gains, coupling, plants)
    if not corner.radius < 1.0:
        raise ConfigError(
            f"{source}: the loop with frozen weights is unstable: spectral radius {corner.radius:.4f} at {corner}; "
            "expected less than 1"
        )


def _closed(axes: Axes, g: Gains, weights: tuple[float, float, float], mode: float, a: Vec, b: Vec, delay: int) -> Vec:
    """The law's linear equations with r = 0, applied to every unit state at once."""
    ts, size = axes.period_s, len(a)
    states = np.eye(size + 7)
    plant = states[:size]
    integral, last, rate, x1_last, x2_last, x3_last, held = states[size:]
    y = plant[0]
    e = -y
    if axes.order == 1:
        rho, base = e + g.lam * integral, g.lam * e
        rate = 0.0 * rate
    else:
        rate = rate + synchronisation.share(synchronisation.AXIS_RATE_HZ, ts) * ((y - last) / ts - rate)
        rho = -rate + 2.0 * g.lam * e + g.lam**2 * integral
        base = -2.0 * g.lam * rate + g.lam**2 * e
    push = (g.k / g.phi + g.q) * (1.0 + g.beta * mode) * rho
    et = rho / g.sn if mode > 0.0 else 0.0 * rho
    x2 = x2_last + ts / g.ti * et
    x3 = x3_last + synchronisation.share(synchronisation.NETWORK_RATE_HZ, ts) * (g.td * (et - x1_last) / ts - x3_last)
    accel = base + push + g.gs * g.sn * (weights[0] * et + weights[1] * x2 + weights[2] * x3)
    u = (y / axes.lag_s + accel) * axes.lag_s / axes.gain if axes.order == 1 else axes.inertia * accel
    # An integrator that nothing reads has the eigenvalue 1 without any effect.
    x2 = x2 if weights[1] * g.gs > 0.0 and mode > 0.0 else 0.0 * x2
    integral = integral + ts * e if g.lam > 0.0 else 0.0 * integral
    after = a @ plant + np.outer(b, held if delay else u)
    return np.vstack([after, integral, y, rate, et, x2, x3, u])
