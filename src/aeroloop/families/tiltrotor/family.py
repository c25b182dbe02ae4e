"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

ROW = Family(
    name="tiltrotor",
    tables="aeroloop.families.tiltrotor.scenario:TiltrotorTables",
    streams="aeroloop.families.tiltrotor.streams:STREAMS",
    balance="aeroloop.core.balance_streams:BALANCE",
    analysis="aeroloop.families.tiltrotor.analysis.summary:ANALYSIS",
    sections="aeroloop.families.tiltrotor.analysis.report:sections",
    faults="aeroloop.families.tiltrotor.scenario:fault_offers",
    changes="aeroloop.families.tiltrotor.changes:changes",
    vehicle="aeroloop.families.tiltrotor.build:vehicle",
    each="aeroloop.families.tiltrotor.scenario:each",
    check="aeroloop.families.tiltrotor.start:check",
    mavlink_type=21,  # MAV_TYPE_VTOL_TILTROTOR
    controllers={"law": "aeroloop.controllers.law.rows:REQUEST"},
    law="aeroloop.families.tiltrotor.design:board_law",
    command_bounds="aeroloop.families.tiltrotor.design:command_bounds",
    image="aeroloop.families.tiltrotor.images:image",
    shape="aeroloop.families.tiltrotor.shape:shape",
    page="aeroloop.families.tiltrotor.page:PAGE",
    route="aeroloop.families.tiltrotor.route:ROUTE",
    batch="aeroloop.families.tiltrotor.batch:plan",
)
