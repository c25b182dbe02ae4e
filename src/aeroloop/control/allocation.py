"""From total thrust and torques to the thrusts of n upright rotors that all alike have a least and a largest one.

What they cannot all have is cut in this order: yaw first, then total thrust, then roll and pitch together in
proportion. Thrust moves no further than the rest needs, and yaw may push it by a small reserve only.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from aeroloop.control.toolkit import clip
from aeroloop.core.frames import Vec, Vec3

YAW_RESERVE = 0.1
"""Share of a rotor's range that yaw may claim from the total thrust: at full throttle it still turns."""
FREE = 1e6
"""A cut that leaves everything."""


def effects(pos_B_m: tuple[Vec3, ...], spin: tuple[int, ...], torque_to_thrust_m: float) -> Vec:
    """(4, n) Total thrust and the torques about x, y and z, of the thrust of each rotor."""
    pos = np.array(pos_B_m)
    return np.vstack([np.ones(len(spin)), pos[:, 1], -pos[:, 0], -np.array(spin) * torque_to_thrust_m])


def allocate(per_rotor: Vec, wrench: Any, least_N: float, most_N: float) -> Any:
    """(n,) Thrusts within their limits that come as close to `wrench` (4,) as the order above allows."""
    shares = np.linalg.pinv(per_rotor).astype(np.float64)
    lift = shares[:, 0]
    tilting = ca.DM(shares[:, 1:3]) @ wrench[1:3]
    turning = ca.DM(shares[:, 3]) * wrench[3]
    tilting = tilting * _largest_cut(tilting, lift, least_N, most_N)
    reserved = turning * ca.fmin(1, YAW_RESERVE * (most_N - least_N) / (ca.mmax(ca.fabs(turning)) + 1e-9))
    total = clip(wrench[0], *_range(tilting + reserved, lift, least_N, most_N))
    total = clip(total, *_range(tilting, lift, least_N, most_N))
    thrusts = ca.DM(lift) * total + tilting
    room = ca.if_else(turning > 0, most_N - thrusts, thrusts - least_N)
    cut = ca.mmin(ca.if_else(ca.fabs(turning) > 1e-9, room / ca.fmax(ca.fabs(turning), 1e-9), FREE))
    # Once more within the limits: rounding must not stop a motor.
    return clip(thrusts + turning * clip(cut, 0, 1), least_N, most_N)


def _largest_cut(part: Any, lift: Vec, least_N: float, most_N: float) -> Any:
    """The largest share (0..1) of `part` for which some total thrust keeps every rotor within its limits."""
    cut: Any = 1
    for i in range(len(lift)):
        for j in range(len(lift)):
            if i != j:
                apart = part[i] / lift[i] - part[j] / lift[j]
                bound = most_N / lift[i] - least_N / lift[j]
                cut = ca.fmin(cut, ca.if_else(apart > bound, bound / ca.fmax(apart, 1e-9), 1))
    return cut


def _range(part: Any, lift: Vec, least_N: float, most_N: float) -> tuple[Any, Any]:
    """Least and largest total thrust that leave room for `part`."""
    return ca.mmax((least_N - part) / ca.DM(lift)), ca.mmin((most_N - part) / ca.DM(lift))
