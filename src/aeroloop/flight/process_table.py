"""Who takes part in a flight, and what each of them is given: links, and the firmware of a board."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.controllers.pixhawk import lines
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.tiltrotor import images
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.links.url import ends, parse

RELAYED = "loopback://"
"""The reference link of a board outside that has no line for references: the plant passes them on."""


@dataclass(frozen=True, slots=True)
class Role:
    """A process of a flight, and the peers it shares a baton with in lockstep."""

    name: str
    peers: tuple[str, ...] = ()
    module: str = ""  # in `processes/`, where it is not the name
    vital: bool = True  # whether a flight ends with it


RECORDER, PLANT = Role("recorder"), Role("plant", ("board", "ground"))
BOARD, GROUND = Role("board", ("plant", "ground")), Role("ground", ("plant", "board"))
EMULATOR = Role("emulator")  # the board of rung pil in real time: QEMU speaks on the links itself
# MAVLink HIL keeps its own lockstep, so nobody passes a baton.
HIL_PLANT, PIXHAWK = Role("plant", module="hil_plant"), Role("board", module="pixhawk")
ROUTER = Role("router", vital=False)  # without it nobody on the ground is heard, as with a radio that fails
# The fixed wing's plant drives: it sends sensors, and in lockstep waits until the board says that it is done.
WING_PLANT, WING_BOARD = Role("plant", module="wing_plant"), Role("board", module="wing_board")
BUSY = "busy"


def cast(scenario: Scenario) -> tuple[Role, ...]:
    """The processes of a flight, in the order in which their links open: servers before clients."""
    burners = tuple(Role(f"busy-{i}", module=BUSY) for i in range(scenario.busy_processes))
    match scenario:
        case TiltrotorScenario():
            return _tiltrotor_cast(scenario) + burners
        case QuadrotorScenario():
            autopilots = () if scenario.loop == "hil" else (PIXHAWK,)
            routers = (ROUTER,) if lines.routed(scenario) else ()
            return (RECORDER, HIL_PLANT, *autopilots, *routers, *burners)
        case FixedWingScenario():
            return (RECORDER, WING_PLANT, WING_BOARD, *burners)
        case _:
            raise TypeError(scenario)


def equipment(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """What goes into `Orders` besides what every flight has."""
    match scenario:
        case TiltrotorScenario():
            return _tiltrotor_equipment(scenario, folder)
        case QuadrotorScenario():
            return _autopilot_equipment(scenario, folder)
        case FixedWingScenario():
            from aeroloop.families.fixedwing.launch import equipment as wing_equipment  # its models are slow to import

            return wing_equipment(scenario, folder)
        case _:
            raise TypeError(scenario)


def _autopilot_equipment(scenario: QuadrotorScenario, folder: Path) -> dict[str, Any]:
    numbers = range(scenario.vehicle.count)
    router = lines.router_config(scenario, folder)
    return {
        "vehicle_links": [_autopilot_ends(scenario, n, folder) for n in numbers],
        "ground_links": [lines.private_ends(folder, n)[0] for n in numbers] if router else [],
        "router": msgspec.to_builtins(router) if router else None,
        "dash_link": lines.bench_ends(folder)[1] if router else "",
    }


def _autopilot_ends(scenario: QuadrotorScenario, number: int, folder: Path) -> tuple[str, str]:
    url = scenario.vehicle_url(number)
    if scenario.loop == "hil" and url.startswith("udp:") and not parse(url, template=True).listen:
        return url, ""  # a board's address: it waits for our first datagram, and answers where that came from
    server, client = ends(url, folder=folder, name=f"hil{number}")
    if client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {server} is a line to an autopilot outside; fly it with --loop hil")
    return server, client or ""


def _tiltrotor_cast(scenario: TiltrotorScenario) -> tuple[Role, ...]:
    roles = [RECORDER, PLANT]
    if scenario.loop == "pil" and not scenario.lockstep:
        roles.append(EMULATOR)
    elif scenario.loop != "hil":
        roles.append(BOARD)
    if scenario.ground.source != "external":
        roles.append(GROUND)
    return tuple(roles)


def _tiltrotor_equipment(scenario: TiltrotorScenario, folder: Path) -> dict[str, Any]:
    link_server, link_client = ends(scenario.link_url, folder=folder, name="link")
    if link_client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {link_server} is a line to a board outside; fly it with --loop hil")
    reference_server, reference_client = _reference_ends(scenario, folder)
    image, image_id = _image(scenario)
    return {
        "link_server": link_server,
        "link_client": link_client or "",
        "reference_server": reference_server,
        "reference_client": reference_client,
        "relay_references": scenario.loop == "hil" and scenario.ground.url == RELAYED,
        "image": image,
        "image_id": image_id,
    }


def _reference_ends(scenario: TiltrotorScenario, folder: Path) -> tuple[str, str]:
    """Where the board listens for references, and where the ground speaks."""
    url = scenario.ground.url
    server, client = ends(url, folder=folder, name="ref")
    if scenario.loop != "hil":
        if client is None:
            raise ConfigError(f"ground.url: {url} is a line to a board outside; fly it with --loop hil")
        return server, client
    # Nobody but us can make a pty; a board outside listens itself on the other kinds of link.
    ours = client is None or url.startswith("pty:")
    return server, server if ours or client is None else client


def _image(scenario: TiltrotorScenario) -> tuple[str, int]:
    """The firmware that the emulated board runs, and what a board with firmware must say that it runs."""
    if scenario.loop not in ("pil", "hil"):
        return "", 0
    generated = images.generate(scenario)
    if scenario.loop == "hil":
        return "", generated.image_id
    kind = images.LOCKSTEP if scenario.lockstep else images.UART
    return str(images.build(generated, kind)), generated.image_id
