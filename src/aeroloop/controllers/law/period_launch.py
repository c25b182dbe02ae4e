"""The process of a board that works by the plant's clock, and what it is given: its link and its firmware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.codegen.images import build_image
from aeroloop.controllers.law.period_tables import PeriodScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import Role, offered
from aeroloop.links.url import ends

BOARD = Role("board", "aeroloop.controllers.law.period_process")


def roles(scenario: PeriodScenario) -> tuple[Role, ...]:
    return (BOARD,)


def launch(scenario: PeriodScenario, folder: Path) -> dict[str, Any]:
    server, client = ends(scenario.link_url, folder=folder, name="link")
    if client is None:
        raise ConfigError(f"link.url: {server} is a link to an external board, and none flies the fixed wing yet")
    image, image_id = "", 0
    if scenario.loop == "pil":
        generated, name = offered(scenario.kind, "image", scenario)
        image = str(build_image(generated, name))
        image_id = generated.image_id
    return {"link_server": server, "link_client": client, "image": image, "image_id": image_id}
