"""Charts as data: what a browser or a file may ask for, points of XY plots, and layouts in files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from nicegui import Client
from test_dashboard_pages import built, watching

from aeroloop.core.errors import ConfigError
from aeroloop.core.stream import Stream, timed
from aeroloop.dashboard import page_charts
from aeroloop.dashboard.charts import (
    LARGEST_LAYOUT_B,
    MOST_CHARTS,
    MOST_SIGNALS,
    XY_POINTS,
    ChartSpec,
    Layout,
    checked,
    layout_of,
    xy,
    xy_limits,
)
from aeroloop.dashboard.layouts import MOST_LAYOUTS, Layouts
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.viewed_flight import ViewedFlight

FAST = Stream("fast", "test", 100.0, True, True, "", timed(("x_m", "m", ""), ("y_m", "m", "")))
SLOW = Stream("slow", "test", 10.0, True, True, "", timed(("v", "-", "")))
TRACK = ChartSpec(("fast.y_m",), "fast.x_m")


def circle() -> Store:
    """Ten seconds around a circle of 2 m, and a slower signal that rises with time."""
    store = Store()
    for t_s in np.linspace(0.0, 10.0, 1001).tolist():
        store.add(FAST, (t_s, 2 * math.cos(t_s), 2 * math.sin(t_s)))
    for t_s in np.linspace(1.0, 9.0, 81).tolist():
        store.add(SLOW, (t_s, 3 * t_s))
    return store


def test_pairs_of_one_stream_are_its_rows() -> None:
    pairs = xy(circle(), "fast.x_m", "fast.y_m", 2.0, 8.0)
    assert len(pairs) == 601 and np.allclose(np.hypot(*pairs.T), 2.0)
    assert pairs[-1] == pytest.approx([2 * math.cos(8.0), 2 * math.sin(8.0)])


def test_a_signal_of_another_rate_is_interpolated_only_where_it_is_known() -> None:
    pairs = xy(circle(), "fast.x_m", "slow.v", 0.0, 10.0)
    assert len(pairs) == 801, "from 1 to 9 s"
    assert np.allclose(2 * np.cos(pairs[:, 1] / 3), pairs[:, 0], atol=1e-6)
    assert len(xy(circle(), "fast.x_m", "none.such", 0.0, 10.0)) == 0


def test_gaps_are_left_out_and_many_points_are_thinned() -> None:
    store = Store()
    for number in range(4 * XY_POINTS):
        store.add(FAST, (0.001 * number, math.nan if number % 2 else number, 1.0))
    pairs = xy(store, "fast.x_m", "fast.y_m", 0.0, 100.0)
    assert len(pairs) == XY_POINTS and np.all(np.isfinite(pairs)) and pairs[0, 0] == 0.0


def test_equal_units_get_equal_spans() -> None:
    wide = np.array([[0.0, 0.0], [10.0, 1.0]])
    (x0, x1), (y0, y1) = xy_limits([wide], equal=True)
    assert x1 - x0 == pytest.approx(y1 - y0) and x0 < 0.0 and x1 > 10.0 and (y0 + y1) / 2 == pytest.approx(0.5)
    (x0, x1), (y0, y1) = xy_limits([wide], equal=False)
    assert y1 - y0 < 2.0 < x1 - x0
    (x0, x1), _ = xy_limits([np.array([[5.0, 5.0]])], equal=True)
    assert x0 < 5.0 < x1, "a point has an axis too"
    assert xy_limits([], equal=True) == ((-1.0, 1.0), (-1.0, 1.0))


def test_a_layout_survives_export_and_import() -> None:
    layout = Layout((TRACK, ChartSpec(("slow.v", "fast.x_m"))), 60)
    assert layout_of(layout.text(), "file") == layout
    assert json.loads(layout.text())["charts"][0] == {"signals": ["fast.y_m"], "x": "fast.x_m"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"charts": [{"signals": ["a.b"]}] * (MOST_CHARTS + 1)}, "length"),
        ({"charts": [{"signals": ["a.b"] * (MOST_SIGNALS + 1)}]}, "length"),
        ({"charts": [{"signals": ["a" * 121]}]}, "length"),
        ({"charts": [{"signals": ["a.b"], "colour": "red"}]}, "colour"),
        ({"window_s": 31}, "window_s: expected one of 10, 30"),
        ({"version": 2}, "2"),
        ({"kind": "something else"}, "something else"),
        ({"charts": "all"}, "charts"),
    ],
)
def test_what_is_no_layout_is_refused_in_a_sentence(change: dict[str, Any], words: str) -> None:
    table = {**json.loads(Layout((TRACK,)).text()), **change}
    with pytest.raises(ConfigError, match=f"^the file: .*{words}"):
        layout_of(json.dumps(table), "the file")


@pytest.mark.parametrize("text", ["", "{", "[" * 20_000, "\ud800", "x" * (LARGEST_LAYOUT_B + 1), "null", "\x00"])
def test_hostile_text_is_no_layout(text: str) -> None:
    with pytest.raises(ConfigError, match="the file: expected a chart layout"):
        layout_of(text, "the file")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["signals", "x", "y"]), inner),
    max_leaves=20,
)


@given(JSON)
def test_whatever_a_browser_remembers_is_charts_of_this_flight_or_nothing(kept: Any) -> None:
    store = circle()
    found = checked(kept, store)
    for spec in found or ():
        assert len(spec.signals) <= MOST_SIGNALS and all(store.signal(name) for name in spec.signals)
        assert not spec.x or store.signal(spec.x)


def test_charts_that_a_browser_remembers_are_shown_as_far_as_the_flight_has_them() -> None:
    kept = [["slow.v", "gone.v"], {"x": "fast.x_m", "signals": ["fast.y_m"]}, {"x": "gone.x", "signals": ["slow.v"]}]
    assert checked(kept, circle()) == [ChartSpec(("slow.v",)), TRACK, ChartSpec(())]


def test_layouts_are_saved_listed_and_deleted(tmp_path: Path) -> None:
    layouts = Layouts(tmp_path / "charts")
    assert layouts.names() == []
    layouts.save("my charts (2)", Layout((TRACK,)))
    layouts.save("a", Layout(()))
    (tmp_path / "charts" / "notes.txt").write_text("")
    assert layouts.names() == ["a", "my charts (2)"]
    assert layouts.load("my charts (2)") == Layout((TRACK,))
    layouts.delete("a")
    layouts.delete("a")
    assert layouts.names() == ["my charts (2)"]
    with pytest.raises(ConfigError, match="cannot be read"):
        layouts.load("a")


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a/b", ".hidden", "a\x00", "ä", "x" * 41, "\n"])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    layouts = Layouts(tmp_path / "charts")
    for deed in (layouts.load, layouts.delete, lambda each: layouts.save(each, Layout(()))):
        with pytest.raises(ConfigError, match="expected a name of 1 to 40"):
            deed(name)
    assert list(tmp_path.rglob("*")) == []


def test_layouts_are_bounded(tmp_path: Path) -> None:
    layouts = Layouts(tmp_path)
    for number in range(MOST_LAYOUTS):
        (tmp_path / f"{number}.json").write_text("{}")
    with pytest.raises(ConfigError, match="delete one first"):
        layouts.save("one more", Layout(()))
    layouts.save("7", Layout(()))  # one that is there may change
    (tmp_path / "8.json").write_text(" " * 1_000_000)
    with pytest.raises(ConfigError, match="at most 32 KiB"):
        layouts.load("8")


def test_a_page_shows_what_a_layout_asks_for_and_a_viewer_saves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    watched = watching(tmp_path, "quad-hover")
    boards: list[Any] = []

    def show(flight: Any) -> None:
        boards.append(page_charts._Board(flight))

    def look(client: Client) -> list[str]:
        board = boards[-1]
        with board._menu._holder:
            board._show_layout(Layout((ChartSpec(("truth.y_m", "gone.v"), "truth.x_m"), ChartSpec(("truth.z_m",))), 60))
        assert board.window_s == 60 and board._layout().charts == (
            ChartSpec(("truth.y_m",), "truth.x_m"),
            ChartSpec(("truth.z_m",)),
        )
        (menu,) = (e for e in client.elements.values() if e.props.get("data-testid") == "layout-menu")
        assert not list(menu.descendants())
        board._menu._list()
        return [e.props.get("data-testid", "") for e in menu.descendants()]

    assert "layout-save" in built(watched, show, look)
    assert "layout-save" not in built(ViewedFlight(watched), show, look)
    assert not (tmp_path / "config").exists()
