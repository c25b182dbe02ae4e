"""Errors of a trajectory against ground truth, as TUM and evo define them.

ATE: rmse of position after one rigid alignment without scale (Horn). RPE over d: (Q_i^-1 Q_i+d)^-1 (P_i^-1 P_i+d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.perception.slam import se3
from aeroloop.perception.slam.se3 import Array

PAIRED_WITHIN_S = 0.02


@dataclass(frozen=True)
class RelativeError:
    translation_m: float  # rmse
    rotation_deg: float  # rmse
    pairs: int


def nearest(
    t_s: Array, reference_s: Array, within_s: float = PAIRED_WITHIN_S
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices into both of times that belong together: each used once, the closest pairs first."""
    if not len(t_s) or not len(reference_s):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    after = np.searchsorted(reference_s, t_s)
    own = np.tile(np.arange(len(t_s)), 2)
    other = np.concatenate([np.clip(after - 1, 0, None), np.clip(after, None, len(reference_s) - 1)])
    gaps = np.abs(t_s[own] - reference_s[other])
    used_own, used_other, pairs = set[int](), set[int](), []
    for index in np.lexsort((other, own, gaps)):
        a, b = int(own[index]), int(other[index])
        if gaps[index] > within_s:
            break
        if a not in used_own and b not in used_other:
            used_own.add(a)
            used_other.add(b)
            pairs.append((a, b))
    pairs.sort()
    kept = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return kept[:, 0], kept[:, 1]


def nearest_index(t_s: Array, reference_s: Array) -> NDArray[np.intp]:
    """For each time the index of the nearest reference, which may serve several."""
    after = np.clip(np.searchsorted(reference_s, t_s), 1, max(1, len(reference_s) - 1))
    before_is_nearer = t_s - reference_s[after - 1] <= reference_s[np.minimum(after, len(reference_s) - 1)] - t_s
    return np.where(before_is_nearer, after - 1, np.minimum(after, len(reference_s) - 1))


def alignment(pos: Array, pos_true: Array) -> Array:
    """The rigid motion that brings `pos` (n, 3) closest to `pos_true`, least squares."""
    centre, centre_true = pos.mean(axis=0), pos_true.mean(axis=0)
    U, _, Vt = np.linalg.svd((pos_true - centre_true).T @ (pos - centre))
    mirrored = np.diag([1.0, 1.0, np.sign(np.linalg.det(U) * np.linalg.det(Vt))])
    R = U @ mirrored @ Vt
    return se3.compose(R, centre_true - R @ centre)


def position_errors_m(T: Array, T_true: Array) -> Array:
    """Distance of each aligned position from the true one, (n,)."""
    pos, pos_true = T[:, :3, 3], T_true[:, :3, 3]
    errors: Array = np.linalg.norm(se3.transformed(alignment(pos, pos_true), pos) - pos_true, axis=1)
    return errors


def ate_m(T: Array, T_true: Array) -> float:
    return float(np.sqrt(np.mean(position_errors_m(T, T_true) ** 2)))


def rpe(t_s: Array, T: Array, T_true: Array, over_s: float = 1.0) -> RelativeError | None:
    """None if no two poses are `over_s` apart."""
    if len(t_s) < 2:
        return None
    within_s = 0.5 * float(np.median(np.diff(t_s))) + 1e-6
    later = np.searchsorted(t_s, t_s + over_s - within_s)
    first = np.nonzero((later < len(t_s)) & (later > np.arange(len(t_s))))[0]
    first = first[t_s[later[first]] <= t_s[first] + over_s + within_s]
    if not len(first):
        return None
    last = later[first]
    true = se3.inverse(T_true[first]) @ T_true[last]
    errors = se3.log(se3.inverse(true) @ se3.inverse(T[first]) @ T[last])
    moved = (se3.inverse(true) @ se3.inverse(T[first]) @ T[last])[:, :3, 3]
    return RelativeError(
        float(np.sqrt(np.mean(np.sum(moved**2, axis=1)))),
        float(np.degrees(np.sqrt(np.mean(np.sum(errors[:, 3:] ** 2, axis=1))))),
        len(first),
    )
