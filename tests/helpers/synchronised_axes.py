"""Rotors with a spread of gain and lag under the synchronisation law: a small plant for the law's properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import synchronisation
from aeroloop.control.synchronisation import Axes, Coupling
from aeroloop.control.synchronisation_gains import Gains
from aeroloop.core.frames import Vec

ROTORS = Axes(count=4, order=1, period_s=0.002, low=0.0, high=1100.0, lag_s=0.018)
JOINTS = Axes(count=3, order=2, period_s=0.001, low=-4.0, high=4.0, inertia=0.02617506)
GAIN = (0.96, 1.03, 0.98, 1.05)
LAG = (1.1, 0.9, 1.15, 0.95)
LAG_UP_S, LAG_DOWN_S = 0.0125, 0.025


class Stepped:
    """The law with its memory."""

    def __init__(self, axes: Axes, gains: Sequence[float], coupling: Coupling = "mean") -> None:
        self._law = Evaluator(synchronisation.law(axes, coupling))
        self._y, self._ref, self.memory, given = self._law.inputs
        self.u, self._next, self.rho, self.nu, self.w = self._law.outputs
        given[:] = gains

    def __call__(self, y: Sequence[float] | Vec, ref: Sequence[float] | Vec) -> Vec:
        self._y[:], self._ref[:] = y, ref
        self._law()
        self.memory[:] = self._next
        return self.u.copy()


@dataclass
class Flown:
    """What a run of the rotors gave, one row a sample; too long to be printed when a test fails."""

    e: list[Vec] = field(default_factory=list, repr=False)
    u: list[Vec] = field(default_factory=list, repr=False)
    memory: list[Vec] = field(default_factory=list, repr=False)
    rho: list[Vec] = field(default_factory=list, repr=False)

    def errors(self) -> Vec:
        return np.array(self.e)

    def sync_rms(self, since: int = 0) -> float:
        e = self.errors()[since:]
        return float(np.sqrt(np.mean((e - e.mean(axis=1, keepdims=True)) ** 2)))

    def mean_rms(self, since: int = 0) -> float:
        return float(np.sqrt(np.mean(self.errors()[since:].mean(axis=1) ** 2)))


def fly_rotors(
    gains: Gains,
    ref: Callable[[float], Sequence[float]],
    *,
    samples: int,
    load: Callable[[float], Sequence[float]] = lambda t: (0.0,) * 4,
    gain: Sequence[float] = GAIN,
    lag: Sequence[float] = LAG,
    start: Sequence[float] | None = None,
    law: Stepped | None = None,
) -> Flown:
    """`load` is a deceleration (rad/s2); the plant is exact for inputs held over a sample."""
    law = law or Stepped(ROTORS, gains)
    factor, k = np.array(lag), np.array(gain)
    y = np.array(ref(0.0) if start is None else start, dtype=float)
    flown = Flown()
    for i in range(samples):
        t = i * ROTORS.period_s
        r = np.array(ref(t), dtype=float)
        u = law(y, r)
        flown.e.append(r - y)
        flown.u.append(u)
        flown.memory.append(law.memory.copy())
        flown.rho.append(law.rho.copy())
        lag_s = factor * np.where(k * u > y, LAG_UP_S, LAG_DOWN_S)
        target = k * u - lag_s * np.array(load(t))
        y = y + (target - y) * -np.expm1(-ROTORS.period_s / lag_s)
    return flown
