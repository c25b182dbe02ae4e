"""The row of PX4, and of any external autopilot that speaks MAVLink HIL, in the table of controllers."""

from __future__ import annotations

from aeroloop.core.tables import Controller

ROW = Controller(
    name="px4",
    roles="aeroloop.controllers.px4.launch:roles",
    launch="aeroloop.controllers.pixhawk.launch:launch",
    exchange="aeroloop.controllers.pixhawk.exchange:exchange",
    shares_core=False,
)
