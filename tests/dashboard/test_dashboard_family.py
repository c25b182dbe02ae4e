"""A family of aircraft from a folder, which the dashboard has never seen: with no page, its own, and a broken one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from nicegui import Client, ui
from nicegui.page import page
from stream_tables import MULTIROTOR
from test_dashboard_pages import built

from aeroloop.core import scenario_files, tables
from aeroloop.core.config import Config
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import offers
from aeroloop.core.scenario import ControllerTables, FamilyTables, Scenario
from aeroloop.core.stream import Stream, fields
from aeroloop.dashboard import family_page, page_fly, readings
from aeroloop.dashboard.app import PAGES
from aeroloop.dashboard.link_sources import views
from aeroloop.dashboard.scene import View
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.watched_flight import WatchedFlight

PAGE = """
from aeroloop.core.stream import Track
from aeroloop.dashboard.family_page import Page, Status

PAGE = Page(setpoint=Track("glide"), status=lambda _store, _vehicle: Status(mode="gliding"), charts=[["truth.z_m"]])
"""
GLIDE = Stream(
    name="glide",
    producer="plant",
    rate_hz=50.0,
    simulated=True,
    logged=True,
    meaning="where it is",
    fields=fields(("x_m", "m", "east"), ("y_m", "m", "north"), ("z_m", "m", "up")),
)


class Kite(Config, frozen=True):
    kind: str


class KiteTables(FamilyTables, frozen=True, kw_only=True):
    vehicle: Kite


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Named for the test, for a module is imported once."""
    made = tmp_path / f"kite_{abs(hash(tmp_path))}"
    made.mkdir()
    (made / "__init__.py").touch()
    yield made
    tables.family.cache_clear()
    family_page._loaded.cache_clear()
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == made.name]:
        del sys.modules[name]


def kite(folder: Path, page: str = "") -> Scenario:
    nowhere = 'tables="nowhere:Nothing", streams="nowhere:NONE", vehicle="nowhere:none"'
    flown_by = 'controllers={"law": "aeroloop.controllers.law.rows:VALUES"}'
    row = f'Family(name="kite", {nowhere}, {flown_by}, page={page!r})'
    (folder / "family.py").write_text(f"from aeroloop.core.tables import Family\n\nROW = {row}\n")
    return Scenario(name="test", aircraft=KiteTables(vehicle=Kite(str(folder))), controller=ControllerTables())


def watching(runs: Path, scenario: Scenario) -> WatchedFlight:
    watched = WatchedFlight(runs)
    watched.scenario, watched.flight_id, watched.running = scenario, "one", True
    for t_s in (1.0, 2.0):
        watched.take(GLIDE, (t_s, 0.0, 10.0 * t_s, 0.0, 5.0))
        watched.take(MULTIROTOR["truth"], tuple({"t_s": t_s, "z_m": 7.0, "qw": 1.0}.get(n, 0.0) for n in TRUTH))
    return watched


TRUTH = MULTIROTOR["truth"].names


def texts(client: Client) -> list[str]:
    return [each.text for each in client.elements.values() if isinstance(each, ui.label)]


