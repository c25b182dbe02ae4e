"""A run: the results of a flight, by the names of summary.json, with its log and its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

from aeroloop.analysis.checks import CheckResult
from aeroloop.analysis.fleet import of_part
from aeroloop.analysis.page import number, verdict
from aeroloop.analysis.physics import Examined
from aeroloop.api.tables import FlightLog
from aeroloop.core.errors import EXIT_OK
from aeroloop.core.fleet import Fleet, Plan, prefix
from aeroloop.core.scenario import Scenario
from aeroloop.core.streams import channels
from aeroloop.flight import results
from aeroloop.flight.physics_check import check_log
from aeroloop.recording.log import Log, part_of


@dataclass(frozen=True)
class Figure:
    """A figure of the report; a notebook shows it."""

    name: str
    title: str
    caption: str
    svg: str

    def save(self, path: str | Path) -> Path:
        """As an SVG file."""
        file = Path(path)
        file.write_text(self.svg, encoding="utf-8")
        return file

    def _repr_svg_(self) -> str:
        return self.svg


class Run:
    """A flight that has ended. Numbers that were not measured are NaN."""

    def __init__(self, folder: Path, plan: Plan, summary: Mapping[str, Any], remarks: Sequence[str] = ()) -> None:
        self.folder = folder
        self.plan = plan
        """The scenario as flown, every key of it: a `core.scenario.Scenario`, or a `Fleet` of them."""
        self.summary = summary
        """The content of summary.json."""
        self.remarks = tuple(remarks)
        """Remarks of the flight's processes; empty for a run that was opened later."""

    @property
    def scenario(self) -> str:
        return str(self.summary["scenario"])

    @property
    def loop(self) -> str:
        return str(self.summary["loop"])

    @property
    def pace(self) -> str:
        return str(self.summary["pace"])

    @property
    def seed(self) -> int:
        return int(self.summary["seed"])

    @property
    def duration_s(self) -> float:
        return float(self.summary["duration_s"])

    @property
    def real_time_factor(self) -> float:
        return _number(self.summary["real_time_factor"])

    @property
    def passed(self) -> bool:
        """The flight was complete, and every check passed."""
        return self.exit_code == EXIT_OK

    @property
    def exit_code(self) -> int:
        """Of `aeroloop fly`: 0 passed, 1 a check failed, 3 link or board failed, 130 or 143 interrupted."""
        return int(self.summary["exit_code"])

    @property
    def ended(self) -> str:
        return str(self.summary["ended"])

    @property
    def error(self) -> str | None:
        """Why the flight was aborted, in a sentence."""
        error = self.summary["error"]
        return None if error is None else str(error)

    @cached_property
    def checks(self) -> list[CheckResult]:
        return [CheckResult(**{**check, "value": _number(check["value"])}) for check in self.summary["checks"]]

    @property
    def failed(self) -> list[CheckResult]:
        """The checks that did not pass."""
        return [check for check in self.checks if not check.ok]

    @cached_property
    def metrics(self) -> dict[str, float]:
        return {name: _number(value) for name, value in self.summary["metrics"].items()}

    @property
    def timing(self) -> Mapping[str, Any]:
        timing: Mapping[str, Any] = self.summary["timing"]
        return timing

    @property
    def links(self) -> Mapping[str, Any]:
        links: Mapping[str, Any] = self.summary["links"]
        return links

    @property
    def events(self) -> list[dict[str, Any]]:
        """In the order of time; limited in number (`summary["events_total"]` is the total)."""
        return list(self.summary["events"])

    @property
    def versions(self) -> Mapping[str, str]:
        versions: Mapping[str, str] = self.summary["versions"]
        return versions

    @property
    def log_sha256(self) -> str:
        """Hash of what was simulated: equal for equal flights in lockstep."""
        return str(self.summary["log_sha256"])

    @cached_property
    def log(self) -> FlightLog:
        """Every logged stream, read from flight.mcap at first use."""
        return FlightLog(self._log, channels(self.plan))

    @cached_property
    def _log(self) -> Log:
        return results.read_log(self.folder, self.plan)

    @cached_property
    def parts(self) -> Mapping[str, Run]:
        """Of a fleet: each part by its name, as if it had flown alone; empty where one scenario flew."""
        if not isinstance(self.plan, Fleet):
            return {}
        return {part.name: _Part(self, index, part) for index, part in enumerate(self.plan.parts)}

    def report(self) -> Path:
        """The path of report.html, which is written if it is missing."""
        path = self.folder / results.REPORT
        return path if path.exists() else results.write_report(self.folder, self.plan, self._log, self.summary)

    def video(self, out: str | Path | None = None, **settings: Any) -> Path:
        """A film from the log; by default flight.mp4 in the run's folder. Settings as those of `aeroloop video`, by
        the names of `video.film.Settings`: `camera="free"`, `size_px=(1280, 720)`, `from_s=10.0`, ..."""
        from aeroloop.video import encoders
        from aeroloop.video.film import Settings
        from aeroloop.video.make import make

        file = Path(out) if out is not None else self.folder / f"{Path(results.LOG).stem}.mp4"
        kind = encoders.kind_of(file)
        size_px = kind.panel_size_px if settings.get("instruments") else kind.size_px
        make(self.folder, file, Settings(**{"fps": kind.fps, "size_px": size_px, **settings}))
        return file

    def check_physics(self, within: float | None = None) -> Mapping[str, list[Examined]]:
        """The lines of `aeroloop check-physics` by the part's name, which is empty where one scenario flew: of each
        aircraft its `findings`, and whether all are `ok`. ConfigError without `log.balance`."""
        return check_log(self._log, self.folder, within)

    @cached_property
    def figures(self) -> Mapping[str, Figure]:
        """The figures of the report by name; those of a fleet's part are prefixed by its name: `wing/trajectory`."""
        if isinstance(self.plan, Fleet):
            return {
                f"{name}/{key}": figure for name, part in self.parts.items() for key, figure in part.figures.items()
            }
        return {figure.name: figure for figure in _figures(self.plan, self._log, self.summary)}

    def __repr__(self) -> str:
        failed = "".join(f", {check.name} {check.value:.4g} not {check.limit}" for check in self.failed)
        return f"<Run {self.scenario} on {self.loop}: {_verdict(self)} ({self.ended}{failed}), {self.folder}>"

    def _repr_html_(self) -> str:
        """For notebooks: verdict, settings and checks."""
        head = Markup("<b>{}</b> on {}, pace {}, seed {}: <b>{}</b> ({})").format(
            self.scenario, self.loop, self.pace, self.seed, _verdict(self), self.error or self.ended
        )
        rows = Markup("").join(
            Markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>").format(
                check.name, number(check.value), check.limit, "passed" if check.ok else "FAILED"
            )
            for check in self.checks
        )
        columns = Markup("<tr><th>check</th><th>value</th><th>limit</th><th></th></tr>")
        return str(Markup("<p>{}</p><table>{}{}</table><p>{}</p>").format(head, columns, rows, str(self.folder)))


class _Part(Run):
    """A part of a fleet: the same folder and report, with its own numbers and log."""

    def __init__(self, whole: Run, index: int, part: Scenario) -> None:
        super().__init__(whole.folder, part, of_part(whole.summary, index))
        self._whole = whole

    @cached_property
    def _log(self) -> Log:
        assert isinstance(self.plan, Scenario)
        return part_of(self._whole._log, prefix(self._whole.plan, self.plan))

    def report(self) -> Path:
        return self._whole.report()


def open_run(folder: str | Path) -> Run:
    """Open a past run by its folder. ConfigError names what is missing there."""
    plan, summary = results.load_run(Path(folder))
    return Run(Path(folder), plan, summary)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _verdict(run: Run) -> str:
    return verdict(run.exit_code)[1].lower()


def _figures(scenario: Scenario, log: Log, summary: Mapping[str, Any]) -> Iterator[Figure]:
    from aeroloop.analysis.report import sections  # imported here: drawing is slow to import
    from aeroloop.analysis.section import Figures

    for section in sections(scenario, log, summary):
        for block in section.blocks:
            if isinstance(block, Figures):
                for picture in block.pictures:
                    yield Figure(picture.name, picture.title, picture.caption, picture.svg)
