"""Hills from a seed: the same everywhere, as high and as far apart as asked."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.world.terrain_generator import generate


def digest(heights: np.ndarray) -> str:
    return hashlib.sha256(heights.astype("<i2").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("side", "seed", "expected"), [(128, 1, "5fb8a0edbfb7b909"), (512, 1, "c6c0f634d9f0dbda")])
def test_a_seed_is_a_landscape_on_every_machine(side: int, seed: int, expected: str) -> None:
    assert digest(generate(side, seed)) == expected
    assert digest(generate(side, seed + 1)) != expected


@given(st.integers(1, 8), st.integers(0, 2**64 - 1), st.integers(0, 2000), st.floats(0.2, 0.9))
def test_any_power_of_two_has_the_relief_that_was_asked(order: int, seed: int, relief_m: int, roughness: float) -> None:
    side = 2**order
    heights = generate(side, seed, base_m=300.0, relief_m=float(relief_m), roughness=roughness)
    assert heights.shape == (side, side) and heights.dtype == np.int16
    assert (heights < 300).mean() <= 0.02
    assert (heights > 300 + relief_m).mean() <= 0.02
    ordered = np.sort(heights, axis=None)
    tail = (ordered.size - 1) * 2 // 100
    assert ordered[tail] == 300 and ordered[-1 - tail] == 300 + relief_m


def test_hills_are_as_far_apart_on_a_large_map() -> None:
    def slope(side: int) -> float:
        heights = generate(side, 3).astype(float)
        return float(np.abs(np.diff(heights, axis=0)).mean() / heights.std())

    assert slope(1024) == pytest.approx(slope(128), rel=0.4), "a map of larger hills would be 8 times as gentle"


def test_rough_ground_is_rougher() -> None:
    smooth, rough = (np.abs(np.diff(generate(256, 5, roughness=r).astype(float), axis=1)).mean() for r in (0.3, 0.7))
    assert rough > 2 * smooth


@pytest.mark.parametrize("side", [0, 1, 100, 129, 8192, -4])
def test_other_sizes_are_refused(side: int) -> None:
    with pytest.raises(ConfigError, match="expected a power of two from 2 to 4096"):
        generate(side, 1)
