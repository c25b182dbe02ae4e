"""The flights of a campaign: the values of the parameters at each point, and the noise seed of each flight.

Draws depend on names, not on order: a parameter's name selects its random stream. So with `random` another parameter,
or more flights, leaves all other values as they are. `sobol` and `lhs` are one block of all drawn parameters: their
values change with it, except that a Sobol block can be doubled. Grids multiply: each point is flown at each
combination.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.campaign.definition import Definition
from aeroloop.campaign.design_size import design_of
from aeroloop.campaign.parameter import Parameter, Value
from aeroloop.core.errors import ConfigError

Array = NDArray[np.float64]
NOISE = tuple(b"noise seeds")
SEED_BITS = 31


@dataclass(frozen=True)
class PlannedFlight:
    number: int  # from 1 on
    values: Mapping[str, Value]  # of the parameters, by key
    seed: int  # of its noise; its number in the batch where the scenario draws a batch's noise


@dataclass(frozen=True)
class Columns:
    """Flights in the order of their numbers: values by key, and the numbers of their noise in the batch."""

    values: Mapping[str, Array]
    noise: NDArray[np.uint32]

    @property
    def count(self) -> int:
        return len(self.noise)

    def part(self, first: int, end: int) -> Columns:
        return Columns({key: own[first:end] for key, own in self.values.items()}, self.noise[first:end])


def flights(definition: Definition, *, philox: bool = False) -> Iterator[PlannedFlight]:
    """In the order of their numbers. `philox`: their noise is that of a batch."""
    design = design_of(definition)
    drawn = draws(definition, design.points)
    grids = _grids(definition)
    numbers = itertools.count(1)
    for point in range(design.points):
        own = {key: values[point] for key, values in drawn.items()}
        for levels in itertools.product(*(levels for _, levels in grids)):
            at = {**own, **{key: level for (key, _), level in zip(grids, levels, strict=True)}}
            for repeat in range(design.seeds_per_point):
                own_noise = point * design.seeds_per_point + repeat
                seed = own_noise if philox else noise_seed(definition.seed, point, repeat)
                yield PlannedFlight(next(numbers), at, seed)


def columns(definition: Definition) -> Columns:
    """The same flights, for the batch engine; ValueError names a key whose values are not numbers."""
    if definition.sensitivity is not None:
        return sobol_columns(definition)
    design, grids = design_of(definition), _grids(definition)
    drawn = {key: _numbers(key, values) for key, values in draws(definition, design.points).items()}
    each = design.combinations * design.seeds_per_point
    values = {key: np.repeat(own, each) for key, own in drawn.items()}
    inner = design.combinations
    for key, levels in grids:
        inner //= len(levels)
        own = np.repeat(_numbers(key, levels), inner * design.seeds_per_point)
        values[key] = np.tile(own, design.flights // len(own))
    points = np.arange(design.points, dtype=np.uint32).repeat(each) * np.uint32(design.seeds_per_point)
    repeats = np.tile(np.arange(design.seeds_per_point, dtype=np.uint32), design.points * design.combinations)
    return Columns(values, points + repeats)


def sobol_columns(definition: Definition) -> Columns:
    """Points A, B, and A with each column in turn from B (Saltelli 2010). A has other noise than B; what differs from a
    point of A in one column has its noise."""
    settings = definition.sensitivity
    assert settings is not None
    drawn = sorted(definition.parameter, key=lambda each: each.key)
    n, d = settings.samples, len(drawn)
    block = _block("sobol", 2 * d, n, definition.seed)
    A, B = block[:, :d], block[:, d:]
    mixed = [np.where(np.arange(d) == i, B, A) for i in range(d)]
    points = np.concatenate([A, B, *mixed])
    noise = np.concatenate([np.arange(2 * n), *[np.arange(n)] * d]).astype(np.uint32)
    return Columns({each.key: quantiles(each, points[:, index]) for index, each in enumerate(drawn)}, noise)


def _numbers(key: str, values: Sequence[Value]) -> Array:
    for value in values:
        if isinstance(value, str | bool):
            raise ConfigError(f"{key}: a batch varies numbers, not {value!r}; expected engine = bench")
    return np.array(values, float)


def noise_seed(seed: int, point: int, repeat: int = 0) -> int:
    """The same at all combinations of the grids, so that they differ in nothing else."""
    sequence = np.random.SeedSequence(seed, spawn_key=(*NOISE, point, repeat))
    return int(sequence.generate_state(1)[0] >> (32 - SEED_BITS))


def draws(definition: Definition, points: int) -> dict[str, Sequence[Value]]:
    """Values of the drawn parameters at each point, by key."""
    drawn = sorted((each for each in definition.parameter if each.count is None), key=lambda each: each.key)
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


def quantiles(parameter: Parameter, uniform: Array) -> Array:
    """Of a uniform or normal distribution, at numbers in [0, 1)."""
    if parameter.uniform is not None:
        low, high = parameter.uniform
        return np.asarray(low + (high - low) * uniform)
    from scipy.special import ndtri

    normal = parameter.normal
    assert normal is not None
    values = normal.mean + normal.std * ndtri(np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53))
    return np.asarray(np.clip(values, *normal.clip) if normal.clip else values)


def _values(parameter: Parameter, uniform: Array) -> Sequence[Value]:
    """From numbers in [0, 1)."""
    if parameter.uniform is not None or parameter.normal is not None:
        found: list[Value] = quantiles(parameter, uniform).tolist()
        return found
    choices = parameter.choice
    assert choices is not None
    weights = np.array(parameter.weights or (1.0,) * len(choices))
    bounds = np.cumsum(weights) / weights.sum()
    picked = np.minimum(np.searchsorted(bounds, uniform, side="right"), len(choices) - 1)
    return [choices[int(index)] for index in picked]


def _grids(definition: Definition) -> list[tuple[str, tuple[Value, ...]]]:
    found = ((parameter.key, parameter.levels) for parameter in definition.parameter)
    return [(key, levels) for key, levels in found if levels is not None]
