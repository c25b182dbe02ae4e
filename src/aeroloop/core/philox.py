"""Philox4x32-10, and the normal numbers that a batch draws from it, in numpy: equal to `codegen/batch_runtime.h`.

A number depends on its key (flight, seed) and counter (step, draw, stream) alone, so flights can be drawn in any order
and on any processor. Reference: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Random123).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Singles = NDArray[np.float32]
F = np.float32

_MULTIPLIER = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDER = F(12582912.0)
"""Added to a number below 2^22, it leaves the nearest integer in the last bits."""


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[Any, Any]) -> tuple[Words, Words, Words, Words]:
    """Four random words of a counter and a key, each a number or an array of them."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    key0, key1 = (np.asarray(word, np.uint64) for word in key)
    low = np.uint64(0xFFFFFFFF)
    for number in range(10):
        first, second = c0 * np.uint64(_MULTIPLIER[0]), c2 * np.uint64(_MULTIPLIER[1])
        step0, step1 = (
            (key_n + np.uint64(number * weyl)) & low for key_n, weyl in zip((key0, key1), _WEYL, strict=True)
        )
        c0, c1, c2, c3 = (
            (second >> np.uint64(32)) ^ c1 ^ step0,
            second & low,
            (first >> np.uint64(32)) ^ c3 ^ step1,
            first & low,
        )
    w0, w1, w2, w3 = (word.astype(np.uint32) for word in np.broadcast_arrays(c0, c1, c2, c3))
    return w0, w1, w2, w3


def normals(flight: Any, seed: Any, step: Any, stream: int, count: int) -> Singles:
    """(count, ...) Standard normal numbers in single precision, as the event of this stream draws them at a step."""
    rows: list[Singles] = []
    for draw in range((count + 3) // 4):
        w0, w1, w2, w3 = philox((step, draw, stream, 0), (flight, seed))
        for radius_bits, angle_bits in ((w0, w1), (w2, w3)):
            radius = np.sqrt(F(-2) * _log(_unit(radius_bits)))
            rows += [radius * _wave(_unit(angle_bits), 1), radius * _wave(_unit(angle_bits), 0)]
    return np.array(rows[:count], F)


def _unit(bits: Words) -> Singles:
    return ((bits >> np.uint32(9)).astype(F) + F(0.5)) * F(1.1920929e-7)


def _fma(a: Any, b: Any, c: Any) -> Singles:
    """a b + c rounded once. The product of two singles is exact in double precision; the sum is rounded to odd, so that
    the second rounding gives what one would."""
    product = np.asarray(a, float) * np.asarray(b, float)
    addend = np.broadcast_to(np.asarray(c, float), product.shape)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    is_even = (total.view(np.int64) & 1) == 0
    odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.asarray(np.where((error != 0) & is_even, odd, total), F)


def _chain(x: Any, *coefficients: float) -> Singles:
    """A polynomial, highest coefficient first."""
    value: Any = F(coefficients[0])
    for coefficient in coefficients[1:]:
        value = _fma(x, value, F(coefficient))
    return np.asarray(value, F)


def _log(x: Singles) -> Singles:
    over = np.asarray(x, F).view(np.int32) - np.int32(0x3F3504F3)
    n = (over >> 23).astype(F)
    f = ((over & np.int32(0x007FFFFF)) + np.int32(0x3F3504F3)).view(F) - F(1)
    z = f * f
    p = _chain(
        f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )  # fmt: skip
    tail = _fma(n, F(-2.12194440e-4), (p * f) * z)
    tail = _fma(z, F(-0.5), tail)
    return _fma(n, F(0.693359375), f + tail)


def _wave(turn: Singles, ahead: int) -> Singles:
    """Sine of a part of a turn, `ahead` quarters later."""
    x = turn * F(6.28318531)
    shifted = _fma(x, F(0.636619772), _ROUNDER)
    turns = shifted - _ROUNDER
    quarter = shifted.view(np.int32) + np.int32(ahead)
    r = _fma(turns, F(-1.57079601), x)
    r = _fma(turns, F(-3.13916473e-7), r)
    r = _fma(turns, F(-5.39030253e-15), r)
    z = r * r
    sine = _fma(_chain(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1) * z, r, r)
    cosine = _chain(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0)
    value = np.where(quarter & 1, cosine, sine)
    return np.where(quarter & 2, -value, value)