class TestPlain:
    def test_it_is_a_box_on_trails_without_commands(self, folder: Path, tmp_path: Path) -> None:
        scenario = kite(folder)
        shown = family_page.of(scenario)
        assert shown is family_page.PLAIN and family_page.problem(scenario) == "" and offers(scenario) == ()
        assert family_page.name(scenario) == "kite"
        (part,) = shown.shape(scenario).parts
        assert part.kind == "box" and shown.shape(scenario).reach_m > 0.0
        assert shown.commands is None and shown.sticks is None

    def test_the_truth_is_where_it_is(self, folder: Path, tmp_path: Path) -> None:
        scenario, store = kite(folder), Store()
        store.add(GLIDE, (1.0, 0.0, 3.0, 4.0, 5.0))
        assert readings.pose(store, scenario, 0) is None and readings.trail(store, 0, -1.0).shape == (0, 2)
        store = watching(tmp_path, scenario).store
        pose = readings.pose(store, scenario, 0)
        assert pose is not None and pose.pos_W[2] == 7.0
        assert readings.trail(store, 0, -1.0).shape == (2, 2)

    def test_its_charts_are_of_its_first_streams(self, folder: Path, tmp_path: Path) -> None:
        scenario = kite(folder)
        assert family_page.charts(scenario, Store()) == []
        charts = family_page.charts(scenario, watching(tmp_path, scenario).store)
        assert charts[0] == ["glide.x_m", "glide.y_m", "glide.z_m"]
        assert charts[1][0] == "truth.x_m" and len(charts[1]) == family_page.PLAIN_SIGNALS

    def test_it_has_no_links_of_its_own(self, folder: Path, tmp_path: Path) -> None:
        scenario = kite(folder)
        assert views(watching(tmp_path, scenario).store, (), scenario) == []

    def test_the_scene_draws_the_truth_and_what_the_page_names(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[list[Any]] = []
        monkeypatch.setattr(View, "_send", lambda _view, calls: sent.extend(calls))
        (folder / "page.py").write_text(PAGE)
        scenario = kite(folder, f"{folder.name}.page:PAGE")
        with Client(page("/")) as client:
            view = View(ui.scene())
            view.show(scenario)
            before = len(view.scene.objects)
            store = watching(tmp_path, scenario).store
            for _ in range(8):
                view.update(store)
            client.delete()
        assert len(view.scene.objects) == before
        assert [(10.0, 0.0, 5.0), (20.0, 0.0, 5.0)] in [call[-1] for call in sent]
        assert any(call[2] == "pose" and call[3] == [0.0, 0.0, 7.0] for call in sent)

    @pytest.mark.parametrize("shown", PAGES[:5], ids=lambda shown: shown.title)
    def test_every_page_is_built(self, folder: Path, tmp_path: Path, shown: Any) -> None:
        watched = watching(tmp_path, kite(folder))
        assert built(watched, shown.build, texts)

    def test_the_fly_page_says_that_it_takes_no_commands(self, folder: Path, tmp_path: Path) -> None:
        watched = watching(tmp_path, kite(folder))
        ids = built(
            watched, page_fly.build, lambda client: {e.props.get("data-testid") for e in client.elements.values()}
        )
        assert "map" in ids and not ids & {"arm", "takeoff", "stick-take", "param-set", "mission-upload"}


def test_a_page_of_its_own_is_shown(folder: Path) -> None:
    (folder / "page.py").write_text(PAGE)
    scenario = kite(folder, f"{folder.name}.page:PAGE")
    store = Store()
    store.add(GLIDE, (1.0, 0.0, 3.0, 4.0, 5.0))
    assert family_page.problem(scenario) == ""
    assert readings.status(store, scenario, 0).mode == "gliding"
    assert family_page.charts(scenario, store) == [["truth.z_m"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [("PAGE = 1 / 0\n", "ZeroDivisionError"), ("PAGE = 3\n", "expected a Page, not int"), ("", "AttributeError")],
)
def test_a_broken_page_is_named_and_a_plain_one_shown(folder: Path, text: str, words: str) -> None:
    (folder / "page.py").write_text(text)
    scenario = kite(folder, f"{folder.name}.page:PAGE")
    assert family_page.of(scenario) is family_page.PLAIN
    assert words in family_page.problem(scenario) and f"{folder.name}.page:PAGE" in family_page.problem(scenario)


def test_nothing_in_the_dashboard_names_an_aircraft() -> None:
    """What differs from family to family stands in the family's page."""
    code = Path(family_page.__file__).parent
    for path in sorted(code.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for forbidden in ("aeroloop.families", "aeroloop.controllers", *tables.FAMILIES, "multirotor"):
            assert forbidden not in text, f"{path.name}: {forbidden}"


def test_a_family_that_went_is_said_once_and_pages_go_on(folder: Path) -> None:
    scenario = kite(folder)
    (folder / "family.py").unlink()
    tables.family.cache_clear()
    with pytest.raises(ConfigError):
        tables.family(scenario.kind)
    assert family_page.of(scenario) is family_page.PLAIN and folder.name in family_page.problem(scenario)


def test_charts_of_rotors_are_shown_where_a_law_keeps_them_together() -> None:
    def shown(name: str, *settings: str) -> set[str]:
        charts = family_page.charts(scenario_files.load(scenario_files.find(name), settings), Store())
        return {signal for chart in charts for signal in chart}

    full, pid, plain = shown("quad-sync"), shown("quad-sync", "synchronisation.law=pid"), shown("quad-hover")
    assert {"rotor_law.sync_error_1_rad_s", "rotor_law.error_4_rad_s", "rotor_weights.w_p_4"} <= full
    assert "rotor_law.sync_error_5_rad_s" not in full
    assert full - pid == {f"rotor_weights.w_p_{i}" for i in range(1, 5)}
    assert not [signal for signal in plain if signal.startswith("rotor_")]
    assert {"joints.sync_error_3_rad", "joint_law.w_p_1"} <= shown("rrr-circle")
