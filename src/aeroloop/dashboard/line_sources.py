"""Which lines a flight has and where their numbers stand: the store's rows become views of lines."""

from __future__ import annotations

from collections.abc import Sequence

from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page
from aeroloop.dashboard.line_health import WINDOW_S, LineInfo, LineView, Row, hears, message_rates, router_lines
from aeroloop.dashboard.store import Store

AT_PLANT, AT_AUTOPILOT, AT_BOARD = "counted at the plant", "counted at the autopilot", "counted at the board"


def views(store: Store, infos: Sequence[LineInfo], scenario: Scenario | None) -> list[LineView]:
    """Every line of a flight: those of its router first, then those of its own."""
    since_s = store.t_s - WINDOW_S
    found = router_lines(store.since("line", since_s), _messages(store), infos) if infos else []
    return found if scenario is None else found + family_page.of(scenario).links(scenario, store, since_s)


def heard_by(store: Store) -> dict[tuple[int, int], float]:
    """Messages a second from one line of the router to another."""
    return hears(_messages(store))


def _messages(store: Store) -> list[Row]:
    return message_rates(store.since("line_message", store.t_s - WINDOW_S))
