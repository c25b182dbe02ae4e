"""The random streams of a flight, by name. The one place that decides where noise comes from (`[noise]`).

    pcg       numpy: a generator for each name, from the seed
    philox    the numbers that a batch draws for flight `noise.flight` with this seed (`core/philox.py`)

A batch draws by events, not by names: the event of a call draws, in cycle c, the normals of the counter
(c, draw, stream), four for each draw. So a family that has a batch gives a table from the names of its streams to
`Drawn`: the call's stream number (`batch.loop.Call.stream`, a number of its own for each call that draws), the index of
the channel's first number among the call's `normals`, how many it takes for a sample, and the cycles at which samples
are due (`every`, `phase` of the call). Stream numbers and indices are fixed by the family's loop: that module holds the
table, `streams` is given it where the vehicle is built, and a name that is not in the table stays with numpy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aeroloop.core import philox
from aeroloop.core.noise_source import NoiseSource, Normals

BLOCK = 128
"""Samples drawn at once."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Where a channel's numbers are among those of a batch: sample n takes `count` numbers from the index `first` on
    of those that the call with this stream draws in cycle `phase + n every`."""

    stream: int
    count: int
    first: int = 0
    every: int = 1
    phase: int = 0


@dataclass(frozen=True, slots=True)
class Flight:
    """A flight of a batch: its number, and the places of its channels' numbers, by name."""

    number: int
    channels: Mapping[str, Drawn]


@dataclass(frozen=True, slots=True)
class Streams:
    """Random streams by name: draws of one never change another, nor does adding or removing one."""

    seed: int
    path: tuple[str, ...] = ()
    flight: Flight | None = None

    def child(self, name: str) -> Streams:
        return replace(self, path=(*self.path, name))

    def generator(self, name: str) -> Normals:
        key = "/".join((*self.path, name))
        return self.in_batch(key) or np.random.default_rng(
            np.random.SeedSequence(self.seed, spawn_key=tuple(key.encode()))
        )

    def in_batch(self, name: str) -> Normals | None:
        """The numbers of a batch's flight for a whole name; None where numpy draws them."""
        drawn = self.flight.channels.get(name) if self.flight else None
        return PhiloxNormals(drawn, self.flight.number, self.seed) if drawn and self.flight else None


def streams(seed: int, source: NoiseSource, channels: Mapping[str, Drawn] | None = None) -> Streams:
    """Of a flight; `channels`: the places of its family's batch."""
    flight = Flight(source.flight, channels or {}) if source.generator == "philox" else None
    return Streams(seed, flight=flight)


class PhiloxNormals:
    """The numbers of one channel in one flight of a batch, sample by sample."""

    def __init__(self, drawn: Drawn, flight: int, seed: int) -> None:
        self._drawn, self._flight, self._seed = drawn, flight, seed
        self._drawn_to = 0  # samples
        self._left = np.empty(0)

    def standard_normal(self, size: int | tuple[int, ...], /) -> Any:
        """The next numbers, whole samples in order."""
        wanted = math.prod(size) if isinstance(size, tuple) else size
        while len(self._left) < wanted:
            self._left = np.concatenate([self._left, self._block()])
        taken, self._left = self._left[:wanted], self._left[wanted:]
        return taken.reshape(size)

    def _block(self) -> Any:
        drawn = self._drawn
        cycles = drawn.phase + drawn.every * np.arange(self._drawn_to, self._drawn_to + BLOCK)
        self._drawn_to += BLOCK
        numbers = philox.normals(self._flight, self._seed, cycles, drawn.stream, drawn.first + drawn.count)
        return numbers[drawn.first :].T.astype(float).ravel()
