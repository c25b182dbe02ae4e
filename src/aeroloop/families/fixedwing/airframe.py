"""A fixed wing from its parameter file alone. Airframes have no code of their own."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from aeroloop.actuators.power import BatteryFile
from aeroloop.actuators.servos import Limits
from aeroloop.cad.drawn import DrawnPart
from aeroloop.core import parameter_files
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.models.fixedwing_tables import Parameters

FOLDER = "families/fixedwing"


class Cruise(Config, frozen=True):
    """Flight conditions of the design."""

    speed_m_s: Annotated[float, meta("m/s", "usual airspeed", gt=0)]
    speed_min_m_s: Annotated[float, meta("m/s", "slowest airspeed to fly level with", gt=0)]
    speed_max_m_s: Annotated[float, meta("m/s", "fastest airspeed to fly level with", gt=0)]
    density_kg_m3: Annotated[float, meta("kg/m3", "air density for which trims are stated", gt=0)]


class Airframe(Parameters, frozen=True, kw_only=True):
    """One parameter file: data of the design model and of the rest of the aircraft."""

    servos: Annotated[Limits, note("travel, rate and lag of surfaces and throttle")]
    cruise: Annotated[Cruise, note("flight conditions of the design")]
    battery: Annotated[BatteryFile | None, note("battery of the motor; left out: none is simulated")] = None
    drawn: Annotated[tuple[DrawnPart, ...], note("its shape in 3D views, logs and cameras")] = ()


def names() -> list[str]:
    """The airframes included in the project."""
    return parameter_files.names(FOLDER)


def load(name: str) -> Airframe:
    """An included airframe by its name, or your own by the path of its file (ending in .toml)."""
    airframe, source = parameter_files.load(name, FOLDER, Airframe)
    _check(airframe, source)
    return airframe


def scaled(airframe: Airframe, mass: Any, inertia: Any, thrust: Any) -> Airframe:
    """With factors on mass, inertias and the propeller's thrust; numbers or symbols."""
    body, propulsion = airframe.body, airframe.propulsion
    made: Airframe = msgspec.structs.replace(
        airframe,
        body=msgspec.structs.replace(
            body,
            mass_kg=mass * body.mass_kg,
            inertia_kgm2=tuple(inertia * value for value in body.inertia_kgm2),
            product_xz_kgm2=inertia * body.product_xz_kgm2,
        ),
        propulsion=msgspec.structs.replace(
            propulsion, thrust_fit=tuple(thrust * value for value in propulsion.thrust_fit)
        ),
    )
    return made


def _check(airframe: Airframe, source: str) -> None:
    """Checks across several values."""
    (x, y, z), xz = airframe.body.inertia_kgm2, airframe.body.product_xz_kgm2
    if xz * xz >= x * z:
        raise ConfigError(f"{source}: body.product_xz_kgm2: expected less than the root of Jx Jz, not {xz:g}")
    if max(x, y, z) * 2 > x + y + z:
        raise ConfigError(f"{source}: body.inertia_kgm2: expected no moment larger than the sum of the other two")
    _check_controls(airframe, source)
    if airframe.propulsion.torque_fit[0] <= 0.0 or airframe.propulsion.thrust_fit[0] <= 0.0:
        raise ConfigError(
            f"{source}: propulsion: expected a thrust and a torque at rest above 0 (the fits' first numbers)"
        )
    cruise = airframe.cruise
    if not cruise.speed_min_m_s <= cruise.speed_m_s <= cruise.speed_max_m_s:
        raise ConfigError(f"{source}: cruise.speed_m_s: expected it between speed_min_m_s and speed_max_m_s")


def _check_controls(airframe: Airframe, source: str) -> None:
    """Check for lift and effective surfaces: trim and law divide by these."""
    if airframe.lift.alpha <= 0.0:
        raise ConfigError(f"{source}: lift.alpha: expected more than 0, not {airframe.lift.alpha:g}")
    controls = {
        "pitch.elevator": airframe.pitch.elevator,
        "roll.aileron": airframe.roll.aileron,
        "yaw.rudder": airframe.yaw.rudder,
    }
    for key, derivative in controls.items():
        if derivative == 0.0:
            raise ConfigError(f"{source}: {key}: expected a surface that has an effect, not 0")
