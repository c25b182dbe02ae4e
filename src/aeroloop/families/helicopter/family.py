"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

PILOTED = {
    "streams": "aeroloop.families.helicopter.piloted.streams:STREAMS",
    "vehicle": "aeroloop.families.helicopter.piloted.build:vehicle",
    "check": "aeroloop.families.helicopter.piloted.build:check",
    "faults": "aeroloop.families.helicopter.piloted.build:fault_offers",
    "analysis": "aeroloop.families.helicopter.piloted.analysis:ANALYSIS",
    "sections": "",
    "page": "aeroloop.families.helicopter.piloted.page:PAGE",
}
"""With an external autopilot it stands on its skids, and takes off by its commands."""

ROW = Family(
    name="helicopter",
    tables="aeroloop.families.helicopter.scenario:HelicopterTables",
    streams="aeroloop.families.helicopter.streams:STREAMS",
    balance="aeroloop.core.balance_streams:BALANCE",
    vehicle="aeroloop.families.helicopter.build:vehicle",
    each="aeroloop.families.helicopter.scenario:each",
    check="aeroloop.families.helicopter.design:check",
    mavlink_type=4,  # MAV_TYPE_HELICOPTER
    controllers={
        "law": "aeroloop.controllers.law.rows:VALUES",
        "ardupilot": "aeroloop.controllers.ardupilot.row:ROW",
    },
    variants={"ardupilot": PILOTED},
    pulses="aeroloop.families.helicopter.piloted.build:pulses",
    law="aeroloop.families.helicopter.law:board_law",
    design="aeroloop.families.helicopter.design:for_laws",
    analysis="aeroloop.families.helicopter.analysis:ANALYSIS",
    sections="aeroloop.families.helicopter.report:sections",
    page="aeroloop.families.helicopter.page:PAGE",
    shape="aeroloop.families.helicopter.world:shape",
    faults="aeroloop.families.helicopter.faults:offers",
    changes="aeroloop.families.helicopter.faults:changes",
    route="aeroloop.families.helicopter.route:ROUTE",
)
