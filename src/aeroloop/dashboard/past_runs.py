"""Past runs as a table of the page: the content of their folders, complete or not. No content of a folder is an
error."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aeroloop.dashboard import from_browser
from aeroloop.dashboard.theme import Severity
from aeroloop.flight.results import LOG, REPORT, SCENARIO, SUMMARY

MOST_RUNS = 500
LARGEST_SUMMARY_B = 4 * 2**20
KEY_METRICS = ("pos_rms_m", "pos_max_m", "altitude_rms_m", "roll_max_deg", "deadlines_missed")
SHOWN_METRICS = 3


@dataclass(frozen=True, slots=True)
class PastRun:
    name: str
    changed_s: float  # since the epoch
    scenario: str = ""
    loop: str = ""
    pace: str = ""
    verdict: str = ""
    severity: Severity = "info"
    flown_s: float | None = None
    numbers: str = ""
    has_summary: bool = False
    has_report: bool = False
    has_log: bool = False

    @property
    def replay_url(self) -> str:
        return f"/replay/{quote(self.name, safe='')}"

    @property
    def url(self) -> str:
        """URL of its report."""
        return f"/runs/{quote(self.name, safe='')}/report.html"

    @property
    def when(self) -> str:
        return f"{datetime.fromtimestamp(self.changed_s):%Y-%m-%d %H:%M:%S}"


class PastRuns:
    """The runs of one folder; a summary is read again only when it has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[tuple[int, ...], PastRun]] = {}

    def list(self) -> list[PastRun]:
        """Newest first."""
        found = {}
        for name, changed in sorted(self._folders().items(), key=lambda item: -max(item[1]))[:MOST_RUNS]:
            known = self._known.get(name)
            found[name] = known if known and known[0] == changed else (changed, read_run(self.folder / name))
        self._known = found
        return sorted((run for _, run in found.values()), key=lambda run: -run.changed_s)

    def path(self, name: str) -> Path | None:
        """The folder of a run by its name; None for any name that is not in the folder itself."""
        if name not in self._folders():
            return None
        path = self.folder.absolute() / name  # absolute: no command parses it as an option
        return path if path.resolve().parent == self.folder.resolve() else None

    def report(self, name: str) -> Path | None:
        path = self.path(name)
        report = path / REPORT if path else None
        return report if report and report.is_file() and not report.is_symlink() else None

    def _folders(self) -> dict[str, tuple[int, ...]]:
        """Folders with a part of a run, and the time of their last change."""
        found = {}
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and entry.name.isprintable():
                        times = tuple(_changed_ns(Path(entry.path) / name) for name in (SCENARIO, SUMMARY, REPORT, LOG))
                        if any(times):
                            found[entry.name] = times
        except OSError:
            pass
        return found


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def read_run(folder: Path) -> PastRun:
    return replace(_read(folder), has_log=(folder / LOG).is_file() and (folder / SCENARIO).is_file())


def _read(folder: Path) -> PastRun:
    changed_s = max(_changed_ns(folder / name) for name in (SUMMARY, SCENARIO)) / 1e9
    has_report = (folder / REPORT).is_file()
    try:
        with open(folder / SUMMARY, "rb", opener=_plainly) as file:
            text = file.read(LARGEST_SUMMARY_B + 1)
        summary = json.loads(text) if len(text) <= LARGEST_SUMMARY_B else None
    except FileNotFoundError:
        return PastRun(folder.name, changed_s, verdict="no summary", severity="info", has_report=has_report)
    except (OSError, ValueError, RecursionError):
        summary = None
    if not isinstance(summary, dict) or not isinstance(summary.get("scenario"), str):
        return PastRun(folder.name, changed_s, verdict="unreadable", severity="warn", has_report=has_report)
    verdict, severity = _verdict(summary)
    metrics = summary.get("metrics")
    metrics = metrics if isinstance(metrics, dict) else {}
    flown_s = metrics.get("flown_s")
    return PastRun(
        folder.name,
        changed_s,
        scenario=_word(summary.get("scenario")),
        loop=_word(summary.get("loop")),
        pace=_word(summary.get("pace")),
        verdict=verdict,
        severity=severity,
        flown_s=float(flown_s) if flown_s is not None and _is_number(flown_s) else None,
        numbers=_numbers(summary, metrics),
        has_summary=True,
        has_report=has_report,
    )


def _plainly(path: str, flags: int) -> int:
    """From a foreign folder: pipes are not waited for, and links are not followed."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _verdict(summary: dict[str, Any]) -> tuple[str, Severity]:
    if summary.get("ok") is True:
        return "passed", "ok"
    return ("failed", "bad") if summary.get("exit_code") == 1 else ("aborted", "warn")


def _numbers(summary: dict[str, Any], metrics: dict[str, Any]) -> str:
    """The checks that failed, or else a few important numbers."""
    checks = summary.get("checks")
    entries = [check for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
    failed = [(check.get("name"), check.get("value")) for check in entries if check.get("ok") is False]
    chosen = failed or [(name, metrics.get(name)) for name in KEY_METRICS if _is_number(metrics.get(name))]
    return ", ".join(
        f"{_word(name)} {value:.3g}" if _is_number(value) else f"{_word(name)} not measured"
        for name, value in chosen[:SHOWN_METRICS]
    )


def _is_number(value: Any) -> bool:
    return from_browser.number(value, -sys.float_info.max, sys.float_info.max) is not None


def _word(value: Any) -> str:
    return value[:80] if isinstance(value, str) else ""
