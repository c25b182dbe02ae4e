"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="helicopter",
    tables="aeroloop.families.helicopter.scenario:HelicopterTables",
    streams="aeroloop.families.helicopter.streams:STREAMS",
    vehicle="aeroloop.families.helicopter.build:vehicle",
    each="aeroloop.families.helicopter.scenario:each",
    check="aeroloop.families.helicopter.design:check",
    mavlink_type=4,  # MAV_TYPE_HELICOPTER
    controllers={"law": "aeroloop.controllers.law.rows:VALUES"},
    law="aeroloop.families.helicopter.law:board_law",
    design="aeroloop.families.helicopter.design:for_laws",
    analysis="aeroloop.families.helicopter.analysis:ANALYSIS",
    sections="aeroloop.families.helicopter.report:sections",
    page="aeroloop.families.helicopter.page:PAGE",
    shape="aeroloop.families.helicopter.world:shape",
    faults="aeroloop.families.helicopter.faults:offers",
)
