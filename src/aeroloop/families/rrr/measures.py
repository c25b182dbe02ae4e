"""How well the joints follow their references, and how they keep together: numbers from arrays, one row a period.

Errors are reference minus true angle. Chatter is the RMS of the second difference of the torque commands, as a
percentage of the largest torque.
"""

from __future__ import annotations

import numpy as np

from aeroloop.analysis.statistics import Array, largest, rms

METRICS = (
    *("joint_rms_rad", "joint_sync_rms_rad", "joint_error_max_rad", "position_rms_m", "angle_rms_rad"),
    *("torque_rms_Nm", "torque_chatter_pct"),
)


def synchronisation(errors: Array) -> Array:
    """Errors minus the mean error of all joints."""
    found: Array = errors - errors.mean(axis=1, keepdims=True)
    return found


def measures(errors: Array, off: Array, command: Array, torque_max_Nm: float) -> dict[str, float]:
    """Of joint errors, of pose errors and of torque commands, three columns each."""
    values = (
        rms(errors.ravel()),
        rms(synchronisation(errors).ravel()),
        largest(np.abs(errors.ravel())),
        rms(np.hypot(off[:, 0], off[:, 1])),
        rms(off[:, 2]),
        rms(command.ravel()),
        100.0 * rms(np.diff(command, 2, axis=0).ravel()) / torque_max_Nm,
    )
    return dict(zip(METRICS, values, strict=True))
