"""The forwarding table: may a message pass from one endpoint to another, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.core.signals import NS
from aeroloop.router.config import EVERY, Forward, RouterConfig
from aeroloop.router.messages import number_of

MOST_LIMITERS = 16384


class Limiter:
    """Lets at most so many pass a second; a bit early once if the last came late, so that the mean holds."""

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
    """Endpoints are known by their numbers here."""

    def __init__(self, config: RouterConfig) -> None:
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
        self, source: int, target: int, message: int, system: int, component: int, *, precious: bool
    ) -> float | None:
        """How often it may pass: None as it comes, 0 not at all."""
        rules = self._rules.get((source, target))
        if rules is None:
            return None
        for rule in rules:
            if rule.fits(message, system, component):
                if precious and not rule.messages and rule.max_rate_hz:
                    return None
                return rule.max_rate_hz
        return 0.0

    def limiter(self, peer: int, message: int, system: int, component: int, rate_hz: float) -> Limiter:
        """The one for this peer, sender and message, whichever line it comes by; peers' numbers are never reused."""
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
        messages = frozenset((-1,))  # names of another protocol: fits nothing here
    return _Rule(messages, frozenset(rule.systems), frozenset(rule.components), rule.max_rate_hz)


def _known(protocol: str, message: str | int) -> bool:
    try:
        number_of(protocol, message)
    except ValueError:
        return False
    return True
