"""The fly page of a fixed wing: path planning, the operator's console, and the load of its processor.

map with cells, channel and paths │ step, numbers, console, plans
processor: use, switches, shares and execution times of the tasks
"""

from __future__ import annotations

import math
from functools import cached_property

from nicegui import ui

from aeroloop.core.errors import AeroloopError
from aeroloop.core.wing_signals import PlanStatus, Step
from aeroloop.dashboard import readings
from aeroloop.dashboard.layout import card, chip, every, set_chip
from aeroloop.dashboard.map import View
from aeroloop.dashboard.map_panel import MapOverlay, MapPanel
from aeroloop.dashboard.store import KEPT_S
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.families.fixedwing import page_path as way
from aeroloop.families.fixedwing import page_path_map as way_map
from aeroloop.families.fixedwing.page_labels import ALL_LETTERS, STATUS_WORDS, STEP_WORDS, current_step, letters
from aeroloop.families.fixedwing.page_operator import OperatorPanel
from aeroloop.families.fixedwing.page_processor import ProcessorPanel
from aeroloop.families.fixedwing.scenario import FixedWingScenario

REFRESH_S = 0.25
LAYERS_S = 0.5
TRAIL_POINTS = 900
CSS = """
.way-grid { display:grid; grid-template-columns:minmax(0,1.9fr) minmax(340px,1fr); gap:12px; width:100%;
        align-items:start; }
.way-side { display:flex; flex-direction:column; gap:12px; min-width:0; }
.way-now { display:flex; gap:14px; align-items:center; }
.way-letter { font-size:44px; line-height:1; font-weight:700; min-width:1.35em; text-align:center; padding:8px 0;
        border-radius:10px; background:var(--al-accent); color:var(--al-card); }
.way-strip { display:grid; grid-template-columns:repeat(9,1fr); gap:4px; width:100%; }
.way-strip > * { text-align:center; font-weight:600; font-size:13px; border-radius:6px; padding:2px 0;
        background:var(--al-ground); color:var(--al-soft); border:1px solid var(--al-line); }
.way-strip > .way-been { color:var(--al-text); border-color:var(--al-accent); }
.way-strip > .way-here { background:var(--al-accent); color:var(--al-card); border-color:var(--al-accent); }
.way-facts { display:grid; grid-template-columns:auto 1fr auto 1fr; gap:2px 12px; width:100%; font-size:14px; }
.way-facts > :nth-child(even) { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap; }
.way-plans { width:100%; border-collapse:collapse; font-size:13px; font-variant-numeric:tabular-nums; }
.way-plans th { color:var(--al-soft); font-weight:500; text-align:right; padding:2px 6px; }
.way-plans td { text-align:right; padding:3px 6px; border-top:1px solid var(--al-line); white-space:nowrap; }
.way-plans :is(th,td):nth-child(2) { text-align:left; white-space:normal; }
@media (max-width:1023px) { .way-grid { grid-template-columns:minmax(0,1fr); } }
@media (max-width:599px) { .way-grid, .way-side { gap:6px; } .way-plans :is(th,td) { padding:2px 3px; } }
"""
FACTS = ("height", "airspeed", "cross-track error", "roll", "above ground", "wind")


def build(watched: WatchedFlight, scenario: FixedWingScenario) -> None:
    ui.add_css(CSS)
    ui.add_css(way_map.CSS)
    PathPage(watched, scenario)


