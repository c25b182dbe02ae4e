"""The links of flights with ArduPilot: UDP port 9002 + 10 n of instance n, and its MAVLink."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from aeroloop.controllers import routing
from aeroloop.controllers.ardupilot.tables import ArdupilotScenario, vehicle_port
from aeroloop.controllers.pixhawk import router_links
from aeroloop.controllers.px4.launch import telemetry_links
from aeroloop.links.url import ends, parse


def launch(scenario: ArdupilotScenario, folder: Path) -> dict[str, Any]:
    numbers = range(scenario.aircraft.count)
    return {
        "vehicle_links": [_ends(scenario, number, folder) for number in numbers],
        **routing.settings(router_links.router_config(scenario, folder), folder, len(numbers)),
        "telemetry_links": telemetry_links(scenario),
    }


def _ends(scenario: ArdupilotScenario, number: int, folder: Path) -> tuple[str, str]:
    url = parse(scenario.link_url, template=True)
    if url.port and number:
        url = replace(url, port=vehicle_port(url.port, number))
    server, client = ends(str(url), folder=folder, name=f"json{number}")
    return server, client or ""
