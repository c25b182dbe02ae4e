"""Learned routes: behind which line each system and component was heard.

A message for one system goes only where that system was heard. Nothing is learned from duplicates, so a loop teaches
nothing, and a line that goes down takes its routes with it. Vehicles have their numbers for themselves: what another
line says in a vehicle's name teaches nothing either.
"""

from __future__ import annotations

from typing import Any

MOST_SENDERS = 256
"""Learned of one peer: somebody who makes up systems must not fill the memory."""
MOST_GONE = 1024

Sender = tuple[int, int]
"""System and component."""


class Routes:
    """Peers and lines are known by their numbers here."""

    def __init__(self) -> None:
        self._by_component: dict[Sender, frozenset[int]] = {}
        self._by_system: dict[int, frozenset[int]] = {}
        self._heard: dict[int, set[Sender]] = {}
        self._vehicles: dict[int, int] = {}  # lines of the peers that are vehicles'
        self._gone: dict[Sender, int] = {}  # vehicles whose peer has left, and the line where they were

    def learn(self, peer: int, system: int, component: int, vehicle_line: int | None = None) -> bool:
        """Whether this was new. `vehicle_line` is its line, if that is a vehicle's."""
        sender = system, component
        heard = self._heard.setdefault(peer, set())
        if not system or sender in heard or len(heard) >= MOST_SENDERS:
            return False
        if vehicle_line is not None:
            self._vehicles[peer] = vehicle_line
            self._gone.pop(sender, None)
        heard.add(sender)
        self._by_component[sender] = self._by_component.get(sender, frozenset()) | {peer}
        self._by_system[system] = self._by_system.get(system, frozenset()) | {peer}
        return True

    def forget(self, peer: int) -> None:
        """The peer has gone."""
        line = self._vehicles.pop(peer, None)
        for system, component in self._heard.pop(peer, ()):
            self._remove(self._by_component, (system, component), peer)
            self._remove(self._by_system, system, peer)
            if line is not None and not self.is_vehicle(system, component):
                self._gone[system, component] = line
                if len(self._gone) > MOST_GONE:
                    del self._gone[next(iter(self._gone))]

    def towards(self, system: int, component: int) -> frozenset[int] | None:
        """Where a system was heard: exactly this component if anybody has, else the system; None if nobody has."""
        if component:
            exact = self._by_component.get((system, component))
            if exact is not None:
                return self._of_vehicles(exact) or exact
        found = self._by_system.get(system)
        return self._of_vehicles(found) or found

    def exactly(self, system: int, component: int) -> frozenset[int] | None:
        return self._by_component.get((system, component))

    def last_at(self, system: int) -> int | None:
        """The line where a vehicle was of which nothing is there now; None if something is, or never was."""
        if self._of_vehicles(self._by_system.get(system)):
            return None
        return next((line for (gone, _), line in self._gone.items() if gone == system), None)

    def is_vehicle(self, system: int, component: int) -> bool:
        """Whether a vehicle's line speaks under these numbers, or did: a vehicle that is away keeps its name."""
        return (system, component) in self._gone or bool(self._of_vehicles(self._by_component.get((system, component))))

    def _of_vehicles(self, peers: frozenset[int] | None) -> frozenset[int] | None:
        return peers & self._vehicles.keys() if peers else None

    @staticmethod
    def _remove(table: dict[Any, frozenset[int]], key: object, peer: int) -> None:
        left = table.get(key, frozenset()) - {peer}
        if left:
            table[key] = left
        else:
            table.pop(key, None)
