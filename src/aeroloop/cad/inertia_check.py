"""Mass and moments of inertia as files state them, checked: no body has moments that contradict one another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aeroloop.cad.inertial import Inertial, Pose
from aeroloop.core.errors import ConfigError

SLACK = 1e-3
"""Files have rounded numbers: of a flat body the largest moment may exceed the sum of the others by this fraction."""


def checked_inertia(mass_kg: float, moments: Sequence[float], at: Pose, where: str) -> Inertial:
    """From ixx, iyy, izz, ixy, ixz, iyz (elements of the matrix) in a frame with its origin in the centre of mass."""
    xx, yy, zz, xy, xz, yz = moments
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass_kg < 0.0 or (mass_kg == 0.0 and matrix.any()):
        raise ConfigError(f"{where}: mass: expected more than 0, not {mass_kg:g}")
    low, middle, high = (float(value) for value in np.linalg.eigvalsh(matrix))
    if low < -SLACK * abs(high):
        raise ConfigError(f"{where}: inertia: its principal moment {low:.3g} is negative; expected positive ones")
    if high > (low + middle) * (1.0 + SLACK):
        raise ConfigError(
            f"{where}: inertia: the largest principal moment {high:.3g} exceeds the sum of the others, {low:.3g} and "
            f"{middle:.3g}; no body has these (a moment or a sign is wrong)"
        )
    return Inertial(mass_kg, np.zeros(3), matrix).moved(at)
