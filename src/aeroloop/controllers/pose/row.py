"""The row of the pose board: sensors rebuilt on the board from pose packets, as in the Pixhawk paper."""

from __future__ import annotations

from aeroloop.core.tables import MEMORY, Controller

ROW = Controller(
    name="pose",
    tables="aeroloop.controllers.pose.tables:PoseTables",
    rungs={"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": MEMORY},
    paced_links={"pil": "loopback://"},
    needs="aeroloop.controllers.pose.tables:needs",
    roles="aeroloop.controllers.pose.exchange:roles",
    launch="aeroloop.controllers.pose.exchange:launch",
    exchange="aeroloop.controllers.pose.exchange:exchange",
    inline="aeroloop.controllers.pose.exchange:inline",
    firmware="aeroloop.controllers.pose.exchange:firmware",
    streams="aeroloop.controllers.pose.streams:STREAMS",
    sections="aeroloop.controllers.pose.report:sections",
    metrics="aeroloop.controllers.pose.metrics:metrics",
    law_key="control.law_file",
    tells=True,
    tasks="aeroloop.protocols.values:VALUES_TASKS",
)
"""Asks a family for its `airframe`, as the multirotor's law on our board."""
