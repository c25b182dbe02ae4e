"""The forwarding table: whether a message may pass from one endpoint to another, and at which rate."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.core.signals import NS
from aeroloop.router.config import EVERY, Forward, RouterConfig
from aeroloop.router.messages import number_of
from aeroloop.router.simulation import SimulatedVehicles

MOST_LIMITERS = 16384


class Limiter:
    """Limits a rate; one message may pass slightly early after a late one, so that the mean rate is kept."""

    __slots__ = ("_due_ns", "_period_ns")

    def __init__(self, rate_hz: float) -> None:
        self._period_ns = round(NS / rate_hz)
        self._due_ns: int | None = None

    def passes(self, now_ns: int) -> bool:
        due_ns = self._due_ns
        if due_ns is None or now_ns >= due_ns + self._period_ns:
            self._due_ns = now_ns + self._period_ns
        elif now_ns >= due_ns:
            self._due_ns = due_ns + self._period_ns
        else:
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Rule:
    messages: frozenset[int]
    systems: frozenset[int]
    components: frozenset[int]
    max_rate_hz: float | None

    def fits(self, message: int, system: int, component: int) -> bool:
        return (
            (not self.messages or message in self.messages)
            and (not self.systems or system in self.systems)
            and (not self.components or component in self.components)
        )


class Table:
    """Endpoints are identified by their numbers."""

    def __init__(self, config: RouterConfig) -> None:
        self.simulated = SimulatedVehicles(config)
        self._limiters: dict[tuple[int, int, int, int], Limiter] = {}
        self._rules: dict[tuple[int, int], list[_Rule]] = {}
        ends = config.endpoints
        for rule in config.forward:
            for source, start in enumerate(ends):
                for target, end in enumerate(ends):
                    named = rule.source in (EVERY, start.name) and rule.target in (EVERY, end.name)
                    if named and start.protocol == end.protocol:
                        self._rules.setdefault((source, target), []).append(_compiled(rule, start.protocol))

    def rate_hz(
        self, source: int, target: int, message: int, system: int, component: int, *, reliable: bool
    ) -> float | None:
        """Maximum rate: None: unlimited; 0: blocked."""
        passes = self.simulated.passes(source, target, message)
        if passes is not None:
            return None if passes else 0.0
        rules = self._rules.get((source, target))
        if rules is None:
            return None
        for rule in rules:
            if rule.fits(message, system, component):
                if reliable and not rule.messages and rule.max_rate_hz:
                    return None
                return rule.max_rate_hz
        return 0.0

    def limiter(self, peer: int, message: int, system: int, component: int, rate_hz: float) -> Limiter:
        """The limiter for this peer, sender and message, on any link; peer numbers are never reused."""
        key = peer, message, system, component
        limiter = self._limiters.get(key)
        if limiter is None:
            if len(self._limiters) >= MOST_LIMITERS:
                self._limiters.clear()
            limiter = self._limiters[key] = Limiter(rate_hz)
        return limiter


def _compiled(rule: Forward, protocol: str) -> _Rule:
    messages = frozenset(number_of(protocol, message) for message in rule.messages if _known(protocol, message))
    if rule.messages and not messages:
        messages = frozenset((-1,))  # names of another protocol: matches nothing here
    return _Rule(messages, frozenset(rule.systems), frozenset(rule.components), rule.max_rate_hz)


def _known(protocol: str, message: str | int) -> bool:
    try:
        number_of(protocol, message)
    except ValueError:
        return False
    return True
