"""The flights of a campaign: the values of the parameters at each point, and the noise seed of each flight.

Draws depend on names, not on order: a parameter's name selects its random stream. So with `random` another parameter,
or more flights, leaves all other values as they are. `sobol` and `lhs` are one block of all drawn parameters: their
values change with it, except that a Sobol block can be doubled. Grids multiply: each point is flown at each
combination.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.campaign.definition import Definition, Parameter, Value

Array = NDArray[np.float64]
NOISE = tuple(b"noise seeds")
SEED_BITS = 31


@dataclass(frozen=True)
class PlannedFlight:
    number: int  # from 1 on
    values: Mapping[str, Value]  # of the parameters, by key
    seed: int


@dataclass(frozen=True)
class Design:
    points: int  # drawn; each is flown at all combinations of the grids, with each of its noise seeds
    combinations: int
    seeds_per_point: int
    remark: str = ""  # for the user, where the number is another one than in the file

    @property
    def flights(self) -> int:
        return self.points * self.combinations * self.seeds_per_point


def design_of(definition: Definition) -> Design:
    combinations = math.prod(len(levels) for _, levels in _grids(definition))
    each = combinations * definition.seeds_per_point
    if definition.design == "grid":
        return Design(1, combinations, definition.seeds_per_point)
    wanted = definition.flights or 0
    points = math.ceil(wanted / each)
    if definition.design == "sobol":
        points = 1 << max(0, points - 1).bit_length()
    design = Design(points, combinations, definition.seeds_per_point)
    if design.flights == wanted:
        return design
    why = "a Sobol design needs a power of two" if definition.design == "sobol" else "each point is flown completely"
    remark = f"{design.flights} flights instead of {wanted}: {why} ({points} points of {each} {_noun(each)})"
    return Design(points, combinations, definition.seeds_per_point, remark)


def flights(definition: Definition) -> Iterator[PlannedFlight]:
    """In the order of their numbers."""
    design = design_of(definition)
    drawn = draws(definition, design.points)
    grids = _grids(definition)
    numbers = itertools.count(1)
    for point in range(design.points):
        own = {key: values[point] for key, values in drawn.items()}
        for levels in itertools.product(*(levels for _, levels in grids)):
            at = {**own, **{key: level for (key, _), level in zip(grids, levels, strict=True)}}
            for repeat in range(design.seeds_per_point):
                yield PlannedFlight(next(numbers), at, noise_seed(definition.seed, point, repeat))


def noise_seed(seed: int, point: int, repeat: int = 0) -> int:
    """The same at all combinations of the grids, so that they differ in nothing else."""
    sequence = np.random.SeedSequence(seed, spawn_key=(*NOISE, point, repeat))
    return int(sequence.generate_state(1)[0] >> (32 - SEED_BITS))


def draws(definition: Definition, points: int) -> dict[str, Sequence[Value]]:
    """Values of the drawn parameters at each point, by key."""
    drawn = sorted((each for each in definition.parameter if each.levels is None), key=lambda each: each.key)
    if not drawn:
        return {}
    if definition.design in ("sobol", "lhs"):
        block = _block(definition.design, len(drawn), points, definition.seed)
        return {parameter.key: _values(parameter, block[:, index]) for index, parameter in enumerate(drawn)}
    return {each.key: _values(each, _stream(definition.seed, each.key).random(points)) for each in drawn}


def _stream(seed: int, key: str) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(key.encode())))


def _block(design: str, dimensions: int, points: int, seed: int) -> Array:
    from scipy.stats import qmc

    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(design.encode())))
    if design == "lhs":
        drawn: Array = qmc.LatinHypercube(dimensions, rng=rng).random(points)
        return drawn
    scrambled: Array = qmc.Sobol(dimensions, scramble=True, rng=rng).random(points)
    return scrambled


def _values(parameter: Parameter, uniform: Array) -> list[Value]:
    """From numbers in [0, 1)."""
    if parameter.uniform is not None:
        low, high = parameter.uniform
        return [float(value) for value in low + (high - low) * uniform]
    if parameter.normal is not None:
        from scipy.special import ndtri

        normal = parameter.normal
        inside = np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53)
        values = normal.mean + normal.std * ndtri(inside)
        return [float(value) for value in (np.clip(values, *normal.clip) if normal.clip else values)]
    choices = parameter.choice
    assert choices is not None
    weights = np.array(parameter.weights or (1.0,) * len(choices))
    bounds = np.cumsum(weights) / weights.sum()
    picked = np.minimum(np.searchsorted(bounds, uniform, side="right"), len(choices) - 1)
    return [choices[int(index)] for index in picked]


def _grids(definition: Definition) -> list[tuple[str, tuple[Value, ...]]]:
    found = ((parameter.key, parameter.levels) for parameter in definition.parameter)
    return [(key, levels) for key, levels in found if levels is not None]


def _noun(count: int) -> str:
    return "flight" if count == 1 else "flights"
