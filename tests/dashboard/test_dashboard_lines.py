"""What the page of the lines shows: levels against what was set, and the histogram that grows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_tables import MULTIROTOR, TILTROTOR

from aeroloop.core.scenario_files import find, load
from aeroloop.core.streams import named, streams_of
from aeroloop.dashboard.histogram import Histogram
from aeroloop.dashboard.link_health import (
    COLUMNS,
    Level,
    LinkView,
    Span,
    counted_link,
    delay_cell,
    forwarding_rates,
    load_cell,
    message_rates,
    rate_cell,
    router_links,
    share_cell,
    signals,
    silence_cell,
)
from aeroloop.dashboard.link_sources import views
from aeroloop.dashboard.store import Store


@dataclass(frozen=True)
class Info:
    name: str = "pixhawk"
    url: str = "udp://127.0.0.1:14540"
    role: str = "vehicle"
    protocol: str = "mavlink"


STREAMS = {**MULTIROTOR, "link": TILTROTOR["link"]}
HEALTHY = {
    "up": 1.0,
    "frames_in": 1000.0,
    "frames_out": 100.0,
    "rate_in_hz": 100.0,
    "rate_out_hz": 10.0,
    "load_in_pct": math.nan,
    "load_out_pct": math.nan,
    "round_trip_s": 0.002,
    "last_seen_s": 0.1,
}


def row(stream: str, **values: float) -> list[float]:
    return [values.get(name, 0.0) for name in STREAMS[stream].names]


def lines(*rows: dict[str, float], info: Info | None = None, messages: tuple[dict[str, float], ...] = ()) -> LinkView:
    data = np.array([row("router_link", **{**HEALTHY, "t_s": float(i), **values}) for i, values in enumerate(rows)])
    (view,) = router_links(data, messages, [info or Info()])
    return view


def message(line: int, number: int, rate_hz: float, *, outbound: bool = False, system: int = 1, set_hz: float = 0.0):
    names = STREAMS["router_message"].names
    given = {"link": line, "message": number, "rate_hz": rate_hz, "set_hz": set_hz, "system": system, "component": 1}
    return dict.fromkeys(names, 0.0) | given | {"outbound": float(outbound), "count": 5.0, "over_s": 10.0}


@pytest.mark.parametrize(
    ("rate_hz", "level"),
    [(50.0, Level.OK), (48.0, Level.OK), (46.0, Level.AMBER), (54.0, Level.AMBER), (39.0, Level.RED), (0.0, Level.RED)],
)
def test_a_rate_is_held_against_the_set_rate(rate_hz: float, level: Level) -> None:
    assert rate_cell(rate_hz, 50.0, 10.0, "ATTITUDE").level == level


def test_one_message_more_or_less_is_no_fault() -> None:
    assert rate_cell(0.5, 1.0, 2.0, "HEARTBEAT").level == Level.OK
    assert rate_cell(0.0, 1.0, 2.0, "HEARTBEAT").level == Level.RED


def test_a_rate_that_was_never_set_has_no_colour() -> None:
    assert rate_cell(3.0, 0.0, 2.0, "PING").level == Level.NONE


@pytest.mark.parametrize(
    ("cell", "level"),
    [
        (load_cell(70.0), Level.OK),
        (load_cell(71.0), Level.AMBER),
        (load_cell(91.0), Level.RED),
        (load_cell(math.nan), Level.NONE),
        (share_cell(0.0, 100.0, 7.0, "loss", "lost"), Level.OK),
        (share_cell(1.0, 999.0, 7.0, "loss", "lost"), Level.AMBER),
        (share_cell(11.0, 989.0, 11.0, "loss", "lost"), Level.RED),
        (share_cell(50.0, 50.0, 50.0, "rule", "refused"), Level.AMBER),
        (delay_cell(0.005, 0.012), Level.OK),
        (delay_cell(0.007, 0.012), Level.AMBER),
        (delay_cell(0.013, 0.012), Level.RED),
        (delay_cell(0.05), Level.OK),
        (delay_cell(0.6), Level.RED),
        (silence_cell(1.2), Level.OK),
        (silence_cell(3.0), Level.AMBER),
        (silence_cell(6.0), Level.RED),
        (silence_cell(math.nan), Level.NONE),
    ],
)
def test_levels(cell, level: Level) -> None:  # type: ignore[no-untyped-def]
    assert cell.level == level
    assert cell.why or level < Level.AMBER


def test_a_healthy_line_is_green_in_every_cell_that_has_a_set_value() -> None:
    view = lines({}, {"frames_in": 1100.0})
    assert view.level == Level.OK
    assert set(view.cells) == set(COLUMNS)
    assert view.why == ""


def test_only_recent_losses_colour_a_line() -> None:
    """Counters run for the whole flight."""
    long_ago = lines({"lost": 50.0}, {"lost": 50.0, "frames_in": 1100.0})
    now = lines({"lost": 50.0}, {"lost": 60.0, "frames_in": 1100.0})
    assert (long_ago.cells["loss"].level, now.cells["loss"].level) == (Level.OK, Level.RED)
    assert long_ago.cells["loss"].text == "50"
    assert "10 messages lost" in now.why


def test_counters_that_began_anew_are_not_negative() -> None:
    assert lines({"lost": 50.0}, {"lost": 0.0, "frames_in": 10.0}).cells["loss"].level == Level.OK


def test_the_line_of_a_vehicle_must_be_up_and_that_of_a_ground_station_may_wait() -> None:
    down = {"up": 0.0, "last_seen_s": math.nan}
    assert lines(down).cells["state"].level == Level.RED
    assert lines(down, info=Info(role="command")).level <= Level.OK
    gone = lines({"up": 0.0, "last_seen_s": 3.0}, info=Info(role="command"))
    assert gone.cells["state"].level == Level.RED


def test_the_one_commander_is_named() -> None:
    assert lines({"role": 11.0}, info=Info(role="command")).role == "command, in command"


def test_the_worst_message_colours_its_line() -> None:
    attitude, heartbeat = message(0, 30, 20.0, set_hz=50.0), message(0, 0, 1.0, set_hz=1.0)
    view = lines({}, {"frames_in": 1100.0}, messages=(attitude, heartbeat))
    assert view.cells["rate_in"].level == Level.RED
    assert "ATTITUDE" in view.why and "set 50 Hz" in view.why
    assert [m.name for m in view.messages] == ["ATTITUDE", "HEARTBEAT"]


def test_rates_of_messages_are_those_of_the_window() -> None:
    """A heartbeat falls into every other half second of the router's."""
    beats = [row("router_message", t_s=t / 2, link=1, count=t // 2, rate_hz=2.0 * (t % 2)) for t in range(20)]
    others = [row("router_message", t_s=t / 2, link=1, outbound=1, message=30, rate_hz=50.0) for t in range(20)]
    heartbeat, attitude = message_rates(np.array([*beats, *others]))
    assert (heartbeat["rate_hz"], heartbeat["over_s"], heartbeat["count"]) == (1.0, 10.0, 9.0)
    assert (attitude["outbound"], attitude["message"], attitude["rate_hz"]) == (1.0, 30.0, 50.0)
    assert message_rates(np.empty((0, len(STREAMS["router_message"].names)))) == []


def test_a_line_without_rows_yet_is_listed() -> None:
    (view,) = router_links(np.empty((0, len(STREAMS["router_link"].names))), [], [Info()])
    assert (view.name, view.level) == ("pixhawk", Level.NONE)


def test_who_hears_whom() -> None:
    rows = [
        message(0, 30, 50.0, system=1),
        message(1, 0, 1.0, system=255),
        message(1, 30, 25.0, system=1, outbound=True),
        message(0, 0, 1.0, system=255, outbound=True),
        message(2, 30, 10.0, system=1, outbound=True),
        message(2, 0, 1.0, system=9, outbound=True),  # nobody knows from where
    ]
    assert forwarding_rates(rows) == {(0, 1): 25.0, (1, 0): 1.0, (0, 2): 10.0}


def board_rows(seconds: int, per_s: float, **last: float) -> np.ndarray:
    rows = [row("link", t_s=float(t), frames_in=2 * per_s * t, frames_out=per_s * t) for t in range(seconds)]
    rows[-1] = row("link", t_s=seconds - 1.0, frames_in=2 * per_s * (seconds - 1), **last)
    return np.array(rows)


def test_the_line_to_the_board_is_held_against_the_control_period() -> None:
    good = Span.of(STREAMS["link"].names, board_rows(11, 1 / 0.012, frames_out=10 / 0.012))
    slow = Span.of(STREAMS["link"].names, board_rows(11, 1 / 0.012, frames_out=7 / 0.012))
    assert good and slow
    views = [
        counted_link("board", "loopback://", "board", span, 10.5, set_hz=(0.0, 1 / 0.012)) for span in (good, slow)
    ]
    assert [view.cells["rate_out"].level for view in views] == [Level.OK, Level.RED]


def test_a_board_that_fell_silent_is_down() -> None:
    rows = np.vstack([board_rows(4, 80.0), [row("link", t_s=9.0, frames_in=480.0)]])
    span = Span.of(STREAMS["link"].names, rows)
    assert span
    view = counted_link("board", "loopback://", "board", span, 9.0)
    assert view.cells["state"].text == "down"
    assert view.cells["last_seen"].text == "6.0 s"


def test_the_load_of_a_serial_line_follows_from_its_baud_rate() -> None:
    rows = np.array([row("link", t_s=float(t), frames_in=t * 10.0, bytes_in=t * 9216.0) for t in range(3)])
    span = Span.of(STREAMS["link"].names, rows)
    assert span
    view = counted_link("board", "serial:///dev/ttyACM0?baud=115200", "board", span, 2.0)
    assert view.cells["load"].text == "80 %"
    assert view.cells["load"].level == Level.AMBER
    assert counted_link("board", "loopback://", "board", span, 2.0).cells["load"].level == Level.NONE


def test_signals_of_an_autopilot_are_counted_by_wall_time() -> None:
    counts = [(0, 250.0, 100, 1.0), (6, 250.0, 90, 1.0), (0, 250.0, 2600, 11.0), (6, 250.0, 2090, 11.0)]
    rows = [row("signal_count", signal=s, set_hz=hz, count=n, wall_s=w) for s, hz, n, w in counts]
    imu, actuators = signals(STREAMS["signal_count"].names, np.array(rows), sent=("IMU",))
    assert (imu.name, imu.outbound, imu.rate.level) == ("IMU", True, Level.OK)
    assert (actuators.name, actuators.outbound, actuators.rate.level) == ("actuators", False, Level.AMBER)


VALUES = st.lists(st.floats(-1.0, 20.0, allow_nan=False), min_size=1, max_size=200)


@given(VALUES, st.integers(0, 200))
def test_a_histogram_grows_to_the_same_as_one_made_at_once(values: list[float], cut: int) -> None:
    edges = np.linspace(0.0, 10.0, 41)
    grown, at_once = Histogram(edges), Histogram(edges)
    grown.add(np.array(values[:cut]))
    grown.add(np.array([*values[cut:], math.nan]))
    at_once.add(np.array(values))
    assert grown.counts.tolist() == at_once.counts.tolist()
    assert grown.count == len(values)
    assert (grown.beyond, grown.largest) == (sum(v > 10.0 for v in values), max(values))


@given(VALUES)
def test_quantiles_are_true_within_a_bin(values: list[float]) -> None:
    histogram = Histogram(np.linspace(0.0, 10.0, 41))
    histogram.add(np.array(values))
    inside = np.maximum(values, 0.0)
    for q in (0.5, 0.99):
        exact = np.quantile(inside, q, method="inverted_cdf")
        if exact <= 10.0:
            assert histogram.quantile(q) == pytest.approx(exact, abs=0.25 + 1e-9)
        else:
            assert histogram.quantile(q) == max(values)


def test_an_empty_histogram_has_no_quantiles_and_shows_all_bins() -> None:
    histogram = Histogram(np.linspace(0.0, 1.0, 5))
    assert math.isnan(histogram.quantile(0.5))
    assert histogram.shown() == slice(0, 4)
    histogram.add(np.array([0.6]))
    assert histogram.shown() == slice(1, 4)
    histogram.clear()
    assert histogram.count == 0


@pytest.mark.parametrize("name", ["tiltrotor-spiral", "fixedwing-loiter"])
def test_lines_of_a_flights_router_stand_before_those_of_its_own_whatever_flies(name: str) -> None:
    ground = 'router.endpoints=[{name="ground", url="udp://127.0.0.1:14550", role="command"}]'
    scenario = load(find(name), ('pace="real"', ground))
    streams = named(scenario)
    store = Store(streams_of(scenario))
    for t_s in (1.0, 1.5):
        for line in (0.0, 1.0):
            store.add(streams["router_link"], tuple(row("router_link", **{**HEALTHY, "t_s": t_s, "link": line})))
        of_link = {"t_s": t_s, "frames_in": 50 * t_s, "bytes_in": 900 * t_s}
        store.add(streams["link"], tuple(of_link.get(column, 0.0) for column in streams["link"].names))
    shown = views(store, [Info("vehicle-0"), Info("ground", role="command")], scenario)
    assert [view.name for view in shown] == ["vehicle-0", "ground", "board"]
    assert "router_link" not in named(load(find(name))), "without a router there are no streams of it"
