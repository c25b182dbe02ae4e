"""The row of PX4, and of any external autopilot with MAVLink HIL, in the table of controllers."""

from __future__ import annotations

from aeroloop.core.tables import Controller

PX4_PORT = 4560
"""The port on which a simulator waits for PX4; instance n uses the n-th port after it."""

ROW = Controller(
    name="px4",
    tables="aeroloop.controllers.pixhawk.tables:AutopilotTables",
    rungs={"hil": f"tcp://127.0.0.1:{PX4_PORT}?listen"},
    several=True,
    companions=True,
    needs="aeroloop.controllers.pixhawk.tables:px4_needs",
    roles="aeroloop.controllers.px4.launch:roles",
    launch="aeroloop.controllers.px4.launch:launch",
    exchange="aeroloop.controllers.px4.exchange:exchange",
    shares_core=False,
    external=True,
)
"""Requires a family's `airframe`."""
