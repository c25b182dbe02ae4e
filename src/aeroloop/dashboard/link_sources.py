"""The links of a flight: converts the store's rows to views of links."""

from __future__ import annotations

from collections.abc import Sequence

from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page
from aeroloop.dashboard.link_health import (
    WINDOW_S,
    LinkInfo,
    LinkView,
    Row,
    forwarding_rates,
    message_rates,
    router_links,
)
from aeroloop.dashboard.store import Store

AT_PLANT, AT_AUTOPILOT, AT_BOARD = "counted at the plant", "counted at the autopilot", "counted at the board"


def views(store: Store, infos: Sequence[LinkInfo], scenario: Scenario | None) -> list[LinkView]:
    """Every link of a flight: first those of its router, then its own."""
    since_s = store.t_s - WINDOW_S
    found = router_links(store.since("router_link", since_s), _messages(store), infos) if infos else []
    return found if scenario is None else found + family_page.of(scenario).links(scenario, store, since_s)


def forwarding_rates_of(store: Store) -> dict[tuple[int, int], float]:
    """Messages a second from one link of the router to another."""
    return forwarding_rates(_messages(store))


def _messages(store: Store) -> list[Row]:
    return message_rates(store.since("router_message", store.t_s - WINDOW_S))
