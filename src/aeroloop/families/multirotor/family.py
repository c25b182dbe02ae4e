"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="quadrotor",
    tables="aeroloop.families.multirotor.scenario:MultirotorTables",
    streams="aeroloop.families.multirotor.streams:STREAMS",
    analysis="aeroloop.families.multirotor.analysis.summary:ANALYSIS",
    sections="aeroloop.families.multirotor.analysis.report:sections",
    faults="aeroloop.families.multirotor.scenario:fault_offers",
    vehicle="aeroloop.families.multirotor.build:vehicle",
    controllers={
        "pixhawk": "aeroloop.controllers.pixhawk.row:ROW",
        "px4": "aeroloop.controllers.px4.row:ROW",
    },
    airframe="aeroloop.families.multirotor.airframe:flown",
    page="aeroloop.families.multirotor.page:PAGE",
)