class PathPage:
    """What one browser sees."""

    def __init__(self, watched: WatchedFlight, scenario: FixedWingScenario) -> None:
        self._watched, self._scenario, self._flight = watched, scenario, watched.flight_id
        self._layers = way_map.Layers()
        self._drawn: tuple[View, way_map.Layers, str] | None = None
        self._seen: object = None
        self._plans: list[way.PlanRow] = []
        self._operator: OperatorPanel | None = None
        with ui.element("div").classes("way-grid"):
            with card().classes("way-map").style("order:0"):
                self._map()
                ui.html(way_map.LEGEND, sanitize=False).classes("way-legend")
            with ui.element("div").classes("way-side"):
                with card():
                    self._step_card()
                self._operator = OperatorPanel(watched, scenario)
                with card():
                    ui.label("Plans").classes("text-weight-bold")
                    self._table = ui.html(plans_table([]), sanitize=False).classes("w-full")
                    self._table.props('data-testid="way-plans"')
        self._processor = ProcessorPanel(watched)
        every(REFRESH_S, self._refresh)
        every(LAYERS_S, self._learn)

    @cached_property
    def _page_map(self) -> way.PlanningMap | None:
        try:
            return way.page_map(self._scenario)
        except AeroloopError as error:  # its file is missing: a map without terrain is better than none
            self._watched.notice(str(error), "warn")
            return None

    @cached_property
    def _blocked_href(self) -> str:
        return way_map.blocked_picture(self._page_map.blocked) if self._page_map else ""

    def _map(self) -> None:
        page_map = self._page_map
        beneath = MapOverlay(
            draw=self._draw,
            homes=(),
            all_m=page_map.corners_m if page_map else (),
            all_words="all of the map",
            near=self._near,
            margin_px=14.0,
            trail_s=KEPT_S,
            trail_points=TRAIL_POINTS,
        )
        self._learn()
        self.map = MapPanel(
            self._watched,
            waypoints=list,
            target=lambda: self._operator.goal_m if self._operator is not None else None,
            on_tap=self._tap,
            on_carry=lambda _number, _east_m, _north_m: None,
            vehicle=lambda: 0,
            m_per_px=20.0,
            beneath=beneath,
        )

    def _tap(self, east_m: float, north_m: float) -> None:
        if self._operator is not None:
            self._operator.tap(east_m, north_m)

    def _near(self) -> list[way.Place]:
        """The channel, if there is one."""
        boxes = self._layers.channel
        return [(float(box[0]), float(box[1])) for box in boxes] + [(float(box[2]), float(box[3])) for box in boxes]

    def _draw(self, view: View) -> str:
        if self._drawn is None or self._drawn[0] != view or self._drawn[1] is not self._layers:
            self._drawn = view, self._layers, way_map.layers(view, self._layers)
        return self._drawn[2]

    def _learn(self) -> None:
        """New reports of the board: a plan, further cells, further points of a path."""
        store = self._watched.store
        self._plans = way.plans(store)
        paths = way.paths(store)
        guidance = store.latest("guidance")
        flown = int(guidance["path"]) if guidance and math.isfinite(guidance["path"]) else 0
        plan, before = way.newest_found(self._plans)
        page_map = self._page_map
        cells = way.cells(store, plan.number, page_map.elevation.order) if plan and page_map else {}
        seen = (self._plans, [(path.number, len(path.points_m)) for path in paths], flown, len(cells))
        if seen == self._seen:
            return
        self._seen = seen
        if page_map is None:
            self._layers = way_map.Layers(paths=paths, flown=flown, goal_m=way.goal_m(store))
            return
        fine = plan.fine if plan else 0
        self._layers = way_map.Layers(
            self._blocked_href,
            page_map.elevation.side_m,
            leaves=page_map.leaves_m(plan.start_m) if plan else way_map.NO_BOXES,
            coarse=page_map.boxes_m(tuple(cell for index, cell in cells.items() if index >= fine)),
            channel=page_map.boxes_m(way.channel(store, plan, page_map.elevation.order) if plan else ()),
            before=page_map.boxes_m(way.channel(store, before, page_map.elevation.order) if before else ()),
            paths=paths,
            flown=flown,
            goal_m=way.goal_m(store),
        )

    def _step_card(self) -> None:
        with ui.element("div").classes("way-now"):
            self._letter = ui.label("–").classes("way-letter").props('data-testid="way-letter"')
            with ui.column().classes("gap-0"):
                self._words = ui.label("no data received yet").classes("text-weight-bold").style("font-size:17px")
                self._words.props('data-testid="way-step"')
                self._since = ui.label().classes("al-soft al-num").style("font-size:13px")
        with ui.element("div").classes("way-strip").props('aria-hidden="true"'):
            self._strip = {letter: ui.label(letter) for letter in ALL_LETTERS}
        with ui.element("div").classes("way-facts"):
            self._facts = {}
            for name in FACTS:
                ui.label(name).classes("al-soft")
                self._facts[name] = ui.label("–").props(f'data-testid="way-{name.replace(" ", "-")}"')
        with ui.row().classes("items-center gap-2"):
            self._reach = chip(testid="way-reach")

    def _refresh(self) -> None:
        watched = self._watched
        if watched.flight_id != self._flight:
            ui.navigate.reload()  # another flight, perhaps of another family
            return
        self._show_step()
        for name, words in facts(watched, self._scenario).items():
            self._facts[name].set_text(words)
        plan = self._plans[-1] if self._plans else None
        reaches = plan is not None and plan.reaches_goal and plan.status == PlanStatus.FOUND
        set_chip(self._reach, "the channel reaches the goal" if reaches else "", "ok")
        table = plans_table(self._plans)
        if table != self._table.content:
            self._table.set_content(table)
        if self._operator is not None:
            self._operator.refresh()
        self._processor.refresh()

    def _show_step(self) -> None:
        store = self._watched.store
        now = current_step(store)
        if now is None:
            return
        step, letter = now
        rows = store.rows("mission_step")
        been = set(letters(store.columns("mission_step", "step")[:, 0].tolist()))
        self._letter.set_text(letter)
        self._words.set_text(STEP_WORDS[step][:1].upper() + STEP_WORDS[step][1:])
        self._words.classes(
            add="al-bad" if step == Step.STRANDED else "", remove="" if step == Step.STRANDED else "al-bad"
        )
        self._since.set_text(f"since {rows[-1, 0]:.1f} s" if len(rows) else "")
        for each, label in self._strip.items():
            kind = "way-here" if each == letter else "way-been" if each in been else ""
            label.classes(add=kind, remove=" ".join({"way-here", "way-been"} - {kind}))


