"""The objects of one aircraft's world: which ones it touches, and what its range finder's beam hits.

Broad phase: the distance from the aircraft to the nearest object's boxes is the radius of a ball of free space. While
the aircraft is in that ball, which shrinks with the speed of moving objects, a step costs one comparison. Where its
own sphere overlaps a box, exact distances between geometries take the place of the ball, as long as it hardly turns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.shape import Shape, solid_parts
from aeroloop.core.signals import NS
from aeroloop.world.placed_objects import PlacedObject
from aeroloop.world.solids import NEAR_M, Contact, Solids

TURN = 2.2
"""An angle in rad is at most this times the distance of its unit quaternions, up to 75 degrees."""
BESIDE_M = 3.0
"""The geometries beside a beam are collected again after the aircraft has moved as far."""
MOVED_S = 1e-3
"""Time in which a moving object's velocity is measured."""


Sphere = tuple[int, list[float], float]
"""A geometry, and centre and radius of a sphere about it."""


class Touch(NamedTuple):
    """A contact of the aircraft with an object."""

    number: int  # of the object
    contact: Contact
    vel_W: Vec  # of the object


class Obstacles:
    def __init__(self, objects: Sequence[PlacedObject], shape: Shape) -> None:
        self.objects = tuple(objects)
        self._reach_m = shape.reach_m
        self._aircraft = len(self.objects)
        self._solids = solids = Solids([*(each.parts for each in objects), solid_parts(shape)])
        for each in objects:
            solids.place(each.number, *each.pose(0.0))
        boxes = [solids.boxes(each.number) for each in objects]
        self._centres = np.concatenate([box[0] for box in boxes])
        self._axes = np.concatenate([box[1] for box in boxes])
        self._halves = np.concatenate([box[2] for box in boxes])
        self._owner = np.concatenate(
            [np.full(len(box[0]), each.number) for each, box in zip(objects, boxes, strict=True)]
        )
        self._moving = [each for each in objects if each.moving]
        self._fastest_m_s = max((each.speed_m_s for each in self._moving), default=0.0)
        self._moves = np.isin(self._owner, [each.number for each in self._moving])
        self._moving_geoms: list[int] = np.flatnonzero(self._moves).tolist()
        self._beam: tuple[Vec3, float, list[Sphere]] = ((0.0, 0.0, 0.0), -1.0, [])  # where, length, what stands there
        self._moved_ns = 0
        self._ball: tuple[float, float, float, float, int] = (0.0, 0.0, 0.0, -1.0, 0)  # centre, radius, time in ns
        self._near: tuple[float, int, Vec3, Quat] = (0.0, 0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))  # distance, when
        self.searches = 0  # how often all objects were compared, for tests

    def touches(self, t_ns: int, pos_W: Vec3, quat_WB: Quat) -> list[Touch]:
        """Contacts with objects; most steps return at the first comparison. A NaN position touches nothing."""
        x, y, z = pos_W
        at_x, at_y, at_z, free_m, since_ns = self._ball
        dx, dy, dz = x - at_x, y - at_y, z - at_z
        free_m -= self._fastest_m_s * abs(t_ns - since_ns) / NS
        if free_m > 0.0 and dx * dx + dy * dy + dz * dz < free_m * free_m:
            return []
        if self._still_apart(t_ns, pos_W, quat_WB) or not math.isfinite(x + y + z + sum(quat_WB)):
            return []
        return self._search(t_ns, pos_W, quat_WB)

    def _still_apart(self, t_ns: int, pos_W: Vec3, quat_WB: Quat) -> bool:
        """Whether no point has moved as far as the nearest object was away when distances were measured."""
        apart_m, since_ns, was_W, was_WB = self._near
        if apart_m <= 0.0:
            return False
        (a, b, c, d), (w, i, j, k) = quat_WB, was_WB
        apart_2 = 2.0 - 2.0 * abs(a * w + b * i + c * j + d * k)  # of the quaternions, either of which may be negated
        turned = TURN * math.sqrt(apart_2) if apart_2 > 0.0 else 0.0
        passed_m = self._fastest_m_s * abs(t_ns - since_ns) / NS
        return math.dist(pos_W, was_W) + turned * self._reach_m + passed_m < apart_m

    def _search(self, t_ns: int, pos_W: Vec3, quat_WB: Quat) -> list[Touch]:
        self.searches += 1
        self._move(t_ns)
        gaps_m = self._gaps_m(pos_W)
        self._ball = (*pos_W, float(gaps_m.min()), t_ns)
        self._near = (0.0, t_ns, pos_W, quat_WB)
        near = np.flatnonzero(gaps_m <= NEAR_M)
        if not near.size:
            return []
        self._solids.place(self._aircraft, pos_W, quat_WB)
        found, apart_m = self._solids.touching(near.tolist(), self._solids.geoms[self._aircraft])
        self._near = (apart_m, t_ns, pos_W, quat_WB)
        touched = [(self.objects[int(self._owner[geom])], contact) for geom, contact in found]
        return [Touch(each.number, contact, self._vel_W(each, t_ns)) for each, contact in touched]

    def beam_m(self, t_ns: int, pos_W: Vec3, direction_W: Vec3, most_m: float) -> float:
        """Distance along a unit vector to the first object, up to `most_m`; infinite without one."""
        self._move(t_ns)
        x, y, z = pos_W
        dx, dy, dz = direction_W
        nearest_m = math.inf
        for geom, (cx, cy, cz), radius_m in (*self._beside(pos_W, most_m), *map(self._sphere, self._moving_geoms)):
            ax, ay, az = cx - x, cy - y, cz - z
            along_m = ax * dx + ay * dy + az * dz
            aside_2 = ax * ax + ay * ay + az * az - along_m * along_m
            if aside_2 < radius_m * radius_m and -radius_m < along_m < most_m + radius_m:
                hit_m = self._solids.ray_m(geom, pos_W, direction_W)
                if 0.0 <= hit_m < nearest_m:
                    nearest_m = hit_m
        return nearest_m if nearest_m <= most_m else math.inf

    def _beside(self, pos_W: Vec3, most_m: float) -> list[Sphere]:
        """Geometries that stand and that a beam of this length may hit: kept while the aircraft is near."""
        at_W, far_m, kept = self._beam
        if math.dist(pos_W, at_W) > BESIDE_M or most_m > far_m:
            far_m = most_m + BESIDE_M
            near = (self._gaps_m(pos_W) + self._reach_m < far_m + BESIDE_M) & ~self._moves
            kept = [self._sphere(geom) for geom in np.flatnonzero(near).tolist()]
            self._beam = pos_W, far_m, kept
        return kept

    def _sphere(self, geom: int) -> Sphere:
        return geom, *self._solids.sphere(geom)

    def _gaps_m(self, pos_W: Vec3) -> Vec:
        """From the sphere about the aircraft to the box of each geometry; negative: they overlap."""
        away = np.einsum("nij,ni->nj", self._axes, np.array(pos_W) - self._centres)  # in the axes of the boxes
        beyond = np.maximum(np.abs(away) - self._halves, 0.0)
        gaps: Vec = np.sqrt(np.einsum("ni,ni->n", beyond, beyond)) - self._reach_m
        return gaps

    def _move(self, t_ns: int) -> None:
        """Moving objects to their poses at this time."""
        if t_ns == self._moved_ns or not self._moving:
            return
        self._moved_ns = t_ns
        for each in self._moving:
            self._solids.place(each.number, *each.pose(t_ns / NS))
            geoms = self._solids.geoms[each.number]
            own = slice(geoms.start, geoms.stop)
            self._centres[own], self._axes[own], _ = self._solids.boxes(each.number)

    def _vel_W(self, each: PlacedObject, t_ns: int) -> Vec:
        if not each.moving:
            return np.zeros(3)
        t_s = t_ns / NS
        before, after = each.pose(max(0.0, t_s - MOVED_S))[0], each.pose(t_s + MOVED_S)[0]
        velocity: Vec = (np.array(after) - np.array(before)) / (t_s + MOVED_S - max(0.0, t_s - MOVED_S))
        return velocity
