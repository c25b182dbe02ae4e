"""Control allocation: from total thrust and torques to the thrusts of n upright rotors with equal limits.

If the limits are exceeded, demands are reduced in this order: yaw first, then total thrust, then roll and pitch
together in proportion. Thrust changes no more than necessary, and for yaw only by a small reserve. Rotors that cannot
produce yaw independently, as those of a hexarotor that lost one, produce none.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from aeroloop.control.toolkit import clip
from aeroloop.core.frames import Vec, Vec3

YAW_RESERVE = 0.1
"""Fraction of a rotor's range that yaw may take from the total thrust, so that it still acts at full throttle."""
FREE = 1e6
"""A factor that never limits."""
NEEDED_SHARE = 0.1
"""Fraction of the mean thrust in hover; a rotor with less is switched off."""
LEAST_EFFECT = 1e-6
"""Singular values below this count as zero."""


def effects(
    pos_B_m: tuple[Vec3, ...], spin: tuple[int, ...], torque_to_thrust_m: float, shares: tuple[float, ...] = ()
) -> Vec:
    """(4, n) Total thrust and torques about x, y and z per rotor thrust in free air; `shares` is the fraction each
    rotor has of that, 1 by default."""
    pos, share = np.array(pos_B_m), np.array(shares or (1.0,) * len(spin))
    return np.vstack([share, share * pos[:, 1], -share * pos[:, 0], -np.array(spin) * torque_to_thrust_m])


def allocate(per_rotor: Vec, wrench: Any, least_N: float, most_N: float) -> Any:
    """(n,) Thrusts within their limits that come as close to `wrench` (4,) as the order above allows."""
    shares = _shares(per_rotor)
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
    # Limit again: rounding must not stop a motor.
    return clip(thrusts + turning * clip(cut, 0, 1), least_N, most_N)


def allocate_without(lost: int, per_rotor: Vec, wrench: Any, least_N: float, most_N: float) -> Any:
    """The same with one rotor failed. A rotor without use after that, as the opposite one in a hexarotor, stops too: it
    could only tilt the aircraft."""
    alive = [i for i in range(per_rotor.shape[1]) if i != lost]
    lift = np.linalg.pinv(per_rotor[:, alive])[:, 0]
    kept = [i for i, share in zip(alive, lift, strict=True) if share > NEEDED_SHARE * lift.mean()]
    thrusts = allocate(per_rotor[:, kept], wrench, least_N, most_N)
    every = [ca.SX(0)] * per_rotor.shape[1]
    for place, i in enumerate(kept):
        every[i] = thrusts[place]
    return ca.vertcat(*every)


def _shares(per_rotor: Vec) -> Vec:
    """(n, 4) Thrust of each rotor for total thrust and torques."""
    if np.linalg.matrix_rank(per_rotor, tol=LEAST_EFFECT) == len(per_rotor):
        return np.linalg.pinv(per_rotor).astype(np.float64)
    return np.hstack([np.linalg.pinv(per_rotor[:3]), np.zeros((per_rotor.shape[1], 1))])


def _largest_cut(part: Any, lift: Vec, least_N: float, most_N: float) -> Any:
    """The largest fraction (0..1) of `part` for which some total thrust keeps every rotor within its limits."""
    cut: Any = 1
    for i in range(len(lift)):
        for j in range(len(lift)):
            if i != j:
                apart = part[i] / lift[i] - part[j] / lift[j]
                bound = most_N / lift[i] - least_N / lift[j]
                cut = ca.fmin(cut, ca.if_else(apart > bound, bound / ca.fmax(apart, 1e-9), 1))
    return cut


def _range(part: Any, lift: Vec, least_N: float, most_N: float) -> tuple[Any, Any]:
    """Smallest and largest total thrust that leave room for `part`."""
    return ca.mmax((least_N - part) / ca.DM(lift)), ca.mmin((most_N - part) / ca.DM(lift))
