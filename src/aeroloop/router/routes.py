"""Learned routes: behind which line each system and component was heard.

A message for one system goes only where that system was heard. Nothing is learned from duplicates, so a loop teaches
nothing, and a line that goes down takes its routes with it.
"""

from __future__ import annotations

from typing import Any

MOST_SENDERS = 256
"""Learned of one peer: somebody who makes up systems must not fill the memory."""


class Routes:
    """Peers are known by their numbers here."""

    def __init__(self) -> None:
        self._by_component: dict[tuple[int, int], frozenset[int]] = {}
        self._by_system: dict[int, frozenset[int]] = {}
        self._heard: dict[int, set[tuple[int, int]]] = {}

    def learn(self, peer: int, system: int, component: int) -> bool:
        """Whether this was new."""
        sender = system, component
        heard = self._heard.setdefault(peer, set())
        if not system or sender in heard or len(heard) >= MOST_SENDERS:
            return False
        heard.add(sender)
        self._by_component[sender] = self._by_component.get(sender, frozenset()) | {peer}
        self._by_system[system] = self._by_system.get(system, frozenset()) | {peer}
        return True

    def forget(self, peer: int) -> None:
        """The peer has gone."""
        for system, component in self._heard.pop(peer, ()):
            self._remove(self._by_component, (system, component), peer)
            self._remove(self._by_system, system, peer)

    def towards(self, system: int, component: int) -> frozenset[int] | None:
        """Where a system was heard: exactly this component if anybody has, else the system; None if nobody has."""
        if component:
            exact = self._by_component.get((system, component))
            if exact is not None:
                return exact
        return self._by_system.get(system)

    @staticmethod
    def _remove(table: dict[Any, frozenset[int]], key: object, peer: int) -> None:
        left = table.get(key, frozenset()) - {peer}
        if left:
            table[key] = left
        else:
            table.pop(key, None)
