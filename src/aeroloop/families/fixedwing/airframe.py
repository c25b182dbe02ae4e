"""A fixed wing from its parameter file alone. No airframe has code."""

from __future__ import annotations

from typing import Annotated

from aeroloop.actuators.servos import Limits
from aeroloop.core import parameter_files
from aeroloop.core.config import Config, meta
from aeroloop.core.errors import ConfigError
from aeroloop.models.fixedwing_tables import Parameters

FOLDER = "families/fixedwing"


class Cruise(Config, frozen=True):
    """Where it is meant to fly."""

    speed_m_s: Annotated[float, meta("m/s", "usual airspeed", gt=0)]
    speed_min_m_s: Annotated[float, meta("m/s", "slowest airspeed to fly level with", gt=0)]
    speed_max_m_s: Annotated[float, meta("m/s", "fastest airspeed to fly level with", gt=0)]
    density_kg_m3: Annotated[float, meta("kg/m3", "density of the air that trims are stated for", gt=0)]


class Airframe(Parameters, frozen=True):
    """One parameter file: what the design model needs, and what else belongs to the aircraft."""

    servos: Limits
    cruise: Cruise


def names() -> list[str]:
    """The airframes that come with the project."""
    return parameter_files.names(FOLDER)


def load(name: str) -> Airframe:
    """An airframe of the project by its name, or your own by the path of its file (ending in .toml)."""
    airframe, source = parameter_files.load(name, FOLDER, Airframe)
    _check(airframe, source)
    return airframe


def _check(airframe: Airframe, source: str) -> None:
    """What single numbers cannot show."""
    (x, y, z), xz = airframe.body.inertia_kgm2, airframe.body.product_xz_kgm2
    if xz * xz >= x * z:
        raise ConfigError(f"{source}: body.product_xz_kgm2: expected less than the root of Jx Jz, not {xz:g}")
    if max(x, y, z) * 2 > x + y + z:
        raise ConfigError(f"{source}: body.inertia_kgm2: expected no moment larger than the sum of the other two")
    if airframe.propulsion.torque_fit[0] <= 0.0 or airframe.propulsion.thrust_fit[0] <= 0.0:
        raise ConfigError(
            f"{source}: propulsion: expected a thrust and a torque at rest above 0 (the fits' first numbers)"
        )
    cruise = airframe.cruise
    if not cruise.speed_min_m_s <= cruise.speed_m_s <= cruise.speed_max_m_s:
        raise ConfigError(f"{source}: cruise.speed_m_s: expected it between speed_min_m_s and speed_max_m_s")
