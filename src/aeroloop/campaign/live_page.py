"""The page /campaign of the dashboard: campaigns of the folder of runs, read from their databases while they run.

It starts nothing but a replay, which a viewer may not: one flight again, in a process of its own.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi.responses import FileResponse
from nicegui import app, events, ui

from aeroloop.campaign import live_campaigns as live
from aeroloop.campaign.judgement import Judged
from aeroloop.campaign.live_campaigns import Campaigns, LiveCampaign
from aeroloop.core.errors import AeroloopError
from aeroloop.dashboard import from_browser, page_runs, theme
from aeroloop.dashboard.app import Page
from aeroloop.dashboard.layout import card, chip, every, remember, remembered, set_chip
from aeroloop.dashboard.watched_flight import WatchedFlight

LOOK_S = 2.0
MARKS = {"passed": (theme.TRACES[0], "circle", 6), "failed": (theme.TRACES[3], "diamond", 9)}
LEFT = {"align": "left"}
TABLE: list[dict[str, Any]] = [
    {"name": "number", "label": "flight", "field": "number", "sortable": True, **LEFT},
    {"name": "verdict", "label": "verdict", "field": "verdict", "sortable": True, **LEFT},
    {"name": "values", "label": "parameters", "field": "values", **LEFT},
    {"name": "numbers", "label": "checked metrics", "field": "numbers", **LEFT},
    {"name": "wall", "label": "wall time", "field": "wall", "align": "right"},
    {"name": "why", "label": "why not flown", "field": "why", **LEFT},
]
WORST: list[dict[str, Any]] = [
    {"name": "metric", "label": "check", "field": "metric", **LEFT},
    {"name": "value", "label": "value", "field": "value", "align": "right"},
    {"name": "limit", "label": "limit", "field": "limit", **LEFT},
    {"name": "margin", "label": "margin", "field": "margin", "align": "right"},
    {"name": "number", "label": "flight", "field": "number", "align": "right"},
    {"name": "values", "label": "parameters", "field": "values", **LEFT},
    {"name": "command", "label": "fly it again", "field": "command", **LEFT},
]
VERDICT = """<span :class="'al-chip al-chip--' + props.row.severity">{{ props.row.verdict }}</span>"""
REPLAY = """
<q-btn v-if="props.row.may" dense flat no-caps color="primary" label="replay" data-testid="replay-flight"
       @click="() => $parent.$emit('replay', props.row.number)" />
<code style="overflow-wrap:anywhere;white-space:normal" data-testid="replay-command">{{ props.row.command }}</code>
"""
CELLS = "overflow-wrap:anywhere;white-space:normal"
FLIGHT_CARD = f"""
<div class="q-pa-xs col-12"><div class="al-card">
  <div class="row items-center no-wrap" style="gap:8px"><b>{{{{ props.row.number }}}}</b>{VERDICT}
    <q-space /><span class="al-soft">{{{{ props.row.wall }}}}</span></div>
  <div class="text-caption" style="overflow-wrap:anywhere">{{{{ props.row.values }}}}</div>
  <div class="al-soft text-caption" style="overflow-wrap:anywhere">
    {{{{ props.row.numbers }}}} {{{{ props.row.why }}}}</div>
</div></div>
"""
WORST_CARD = f"""
<div class="q-pa-xs col-12"><div class="al-card">
  <div><b>{{{{ props.row.metric }}}}</b> {{{{ props.row.value }}}} ({{{{ props.row.limit }}}}), margin
    {{{{ props.row.margin }}}}, flight {{{{ props.row.number }}}}</div>
  <div class="text-caption" style="overflow-wrap:anywhere">{{{{ props.row.values }}}}</div>
  <div>{REPLAY}</div>
