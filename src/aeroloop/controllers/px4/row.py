"""The row of PX4, and of any external autopilot that speaks MAVLink HIL, in the table of controllers."""

from __future__ import annotations

from aeroloop.core.tables import Controller

PX4_PORT = 4560
"""Where a simulator waits for PX4; instance n uses the n-th port after it."""

ROW = Controller(
    name="px4",
    tables="aeroloop.controllers.pixhawk.tables:AutopilotTables",
    rungs={"hil": f"tcp://127.0.0.1:{PX4_PORT}?listen"},
    needs="aeroloop.controllers.pixhawk.tables:needs",
    roles="aeroloop.controllers.pixhawk.launch:routers",
    launch="aeroloop.controllers.pixhawk.launch:launch",
    exchange="aeroloop.controllers.pixhawk.exchange:exchange",
    shares_core=False,
)
"""Asks a family for its `airframe`."""
