"""The processes of our boards and their launch settings: links, and the firmware of the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.codegen.images import Generated, build_image, build_program
from aeroloop.controllers.law import router_links
from aeroloop.controllers.law.host_parts import compile_parts
from aeroloop.controllers.law.period_tables import PeriodScenario
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import Role, offered
from aeroloop.links.url import ends

RELAYED = "loopback://"
"""The reference link of an external board without one: the plant forwards references."""

REQUEST_BOARD = Role("board", "aeroloop.controllers.law.request_process", ("plant", "ground"))
SEVERAL_BOARDS = tuple(
    Role(name, f"aeroloop.controllers.law.{main}", ("plant", "ground"), vital=False, without="this board")
    for name, main in (("board", "request_process"), ("board_2", "board_2_process"), ("board_3", "board_3_process"))
)
"""Those of a flight with several: the flight goes on without one, and the plant ends it without any."""
GROUND = Role("ground", "aeroloop.controllers.law.ground_process", ("plant", "board"))
EMULATOR = Role("emulator", "aeroloop.controllers.law.emulator_process")
"""The board of rung pil in real time: QEMU uses the links directly."""
PERIOD_BOARD = Role("board", "aeroloop.controllers.law.period_process", ("plant",))


def request_roles(scenario: RequestScenario) -> tuple[Role, ...]:
    found: list[Role] = []
    redundancy = scenario.controller.redundancy
    if redundancy is not None:
        found += SEVERAL_BOARDS[: redundancy.boards]
    elif scenario.loop == "pil" and not scenario.lockstep:
        found.append(EMULATOR)
    elif scenario.loop != "hil":
        found.append(REQUEST_BOARD)
    if scenario.controller.ground.source != "external":
        found.append(GROUND)
    return (*found, *router_links.roles(scenario))


def request(scenario: RequestScenario, folder: Path) -> dict[str, Any]:
    """Of a board with its own timer."""
    link_server, link_client = ends(scenario.link_url, folder=folder, name="link")
    if link_client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {link_server} is a link to an external board; fly it with --loop hil")
    reference_server, reference_client = _reference_ends(scenario, folder)
    return {
        "board_links": _more_links(scenario, folder),
        "link_server": link_server,
        "link_client": link_client or "",
        "reference_server": reference_server,
        "reference_client": reference_client,
        "relay_references": scenario.loop == "hil" and scenario.controller.ground.url == RELAYED,
        **_firmware(scenario),
        **router_links.settings(scenario, folder),
        **_host_law(scenario),
    }


def _host_law(scenario: RequestScenario) -> dict[str, Any]:
    """No settings: the C of a host law is compiled here, since its processes must be ready within a minute."""
    if scenario.controller.control.host_only:
        law, _ = offered(scenario.kind, "law", scenario)
        if law.ahead:
            law.ahead()
        if scenario.loop == "sil":
            compile_parts(law.name, (*law.parts, law.fallback))
    return {}


def period_roles(scenario: PeriodScenario) -> tuple[Role, ...]:
    boards = () if scenario.loop == "hil" else (PERIOD_BOARD,)
    return (*boards, *router_links.roles(scenario))


def period(scenario: PeriodScenario, folder: Path) -> dict[str, Any]:
    """Of a board on the plant's clock."""
    server, client = ends(scenario.link_url, folder=folder, name="link")
    if client is None and scenario.loop != "hil":
        raise ConfigError(f"link.url: {server} is a link to an external board; fly it with --loop hil")
    built = _firmware(scenario)
    if scenario.loop == "sil":
        generated, name = firmware(scenario)
        built = {"image": str(build_program(generated, name)), "image_id": generated.image_id}
    return {"link_server": server, "link_client": client or "", **built, **router_links.settings(scenario, folder)}


def _more_links(scenario: RequestScenario, folder: Path) -> list[tuple[str, str, str, str]]:
    """Link and reference link of each board after the first."""
    redundancy, found = scenario.controller.redundancy, []
    for number in redundancy.numbers[1:] if redundancy is not None else ():
        server, client = ends(scenario.link_url, folder=folder, name=f"link_{number + 1}")
        if client is None:
            raise ConfigError(f"link.url: {server} is a link to an external board; several boards need loop mil to pil")
        found.append((server, client, *_reference_ends(scenario, folder, f"ref_{number + 1}")))
    return found


def _reference_ends(scenario: RequestScenario, folder: Path, name: str = "ref") -> tuple[str, str]:
    """The URLs on which the board receives references, and on which the ground sends them."""
    url = scenario.controller.ground.url
    server, client = ends(url, folder=folder, name=name)
    if scenario.loop != "hil":
        if client is None:
            raise ConfigError(f"ground.url: {url} is a link to an external board; fly it with --loop hil")
        return server, client
    # Only this process can create a pty; an external board listens itself on the other kinds of link.
    ours = client is None or url.startswith("pty:")
    return server, server if ours or client is None else client


def firmware(scenario: Scenario) -> tuple[Generated, str]:
    """The image of the emulated board, from its family's row."""
    made: tuple[Generated, str] = offered(scenario.kind, "image", scenario)
    return made


def _firmware(scenario: Scenario) -> dict[str, Any]:
    """The image of the emulated board, and the image ID that a board with firmware must report."""
    if scenario.loop not in ("pil", "hil"):
        return {"image": "", "image_id": 0}
    generated, name = firmware(scenario)
    image = str(build_image(generated, name)) if scenario.loop == "pil" else ""
    return {"image": image, "image_id": generated.image_id}