</div></div>
"""


def register(watched: WatchedFlight) -> None:
    """Reports of replays, which the page links to."""

    @app.get("/campaigns/{name}/replays/{replay}/report.html")
    def report(name: str, replay: str) -> FileResponse:
        return page_runs.document(Campaigns(watched.runs_dir).replay_report(name, replay))

    app.state.replaying = asyncio.Lock()


def build(watched: WatchedFlight) -> None:
    _CampaignPage(watched)


PAGE = Page("/campaign", "Campaign", "scatter_plot", build, register)


class _CampaignPage:
    def __init__(self, watched: WatchedFlight) -> None:
        self._watched, self._campaigns = watched, Campaigns(watched.runs_dir)
        self._live: LiveCampaign | None = None
        self._axes = ("", "")
        self._looking = asyncio.Lock()
        with ui.row().classes("items-center w-full gap-2"):
            self._picker = ui.select({}, on_change=self._picked).classes("al-picker")
            self._picker.props('dense outlined options-dense data-testid="campaign" aria-label="campaign"')
            self._verdict = chip(testid="campaign-verdict")
            self._busy = ui.spinner(size="sm")
            self._busy.set_visibility(False)
        with card():
            self._headline = ui.label().props('data-testid="campaign-rate"').classes("text-body1")
            self._bar = ui.linear_progress(0.0, show_value=False).props('aria-label="flights done"')
            self._checks = ui.column().classes("gap-1")
        with card():
            with ui.row().classes("items-center gap-2"):
                self._x, self._y = (self._axis(name) for name in ("x", "y"))
            self._plot = ui.echart(_options()).classes("w-full").style("height:360px")
            self._plot.props('data-testid="campaign-scatter"')
        with card():
            ui.label("Worst flights by margin").classes("text-weight-bold")
            self._worst = _table(WORST, "id", "worst", WORST_CARD)
            self._worst.add_slot("body-cell-command", f"<q-td :props='props' style='{CELLS}'>{REPLAY}</q-td>")
            self._worst.add_slot(
                "body-cell-values", f"<q-td :props='props' style='{CELLS}'>{{{{ props.value }}}}</q-td>"
            )
            self._worst.on("replay", self._replay)
            self._replayed = ui.row().classes("items-center gap-2")
        with card():
            with ui.row().classes("items-center gap-2"):
                ui.label("Flights").classes("text-weight-bold")
                self._which = ui.select(list(live.SHOWN), value="all", on_change=self._draw)
                self._which.props(
                    'dense outlined options-dense data-testid="campaign-shown" aria-label="flights shown"'
                )
                self._told = ui.label().classes("al-soft text-caption").props('data-testid="campaign-told"')
            self._table = _table(TABLE, "number", "flights", FLIGHT_CARD)
            self._table.add_slot("body-cell-verdict", f"<q-td :props='props'>{VERDICT}</q-td>")
            for wide in ("values", "numbers"):
                self._table.add_slot(
                    f"body-cell-{wide}", f"<q-td :props='props' style='{CELLS}'>{{{{ props.value }}}}</q-td>"
                )
        ui.timer(0, self._look, once=True)
        every(LOOK_S, self._look)

    def _axis(self, name: str) -> ui.select:
        select = ui.select([], label=name, on_change=self._draw).classes("al-picker")
        return select.props(f'dense outlined options-dense data-testid="campaign-{name}" aria-label="{name} axis"')

    def _picked(self, event: events.ValueChangeEventArguments[Any]) -> None:
        folder = self._campaigns.path(from_browser.words(event.value, 200))
        if folder is not None and (self._live is None or self._live.folder != folder):
            self._live = LiveCampaign(folder)
            remember("campaign", folder.name)
            ui.timer(0, self._look, once=True)

    async def _look(self) -> None:
        """What is new; a campaign of many flights takes a while to read, and the page goes on."""
        if self._looking.locked():
            return
        async with self._looking:
            names = await asyncio.to_thread(self._campaigns.names)
            if names != self._picker.options:
                before = self._picker.value or remembered("campaign")
                self._picker.set_options(names, value=before if before in names else next(iter(names), None))
            if self._live is None:
                self._headline.set_text(
                    f"no campaigns in {self._watched.runs_dir}: aeroloop campaign run makes them" if not names else ""
                )
                return
            shown = self._live
            if await asyncio.to_thread(shown.look) and shown is self._live:
                self._draw()

    def _draw(self) -> None:
        judged = self._live.judged if self._live else None
        if self._live is None or judged is None:
            self._headline.set_text(self._live.why if self._live else "")
            return
        verdict, severity = _verdict(judged)
        set_chip(self._verdict, verdict, severity)
        self._headline.set_text(live.headline(judged))
        self._bar.set_value((len(judged.flown) + len(judged.aborted)) / max(1, judged.total))
        self._draw_checks(live.check_words(judged))
        self._draw_scatter()
        may = self._watched.may_command
        self._worst.update_rows([{**row, "may": may} for row in self._live.worst])
        rows = live.table_rows(judged, self._which.value if self._which.value in live.SHOWN else "all")
        self._table.update_rows(rows)
        more = f", the first {live.MOST_ROWS} of those asked for" if len(rows) == live.MOST_ROWS else ""
        self._told.set_text(f"{len(rows)} shown{more}")

    def _draw_checks(self, checks: list[tuple[str, bool]]) -> None:
        self._checks.clear()
        with self._checks:
            for words, ok in checks:
                with ui.row().classes("items-center gap-2 no-wrap"):
                    chip("pass" if ok else "FAIL", "ok" if ok else "bad")
                    ui.label(words).classes("text-caption")

    def _draw_scatter(self) -> None:
        assert self._live is not None and self._live.judged is not None
        judged, names = self._live.judged, live.columns(self._live.judged)
        if names != self._x.options:
            for select, first in zip((self._x, self._y), live.first_axes(judged), strict=True):
                select.set_options(names, value=select.value if select.value in names else first)
            return  # a new value draws
        x, y = self._x.value, self._y.value
        options = self._plot.options
        for axis, name in (("xAxis", x), ("yAxis", y)):
            texts = live.texts(judged, name)
            options[axis] = {**_axis(name), **({"type": "category", "data": texts} if texts else {"type": "value"})}
        points = live.scatter(judged, x, y)
        for series in options["series"]:
            series["data"] = points[series["name"]]
        self._plot.update()

    async def _replay(self, event: events.GenericEventArguments) -> None:
        number = from_browser.number(event.args, 1, 10_000_000)
        if number is None or self._live is None or not self._watched.may_command:
            return
        folder, lock = self._live.folder, app.state.replaying
        if lock.locked():
            ui.notify("a flight is being flown again already", type="warning")
            return
        async with lock:
            self._busy.set_visibility(True)
            try:
                words = await page_runs.aeroloop("campaign", "replay", str(folder), str(int(number)))
                kind = "ok"
            except AeroloopError as error:
                words, kind = str(error), "bad"
            finally:
                self._busy.set_visibility(False)
        self._tell_replay(folder, int(number), words.partition("\n")[0], kind)

    def _tell_replay(self, folder: Path, number: int, words: str, kind: str) -> None:
        own = [name for name in live.replays(folder) if re.fullmatch(rf"flight-{number}(-\d+)?", name)]
        self._replayed.clear()
        with self._replayed:
            ui.label(words).classes(f"al-{kind}").props('data-testid="replayed"')
            if own:
                target = f"/campaigns/{quote(folder.name, safe='')}/replays/{quote(own[-1], safe='')}/report.html"
                ui.link("report", target, new_tab=True).classes("al-link")


def _verdict(judged: Judged) -> tuple[str, theme.Severity]:
    if not judged.complete:
        return "not complete", "info"
    return {0: ("passed", "ok"), 1: ("failed", "bad")}.get(judged.exit_code, ("aborted flights", "warn"))  # type: ignore[return-value]


def _table(columns: list[dict[str, Any]], key: str, testid: str, item: str) -> ui.table:
    table = ui.table(rows=[], columns=columns, row_key=key, pagination=10)
    table.props(f'flat dense :grid="Quasar.Screen.lt.md" data-testid="campaign-{testid}" no-data-label="none yet"')
    table.add_slot("item", item)
    return table.classes("w-full al-table")


def _axis(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "nameLocation": "middle",
        "nameGap": 28,
        "scale": True,
        "axisLine": {"onZero": False},
        "axisLabel": {"color": theme.AXIS},
        "nameTextStyle": {"color": theme.AXIS},
        "splitLine": {"lineStyle": {"color": theme.AXIS, "opacity": 0.25}},
    }


def _options() -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 64, "right": 16, "top": 32, "bottom": 48},
        "legend": {"top": 0, "textStyle": {"color": theme.AXIS}},
        "tooltip": {"trigger": "item"},
        "xAxis": _axis(""),
        "yAxis": _axis(""),
        "series": [
            {
                "name": name,
                "type": "scatter",
                "symbol": symbol,
                "symbolSize": size,
                "itemStyle": {"color": colour, "opacity": 0.75},
                "data": [],
            }
            for name, (colour, symbol, size) in MARKS.items()
        ],
    }
