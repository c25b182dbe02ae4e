"""The processes of virtual Pixhawks, and the links of these and of external autopilots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.controllers import routing
from aeroloop.controllers.pixhawk import router_links
from aeroloop.controllers.pixhawk.exchange import check_capacity
from aeroloop.controllers.pixhawk.tables import SAME_LINK, AutopilotScenario, vehicle_url
from aeroloop.controllers.routing import HIL_ROUTER, ROUTER, plant_ends
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import Role
from aeroloop.links.url import ends, parse

PIXHAWK = Role("board", "aeroloop.controllers.pixhawk.process", ("plant",))


def roles(scenario: AutopilotScenario) -> tuple[Role, ...]:
    own = PIXHAWK, *routers(scenario)
    return own[::-1] if scenario.controller.router.hil else own  # the router is the server of its HIL link


def routers(scenario: AutopilotScenario) -> tuple[Role, ...]:
    """The only process of ours for an external autopilot: the router, where ground stations are connected."""
    if scenario.controller.router.hil:
        return (HIL_ROUTER,)
    return (ROUTER,) if scenario.controller.routed(scenario) else ()


def launch(scenario: AutopilotScenario, folder: Path) -> dict[str, Any]:
    numbers = range(scenario.aircraft.count)
    links = [_ends(scenario, n, folder) for n in numbers]
    router = router_links.router_config(scenario, folder, [server for server, _ in links])
    settings = routing.settings(router, folder, len(numbers))
    warning = check_capacity(scenario)
    if scenario.controller.router.hil:
        settings["plant_links"] = [plant_ends(folder, n)[0] for n in numbers]
        settings["ground_links"] = [] if scenario.lockstep else [SAME_LINK for _ in numbers]
        settings["dash_link"] = "" if scenario.lockstep else settings["dash_link"]
    return {"vehicle_links": links, **settings, "warnings": [warning] if warning else []}


def _ends(scenario: AutopilotScenario, number: int, folder: Path) -> tuple[str, str]:
    url = vehicle_url(scenario, number)
    if scenario.loop == "hil" and url.startswith("udp:") and not parse(url, template=True).listen:
        return url, ""  # a board's address: it waits for our first datagram, and answers to its sender
    server, client = ends(url, folder=folder, name=f"hil{number}")
    if client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {server} is a link to an external autopilot; fly it with --loop hil")
    return server, client or ""
