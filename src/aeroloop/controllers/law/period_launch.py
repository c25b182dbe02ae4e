"""What a flight of the fixed wing is given, and whether it can be flown at all: said before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.codegen.images import build_image
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import Role
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing import images
from aeroloop.families.fixedwing.law import TURN_RAD_S
from aeroloop.families.fixedwing.places import places
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.trim import trim
from aeroloop.links.url import ends
from aeroloop.world.atmosphere import Atmosphere

BOARD = Role("board", "aeroloop.controllers.law.period_process")


def roles(scenario: FixedWingScenario) -> tuple[Role, ...]:
    return (BOARD,)


def launch(scenario: FixedWingScenario, folder: Path) -> dict[str, Any]:
    server, client = ends(scenario.link_url, folder=folder, name="link")
    if client is None:
        raise ConfigError(f"link.url: {server} is a link to an external board, and none flies the fixed wing yet")
    places(scenario)  # whether there is somewhere to fly
    _check_airspeed(scenario)
    image, image_id = "", 0
    if scenario.loop == "pil":
        generated = images.generate(scenario)
        image = str(build_image(generated, images.IMAGE[scenario.board.scheduler]))
        image_id = generated.image_id
    return {"link_server": server, "link_client": client, "image": image, "image_id": image_id}


def _check_airspeed(scenario: FixedWingScenario) -> None:
    airframe = airframes.load(scenario.vehicle.airframe)
    speed_m_s = scenario.mission.airspeed_m_s
    _, _, density_kg_m3 = Atmosphere(scenario.world.day).at(scenario.mission.height_m)
    try:
        trim(airframe, speed_m_s)
        trim(airframe, speed_m_s, turn_rate_rad_s=TURN_RAD_S)  # both are what the law is designed for
        trim(airframe, speed_m_s, density_kg_m3=density_kg_m3)  # and this is how the flight begins
    except ConfigError as error:
        raise ConfigError(f"mission.airspeed_m_s: {str(error).removeprefix('trim: ')}") from None
