"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

PILOTED = {
    "streams": "aeroloop.families.fixedwing.piloted.streams:STREAMS",
    "vehicle": "aeroloop.families.fixedwing.piloted.build:vehicle",
    "check": "aeroloop.families.fixedwing.piloted.build:check",
    "analysis": "aeroloop.families.fixedwing.piloted.analysis:ANALYSIS",
    "sections": "",
    "setpoint": "",
    "operator": "",
    "batch": "",
    "page": "aeroloop.families.fixedwing.piloted.page:PAGE",
    "route": "aeroloop.families.fixedwing.route:MISSION",
}
"""With an external autopilot it starts on a catapult or its wheels and finds no way of its own."""

ROW = Family(
    name="fixedwing",
    tables="aeroloop.families.fixedwing.scenario:FixedWingTables",
    streams="aeroloop.families.fixedwing.streams:STREAMS",
    balance="aeroloop.core.balance_streams:BALANCE",
    analysis="aeroloop.families.fixedwing.analysis.summary:ANALYSIS",
    sections="aeroloop.families.fixedwing.analysis.report:sections",
    faults="aeroloop.families.fixedwing.scenario:fault_offers",
    changes="aeroloop.families.fixedwing.changes:changes",
    vehicle="aeroloop.families.fixedwing.build:vehicle",
    each="aeroloop.families.fixedwing.scenario:each",
    mavlink_type=1,  # MAV_TYPE_FIXED_WING
    controllers={
        "law": "aeroloop.controllers.law.rows:PERIOD",
        "px4": "aeroloop.controllers.px4.row:ROW",
        "ardupilot": "aeroloop.controllers.ardupilot.row:ROW",
    },
    variants={"px4": PILOTED, "ardupilot": PILOTED},
    outputs="aeroloop.families.fixedwing.piloted.outputs:outputs",
    pulses="aeroloop.families.fixedwing.piloted.outputs:pulses",
    check="aeroloop.families.fixedwing.mission:check",
    law="aeroloop.families.fixedwing.autopilot:autopilot_of",
    image="aeroloop.families.fixedwing.images:image",
    mission="aeroloop.families.fixedwing.mission:mission",
    operator="aeroloop.families.fixedwing.operating:console",
    view="aeroloop.families.fixedwing.view:effort",
    shape="aeroloop.families.fixedwing.shape:shape",
    setpoint="aeroloop.families.fixedwing.streams:SETPOINT",
    page="aeroloop.families.fixedwing.page:PAGE",
    importer="aeroloop.families.fixedwing.from_cad:IMPORTER",
    first_flight="aeroloop.families.fixedwing.first_flight:FIRST",
    route="aeroloop.families.fixedwing.route:GOAL",
    batch="aeroloop.families.fixedwing.batch:plan",
)
