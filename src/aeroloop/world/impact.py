"""Impacts of rigid bodies: impulses at contact points, by Newton's law of restitution and Coulomb's law of friction.

At a contact with the normal n away from the other body, and r from the centre of mass to the contact,

    j = -(1 + e) v_n / (1/m + n . (I^-1 (r x n)) x r + the same of the other body)

changes the velocities by j n / m and I^-1 (r x j n). Contacts are visited in turn, several times. What is left of an
overlap is removed by moving the bodies apart. B. Mirtich, "Impulse-based Dynamic Simulation of Rigid Body Systems",
1996, ch. 3; E. Guendelman, R. Bridson, R. Fedkiw, "Nonconvex Rigid Bodies with Stacking", SIGGRAPH 2003.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.world.solids import Contact

RESTITUTION = 0.2
FRICTION = 0.5
SLOW_M_S = 0.5
"""Slower contacts do not bounce."""
SWEEPS = 6


@dataclass
class Struck:
    """A body in an impact; one without mass is not moved by it."""

    pos_W: Vec
    vel_W: Vec
    rate_W: Vec = field(default_factory=lambda: np.zeros(3))
    mass_kg: float = math.inf
    inertia_W: Vec | None = None  # (3, 3)

    def __post_init__(self) -> None:
        self._per_mass = 1.0 / self.mass_kg
        self._per_inertia = np.zeros((3, 3)) if self.inertia_W is None else np.linalg.inv(self.inertia_W)

    def speed_at(self, point_W: Vec) -> Vec:
        moved: Vec = self.vel_W + np.cross(self.rate_W, point_W - self.pos_W)
        return moved

    def softness(self, point_W: Vec, along_W: Vec) -> float:
        """Change of velocity at a point, per impulse in this direction."""
        arm = point_W - self.pos_W
        return self._per_mass + float(along_W @ np.cross(self._per_inertia @ np.cross(arm, along_W), arm))

    def push(self, point_W: Vec, impulse_W: Vec) -> None:
        self.vel_W = self.vel_W + self._per_mass * impulse_W
        self.rate_W = self.rate_W + self._per_inertia @ np.cross(point_W - self.pos_W, impulse_W)


def closing_m_s(contacts: Sequence[Contact], first: Struck, second: Struck) -> float:
    """Largest speed at which the bodies approach at a contact; 0: they separate."""
    return max(
        (-float(each.normal_W @ (second.speed_at(each.point_W) - first.speed_at(each.point_W))) for each in contacts),
        default=0.0,
    )


def separate(contacts: Sequence[Contact], first: Struck, second: Struck) -> None:
    """Change velocities and positions of both; normals point from the first to the second. Two bodies without mass stay
    as they are."""
    whole = first._per_mass + second._per_mass
    if whole == 0.0:
        return
    for sweep in range(SWEEPS):
        for point_W, normal_W, _ in contacts:
            _bounce(point_W, normal_W, first, second, RESTITUTION if sweep == 0 else 0.0)
    deepest = max(contacts, key=lambda each: each.depth_m)
    shift_W = deepest.normal_W * deepest.depth_m / whole
    first.pos_W = first.pos_W - first._per_mass * shift_W
    second.pos_W = second.pos_W + second._per_mass * shift_W


def _bounce(point_W: Vec, normal_W: Vec, first: Struck, second: Struck, restitution: float) -> None:
    apart_W = second.speed_at(point_W) - first.speed_at(point_W)
    along = float(normal_W @ apart_W)
    if along >= 0.0:
        return
    kept = restitution if -along > SLOW_M_S else 0.0
    impulse = -(1.0 + kept) * along / (first.softness(point_W, normal_W) + second.softness(point_W, normal_W))
    sliding_W = apart_W - along * normal_W
    sliding = float(np.linalg.norm(sliding_W))
    total_W = impulse * normal_W
    if sliding > 0.0:
        against_W = -sliding_W / sliding
        to_stop = sliding / (first.softness(point_W, against_W) + second.softness(point_W, against_W))
        total_W = total_W + min(FRICTION * impulse, to_stop) * against_W
    second.push(point_W, total_W)
    first.push(point_W, -total_W)
