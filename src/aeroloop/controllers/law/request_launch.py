"""The processes of a board that owns its timer, and what they are given: links, and the firmware of the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.codegen.images import build_image
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import Role, offered
from aeroloop.links.url import ends

RELAYED = "loopback://"
"""The reference link of an external board that has no line for references: the plant passes them on."""

BOARD = Role("board", "aeroloop.controllers.law.request_process", ("plant", "ground"))
GROUND = Role("ground", "aeroloop.controllers.law.ground_process", ("plant", "board"))
EMULATOR = Role("emulator", "aeroloop.controllers.law.emulator_process")
"""The board of rung pil in real time: QEMU speaks on the links itself."""


def roles(scenario: RequestScenario) -> tuple[Role, ...]:
    found = []
    if scenario.loop == "pil" and not scenario.lockstep:
        found.append(EMULATOR)
    elif scenario.loop != "hil":
        found.append(BOARD)
    if scenario.controller.ground.source != "external":
        found.append(GROUND)
    return tuple(found)


def launch(scenario: RequestScenario, folder: Path) -> dict[str, Any]:
    link_server, link_client = ends(scenario.link_url, folder=folder, name="link")
    if link_client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {link_server} is a link to an external board; fly it with --loop hil")
    reference_server, reference_client = _reference_ends(scenario, folder)
    image, image_id = _image(scenario)
    return {
        "link_server": link_server,
        "link_client": link_client or "",
        "reference_server": reference_server,
        "reference_client": reference_client,
        "relay_references": scenario.loop == "hil" and scenario.controller.ground.url == RELAYED,
        "image": image,
        "image_id": image_id,
    }


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


def _image(scenario: RequestScenario) -> tuple[str, int]:
    """The firmware that the emulated board runs, and what a board with firmware must say that it runs."""
    if scenario.loop not in ("pil", "hil"):
        return "", 0
    generated, name = offered(scenario.kind, "image", scenario)
    return str(build_image(generated, name)) if scenario.loop == "pil" else "", generated.image_id
