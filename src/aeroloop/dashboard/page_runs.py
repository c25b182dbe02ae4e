"""Past runs: verdicts, reports, and comparisons of two or more. Figures are drawn in separate processes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from fastapi import HTTPException
from fastapi.responses import FileResponse
from nicegui import app, events, ui

from aeroloop.core.errors import AeroloopError
from aeroloop.dashboard.layout import card, every
from aeroloop.dashboard.past_runs import PastRun, PastRuns
from aeroloop.dashboard.watched_flight import WatchedFlight

LOOK_S = 5.0
DRAWING_S = 300.0
MOST_PRINTED = 500
MOST_COMPARED = 6
MOST_KEPT = 20

SANDBOX = {
    "content-security-policy": "sandbox allow-scripts allow-popups; default-src 'none'; img-src data:; font-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'",
    "cache-control": "no-store",
}
"""A report is a foreign document: it is shown, but without the rights of our pages."""

COLUMNS: list[dict[str, Any]] = [
    {"name": "when", "label": "when", "field": "when", "sortable": True, "align": "left"},
    {"name": "scenario", "label": "scenario", "field": "scenario", "sortable": True, "align": "left"},
    {"name": "loop", "label": "rung", "field": "loop", "sortable": True, "align": "left"},
    {"name": "pace", "label": "pace", "field": "pace", "sortable": True, "align": "left"},
    {"name": "verdict", "label": "verdict", "field": "verdict", "sortable": True, "align": "left"},
    {"name": "flown", "label": "flown", "field": "flown", "align": "right"},
    {"name": "numbers", "label": "numbers", "field": "numbers", "align": "left"},
    {"name": "name", "label": "run", "field": "name", "sortable": True, "align": "left"},
    {"name": "report", "label": "report", "field": "name", "align": "left"},
    {"name": "replay", "label": "replay", "field": "name", "align": "left"},
]

VERDICT = (
    """<span :class="'al-chip al-chip--' + props.row.severity" data-testid="verdict">{{ props.row.verdict }}</span>"""
)
REPORT = """
<a v-if="props.row.has_report" class="al-link" :href="props.row.report" target="_blank" data-testid="report">open</a>
<q-btn v-else-if="props.row.may_write" dense flat no-caps label="write" data-testid="write-report"
       @click="() => $parent.$emit('write', props.row.name)" />
"""
REPLAY = """
<a v-if="props.row.replay" class="al-link" :href="props.row.replay" data-testid="replay">play</a>
"""
CARD = f"""
<div class="q-pa-xs col-12"><div class="al-card">
  <div class="row items-center no-wrap" style="gap:8px">
    <q-checkbox dense v-model="props.selected" /><b>{{{{ props.row.scenario || props.row.name }}}}</b>{VERDICT}
    <q-space />{REPORT}{REPLAY}
  </div>
  <div class="al-soft text-caption">{{{{ props.row.when }}}} · {{{{ props.row.loop }}}} · {{{{ props.row.pace }}}}
    · {{{{ props.row.flown }}}}</div>
  <div class="text-caption">{{{{ props.row.numbers }}}}</div>
  <div class="al-soft text-caption" style="overflow-wrap:anywhere">{{{{ props.row.name }}}}</div>
</div></div>
"""


class Comparisons:
    """Requested comparison pages, in a folder that is removed when the dashboard ends."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="aeroloop-dash-", ignore_cleanup_errors=True)
        self._numbers = count(1)
        self._drawing = asyncio.Lock()

    def page(self, number: int) -> Path | None:
        path = Path(self._folder.name) / f"comparison-{number}.html"
        return path if path.is_file() else None

    async def make(self, folders: Sequence[Path]) -> int:
        number = next(self._numbers)
        out = Path(self._folder.name) / f"comparison-{number}.html"
        async with self._drawing:
            await aeroloop("compare", *map(str, folders), "--out", str(out))
        with contextlib.suppress(OSError):
            (Path(self._folder.name) / f"comparison-{number - MOST_KEPT}.html").unlink(missing_ok=True)
        return number


