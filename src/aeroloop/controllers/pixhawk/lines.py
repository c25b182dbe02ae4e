"""The lines of a flight's router: from each autopilot to the ground stations, and one for the bench's own programs.

    pixhawk-0 ─┬─ onboard-0  udp 14540      one of its own for each aircraft, as with PX4
    pixhawk-1 ─┤  onboard-1  udp 14541
               ├─ ground     udp 14550      all aircraft
               └─ bench                     dashboard and `aeroloop cmd`, all aircraft

Aircraft do not hear each other, nor one aircraft's companion program another aircraft.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.tables import ONBOARD_PORT, AutopilotScenario
from aeroloop.controllers.pixhawk.telemetry import STREAMS
from aeroloop.core.errors import ConfigError
from aeroloop.links.url import LinkUrl, parse
from aeroloop.router.config import EVERY, EndpointConfig, Forward, RouterConfig, SetRate

BENCH = "bench"
SLOWEST_SHOWN_HZ = 1.0
"""Below this a rate over a few seconds says nothing."""
WHILE_IT_WANTS = (dialect.MAVLINK_MSG_ID_ATTITUDE_TARGET, dialect.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED)
"""Sent only while the autopilot is after something, so that they have no set rate."""


def private_ends(folder: Path, number: int) -> tuple[str, str]:
    """Of the line between a virtual Pixhawk and the router: the Pixhawk's, and the router's."""
    return _socket(folder, f"ground{number}")


def bench_ends(folder: Path) -> tuple[str, str]:
    """Of the line for the bench's own programs: the router's, and theirs."""
    return _socket(folder, "bench")


def routed(scenario: AutopilotScenario) -> bool:
    """Not in lockstep, nor with an autopilot outside to which no line is named."""
    return not scenario.lockstep and (scenario.loop != "hil" or bool(scenario.controller.router.endpoints))


def router_config(scenario: AutopilotScenario, folder: Path) -> RouterConfig | None:
    """None where nobody would be routed."""
    if not routed(scenario):
        return None
    count = 0 if scenario.loop == "hil" else scenario.aircraft.count
    endpoints: list[EndpointConfig] = []
    forward = list(scenario.controller.router.forward)
    rates = list(scenario.controller.router.rates)
    for number in range(count):
        name = f"pixhawk-{number}"
        endpoints.append(EndpointConfig(name, private_ends(folder, number)[1], role="vehicle"))
        rates += [
            SetRate(name, stream.msg_id, stream.rate_Hz * scenario.speed)
            for stream in STREAMS
            if stream.rate_Hz >= SLOWEST_SHOWN_HZ and stream.msg_id not in WHILE_IT_WANTS
        ]
    grounds = 0
    for url in scenario.controller.autopilot.ground_links if count else ():
        link = parse(url)
        if link.port == ONBOARD_PORT:
            for number in range(count):
                own = str(replace(link, port=ONBOARD_PORT + number))
                endpoints.append(EndpointConfig(f"onboard-{number}", own, role="command"))
                forward += _only(f"pixhawk-{number}", f"onboard-{number}")
        else:
            grounds += 1
            endpoints.append(EndpointConfig("ground" if grounds == 1 else f"ground-{grounds}", url, role="command"))
    endpoints.append(EndpointConfig(BENCH, bench_ends(folder)[0], role="command"))
    forward += [
        Forward(f"pixhawk-{a}", f"pixhawk-{b}", max_rate_hz=0.0) for a in range(count) for b in range(count) if a != b
    ]
    try:
        return RouterConfig(
            (*endpoints, *scenario.controller.router.endpoints), scenario.name, tuple(forward), tuple(rates)
        )
    except ValueError as error:
        raise ConfigError(f"router: {error}") from None


def _only(one: str, other: str) -> list[Forward]:
    """These two exchange everything, and the second with nobody else."""
    return [
        Forward(one, other),
        Forward(EVERY, other, max_rate_hz=0.0),
        Forward(other, one),
        Forward(other, EVERY, max_rate_hz=0.0),
    ]


def _socket(folder: Path, name: str) -> tuple[str, str]:
    link = LinkUrl("loopback", path=str(folder.absolute() / f"{name}.sock"))
    return f"{link}?listen", str(link)
