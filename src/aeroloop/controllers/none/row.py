"""The row of flights without a controller in the table of controllers: a body that falls, an aircraft that glides."""

from __future__ import annotations

from aeroloop.core.tables import MEMORY, Controller

ROW = Controller(
    name="none",
    tables="aeroloop.controllers.none.flight:NoTables",
    rungs={"mil": MEMORY},
    paced_links={"mil": "loopback://"},
    roles="aeroloop.controllers.none.flight:roles",
    launch="aeroloop.controllers.none.flight:launch",
    exchange="aeroloop.controllers.none.flight:exchange",
    inline="aeroloop.controllers.none.flight:inline",
)
