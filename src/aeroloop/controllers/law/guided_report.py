"""Report section of a multirotor's law on our board: the predicted delay margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.delay_margin import margin_section, predicted
from aeroloop.analysis.section import Section
from aeroloop.controllers.law.guided import designed
from aeroloop.controllers.law.guided_design import LONGEST_MARGIN_S
from aeroloop.controllers.law.guided_tables import GuidedScenario
from aeroloop.recording.log import Log

NOTE = "Of the law in hover, with motors that lag and exact estimation."


def sections(scenario: GuidedScenario, _log: Log, summary: Mapping[str, Any]) -> list[Section]:
    design, law = designed(scenario)
    radius = design.delay_radius(law)
    margin = predicted(scenario, radius, LONGEST_MARGIN_S) if radius else None
    return [margin_section(margin, diverged=bool(summary["metrics"]["diverged"]), where="hover", note=NOTE)]
