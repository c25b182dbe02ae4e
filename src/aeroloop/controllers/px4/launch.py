"""The processes of flights with external autopilots: one that reads their telemetry, and a router if configured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from aeroloop.controllers.pixhawk import launch as pixhawk
from aeroloop.controllers.pixhawk.tables import (
    NO_TELEMETRY,
    ONBOARD_PORT,
    SAME_LINK,
    AutopilotScenario,
)
from aeroloop.core.tables import Role
from aeroloop.links.url import parse

TELEMETRY = "telemetry"
MAIN = "aeroloop.controllers.px4.process"


def roles(scenario: AutopilotScenario) -> tuple[Role, ...]:
    """Without a pilot, a flight continues when the telemetry ends."""
    reads = scenario.controller.telemetry.url != NO_TELEMETRY
    reader = (Role(TELEMETRY, MAIN, ("plant",), vital=scenario.controller.commanded),) if reads else ()
    return (*pixhawk.routers(scenario), *reader)


def launch(scenario: AutopilotScenario, folder: Path) -> dict[str, Any]:
    return {**pixhawk.launch(scenario, folder), "telemetry_links": telemetry_links(scenario)}


def telemetry_links(scenario: AutopilotScenario) -> list[str]:
    """The link of each aircraft, which several may share; empty: the flight's router."""
    url = scenario.controller.telemetry_url(scenario)
    numbers = range(scenario.aircraft.count)
    if not url or url == SAME_LINK:
        return [url for _ in numbers]
    link = parse(url)
    if link.port != ONBOARD_PORT:
        return [url for _ in numbers]
    return [str(replace(link, port=link.port + number)) for number in numbers]
