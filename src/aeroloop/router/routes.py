"""Learned routes: on which link each system and component was received.

A message for one system is sent only on links where that system was received. Nothing is learned from duplicates, so a
loop adds no route, and the routes of a link are removed with it. The IDs of vehicles are reserved: frames with a
vehicle's ID from another link add no route either.
"""

from __future__ import annotations

from typing import Any

MOST_SENDERS = 256
"""Maximum number of systems learned from one peer: forged IDs must not fill the memory."""
MOST_GONE = 1024

Sender = tuple[int, int]
"""System and component."""


class Routes:
    """Peers and links are identified by their numbers."""

    def __init__(self) -> None:
        self._by_component: dict[Sender, frozenset[int]] = {}
        self._by_system: dict[int, frozenset[int]] = {}
        self._heard: dict[int, set[Sender]] = {}
        self._vehicles: dict[int, int] = {}  # links of the peers with the role vehicle
        self._gone: dict[Sender, int] = {}  # vehicles that have disconnected, and their link

    def learn(self, peer: int, system: int, component: int, vehicle_link: int | None = None) -> bool:
        """Whether the route is new. `vehicle_link` is the number of its link if that has the role vehicle."""
        sender = system, component
        heard = self._heard.setdefault(peer, set())
        if not system or sender in heard or len(heard) >= MOST_SENDERS:
            return False
        if vehicle_link is not None:
            self._vehicles[peer] = vehicle_link
            self._gone.pop(sender, None)
        heard.add(sender)
        self._by_component[sender] = self._by_component.get(sender, frozenset()) | {peer}
        self._by_system[system] = self._by_system.get(system, frozenset()) | {peer}
        return True

    def forget(self, peer: int) -> None:
        """The peer has disconnected."""
        link = self._vehicles.pop(peer, None)
        for system, component in self._heard.pop(peer, ()):
            self._remove(self._by_component, (system, component), peer)
            self._remove(self._by_system, system, peer)
            if link is not None and not self.is_vehicle(system, component):
                self._gone[system, component] = link
                if len(self._gone) > MOST_GONE:
                    del self._gone[next(iter(self._gone))]

    def towards(self, system: int, component: int) -> frozenset[int] | None:
        """The links where a system was received: this component's if known, else the system's; None if unknown."""
        if component:
            exact = self._by_component.get((system, component))
            if exact is not None:
                return self._of_vehicles(exact) or exact
        found = self._by_system.get(system)
        return self._of_vehicles(found) or found

    def exactly(self, system: int, component: int) -> frozenset[int] | None:
        return self._by_component.get((system, component))

    def last_at(self, system: int) -> int | None:
        """The link of a vehicle that has disconnected; None if it is connected or unknown."""
        if self._of_vehicles(self._by_system.get(system)):
            return None
        return next((link for (gone, _), link in self._gone.items() if gone == system), None)

    def is_vehicle(self, system: int, component: int) -> bool:
        """Whether this ID is that of a vehicle, connected or not."""
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
