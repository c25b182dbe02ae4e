"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="fixedwing",
    scenario="aeroloop.families.fixedwing.scenario:FixedWingScenario",
    streams="aeroloop.families.fixedwing.streams:STREAMS",
    analysis="aeroloop.families.fixedwing.analysis.row:ANALYSIS",
    sections="aeroloop.families.fixedwing.analysis.report:sections",
    faults="aeroloop.families.fixedwing.faults:offers",
    vehicle="aeroloop.families.fixedwing.build:vehicle",
    controllers={"law": "aeroloop.controllers.law.rows:PERIOD"},
    page="aeroloop.families.fixedwing.page:PAGE",
)
