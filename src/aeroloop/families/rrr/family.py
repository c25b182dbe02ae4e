"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="rrr",
    tables="aeroloop.families.rrr.scenario:RobotTables",
    streams="aeroloop.families.rrr.streams:STREAMS",
    balance="aeroloop.core.balance_streams:ENERGY_BALANCE",
    vehicle="aeroloop.families.rrr.build:vehicle",
    check="aeroloop.families.rrr.law:check",
    controllers={"law": "aeroloop.controllers.law.rows:VALUES"},
    law="aeroloop.families.rrr.law:board_law",
    design="aeroloop.families.rrr.law:design",
    analysis="aeroloop.families.rrr.analysis:ANALYSIS",
    sections="aeroloop.families.rrr.report:sections",
    shape="aeroloop.families.rrr.shape:shape",
    page="aeroloop.families.rrr.page:PAGE",
    faults="aeroloop.families.rrr.faults:offers",
)
