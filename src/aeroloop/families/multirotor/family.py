"""The row of this family in the table of the bench (`core/tables.py`)."""

from __future__ import annotations

from aeroloop.core.tables import Family

PLANNED = {"route": "aeroloop.families.multirotor.route:PATH"}
"""A board with our law follows the flight plan of its scenario."""

ROW = Family(
    name="quadrotor",
    tables="aeroloop.families.multirotor.scenario:MultirotorTables",
    streams="aeroloop.families.multirotor.streams:STREAMS",
    balance="aeroloop.core.balance_streams:BALANCE",
    analysis="aeroloop.families.multirotor.analysis.summary:ANALYSIS",
    sections="aeroloop.families.multirotor.analysis.report:sections",
    faults="aeroloop.families.multirotor.faults:offers",
    changes="aeroloop.families.multirotor.faults:changes",
    vehicle="aeroloop.families.multirotor.build:vehicle",
    each="aeroloop.families.multirotor.scenario:each",
    controllers={
        "pixhawk": "aeroloop.controllers.pixhawk.row:ROW",
        "px4": "aeroloop.controllers.px4.row:ROW",
        "ardupilot": "aeroloop.controllers.ardupilot.row:ROW",
        "law": "aeroloop.controllers.law.rows:GUIDED",
        "pose": "aeroloop.controllers.pose.row:ROW",
    },
    law="aeroloop.controllers.law.guided:board_law",
    check="aeroloop.families.multirotor.checks:check",
    airframe="aeroloop.families.multirotor.airframe:flown",
    pulses="aeroloop.families.multirotor.airframe:pulses",
    view="aeroloop.families.multirotor.view:effort",
    shape="aeroloop.families.multirotor.shape:shape",
    page="aeroloop.families.multirotor.page:PAGE",
    importer="aeroloop.families.multirotor.from_cad:IMPORTER",
    first_flight="aeroloop.families.multirotor.first_flight:FIRST",
    route="aeroloop.families.multirotor.route:MISSION",
    variants={"law": {**PLANNED, "batch": "aeroloop.families.multirotor.batch:plan"}, "pose": PLANNED},
)
