"""The links of a flight's router: from each autopilot to the ground stations, and one for the bench's own programs.

    pixhawk-0 ─┬─ onboard-0  udp 14540      its companion: one per aircraft, as with PX4
    pixhawk-1 ─┤  onboard-1  udp 14541
               ├─ companion                 the flight's own companion computer, where it has one
               ├─ ground     udp 14550      all aircraft
               └─ bench                     dashboard and `aeroloop cmd`, all aircraft

Nothing is forwarded between aircraft, nor between one aircraft's companion program and another aircraft. With
`router.hil` the link of pixhawk-n is its HIL link, plant-n is the plant's end of it, and an external autopilot has the
same links to ground stations as a virtual Pixhawk. In lockstep nothing else is on the router than the file names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.tables import ONBOARD_PORT, AutopilotScenario
from aeroloop.controllers.pixhawk.telemetry import STREAMS
from aeroloop.controllers.routing import COMPANION, companion_ends, composed, plant_ends, private_ends
from aeroloop.links.url import parse
from aeroloop.router.config import EVERY, EndpointConfig, Forward, RouterConfig, SetRate

SLOWEST_SHOWN_HZ = 1.0
"""Below this, a rate over a few seconds has no meaning."""
WHILE_IT_WANTS = (dialect.MAVLINK_MSG_ID_ATTITUDE_TARGET, dialect.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED)
"""Sent only during a transfer, so that they have no set rate."""


def router_config(scenario: AutopilotScenario, folder: Path, servers: Sequence[str] = ()) -> RouterConfig | None:
    """None if there is nothing to route. `servers`: this side's end of each autopilot's HIL link."""
    if not scenario.controller.routed(scenario):
        return None
    hil, lockstep = scenario.controller.router.hil, scenario.lockstep
    count = scenario.aircraft.count if hil or scenario.loop != "hil" else 0
    vehicles: list[EndpointConfig] = []
    grounds: list[EndpointConfig] = []
    forward: list[Forward] = []
    rates: list[SetRate] = []
    for number in range(count):
        name = f"pixhawk-{number}"
        if hil:
            vehicles.append(EndpointConfig(name, servers[number], role="vehicle", max_peers=1))
            plant = plant_ends(folder, number)[1]
            grounds.append(EndpointConfig(f"plant-{number}", plant, role="simulator", simulates=name))
        else:
            vehicles.append(EndpointConfig(name, private_ends(folder, number)[1], role="vehicle"))
        if lockstep or scenario.loop == "hil":
            continue
        rates += [
            SetRate(name, stream.msg_id, stream.rate_Hz * scenario.speed)
            for stream in STREAMS
            if stream.rate_Hz >= SLOWEST_SHOWN_HZ and stream.msg_id not in WHILE_IT_WANTS
        ]
    stations = 0
    for url in scenario.controller.autopilot.ground_links if count and not lockstep else ():
        link = parse(url)
        if link.port == ONBOARD_PORT:
            for number in range(count):
                own = str(replace(link, port=ONBOARD_PORT + number))
                grounds.append(EndpointConfig(f"onboard-{number}", own, role="command", companion=True))
                forward += _only(f"pixhawk-{number}", f"onboard-{number}")
        else:
            stations += 1
            name = "ground" if stations == 1 else f"ground-{stations}"
            grounds.append(EndpointConfig(name, url, role="command"))
    watched = scenario.watched_camera
    if scenario.landing is not None and watched is not None and not lockstep:
        grounds.append(EndpointConfig(COMPANION, companion_ends(folder)[0], role="command", companion=True))
        if count:
            forward += _only(f"pixhawk-{scenario.cameras[watched].vehicle}", COMPANION)
    return composed(
        scenario.name,
        scenario.controller.router,
        folder,
        vehicles,
        grounds=grounds,
        forward=forward,
        rates=rates,
        lockstep=lockstep,
    )


def _only(one: str, other: str) -> list[Forward]:
    """These two exchange all messages, and the second has no other peer."""
    return [
        Forward(one, other),
        Forward(EVERY, other, max_rate_hz=0.0),
        Forward(other, one),
        Forward(other, EVERY, max_rate_hz=0.0),
    ]
