"""Random numbers of a batch: Random123's check vectors, numpy equal to C to the bit, and a normal distribution."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from aeroloop.codegen import batch_build
from aeroloop.core.philox import normals, philox
from tools import batch_philox

SOURCE = (
    batch_philox.C
    + """
void draw(const uint32_t *flight, const uint32_t *seed, uint32_t step, uint32_t stream, al_real *normals) {
  AL_NORMALS(normals, flight, seed, step, 0, stream)
  AL_NORMALS(normals, flight, seed, step, 1, stream)
}
"""
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return batch_build.loaded(batch_build.library(SOURCE, batch_build.LANE_FLAGS, tmp_path_factory.mktemp("noise")))


def at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("counter", "key", "expected"), batch_philox.VECTORS)
def test_check_vectors(
    compiled: ctypes.CDLL, counter: tuple[int, ...], key: tuple[int, int], expected: tuple[int, ...]
) -> None:
    c0, c1, c2, c3 = counter
    assert tuple(int(word) for word in philox((c0, c1, c2, c3), key)) == expected
    out = np.zeros(4, np.uint32)
    compiled.aeroloop_philox(at(np.array([*counter, *key], np.uint32)), 1, at(out))
    assert tuple(out.tolist()) == expected


def test_numpy_draws_the_numbers_of_c(compiled: ctypes.CDLL) -> None:
    flights, seeds = np.arange(16, dtype=np.uint32), np.arange(100, 116, dtype=np.uint32)
    out = np.zeros((8, 16), np.float32)
    for step in range(300):
        compiled.draw(at(flights), at(seeds), ctypes.c_uint32(step), ctypes.c_uint32(3), at(out))
        assert out.tobytes() == normals(flights, seeds, step, 3, 8).tobytes()


def test_they_are_normal_and_independent() -> None:
    drawn = normals(np.arange(250_000), 7, 11, 2, 4)
    assert np.abs(drawn.mean(axis=1)).max() < 0.01
    assert np.abs(drawn.std(axis=1) - 1).max() < 0.01
    assert np.abs(np.mean(drawn.astype(float) ** 4) - 3) < 0.05
    assert np.abs(np.corrcoef(drawn) - np.eye(4)).max() < 0.01
    other = normals(np.arange(250_000), 7, 12, 2, 4)
    assert abs(np.corrcoef(drawn[0], other[0])[0, 1]) < 0.01
    assert np.max(np.abs(drawn)) < 5.8
