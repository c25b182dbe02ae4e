"""The links of a flight's router: from each autopilot to the ground stations, and one for the bench's own programs.

    pixhawk-0 ─┬─ onboard-0  udp 14540      its companion: one per aircraft, as with PX4
    pixhawk-1 ─┤  onboard-1  udp 14541
               ├─ companion                 the flight's own companion computer, where it has one
               ├─ ground     udp 14550      all aircraft
               └─ bench                     dashboard and `aeroloop cmd`, all aircraft

Nothing is forwarded between aircraft, nor between one aircraft's companion program and another aircraft.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.tables import ONBOARD_PORT, AutopilotScenario
from aeroloop.controllers.pixhawk.telemetry import STREAMS
from aeroloop.controllers.routing import COMPANION, companion_ends, composed, private_ends
from aeroloop.links.url import parse
from aeroloop.router.config import EVERY, EndpointConfig, Forward, RouterConfig, SetRate

SLOWEST_SHOWN_HZ = 1.0
"""Below this, a rate over a few seconds has no meaning."""
WHILE_IT_WANTS = (dialect.MAVLINK_MSG_ID_ATTITUDE_TARGET, dialect.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED)
"""Sent only during a transfer, so that they have no set rate."""


def router_config(scenario: AutopilotScenario, folder: Path) -> RouterConfig | None:
    """None if there is nothing to route."""
    if not scenario.controller.routed(scenario):
        return None
    count = 0 if scenario.loop == "hil" else scenario.aircraft.count
    vehicles: list[EndpointConfig] = []
    grounds: list[EndpointConfig] = []
    forward: list[Forward] = []
    rates: list[SetRate] = []
    for number in range(count):
        name = f"pixhawk-{number}"
        vehicles.append(EndpointConfig(name, private_ends(folder, number)[1], role="vehicle"))
        rates += [
            SetRate(name, stream.msg_id, stream.rate_Hz * scenario.speed)
            for stream in STREAMS
            if stream.rate_Hz >= SLOWEST_SHOWN_HZ and stream.msg_id not in WHILE_IT_WANTS
        ]
    stations = 0
    for url in scenario.controller.autopilot.ground_links if count else ():
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
    if scenario.landing is not None and watched is not None:
        grounds.append(EndpointConfig(COMPANION, companion_ends(folder)[0], role="command", companion=True))
        if count:
            forward += _only(f"pixhawk-{scenario.cameras[watched].vehicle}", COMPANION)
    lines = scenario.controller.router
    return composed(scenario.name, lines, folder, vehicles, grounds=grounds, forward=forward, rates=rates)


def _only(one: str, other: str) -> list[Forward]:
    """These two exchange all messages, and the second has no other peer."""
    return [
        Forward(one, other),
        Forward(EVERY, other, max_rate_hz=0.0),
        Forward(other, one),
        Forward(other, EVERY, max_rate_hz=0.0),
    ]
