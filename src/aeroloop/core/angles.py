"""Wrapping of angles to one turn about zero, for numbers and columns.

Three forms, because they round differently and logged values depend on which was used:

    wrap_pi             IEEE remainder: exact, -pi to pi with both ends. For integration and control.
    wrap_pi_half_open   modulo: [-pi, pi), for a number or a column. For MAVLink fields and metrics.
    wrap_180            by rounding, for a column of differences: values near zero keep every digit.

Symbolic angles are wrapped by `control.toolkit.wrapped`, and longitudes by `core.geodesy`.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from aeroloop.core.frames import Vec

_Angle = TypeVar("_Angle", float, Vec)


def wrap_pi(angle_rad: float) -> float:
    """Between -pi and pi, both included."""
    return math.remainder(angle_rad, math.tau)


def wrap_pi_half_open(angle_rad: _Angle) -> _Angle:
    """In [-pi, pi)."""
    return (angle_rad + math.pi) % math.tau - math.pi


def wrap_180(angle_deg: Vec) -> Vec:
    """Between -180 and 180, both included."""
    return angle_deg - 360.0 * np.round(angle_deg / 360.0)
