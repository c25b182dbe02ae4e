"""The processes of virtual Pixhawks, and the links that they and external autopilots are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from aeroloop.controllers.pixhawk import lines
from aeroloop.controllers.pixhawk.exchange import check_capacity
from aeroloop.controllers.pixhawk.tables import AutopilotScenario, vehicle_url
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import Role
from aeroloop.links.url import ends, parse

PIXHAWK = Role("board", "aeroloop.controllers.pixhawk.process")
ROUTER = Role("router", "aeroloop.flight.processes.router", vital=False)
"""Without it nobody on the ground is heard, as with a radio that fails."""


def roles(scenario: AutopilotScenario) -> tuple[Role, ...]:
    return (PIXHAWK, *routers(scenario))


def routers(scenario: AutopilotScenario) -> tuple[Role, ...]:
    """All that an external autopilot needs of ours: the router, where ground stations are connected."""
    return (ROUTER,) if lines.routed(scenario) else ()


def launch(scenario: AutopilotScenario, folder: Path) -> dict[str, Any]:
    numbers = range(scenario.aircraft.count)
    router = lines.router_config(scenario, folder)
    warning = check_capacity(scenario)
    return {
        "vehicle_links": [_ends(scenario, n, folder) for n in numbers],
        "ground_links": [lines.private_ends(folder, n)[0] for n in numbers] if router else [],
        "router": msgspec.to_builtins(router) if router else None,
        "dash_link": lines.bench_ends(folder)[1] if router else "",
        "warnings": [warning] if warning else [],
    }


def _ends(scenario: AutopilotScenario, number: int, folder: Path) -> tuple[str, str]:
    url = vehicle_url(scenario, number)
    if scenario.loop == "hil" and url.startswith("udp:") and not parse(url, template=True).listen:
        return url, ""  # a board's address: it waits for our first datagram, and answers where that came from
    server, client = ends(url, folder=folder, name=f"hil{number}")
    if client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {server} is a link to an external autopilot; fly it with --loop hil")
    return server, client or ""
