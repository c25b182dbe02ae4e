"""The row of the virtual Pixhawk in the table of controllers."""

from __future__ import annotations

from aeroloop.core.tables import MEMORY, Controller

ROW = Controller(
    name="pixhawk",
    tables="aeroloop.controllers.pixhawk.tables:AutopilotTables",
    rungs={"mil": MEMORY, "sil": "tcp://127.0.0.1:0"},
    paced_links={"mil": "loopback://"},
    several=True,
    companions=True,
    needs="aeroloop.controllers.pixhawk.tables:pixhawk_needs",
    roles="aeroloop.controllers.pixhawk.launch:roles",
    launch="aeroloop.controllers.pixhawk.launch:launch",
    exchange="aeroloop.controllers.pixhawk.exchange:exchange",
    inline="aeroloop.controllers.pixhawk.inline:pixhawk",
)
"""Requires a family's `airframe`."""
