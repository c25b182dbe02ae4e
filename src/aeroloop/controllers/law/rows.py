"""The rows of our own boards: one that owns its timer and asks, two that work by the plant's clock."""

from __future__ import annotations

from aeroloop.core.tables import MEMORY, Controller

REQUEST = Controller(
    name="law",
    tables="aeroloop.controllers.law.request_tables:RequestTables",
    rungs={"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": MEMORY, "hil": ""},
    paced_links={"pil": "pty://"},
    needs="aeroloop.controllers.law.request_tables:needs",
    own_clock=("hil",),
    takes_law=True,
    roles="aeroloop.controllers.law.launch:request_roles",
    launch="aeroloop.controllers.law.launch:request",
    exchange="aeroloop.controllers.law.exchange:request",
    inline="aeroloop.controllers.law.inline:request",
)
"""Asks a family for its `law` (scenario -> CasADi function, boards.host.Behaviour), `command_bounds` and `image`."""
PERIOD = Controller(
    name="law",
    tables="aeroloop.controllers.law.period_tables:PeriodTables",
    rungs={"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": MEMORY},
    paced_links={"pil": "loopback://"},
    needs="aeroloop.controllers.law.period_tables:needs",
    roles="aeroloop.controllers.law.launch:period_roles",
    launch="aeroloop.controllers.law.launch:period",
    exchange="aeroloop.controllers.law.exchange:period",
    inline="aeroloop.controllers.law.inline:period",
)
"""Asks a family for its `law` (scenario, run -> period_process.Autopilot), `mission` and `image`."""
VALUES = Controller(
    name="law",
    tables="aeroloop.core.scenario:ControllerTables",
    rungs={"mil": "loopback://", "sil": "tcp://127.0.0.1:0"},
    roles="aeroloop.controllers.law.values:roles",
    launch="aeroloop.controllers.law.values:launch",
    exchange="aeroloop.controllers.law.values:exchange",
    inline="aeroloop.controllers.law.values:inline",
)
"""Asks a family for its `law` (scenario -> control.board_law.BoardLaw)."""
