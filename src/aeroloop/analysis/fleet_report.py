"""The report of a fleet: first the common sections, then those of each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aeroloop.analysis import common_sections, page, report
from aeroloop.analysis.fleet import logs, of_part
from aeroloop.analysis.page import Document, number
from aeroloop.analysis.section import TRAJECTORY, Column, Figures, Section, Table, code, grade
from aeroloop.core.fleet import AIRCRAFT, Fleet
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import family
from aeroloop.recording.log import Log

Summary = Mapping[str, Any]


def render_fleet(fleet: Fleet, log: Log, summary: Summary) -> str:
    """The page as text. `summary` is the content of summary.json."""
    style, word = page.verdict(summary["exit_code"])
    verdict = common_sections.verdict_section(summary)
    of_parts: list[Section] = []
    for index, (part, own) in enumerate(zip(fleet.parts, logs(fleet, log), strict=True)):
        of_parts += _part_sections(part, own, of_part(summary, index))
    paths = [section for section in of_parts if section.key.endswith(f"-{TRAJECTORY}")]
    sections = [*paths, _overview(fleet, summary), common_sections.checks_section(summary)]
    sections += [section for section in of_parts if section not in paths]
    return page.render(
        Document(
            title=f"{fleet.name}: {word.lower()}",
            heading=fleet.name,
            subtitle=fleet.summary,
            style=style,
            verdict=replace(verdict, blocks=[*verdict.blocks, common_sections.settings(summary)]),
            sections=[*sections, common_sections.reproduce_section(fleet, summary)],
        )
    )


def _overview(fleet: Fleet, summary: Summary) -> Section:
    columns = (
        Column("Aircraft", "name"),
        *(Column(title, "text") for title in ("Verdict", "Family", "Controller", "Rung")),
        *(Column(title) for title in ("Vehicles", "Checks passed", "Flown (s)")),
        Column("Log hash", "text"),
    )
    rows = []
    for part, own in zip(fleet.parts, summary[AIRCRAFT], strict=True):
        passed = sum(check["ok"] for check in own["checks"])
        rows.append(
            (
                part.name,
                grade(*page.verdict(own["exit_code"])),
                family(part.kind).name,
                own["controller"],
                part.loop,
                str(own["vehicles"]),
                f"{passed} of {len(own['checks'])}",
                number(own["metrics"]["flown_s"]),
                code(own["log_sha256"][:12]),
            )
        )
    return Section("aircraft", "Aircraft", [Table(columns, rows)])


def _part_sections(part: Scenario, log: Log, summary: Summary) -> list[Section]:
    """The sections of its own report, except verdict, checks and instructions to repeat, which the fleet has."""
    of_fleet = (common_sections.VERDICT, "checks", "reproduce")
    own = [section for section in report.sections(part, log, summary) if section.key not in of_fleet]
    return [in_group(section, part.name) for section in own]


def in_group(section: Section, name: str) -> Section:
    """A section of one part, with the part's name in its title and anchors."""
    blocks = [
        Figures([replace(picture, name=f"{name}-{picture.name}") for picture in block.pictures])
        if isinstance(block, Figures)
        else block
        for block in section.blocks
    ]
    return Section(f"{name}-{section.key}", f"{name}: {section.title}", blocks)
