"""The processes of our boards, and what they are given: links, and the firmware of the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.codegen.images import build_image
from aeroloop.controllers.law.period_tables import PeriodScenario
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import Role, offered
from aeroloop.links.url import ends

RELAYED = "loopback://"
"""The reference link of an external board that has no line for references: the plant passes them on."""

REQUEST_BOARD = Role("board", "aeroloop.controllers.law.request_process", ("plant", "ground"))
GROUND = Role("ground", "aeroloop.controllers.law.ground_process", ("plant", "board"))
EMULATOR = Role("emulator", "aeroloop.controllers.law.emulator_process")
"""The board of rung pil in real time: QEMU speaks on the links itself."""
PERIOD_BOARD = Role("board", "aeroloop.controllers.law.period_process")


def request_roles(scenario: RequestScenario) -> tuple[Role, ...]:
    found = []
    if scenario.loop == "pil" and not scenario.lockstep:
        found.append(EMULATOR)
    elif scenario.loop != "hil":
        found.append(REQUEST_BOARD)
    if scenario.controller.ground.source != "external":
        found.append(GROUND)
    return tuple(found)


def request(scenario: RequestScenario, folder: Path) -> dict[str, Any]:
    """Of a board that owns its timer."""
    link_server, link_client = ends(scenario.link_url, folder=folder, name="link")
    if link_client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {link_server} is a link to an external board; fly it with --loop hil")
    reference_server, reference_client = _reference_ends(scenario, folder)
    return {
        "link_server": link_server,
        "link_client": link_client or "",
        "reference_server": reference_server,
        "reference_client": reference_client,
        "relay_references": scenario.loop == "hil" and scenario.controller.ground.url == RELAYED,
        **_firmware(scenario),
    }


def period_roles(scenario: PeriodScenario) -> tuple[Role, ...]:
    return (PERIOD_BOARD,)


def period(scenario: PeriodScenario, folder: Path) -> dict[str, Any]:
    """Of a board that works by the plant's clock."""
    server, client = ends(scenario.link_url, folder=folder, name="link")
    if client is None:
        raise ConfigError(f"link.url: {server} is a link to an external board, and none flies this aircraft yet")
    return {"link_server": server, "link_client": client, **_firmware(scenario)}


def _reference_ends(scenario: RequestScenario, folder: Path) -> tuple[str, str]:
    """Where the board listens for references, and where the ground speaks."""
    url = scenario.controller.ground.url
    server, client = ends(url, folder=folder, name="ref")
    if scenario.loop != "hil":
        if client is None:
            raise ConfigError(f"ground.url: {url} is a link to an external board; fly it with --loop hil")
        return server, client
    # Nobody but us can make a pty; an external board listens itself on the other kinds of link.
    ours = client is None or url.startswith("pty:")
    return server, server if ours or client is None else client


def _firmware(scenario: Scenario) -> dict[str, Any]:
    """The image that the emulated board runs, and what a board with firmware must say that it runs."""
    if scenario.loop not in ("pil", "hil"):
        return {"image": "", "image_id": 0}
    generated, name = offered(scenario.kind, "image", scenario)
    image = str(build_image(generated, name)) if scenario.loop == "pil" else ""
    return {"image": image, "image_id": generated.image_id}
