"""Which lines a flight has and where their numbers stand: the store's rows become views of lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.timing import BIN_EDGES_S
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard.line_health import (
    WINDOW_S,
    Cell,
    LineInfo,
    LineView,
    Row,
    Span,
    counted_line,
    delay_cell,
    hears,
    message_rates,
    router_lines,
    signals,
)
from aeroloop.dashboard.store import Store
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario

AT_PLANT, AT_AUTOPILOT, AT_BOARD = "counted at the plant", "counted at the autopilot", "counted at the board"
SENT_BY_PLANT = ("IMU", "magnetometer", "barometer", "GNSS", "airspeed", "range finder")
SENT_BY_AUTOPILOT = ("actuators", "attitude", "position", "heartbeat")
LATENESS_EDGES_S = np.geomspace(1e-5, 1e-1, 65)  # 16 a decade, to 0.1 s: most are tiny, the few that count are not


@dataclass(frozen=True)
class Timing:
    """What the histogram of a kind of flight counts."""

    title: str
    stream: str
    column: str
    edges_s: NDArray[np.float64]
    missed_stream: str
    set_s: float  # NaN where nothing is set


def timing(scenario: Scenario | None) -> Timing:
    if isinstance(scenario, TiltrotorScenario):
        period_s = scenario.control.period_s
        title = "Period between sensor requests"
        return Timing(title, "cycle", "period_s", BIN_EDGES_S, "pace", period_s)
    if isinstance(scenario, FixedWingScenario):
        title = "Lateness of the plant's steps, twenty times a second"
        return Timing(title, "wing_pace", "lateness_s", LATENESS_EDGES_S, "wing_pace", math.nan)
    title = "Lateness of the plant's steps: the largest in each fiftieth of a second"
    return Timing(title, "hil_pace", "lateness_s", LATENESS_EDGES_S, "hil_pace", math.nan)


def views(store: Store, infos: Sequence[LineInfo], scenario: Scenario | None) -> list[LineView]:
    """Every line of a flight: those of its router first, then those of its own."""
    since_s = store.t_s - WINDOW_S
    found = router_lines(store.since("line", since_s), _messages(store), infos) if infos else []
    if isinstance(scenario, TiltrotorScenario):
        return found + _board_lines(store, since_s, scenario)
    if isinstance(scenario, QuadrotorScenario):
        return found + _autopilot_lines(store, since_s, scenario)
    if isinstance(scenario, FixedWingScenario):
        return found + _wing_lines(store, since_s, scenario)
    return found


def heard_by(store: Store) -> dict[tuple[int, int], float]:
    """Messages a second from one line of the router to another."""
    return hears(_messages(store))


def _messages(store: Store) -> list[Row]:
    return message_rates(store.since("line_message", store.t_s - WINDOW_S))


def _board_lines(store: Store, since_s: float, scenario: TiltrotorScenario) -> list[LineView]:
    period_s = scenario.control.period_s
    cycle_hz = 1.0 / period_s
    rows = store.since("board_cycle", since_s)
    trips = rows[:, 1][np.isfinite(rows[:, 1])]
    round_trip = delay_cell(float(np.median(trips)), period_s) if len(trips) else Cell()
    lines = (
        ("plant_link", "board", scenario.link_url, AT_PLANT, 0.0, cycle_hz, Cell()),
        ("board_link", "plant", scenario.link_url, AT_BOARD, cycle_hz, 0.0, round_trip),
        ("reference_link", "references", scenario.ground.url, AT_BOARD, cycle_hz, 0.0, Cell()),
    )
    found = []
    for stream, name, at, where, set_in_hz, set_out_hz, trip in lines:
        span = Span.of(stream, store.since(stream, since_s))
        if span is not None:
            set_hz = set_in_hz, set_out_hz
            found.append(counted_line(name, at, where, span, store.t_s, set_hz=set_hz, round_trip=trip))
    return found


def _wing_lines(store: Store, since_s: float, scenario: FixedWingScenario) -> list[LineView]:
    """Servos come in each control period and sensors go out; what else the board tells has no rate of its own."""
    span = Span.of("wing_link", store.since("wing_link", since_s))
    if span is None:
        return []
    set_hz = 0.0, 1.0 / scenario.board.period_s
    return [counted_line("board", scenario.link_url, AT_PLANT, span, store.t_s, set_hz=set_hz)]


def _autopilot_lines(store: Store, since_s: float, scenario: QuadrotorScenario) -> list[LineView]:
    ends = (
        ("hil_link", "autopilot", AT_PLANT, "signal_count", SENT_BY_PLANT),
        ("pixhawk_link", "plant", AT_AUTOPILOT, "telemetry_count", SENT_BY_AUTOPILOT),
    )
    vehicles = store.vehicles("hil_link")
    found = []
    for vehicle in vehicles:
        url = scenario.vehicle_url(vehicle)
        for stream, name, where, counts, sent in ends:
            span = Span.of(stream, store.since(stream, since_s, vehicle))
            if span is not None:
                number = f"-{vehicle + 1}" if len(vehicles) > 1 else ""
                messages = signals(store.since(counts, since_s, vehicle), counts, sent)
                found.append(counted_line(f"{name}{number}", url, where, span, store.t_s, messages=messages))
    return found
