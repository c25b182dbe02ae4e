"""Runs of fleets beside one another, part by part: each is compared as if it had flown alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aeroloop.analysis import compare_page, page
from aeroloop.analysis.compare import Run, compare
from aeroloop.analysis.fleet import logs, of_part
from aeroloop.analysis.fleet_report import in_group
from aeroloop.analysis.page import Document
from aeroloop.analysis.section import Section, Text, bold
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import AIRCRAFT, Fleet
from aeroloop.recording.log import Log

Comparison = dict[str, Any]


@dataclass(frozen=True)
class FleetRun:
    name: str
    fleet: Fleet
    log: Log
    summary: Mapping[str, Any]  # as summary.json holds it

    def parts(self) -> dict[str, Run]:
        return {
            part.name: Run(self.name, part, own, of_part(self.summary, index))
            for index, (part, own) in enumerate(zip(self.fleet.parts, logs(self.fleet, self.log), strict=True))
        }


def compare_fleets(runs: Sequence[FleetRun]) -> tuple[Comparison, str]:
    """The comparison of each part that all runs have, under `aircraft`; and the page."""
    of_runs = [run.parts() for run in runs]
    names = [name for name in of_runs[0] if all(name in parts for parts in of_runs)]
    if not names:
        raise ConfigError(f"{runs[-1].name} and {runs[0].name} have no aircraft of the same name: nothing to compare")
    by_name = {name: [parts[name] for parts in of_runs] for name in names}
    compared = {name: compare(of_part) for name, of_part in by_name.items()}
    comparison = {
        "log_hashes_equal": all(each["log_hashes_equal"] for each in compared.values()),
        AIRCRAFT: [{"name": name, **each} for name, each in compared.items()],
    }
    return comparison, _page(by_name, compared)


def _page(runs: Mapping[str, Sequence[Run]], compared: Mapping[str, Comparison]) -> str:
    verdict: list[Text] = []
    sections: list[Section] = []
    for name, comparison in compared.items():
        verdict += [Text(bold(name)), *compare_page.result(comparison)]
        sections += [in_group(section, name) for section in compare_page.sections(runs[name], comparison)]
    all_runs = [run for comparison in compared.values() for run in comparison["runs"]]
    heading = f"{', '.join(dict.fromkeys(run['label'] for run in all_runs))} compared"
    style = "passed" if all(run["ok"] for run in all_runs) else "failed"
    return page.render(
        Document(heading, heading, ", ".join(compared), style, Section("verdict", "", verdict), sections)
    )
