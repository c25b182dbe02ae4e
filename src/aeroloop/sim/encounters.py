"""Collisions of aircraft with one another, in the loop: each has its own world, and here they share positions.

Nothing is written until two aircraft touch, so a flight has the same log alone and in a fleet. Aircraft at different
times of a round are compared at the latest of them, each moved on with its velocity. Two that already overlap where
they start are in worlds of their own, as in fleets that fly one scenario several times at one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.shape import Shape, solid_parts
from aeroloop.core.signals import NS, Event
from aeroloop.sim.collisions import APART_NS, CRASHED, attitude
from aeroloop.sim.vehicle import Vehicle
from aeroloop.world.impact import Struck, closing_m_s, separate
from aeroloop.world.solids import Contact, Solids

SURPRISE_M_S = 10.0
"""The relative velocity of two aircraft changes by no more than this until `LATEST_NS`."""
LATEST_NS = NS // 5


class Flying(Protocol):
    """The part of a `Craft` that encounters use."""

    vehicle: Vehicle[Any, Any]
    hull: Shape | None
    origin_W: Vec3


class Encounters:
    def __init__(self, fleet: Sequence[Flying]) -> None:
        """Aircraft without a hull meet nobody."""
        self._numbers = [number for number, craft in enumerate(fleet) if craft.hull is not None]
        self._crafts = [fleet[number] for number in self._numbers]
        hulls = [craft.hull for craft in self._crafts if craft.hull is not None]
        self._reach_m = np.array([hull.reach_m for hull in hulls])
        self._origins = np.array([craft.origin_W for craft in self._crafts])
        self._solids = Solids([solid_parts(hull) for hull in hulls])
        self._touched_ns: dict[tuple[int, int], int] = {}
        self._next_ns = 0
        self.searches = 0  # how often pairs were compared, for tests
        everyone = range(len(hulls))
        self._pairs = [(i, j) for i in everyone for j in everyone[i + 1 :]]
        pos_W = self._places(0)[0]
        self._pairs = [pair for pair in self._pairs if not self._contacts(*pair, pos_W)]

    def meet(self, flying: Sequence[Flying]) -> None:
        """Log collisions and push aircraft apart, after all of `flying` have made their steps."""
        t_ns = max(craft.vehicle.t_ns for craft in flying)
        if t_ns < self._next_ns or not self._pairs:
            return
        self.searches += 1
        pos_W, vel_W = self._places(t_ns)
        first, second = np.array(self._pairs).T
        gaps_m = np.linalg.norm(pos_W[first] - pos_W[second], axis=1) - self._reach_m[first] - self._reach_m[second]
        closing_m_s = np.linalg.norm(vel_W[first] - vel_W[second], axis=1) + SURPRISE_M_S
        free_s = float(np.nanmin(np.maximum(gaps_m, 0.0) / closing_m_s, initial=LATEST_NS / NS))
        self._next_ns = t_ns + int(free_s * NS)
        for index in np.flatnonzero(gaps_m <= 0.0).tolist():
            one, another = self._pairs[index]
            if self._crafts[one] in flying and self._crafts[another] in flying:
                self._touch(one, another, self._contacts(one, another, pos_W), t_ns)

    def _places(self, t_ns: int) -> tuple[Vec, Vec]:
        """Positions in the common world and velocities, at this time."""
        vehicles = [craft.vehicle for craft in self._crafts]
        vel_W = np.array([vehicle.state.vel_W for vehicle in vehicles])
        later_s = np.array([(t_ns - vehicle.t_ns) / NS for vehicle in vehicles])
        pos_W = np.array([vehicle.state.pos_W for vehicle in vehicles]) + self._origins
        return pos_W + later_s[:, None] * vel_W, vel_W

    def _contacts(self, one: int, another: int, pos_W: Vec) -> list[Contact]:
        if not np.linalg.norm(pos_W[one] - pos_W[another]) < self._reach_m[one] + self._reach_m[another]:
            return []
        for number in (one, another):
            x, y, z = pos_W[number].tolist()
            self._solids.place(number, (x, y, z), attitude(self._crafts[number].vehicle.state))
        found, _ = self._solids.touching(self._solids.geoms[one], self._solids.geoms[another])
        return [contact for _, contact in found]

    def _touch(self, one: int, another: int, contacts: list[Contact], t_ns: int) -> None:
        """Those that fly on are pushed apart; the flight of all others ends, and where both do, no motion changes."""
        if not contacts:
            return
        before_ns = self._touched_ns.get((one, another))
        self._touched_ns[one, another] = t_ns
        if before_ns is None or t_ns - before_ns > APART_NS:
            for own, other in ((one, another), (another, one)):
                self._crafts[own].vehicle.log_event(Event.COLLISION, -1.0 - self._numbers[other])
        first, second = self._struck(one), self._struck(another)
        fastest_m_s = closing_m_s(contacts, first, second)
        were = first.pos_W, second.pos_W
        separate(contacts, first, second)
        for number, body, was in zip((one, another), (first, second), were, strict=True):
            self._apply(number, body, body.pos_W - was, fastest_m_s)

    def _struck(self, number: int) -> Struck:
        """In the common world; an aircraft that does not fly on is as if it had no end of mass."""
        vehicle = self._crafts[number].vehicle
        if vehicle.solid is None:
            body = Struck(np.array(vehicle.state.pos_W), np.array(vehicle.state.vel_W))
        else:
            body = vehicle.solid.struck(vehicle.state)
        body.pos_W = body.pos_W + self._origins[number]
        return body

    def _apply(self, number: int, body: Struck, shift_W: Vec, closing_m_s: float) -> None:
        vehicle = self._crafts[number].vehicle
        if vehicle.solid is None:
            vehicle.ended = vehicle.ended or CRASHED
            return
        body.pos_W = vehicle.solid.struck(vehicle.state).pos_W + shift_W
        vehicle.solid.apply(body, vehicle.state)
        vehicle.read_state()
        if closing_m_s > vehicle.solid.crash_m_s:
            vehicle.ended = vehicle.ended or CRASHED


def encounters(fleet: Sequence[Flying]) -> Encounters | None:
    """None where nobody can meet."""
    return Encounters(fleet) if sum(craft.hull is not None for craft in fleet) > 1 else None