def facts(watched: WatchedFlight, scenario: FixedWingScenario) -> dict[str, str]:
    """As text; a dash for values not received."""
    store = watched.store
    words = dict.fromkeys(FACTS, "–")
    pose = readings.pose(store, scenario, 0)
    if pose is not None:
        words["height"] = f"{pose.pos_W[2]:.1f} m"
        words["roll"] = f"{math.degrees(pose.roll_rad):+.1f}°"
        if math.isfinite(pose.airspeed_m_s):
            words["airspeed"] = f"{pose.airspeed_m_s:.1f} m/s"
        if math.isfinite(pose.ground_m):
            words["above ground"] = f"{pose.pos_W[2] - pose.ground_m:.0f} m"
    guidance = store.latest("guidance")
    if guidance and math.isfinite(guidance["cross_m"]):
        cross_m = guidance["cross_m"]
        words["cross-track error"] = f"{abs(cross_m):.1f} m {'left' if cross_m > 0 else 'right'}"
    wind = readings.wind_W(store, 0)
    if wind is not None:
        words["wind"] = f"{math.hypot(*wind):.1f} m/s"
    return words


HEADS = ("plan", "ended", "time, s", "CPU, s", "cells", "expanded", "channel")


def plans_table(plans: list[way.PlanRow]) -> str:
    """The newest first. Only our own texts and numbers, so it is safe as markup."""
    if not plans:
        return '<span class="al-soft">No plan yet: the ground has sent no goal.</span>'
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(plan))}</tr>" for plan in reversed(plans))
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    return f'<table class="way-plans"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _cells(plan: way.PlanRow) -> tuple[str, ...]:
    found = plan.status == PlanStatus.FOUND
    ended = f"{plan.t_s:.1f} s" if found else f'<span class="al-warn">{STATUS_WORDS[plan.status]}</span>'
    work = _number(plan.work_s) if plan.work_s > 0 else "–"
    return (
        f"{plan.number}",
        ended,
        _number(plan.took_s),
        work,
        _number(plan.leaves),
        _number(plan.expanded),
        f"{plan.fine} of {_number(plan.cells)}" if found else "–",
    )


def _number(value: float) -> str:
    """Short, whatever the board sends."""
    return f"{value:.2f}" if abs(value) < 100 and value != int(value) else f"{value:.5g}"
