"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="fixedwing",
    tables="aeroloop.families.fixedwing.scenario:FixedWingTables",
    streams="aeroloop.families.fixedwing.streams:STREAMS",
    analysis="aeroloop.families.fixedwing.analysis.summary:ANALYSIS",
    sections="aeroloop.families.fixedwing.analysis.report:sections",
    faults="aeroloop.families.fixedwing.scenario:fault_offers",
    vehicle="aeroloop.families.fixedwing.build:vehicle",
    controllers={"law": "aeroloop.controllers.law.rows:PERIOD"},
    check="aeroloop.families.fixedwing.mission:check",
    law="aeroloop.families.fixedwing.autopilot:autopilot_of",
    image="aeroloop.families.fixedwing.images:image",
    mission="aeroloop.families.fixedwing.mission:mission",
    page="aeroloop.families.fixedwing.page:PAGE",
)
