"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="freebody",
    tables="aeroloop.families.freebody.scenario:FreeBodyTables",
    streams="aeroloop.families.freebody.streams:STREAMS",
    balance="aeroloop.core.balance_streams:BALANCE",
    vehicle="aeroloop.families.freebody.build:vehicle",
    controllers={"none": "aeroloop.controllers.none.row:ROW"},
    analysis="aeroloop.families.freebody.analysis:ANALYSIS",
    sections="aeroloop.families.freebody.report:sections",
)
