"""Links page: every link of the flight and its health, the routing table, and the timing of the plant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from nicegui import ui

from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page, theme
from aeroloop.dashboard.histogram import Histogram, Timing
from aeroloop.dashboard.layout import card, every
from aeroloop.dashboard.link_health import COLUMNS, LIMITS, NOTHING, WINDOW_S, Cell, Level, LinkView, MessageView
from aeroloop.dashboard.link_sources import forwarding_rates_of, views
from aeroloop.dashboard.watched_flight import WatchedFlight

UPDATE_S = 0.5
CLASS = {Level.NONE: "", Level.OK: "ln-ok", Level.AMBER: "ln-warn", Level.RED: "ln-bad"}
LEVELS = " ".join(filter(None, CLASS.values()))
_RATE, _LOAD, _LOSS, _DELAY = (LIMITS[name] for name in ("rate", "load", "loss", "delay"))
KEY = (
    f"Green / amber: rates within {100 * _RATE.amber:g} and {100 * _RATE.red:g} % of the set rate, load up to "
    f"{_LOAD.amber:g} and {_LOAD.red:g} %, losses none and up to {_LOSS.red:g} %, a round trip up to {_DELAY.amber:g} "
    f"and {_DELAY.red:g} of the control period, over the last {WINDOW_S:g} s; red beyond. Click a link for more."
)

CSS = """
.ln { width:100%; border-collapse:collapse; font-size:13px; font-variant-numeric:tabular-nums; }
.ln th { text-align:right; font-weight:600; color:var(--al-soft); padding:4px 8px; white-space:nowrap; }
.ln th:first-child, .ln td:first-child { text-align:left; }
.ln td { text-align:right; padding:4px 8px; border-top:1px solid var(--al-line); white-space:nowrap; }
.ln .ln-name { cursor:pointer; white-space:normal; min-width:150px; border-left:4px solid var(--al-line); }
.ln .ln-what { color:var(--al-soft); font-size:12px; overflow-wrap:anywhere; }
.ln .ln-why { color:var(--al-bad); font-size:12px; }
.ln td.ln-ok { background:color-mix(in srgb, var(--al-ok) 16%, transparent); }
.ln td.ln-warn { background:color-mix(in srgb, var(--al-warn) 30%, transparent); font-weight:600; }
.ln td.ln-bad { background:color-mix(in srgb, var(--al-bad) 34%, transparent); font-weight:700; }
.ln td.ln-name { font-weight:400 !important; }
.ln td.ln-name.ln-ok { background:none; border-left-color:var(--al-ok); }
.ln td.ln-name.ln-warn { background:none; border-left-color:var(--al-warn); }
.ln td.ln-name.ln-bad { background:none; border-left-color:var(--al-bad); }
.ln td.ln-more { text-align:left; padding:0 8px 8px 24px; }
@media (max-width:899px) {
  .ln.ln-main > tr.ln-head { display:none; }
  .ln.ln-main > tr { display:grid; grid-template-columns:repeat(auto-fill, minmax(104px, 1fr)); gap:1px;
        border-top:1px solid var(--al-line); padding:4px 0; }
  .ln.ln-main > tr > td.ln-empty { display:none; }
  .ln.ln-main > tr > td { border-top:0; text-align:left; white-space:normal; }
  .ln.ln-main > tr > td[data-label]::before { content:attr(data-label); display:block; color:var(--al-soft);
        font-size:11px; font-weight:400; }
  .ln.ln-main > tr > td.ln-name, .ln.ln-main > tr > td.ln-more { grid-column:1 / -1; padding-left:8px; }
}
"""


def build(watched: WatchedFlight) -> None:
    ui.add_css(CSS)
    with card().style("overflow-x:auto"):
        title = ui.label().classes("text-weight-bold")
        table = _Table()
        ui.label(KEY).classes("al-soft text-caption")
    with card().style("overflow-x:auto") as matrix_card:
        ui.label("Routing table: messages per second from the link on the left to the link at the top").classes(
            "text-weight-bold"
        )
        matrix = ui.html(sanitize=False).props('data-testid="hears"').classes("w-full")
    with card() as period_card:
        periods = _Periods()
    refused = ui.label().classes("al-soft text-caption").props('data-testid="refused"')

    def update() -> None:
        shown = views(watched.store, watched.links, watched.scenario)
        title.set_text(_title(shown, watched.running))
        table.show(shown)
        matrix_card.set_visibility(len(watched.links) > 1)
        if len(watched.links) > 1:
            matrix.set_content(_matrix([info.name for info in watched.links], forwarding_rates_of(watched.store)))
        period_card.set_visibility(periods.update(watched))
        refused.set_text(told_refused(watched.refused))

    update()
    every(UPDATE_S, update)


def _title(shown: list[LinkView], running: bool) -> str:
    if not shown:
        return "Links: none yet" if running else "Links: no flight is running"
    bad = sum(view.level >= Level.AMBER for view in shown)
    verdict = "all as set" if not bad else f"{bad} not as set"
    return f"{len(shown)} links, {verdict}" + ("" if running else " (ended)")


def told_refused(refused: Mapping[str, int]) -> str:
    """Requests that the dashboard refused."""
    if not refused:
        return "This dashboard has refused no request."
    causes = ", ".join(f"{cause} {count:,}" for cause, count in sorted(refused.items()))
    return f"This dashboard has refused {sum(refused.values()):,} requests: {causes}."


class _Table:
    """The rows are created once; afterwards only changes are sent to the browser."""

    def __init__(self) -> None:
        self._rows: dict[str, _LinkRows] = {}
        with (
            ui.element("table").classes("ln ln-main").props('data-testid="lines-table"') as self._table,
            _row("ln-head"),
        ):
            _cell("link", tag="th")
            for words in COLUMNS.values():
                _cell(words, tag="th")

    def show(self, shown: list[LinkView]) -> None:
        names = [view.name for view in shown]
        if names != list(self._rows):
            for row in self._rows.values():
                row.delete()
            with self._table:
                self._rows = {view.name: _LinkRows(view) for view in shown}
        for view in shown:
            self._rows[view.name].show(view)


class _LinkRows:
    """Two rows of the table: the link, and its messages when expanded."""

    def __init__(self, view: LinkView) -> None:
        self._shown: dict[str, Cell] = {}
        self._level = Level.NONE
        self._open = False
        self._messages: tuple[MessageView, ...] = ()
        with _row("") as self._row:
            self._row.props(f'data-testid="line-{_slug(view.name)}"')
            with ui.element("td").classes("ln-name").on("click", self._turn) as self._name:
                ui.label(view.name).classes("text-weight-bold")
                self._what = ui.label().classes("ln-what")
                self._why = ui.label().classes("ln-why")
            self._cells = {column: _cell("", words) for column, words in COLUMNS.items()}
        with _row("") as self._more, ui.element("td").classes("ln-more").props(f"colspan={len(COLUMNS) + 1}"):
            self._table = ui.html(sanitize=False).props(f'data-testid="messages-{_slug(view.name)}"')
        self._more.set_visibility(False)

    def show(self, view: LinkView) -> None:
        self._what.set_text(" · ".join(filter(None, (view.role, view.url))))
        self._why.set_text(view.why)
        self._level = _recolour(self._name, self._level, view.level)
        for column, label in self._cells.items():
            cell, before = view.cells[column], self._shown.get(column, Cell(""))
            if cell != before:
                label.set_text(cell.text)
                label.classes(**{"add" if cell.text == NOTHING else "remove": "ln-empty"})
                _recolour(label, before.level, cell.level)
                self._shown[column] = cell
        self._messages = view.messages
        if self._open:
            self._table.set_content(_messages(view.messages))

    def _turn(self) -> None:
        self._open = not self._open
        self._table.set_content(_messages(self._messages) if self._open else "")
        self._more.set_visibility(self._open)

    def delete(self) -> None:
        self._row.delete()
        self._more.delete()


def _row(classes: str) -> ui.element:
    return ui.element("tr").classes(classes)


def _cell(words: str, label: str = "", tag: str = "td") -> ui.label:
    cell = ui.label(words)
    cell.tag = tag
    return cell.props(f'data-label="{label}"') if label else cell


def _recolour(element: ui.element, before: Level, now: Level) -> Level:
    if before != now:
        element.classes(remove=LEVELS, add=CLASS[now])
    return now


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name)


def _messages(messages: tuple[MessageView, ...]) -> str:
    if not messages:
        return "<span class='al-soft'>Messages on this link are not counted by kind.</span>"
    rows = [
        f"<tr><td>{escape(m.name)}</td><td>{escape(m.sender)}</td><td>{'out' if m.outbound else 'in'}</td>"
        f"<td class='{CLASS[m.rate.level]}'>{escape(m.rate.text)}</td><td>{m.count:,}</td></tr>"
        for m in messages
    ]
    head = "<tr><th>message</th><th>sender</th><th></th><th>Hz / set</th><th>count</th></tr>"
    return f"<table class='ln' style='max-width:640px'>{head}{''.join(rows)}</table>"


def _matrix(names: list[str], rates: Mapping[tuple[int, int], float]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = []
    for source, name in enumerate(names):
        cells = []
        for target in range(len(names)):
            rate_hz = rates.get((source, target), 0.0)
            own = "<td class='al-soft'>·</td>"
            cells.append(own if source == target else f"<td class='{'ln-ok' if rate_hz else ''}'>{rate_hz:.0f}</td>")
        rows.append(f"<tr><td>{escape(name)}</td>{''.join(cells)}</tr>")
    return f"<table class='ln' style='width:auto'><tr><th></th>{head}</tr>{''.join(rows)}</table>"


class _Periods:
    """The histogram, its text, and the position in the store up to which rows are counted."""

    def __init__(self) -> None:
        self._title = ui.label().classes("text-weight-bold")
        self._words = ui.label().classes("al-num").props('data-testid="period-words"')
        self._chart = (
            ui.echart(_options()).classes("w-full").style("height:260px").props('data-testid="period-histogram"')
        )
        self._flight: str | None = None
        self._timing: Timing | None = None

    def _begin(self, scenario: Scenario | None) -> None:
        page = family_page.of(scenario) if scenario is not None else None
        self._timing = page.timing(scenario) if page is not None else None
        if self._timing is not None:
            self._histogram = Histogram(self._timing.edges_s)
            self._counted_s = -math.inf
            self._title.set_text(self._timing.title)

    def update(self, watched: WatchedFlight) -> bool:
        """False if there is nothing to count: a router has no period."""
        if watched.flight_id != self._flight:
            self._flight = watched.flight_id
            self._begin(watched.scenario)
        of = self._timing
        if of is None:
            return False
        rows = watched.store.since(of.stream, self._counted_s)
        if len(rows):
            self._counted_s = float(rows[-1, 0])
            self._histogram.add(rows[:, watched.store.names(of.stream).index(of.column)])
            self._draw()
        missed = watched.store.latest("pace")
        self._words.set_text(_sentence(self._histogram, of, missed["missed"] if missed else math.nan))
        return True

    def _draw(self) -> None:
        histogram, chosen = self._histogram, self._histogram.shown()
        middles_s = (histogram.edges[:-1] + histogram.edges[1:]) / 2
        options = self._chart.options
        options["xAxis"]["data"] = [f"{1e3 * middle:.3g}" for middle in middles_s[chosen]]
        # The axis is logarithmic: an empty bin has no bar.
        options["series"][0]["data"] = [int(n) or None for n in histogram.counts[chosen]]
        self._chart.update()


def _sentence(histogram: Histogram, of: Timing, missed: float) -> str:
    if not histogram.count:
        return "nothing counted yet"
    named = {"median": histogram.quantile(0.5), "99 %": histogram.quantile(0.99), "largest": histogram.largest}
    words = [f"{name} {1e3 * value:.3g} ms" for name, value in named.items()]
    if not math.isnan(of.set_s):
        words.insert(0, f"set {1e3 * of.set_s:g} ms")
    if not math.isnan(missed):
        words.append(f"missed deadlines {missed:.0f}")
    if histogram.beyond:
        words.append(f"{histogram.beyond} beyond {1e3 * histogram.edges[-1]:g} ms")
    return " · ".join([*words, f"{histogram.count:,} counted"])


def _options() -> dict[str, Any]:
    axis = {"axisLabel": {"color": theme.AXIS}, "nameTextStyle": {"color": theme.AXIS}, "axisLine": {"show": True}}
    return {
        "animation": False,
        "grid": {"left": 48, "right": 12, "top": 24, "bottom": 40},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "category", "name": "ms", "nameLocation": "middle", "nameGap": 24, "data": [], **axis},
        "yAxis": {
            "type": "log",
            "name": "count",
            "axisLabel": {"color": theme.AXIS, "showMinLabel": False},
            "min": 0.5,
            "startValue": 0.5,  # a bar of one is visible
            "splitLine": {"lineStyle": {"color": theme.AXIS, "opacity": 0.25}},
            "nameTextStyle": {"color": theme.AXIS},
        },
        "series": [{"type": "bar", "data": [], "barCategoryGap": "8%", "itemStyle": {"color": theme.TRACES[0]}}],
    }
