"""Signals at equal steps: linear between rows, or held; angles without their jumps; nothing across a gap."""

from __future__ import annotations

import numpy as np

from aeroloop.flown.record import Array, Signal
from aeroloop.flown.segments import GAP_S

RATE_HZ = 100.0


def grid(start_s: float, end_s: float, rate_hz: float = RATE_HZ) -> Array:
    """Times from start to end; counted, not added up, so that steps stay equal."""
    return start_s + np.arange(int(np.floor((end_s - start_s) * rate_hz + 1e-9)) + 1) / rate_hz


def unwrapped(signal: Signal) -> Array:
    turn = signal.quantity.turn
    return np.unwrap(signal.values, period=turn) if turn else signal.values


def resampled(signal: Signal, t_s: Array) -> Array:
    """NaN before the first row, after the last one, and in a gap of rows that are interpolated."""
    if signal.quantity.held:
        return signal.held(t_s)
    after = np.searchsorted(signal.t_s, t_s, side="right")
    values = np.interp(t_s, signal.t_s, unwrapped(signal), left=np.nan, right=np.nan)
    gap_s = max(GAP_S, 3.0 / signal.rate_hz if signal.rate_hz else 0.0)
    steps_s = np.diff(signal.t_s)
    if not np.any(steps_s > gap_s):
        return values
    between = np.clip(after, 1, len(signal.t_s) - 1) - 1
    within = (after > 0) & (after < len(signal.t_s)) & (signal.t_s[between] != t_s)
    values[within & (steps_s[between] > gap_s)] = np.nan
    return values
