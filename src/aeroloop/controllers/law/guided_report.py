"""Report section of a multirotor's law on our board: the predicted delay margin, or the predictive law's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.board import fallbacks
from aeroloop.analysis.delay_margin import margin_section, predicted
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Section, Table
from aeroloop.controllers.law.guided import designed
from aeroloop.controllers.law.guided_design import LONGEST_MARGIN_S
from aeroloop.controllers.law.guided_tables import GuidedScenario
from aeroloop.recording.log import Log

NOTE = "Of the law in hover, with motors that lag and exact estimation."


COLUMNS = (Column("", "name"), Column("Value"))


def sections(scenario: GuidedScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    if scenario.controller.control.host_only:
        return [Section("predictive", "Predictive control", _predictive(scenario, log))]
    design, law = designed(scenario)
    radius = design.delay_radius(law)
    margin = predicted(scenario, radius, LONGEST_MARGIN_S) if radius else None
    return [margin_section(margin, diverged=bool(summary["metrics"]["diverged"]), where="hover", note=NOTE)]


def _predictive(scenario: GuidedScenario, log: Log) -> list[Block]:
    settings = scenario.controller.control.nmpc
    rows = [
        ("Bound on the tilt", f"{settings.tilt_max_deg:g} deg"),
        ("Horizon", f"{settings.steps} steps of {settings.step_s * 1e3:g} ms"),
        ("Quadratic programs in each control period", "1"),
        ("Fallbacks that the board reported", number(fallbacks(log))),
    ]
    return [Table(COLUMNS, rows)]
