"""Campaigns of a folder as the page /campaign shows them, read-only: while they run, and after. Nothing in a folder is
an error, and no worker or driver is touched."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.campaign.campaign_page import replay_command, short, values_of
from aeroloop.campaign.campaigns import REPLAYS, judged
from aeroloop.campaign.judgement import Judged, verdict_of
from aeroloop.campaign.statistics import Array
from aeroloop.campaign.store import DATABASE, Row, Store
from aeroloop.core.errors import AeroloopError
from aeroloop.flight.results import REPORT

MOST_CAMPAIGNS, MOST_ROWS, MOST_POINTS, MOST_WORST = 200, 500, 3000, 20
ALL = "all"
SHOWN = (ALL, "aborted", "failed", "passed", "planned")
"""Which flights the table shows."""
WALL, NUMBER = "wall_s", "number"


@dataclass(frozen=True)
class Campaigns:
    """The campaigns of one folder, by name: newest first."""

    folder: Path

    def names(self) -> list[str]:
        found = []
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    ours = entry.is_dir(follow_symlinks=False) and entry.name.isprintable()
                    if ours and (changed := _changed(Path(entry.path))):
                        found.append((changed, entry.name))
        except OSError:
            return []
        return [name for _, name in sorted(found, reverse=True)[:MOST_CAMPAIGNS]]

    def path(self, name: str) -> Path | None:
        """None for any name that is not that of a campaign in the folder itself."""
        return self.folder.absolute() / name if name in self.names() else None

    def replay_report(self, name: str, replay: str) -> Path | None:
        """Of a flight that was flown again; `replay`: the name of its folder."""
        folder = self.path(name)
        if folder is None or replay not in replays(folder):
            return None
        path = folder / REPLAYS / replay / REPORT
        return path if path.is_file() and not path.is_symlink() else None


def replays(folder: Path) -> list[str]:
    """Flights flown again, oldest first."""
    try:
        with os.scandir(folder / REPLAYS) as entries:
            found = [(each.stat().st_mtime_ns, each.name) for each in entries if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [name for _, name in sorted(found)]


def _changed(folder: Path) -> tuple[int, ...]:
    """Time and size of the database and of what is not in it yet; empty if there is none."""
    found = []
    for name in (DATABASE, f"{DATABASE}-wal"):
        try:
            info = (folder / name).lstat()
        except OSError:
            if name == DATABASE:
                return ()
            continue
        if info.st_size:  # a reader makes an empty one
            found += [info.st_mtime_ns, info.st_size]
    return tuple(found)


class LiveCampaign:
    """One campaign; it is read again only when its files have changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.judged: Judged | None = None
        self.worst: list[dict[str, Any]] = []
        self.why = ""  # it cannot be shown
        self._changed: tuple[int, ...] | None = None

    def look(self) -> bool:
        """Whether there is something new; takes a while for many flights."""
        changed = _changed(self.folder)
        if changed == self._changed:
            return False
        self._changed = changed
        try:
            store = Store(self.folder)
            try:
                found = judged(store)
            finally:
                store.close()
            self.judged, self.worst, self.why = found, worst_rows(found, self.folder), ""
        except (AeroloopError, KeyError, ValueError, TypeError) as error:
            self.judged, self.worst, self.why = None, [], f"{self.folder.name}: cannot be read: {error}"
        return True


def headline(judged: Judged) -> str:
    """The rate with its interval, never without the number of flights."""
    flown = len(judged.flown) + len(judged.aborted)
    text = f"{flown} of {judged.total} flights; passed: {judged.rate().words}"
    return text if judged.boundary is None else f"{text}; {judged.boundary.words}"


def check_words(judged: Judged) -> list[tuple[str, bool]]:
    return [(check.words, check.ok) for check in judged.checks]


def table_rows(judged: Judged, shown: str = "all") -> list[dict[str, Any]]:
    """At most MOST_ROWS flights, by number."""
    rows = judged.rows[:MOST_ROWS] if shown == ALL else judged.with_verdict(shown, MOST_ROWS)
    return [_table_row(judged, row) for row in rows]


def _table_row(judged: Judged, row: Row) -> dict[str, Any]:
    own = judged.metrics_of(row)
    verdict = verdict_of(row)
    return {
        "number": row.number,
        "verdict": verdict,
        "severity": {"passed": "ok", "failed": "bad", "aborted": "warn"}.get(verdict, "info"),
        "values": values_of(row),
        "numbers": ", ".join(f"{name} {short(own[name])}" for name in judged.checked_metrics if name in own),
        "wall": "" if row.wall_s is None else f"{row.wall_s:.1f} s",
        "why": row.why or "",
    }


def worst_rows(judged: Judged, folder: Path) -> list[dict[str, Any]]:
    found = judged.worst()
    each = max(1, MOST_WORST // max(1, len({one.metric for one in found})))
    taken: dict[str, int] = {}
    rows = []
    for one in found:
        taken[one.metric] = taken.get(one.metric, 0) + 1
        if taken[one.metric] <= each:
            margin = f"{100 * one.margin:.3g} %" if math.isfinite(one.margin) else "not measured"
            rows.append(
                {
                    "id": f"{one.metric} {one.row.number}",
                    "metric": one.metric,
                    "value": short(one.value),
                    "limit": one.limit,
                    "margin": margin,
                    "number": one.row.number,
                    "values": values_of(one.row),
                    "command": replay_command(folder, one.row),
                }
            )
    return rows


def columns(judged: Judged) -> list[str]:
    """What can be an axis: parameters, metrics that vary, wall time, number."""
    names = judged.metric_names
    checked = [name for name in names if name in judged.checked_metrics]
    others = sorted(name for name in names if name not in judged.checked_metrics)
    return [*judged.varied, *checked, *others, WALL, NUMBER]


def first_axes(judged: Judged) -> tuple[str, str]:
    """The first parameter, and the metric whose check has the smallest margin, as far as there are any."""
    metrics = [each.metric for each in judged.worst(1)] or list(judged.checked_metrics)
    return judged.varied[0] if judged.varied else NUMBER, metrics[0] if metrics else WALL


def scatter(judged: Judged, x: str, y: str) -> Mapping[str, list[list[float]]]:
    """Passed and failed flights: x, y, number. Of very many of either, evenly spaced ones."""
    columns, passed = np.stack([_column(judged, x), _column(judged, y), judged.numbers()]), judged.passed
    finite = np.isfinite(columns).all(axis=0)
    return {
        "passed": _thinned(columns[:, finite & passed]),
        "failed": _thinned(columns[:, finite & ~passed]),
    }


def texts(judged: Judged, key: str) -> list[str]:
    """Values of a parameter that is text, in the order of their numbers on an axis."""
    return judged.texts(key)


def _column(judged: Judged, name: str) -> Array:
    if name in judged.varied:
        return judged.column(name)
    own = {WALL: judged.wall_s, NUMBER: judged.numbers}
    return own[name]() if name in own else judged.metric(name)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _thinned(points: Array) -> list[list[float]]:
    """x, y and number of at most MOST_POINTS columns, evenly spaced."""
    count = points.shape[1]
    if count > MOST_POINTS:
        points = points[:, np.arange(MOST_POINTS) * count // MOST_POINTS]
    return [[_rounded(x), _rounded(y), int(number)] for x, y, number in points.T.tolist()]
