"""The row of ArduPilot's SITL over its JSON interface in the table of controllers."""

from __future__ import annotations

from aeroloop.core.tables import Controller
from aeroloop.protocols.ardupilot_json import PORT

ROW = Controller(
    name="ardupilot",
    tables="aeroloop.controllers.ardupilot.tables:ArdupilotTables",
    rungs={"hil": f"udp://127.0.0.1:{PORT}?listen"},
    several=True,
    companions=True,
    needs="aeroloop.controllers.ardupilot.tables:ardupilot_needs",
    roles="aeroloop.controllers.px4.launch:roles",
    launch="aeroloop.controllers.ardupilot.launch:launch",
    exchange="aeroloop.controllers.ardupilot.exchange:exchange",
    sections="aeroloop.controllers.ardupilot.report:sections",
    metrics="aeroloop.controllers.ardupilot.metrics:metrics",
    shares_core=False,
    external=True,
)
"""Asks a family for its `pulses`."""
