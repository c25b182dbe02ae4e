"""The dashboard's memory of a flight: bounded, ordered, and thinned without losing a peak."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_tables import FIXED_WING, MULTIROTOR, TILTROTOR

from aeroloop.core.stream import Stream
from aeroloop.dashboard import store as store_module
from aeroloop.dashboard.store import Store, is_multiplexed, selector, thinned

NAN = math.nan


def row(stream: Stream, t_s: float, **values: float) -> tuple[float, ...]:
    return tuple({"t_s": t_s, **values}.get(name, 0.0) for name in stream.names)


TRUTH, LINE, MESSAGE = (MULTIROTOR[name] for name in ("truth", "router_link", "router_message"))


def test_rows_are_kept_by_stream_and_vehicle() -> None:
    store = Store()
    for i in range(200):
        store.add(TRUTH, row(TRUTH, i / 50, vehicle=i % 2, z_m=float(i)))
    assert store.t_s == 199 / 50
    assert store.latest("truth", 1) is not None and store.latest("truth", 1)["z_m"] == 199.0
    assert store.latest("truth", 2) is None and store.latest("effort") is None
    assert store.rows("truth", 0)[:, 4].tolist() == list(range(0, 200, 2))
    assert store.since("truth", 3.9, 1)[:, 0].tolist() == [197 / 50, 199 / 50]
    assert store.rows("truth", 2).shape == (0, len(TRUTH.fields))
    assert store.columns("truth", "t_s", "z_m", vehicle=1, since_s=3.9).tolist() == [[3.94, 197.0], [3.98, 199.0]]
    assert store.columns("effort", "throttle").shape == (0, 1)


def test_what_is_handed_out_does_not_change_later() -> None:
    store = Store()
    store.add(TRUTH, row(TRUTH, 0.0, x_m=1.0))
    rows = store.rows("truth")
    for i in range(1, 1000):
        store.add(TRUTH, row(TRUTH, float(i), x_m=float(i)))
    assert rows.tolist() == [list(row(TRUTH, 0.0, x_m=1.0))]


def test_a_ring_ends_at_the_most_rows_and_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MOST_ROWS", 1000)
    store = Store()
    for i in range(5000):
        store.add(TRUTH, row(TRUTH, i * 0.02))
    rows = store.rows("truth")
    assert len(rows) == 1000
    assert rows[-1, 0] == 4999 * 0.02
    assert np.all(np.diff(rows[:, 0]) > 0)


def test_all_rings_together_stay_within_the_memory_they_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MOST_BYTES", 200_000)
    store = Store()
    for i in range(3000):
        for vehicle in range(4):
            store.add(TRUTH, row(TRUTH, i * 0.02, vehicle=vehicle, x_m=float(i)))
    first_B = store_module.FIRST_ROWS * len(TRUTH.fields) * 8
    assert sum(ring.used_B for ring in store._rings.values()) <= 200_000 + 4 * first_B
    for vehicle in range(4):
        assert store.rows("truth", vehicle)[-1, 2] == 2999.0
        assert len(store.rows("truth", vehicle)) >= store_module.FIRST_ROWS * 4 // 5


@pytest.mark.parametrize(
    "bad",
    [
        row(TRUTH, 1.0)[:-1],
        row(TRUTH, NAN),
        row(TRUTH, 1.0, vehicle=-1),
        row(TRUTH, 1.0, vehicle=16),
        row(TRUTH, 1.0, vehicle=0.5),
        row(TRUTH, 1.0, vehicle=NAN),
        row(TRUTH, 0.5),
    ],
)
def test_rows_that_cannot_be_are_refused_and_counted(bad: tuple[float, ...]) -> None:
    store = Store()
    store.add(TRUTH, row(TRUTH, 1.0))
    store.add(TRUTH, bad)
    assert store.refused == 1
    assert len(store.rows("truth")) == 1


def test_newest_row_of_each_key_whenever_the_question_first_comes() -> None:
    store = Store()
    for t_s in (1.0, 2.0):
        for number in range(3):
            store.add(MESSAGE, row(MESSAGE, t_s, link=number, message=30.0, rate_hz=10 * t_s))
    key = ("link", "message")
    assert [(each["link"], each["rate_hz"]) for each in store.newest("router_message", key)] == [
        (0, 20),
        (1, 20),
        (2, 20),
    ]
    store.add(MESSAGE, row(MESSAGE, 3.0, link=1.0, message=30.0, rate_hz=7.0))
    assert [each["rate_hz"] for each in store.newest("router_message", key)] == [20, 7, 20]
    assert store.newest("router_link", ("link",)) == []


def test_an_index_of_newest_rows_is_bounded() -> None:
    store = Store()
    store.newest("router_message", ("message",))
    for number in range(store_module.MOST_KEYS + 10):
        store.add(MESSAGE, row(MESSAGE, 1.0, message=float(number)))
    kept = store.newest("router_message", ("message",))
    assert len(kept) == store_module.MOST_KEYS
    assert kept[-1]["message"] == store_module.MOST_KEYS + 9


def test_signals_leave_out_what_has_no_numbers_and_find_what_they_name() -> None:
    store = Store()
    command = MULTIROTOR["command"]
    for vehicle in range(2):
        store.add(command, row(command, 1.0, vehicle=vehicle, command_5=NAN))
    for number in (3.0, 1.0):
        store.add(LINE, row(LINE, 1.0, link=number, rate_in_hz=10 * number, load_in_pct=NAN))
    names = store.signals()
    assert "command.command_1" in names and "command[1].command_1" in names
    assert "command.command_5" not in names and "command.vehicle" not in names and "command.t_s" not in names
    assert (
        "router_link[1].rate_in_hz" in names
        and "router_link[3].rate_in_hz" in names
        and "router_link[3].load_in_pct" not in names
    )
    for name in names:
        signal = store.signal(name)
        assert signal is not None and signal.name == name
    assert store.window("router_link[3].rate_in_hz", 0, 2, 100)[1].tolist() == [30.0]


def test_attitude_can_be_drawn_as_angles() -> None:
    store = Store()
    half = math.radians(30) / 2
    store.add(TRUTH, row(TRUTH, 1.0, qw=math.cos(half), qz=math.sin(half)))
    assert {f"truth.{angle}_rad" for angle in ("roll", "pitch", "yaw")} <= set(store.signals())
    assert store.window("truth.yaw_rad", 0, 2, 10)[1].tolist() == pytest.approx([math.radians(30)])
    half = math.radians(20) / 2
    store.add(TRUTH, row(TRUTH, 2.0, qw=math.cos(half), qy=math.sin(half)))
    assert store.window("truth.pitch_rad", 2, 2, 10)[1].tolist() == pytest.approx([math.radians(20)])


@pytest.mark.parametrize(
    "name", ["", "truth", "truth.", "truth.nothing", "no.x_m", "truth[x].x_m", "truth.x_m\n", "a" * 500]
)
def test_no_such_signal_is_nothing(name: str) -> None:
    store = Store([TRUTH])
    assert store.signal(name) is None and store.signal("truth.x_m") is not None
    assert [len(part) for part in store.window(name, 0, 1, 10)] == [0, 0]


def test_a_window_is_the_rows_between_its_ends() -> None:
    store = Store()
    for i in range(100):
        store.add(TRUTH, row(TRUTH, i / 10, x_m=float(i)))
    t_s, values = store.window("truth.x_m", 2.0, 3.0, 1000)
    assert values.tolist() == list(range(20, 31))
    assert t_s[0] == 2.0 and t_s[-1] == 3.0


@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(NAN), min_size=1, max_size=400),
    st.integers(4, 60),
)
def test_thinning_keeps_extremes_order_and_gaps(values: list[float], points: int) -> None:
    t_s = np.arange(len(values)) * 0.02
    thin_s, thin = thinned(t_s, np.array(values), points, 0.02 * len(values))
    assert len(thin_s) <= points + 2
    assert np.all(np.diff(thin_s) > 0)
    given_ = dict(zip(t_s.tolist(), values, strict=True))
    for t, value in zip(thin_s.tolist(), thin.tolist(), strict=True):
        assert given_[t] == value or (math.isnan(value) and math.isnan(given_[t]))
    finite = [value for value in values if not math.isnan(value)]
    if finite:
        assert np.nanmin(thin) == min(finite) and np.nanmax(thin) == max(finite)


def test_a_curve_that_moves_by_keeps_its_thinned_points() -> None:
    t_s = np.arange(3000) * 0.02
    values = np.sin(t_s * 40)
    before = set(zip(*(part.tolist() for part in thinned(t_s[:2000], values[:2000], 200, 40.0)), strict=True))
    after = set(zip(*(part.tolist() for part in thinned(t_s[50:2050], values[50:2050], 200, 40.0)), strict=True))
    assert len(before & after) > 0.9 * len(before)


def test_after_ten_minutes_memory_grows_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an hour at a tenth of the feed's rate, with a tenth of the rows: what pages draw stays nowhere."""
    monkeypatch.setattr(store_module, "MOST_ROWS", store_module.MOST_ROWS // 10)
    store = Store()
    used_B = []
    tracemalloc.start()
    try:
        for i in range(30 * 600 + 1):
            for stream in (TRUTH, MESSAGE):
                store.add(stream, row(stream, i / 10, message=i % 300, link=i % 4))
            if i % 600 == 0:
                store.newest("router_message", ("link", "message"))
                store.window("truth.z_m", i / 10 - 60, i / 10, 600)
                store.signals()
            if i in (15 * 600, 30 * 600):
                used_B.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert used_B[1] <= 1.02 * used_B[0], used_B


@pytest.mark.parametrize("streams", [TILTROTOR, MULTIROTOR, FIXED_WING], ids=["tiltrotor", "multirotor", "fixedwing"])
def test_what_a_row_is_about_follows_from_its_columns(streams: dict[str, Stream]) -> None:
    about = {name: selector(stream) for name, stream in streams.items() if selector(stream)}
    assert about == {name: of for name, of in {"router_link": "link", "task": "task"}.items() if name in streams}
    counted = {"fault", "signal_count", "telemetry_count", "plan_cell", "path", "router_message", "parameter_change"}
    counted |= {"user_command", "user_answer", "parameter"}
    assert {name for name, stream in streams.items() if is_multiplexed(stream)} == counted & streams.keys()


def test_saved_charts_of_older_versions_find_the_links_of_the_router() -> None:
    found = Store(MULTIROTOR.values()).signal("line[2].rate_in_hz")
    assert found is not None and found.name == "router_link[2].rate_in_hz"


def test_two_flights_may_mean_different_columns_by_one_name() -> None:
    tiltrotor, wing = Store(TILTROTOR.values()), Store(FIXED_WING.values())
    assert tiltrotor.signal("truth.tilt_left_rad") and not wing.signal("truth.tilt_left_rad")
    assert wing.signal("truth.airspeed_m_s") and not tiltrotor.signal("truth.airspeed_m_s")
