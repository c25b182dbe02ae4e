"""Random numbers of a batch: Random123's check vectors, numpy equal to C to the bit, and a normal distribution."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from aeroloop.codegen import batch_build
from aeroloop.core.philox import normals, philox

SOURCE = """
#include "batch_runtime.h"
void words(const uint32_t *counter, const uint32_t *key, uint32_t *out) {
  const uint32_t key0 = key[0], key1 = key[1];
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  AL_PHILOX_ROUNDS
  out[0] = c0; out[1] = c1; out[2] = c2; out[3] = c3;
}
void draw(const uint32_t *flight, const uint32_t *seed, uint32_t step, uint32_t stream, al_real *normals) {
  AL_NORMALS(normals, flight, seed, step, 0, stream)
  AL_NORMALS(normals, flight, seed, step, 1, stream)
}
"""
ONES = 0xFFFFFFFF
VECTORS = [  # kat_vectors of Random123, philox4x32 with 10 rounds: counter, key, expected
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return batch_build.loaded(batch_build.library(SOURCE, batch_build.LANE_FLAGS, tmp_path_factory.mktemp("noise")))


def at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS)
def test_check_vectors(
    compiled: ctypes.CDLL, counter: tuple[int, ...], key: tuple[int, int], expected: tuple[int, ...]
) -> None:
    c0, c1, c2, c3 = counter
    assert tuple(int(word) for word in philox((c0, c1, c2, c3), key)) == expected
    out = np.zeros(4, np.uint32)
    compiled.words(at(np.array(counter, np.uint32)), at(np.array(key, np.uint32)), at(out))
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
