"""The rows of our own boards: one with its own timer that requests sensors, and two on the plant's clock."""

from __future__ import annotations

from dataclasses import replace

from aeroloop.core.tables import MEMORY, Controller

REQUEST = Controller(
    name="law",
    tables="aeroloop.controllers.law.request_tables:RequestTables",
    rungs={"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": MEMORY, "hil": ""},
    paced_links={"pil": "pty://"},
    needs="aeroloop.controllers.law.request_tables:needs",
    own_clock=("hil",),
    fixed_speed=("pil", "hil"),
    law_key="control.law_file",
    roles="aeroloop.controllers.law.launch:request_roles",
    launch="aeroloop.controllers.law.launch:request",
    exchange="aeroloop.controllers.law.exchange:request",
    inline="aeroloop.controllers.law.inline:request",
    firmware="aeroloop.controllers.law.launch:firmware",
    faults="aeroloop.controllers.law.redundant_boards:fault_offers",
    metrics="aeroloop.controllers.law.redundancy_report:metrics",
    sections="aeroloop.controllers.law.redundancy_report:sections",
)
"""Requires of a family: `law` (scenario -> CasADi function, boards.host.Behaviour), `command_bounds` and `image`."""
PERIOD = Controller(
    name="law",
    tables="aeroloop.controllers.law.period_tables:PeriodTables",
    rungs={"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": MEMORY, "hil": ""},
    paced_links={"pil": "loopback://"},
    needs="aeroloop.controllers.law.period_tables:needs",
    own_clock=("hil",),
    fixed_speed=("hil",),
    law_key="control.law_file",
    roles="aeroloop.controllers.law.launch:period_roles",
    launch="aeroloop.controllers.law.launch:period",
    exchange="aeroloop.controllers.law.exchange:period",
    inline="aeroloop.controllers.law.inline:period",
    firmware="aeroloop.controllers.law.launch:firmware",
)
"""Requires of a family: `law` (scenario -> period_process.Autopilot), `mission` and `image`."""
VALUES = Controller(
    name="law",
    tables="aeroloop.controllers.law.values_tables:FamilyLawTables",
    rungs={"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": MEMORY, "hil": ""},
    paced_links={"pil": "pty://"},
    needs="aeroloop.controllers.law.values_tables:needs",
    own_clock=("hil",),
    fixed_speed=("pil", "hil"),
    law_key="law_file",
    roles="aeroloop.controllers.law.values:roles",
    launch="aeroloop.controllers.law.values:launch",
    exchange="aeroloop.controllers.law.values:exchange",
    inline="aeroloop.controllers.law.values:inline",
    firmware="aeroloop.controllers.law.values:firmware",
    tells=True,
    tasks="aeroloop.protocols.values:VALUES_TASKS",
)
"""Requires of a family: `law` (scenario -> control.board_law.BoardLaw); a file's law may take its place, and is given
the family's `design`."""
GUIDED = replace(
    VALUES,
    tables="aeroloop.controllers.law.guided_tables:GuidedTables",
    needs="aeroloop.controllers.law.guided_tables:needs",
    sections="aeroloop.controllers.law.guided_report:sections",
    law_key="control.law_file",
)
"""The same for a multirotor's `law`, `controllers.law.guided.board_law`, which requires the family's `airframe`."""