async def aeroloop(*words: str) -> str:
    """One of our commands in its own process: drawing takes seconds, and the pages must continue. Returns what it
    printed; AeroloopError if it failed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aeroloop.cli", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(DRAWING_S):
            printed, told = await process.communicate()
    except TimeoutError:
        raise AeroloopError(f"{words[0]}: took longer than {DRAWING_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        why = told.decode(errors="replace").strip() or printed.decode(errors="replace").strip()
        raise AeroloopError(why[-MOST_PRINTED:] or f"{words[0]}: failed")
    return printed.decode(errors="replace").strip()[-MOST_PRINTED:]


def register(watched: WatchedFlight) -> None:
    """The files that the page links to: reports of existing runs, and comparisons made here."""
    runs, comparisons = PastRuns(watched.runs_dir), Comparisons()

    @app.get("/runs/{name}/report.html")
    def report(name: str) -> FileResponse:
        return document(runs.report(name))

    @app.get("/comparisons/{number}")
    def comparison(number: int) -> FileResponse:
        return document(comparisons.page(number))

    app.state.comparisons = comparisons


def document(path: Path | None) -> FileResponse:
    """A report, without the rights of our pages."""
    if path is None:
        raise HTTPException(404, "There is no such report.")
    return FileResponse(path, media_type="text/html; charset=utf-8", headers=SANDBOX)


def as_row(run: PastRun, flying: str = "", *, may_write: bool = True) -> dict[str, Any]:
    """`flying`: the name of the run in progress. `may_write`: whether this page may request a report."""
    verdict, severity = (run.verdict, run.severity) if run.has_summary or run.name != flying else ("flying", "ok")
    return {
        "name": run.name,
        "when": run.when,
        "scenario": run.scenario,
        "loop": run.loop,
        "pace": run.pace,
        "verdict": verdict,
        "severity": severity,
        "flown": "" if run.flown_s is None else f"{run.flown_s:.1f} s",
        "numbers": run.numbers,
        "has_report": run.has_report,
        "may_write": run.has_summary and may_write,
        "report": run.url,
        "replay": run.replay_url if run.has_log and run.name != flying else "",
    }


def build(watched: WatchedFlight) -> None:
    _RunsPage(watched)


class _RunsPage:
    def __init__(self, watched: WatchedFlight) -> None:
        self._watched = watched
        self._runs = PastRuns(watched.runs_dir)
        with ui.row().classes("items-center w-full gap-2"):
            search = ui.input(placeholder="filter").props(
                'dense outlined clearable data-testid="filter-runs" aria-label="filter runs"'
            )
            self._compare = ui.button("Compare", icon="compare_arrows", on_click=self._make_comparison)
            self._compare.props('outline no-caps color=inherit data-testid="compare"').disable()
            self._busy = ui.spinner(size="sm")
            self._busy.set_visibility(False)
            self._told = ui.label().classes("al-soft text-caption").props('data-testid="runs-told"')
        with card():
            self._table = ui.table(rows=[], columns=COLUMNS, row_key="name", selection="multiple", pagination=25)
            self._table.props(
                'flat dense :grid="Quasar.Screen.lt.md" data-testid="runs" '
                'no-data-label="no runs yet: aeroloop fly makes them"'
            ).classes("w-full al-table")
            self._table.add_slot("body-cell-verdict", f"<q-td :props='props'>{VERDICT}</q-td>")
            self._table.add_slot("body-cell-report", f"<q-td :props='props'>{REPORT}</q-td>")
            self._table.add_slot("body-cell-replay", f"<q-td :props='props'>{REPLAY}</q-td>")
            self._table.add_slot("item", CARD)
        self._table.on("write", self._write)
        self._table.on_select(lambda _: self._compare.set_enabled(1 < len(self._table.selected) <= MOST_COMPARED))
        search.bind_value_to(self._table, "filter", forward=lambda text: text or "")
        ui.timer(0, self._look, once=True)
        every(LOOK_S, self._look)

    async def _look(self) -> None:
        flying, may_write = self._watched.flying_run, self._watched.may_write
        rows = [as_row(run, flying, may_write=may_write) for run in await asyncio.to_thread(self._runs.list)]
        if rows != self._table.rows:
            self._table.update_rows(rows, clear_selection=False)
        self._told.set_text(f"{len(rows)} runs in {self._watched.runs_dir}")

    async def _write(self, event: events.GenericEventArguments) -> None:
        folder = self._runs.path(str(event.args)) if self._watched.may_write else None
        if folder is not None and await self._drawn(aeroloop("report", str(folder))):
            await self._look()

    async def _make_comparison(self) -> None:
        folders = [self._runs.path(str(row["name"])) for row in self._table.selected[:MOST_COMPARED]]
        number: int | None = None

        async def make() -> None:
            nonlocal number
            number = await app.state.comparisons.make([folder for folder in folders if folder])

        if await self._drawn(make()):
            with self._table, ui.dialog(value=True) as dialog, ui.card().classes("al-card").style("max-width:420px"):
                ui.label(f"{len(folders)} runs are compared.")
                with ui.row():
                    ui.link("Open the comparison", f"/comparisons/{number}", new_tab=True).classes("al-link").props(
                        'data-testid="comparison"'
                    )
            dialog.on("hide", dialog.delete)

    async def _drawn(self, drawing: Any) -> bool:
        self._busy.set_visibility(True)
        try:
            await drawing
        except AeroloopError as error:
            self._watched.notice(str(error), "bad")
            ui.notify(str(error), type="negative", multi_line=True)
            return False
        finally:
            self._busy.set_visibility(False)
        return True
