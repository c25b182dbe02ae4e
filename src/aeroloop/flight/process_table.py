"""The processes of a flight: recorder and plant, those of its controller, and load on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.tables import MEMORY, Role, family, made, part

RECORDER = Role("recorder", "aeroloop.flight.processes.recorder")
PLANT = "aeroloop.flight.processes.plant"
BUSY = "aeroloop.flight.processes.busy"


def roles(scenario: Scenario) -> tuple[Role, ...]:
    """In the order in which their links open: servers before clients."""
    others: tuple[Role, ...] = () if scenario.inline else part(scenario.flown_by.roles)(scenario)
    plant = Role("plant", PLANT, tuple(role.name for role in others if "plant" in role.peers))
    burners = tuple(Role(f"busy-{i}", BUSY) for i in range(scenario.busy_processes))
    return (RECORDER, plant, *others, *burners)


def launch_settings(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """What goes into `Orders` besides what every flight has; ConfigError says why it cannot be flown."""
    row = scenario.flown_by
    if scenario.inline:
        if not (row.inline and scenario.lockstep):
            raise ConfigError(
                f"link.url: {MEMORY} is for lockstep on mil, sil and pil; expected a link between processes"
            )
        scenario = with_value(scenario, "link.url", "loopback://")  # whose ends nobody opens
    check = family(scenario.kind).check
    if check:
        made(check, scenario)
    settings: dict[str, Any] = part(row.launch)(scenario, folder)
    return settings
