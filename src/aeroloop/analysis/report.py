"""A flight's report: the common sections, with those of its family and controller between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aeroloop.analysis import allan_section, camera_section, landing_section, page, power_section, world_section
from aeroloop.analysis import common_sections as common
from aeroloop.analysis.board import tasks_of
from aeroloop.analysis.board_section import board_section
from aeroloop.analysis.family import analysis_of
from aeroloop.analysis.page import Document
from aeroloop.analysis.section import TRAJECTORY, Section
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import made
from aeroloop.recording.log import Log

GENERIC = "aeroloop.analysis.generic_sections:sections"


def render_report(scenario: Scenario, log: Log, summary: Mapping[str, Any], *, allan_h: float | None = None) -> str:
    """The page as text; equal input gives equal text. `summary` is the content of summary.json. `allan_h`: with Allan
    deviations of the IMU at rest for so many hours."""
    style, word = page.verdict(summary["exit_code"])
    verdict, *others = sections(scenario, log, summary)
    if allan_h is not None:
        others.append(allan_section.section(scenario, allan_h))
    return page.render(
        Document(
            title=f"{summary['scenario']}: {word.lower()}",
            heading=summary["scenario"],
            subtitle=scenario.summary,
            style=style,
            verdict=replace(verdict, blocks=[*verdict.blocks, common.settings(summary)]),
            sections=others,
        )
    )


def sections(scenario: Scenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    """In the order in which they are read: the verdict, the trajectory, the checks.

    Other sections of the family and of its controller follow. One with the key of a common section adds its blocks to
    it.
    """
    analysis = analysis_of(scenario)
    brought = (scenario.family.sections or GENERIC, scenario.flown_by.sections)
    own = [section for name in brought if name for section in made(name, scenario, log, summary)]
    own += power_section.sections(scenario, log)
    own += world_section.sections(scenario, log, summary)
    own += [*landing_section.sections(scenario, log), *_slam(scenario, log), *camera_section.sections(scenario, log)]
    board = summary.get("board")  # None, or missing in summaries of versions without board statistics
    paths = [section for section in own if section.key == TRAJECTORY]
    before = [common.verdict_section(summary), *paths, common.checks_section(summary)]
    after = [
        common.timing_section(scenario, summary),
        *([board_section(log, analysis.tasks or tasks_of(scenario), board)] if board else ()),
        common.links_section(summary),
        common.events_section(summary, analysis.event_values),
        common.metrics_section(summary),
        common.reproduce_section(scenario, summary),
    ]
    keys = {section.key for section in (*before, *after)}
    added = [section for section in own if section.key != TRAJECTORY]
    ordered = (*before, *(section for section in own if section.key not in keys), *after)
    return [_with_added(section, added) if section.key in keys else section for section in ordered]


def _with_added(section: Section, own: Sequence[Section]) -> Section:
    added = [block for other in own if other.key == section.key for block in other.blocks]
    return replace(section, blocks=[*section.blocks, *added])


def _slam(scenario: Scenario, log: Log) -> list[Section]:
    if scenario.slam is None:
        return []
    from aeroloop.analysis import slam_section  # needs scipy, which takes time to load

    return slam_section.sections(scenario, log)
