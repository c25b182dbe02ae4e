"""Motors whose thrust is not steady: each motor's command is multiplied by 1 + a Gauss-Markov process of its own.

    n[k+1] = exp(-dt/time) n[k] + std sqrt(1 - exp(-2 dt/time)) w

A stopped motor stays stopped. Numbers are drawn in blocks, since a call of the generator costs as much as a hundred of
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from aeroloop.core.frames import Vec
from aeroloop.core.noise_source import Normals
from aeroloop.core.signals import NS

E_co = TypeVar("E_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)
TIME_S = 0.05
"""Correlation time: about that of turbulent inflow of a rotor of this size. Assumed."""
BLOCK = 256


class Motion(Protocol[E_co, S_co]):
    """Motors and the body that they move."""

    def drive(self, command: Sequence[float], dt_ns: int, /) -> E_co: ...
    def state(self, t_ns: int, /) -> S_co: ...


class NoisyMotors(Generic[E_co, S_co]):
    """The motion with noise on the commands."""

    def __init__(self, motion: Motion[E_co, S_co], std: float, count: int, generator: Normals) -> None:
        self._drive, self._std, self._generator = motion.drive, std, generator
        self.state = motion.state
        self._noise = std * generator.standard_normal(count)
        self._drawn: list[Vec] = []

    def drive(self, command: Sequence[float], dt_ns: int) -> E_co:
        if not self._drawn:
            self._drawn = list(self._generator.standard_normal((BLOCK, len(self._noise))))
        kept = math.exp(-dt_ns / NS / TIME_S)
        self._noise = kept * self._noise + self._std * math.sqrt(1.0 - kept * kept) * self._drawn.pop()
        noisy = tuple(u * (1.0 + n) if u > 0.0 else u for u, n in zip(command, self._noise.tolist(), strict=True))
        return self._drive(noisy, dt_ns)
