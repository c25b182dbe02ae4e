"""A rocket's parameter file."""

from pathlib import Path
from typing import Annotated

from rocket.scenario import RocketScenario

from aeroloop.core.config import Config, convert, meta, note, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2

Positive = Annotated[float, meta("-", "positive", gt=0)]


class Body(Config, frozen=True):
    """Mass and shape; the body frame sits in the centre of mass, z to the nose."""

    dry_kg: Annotated[float, meta("kg", "mass without propellant", gt=0)]
    propellant_kg: Annotated[float, meta("kg", "propellant at the start, in tanks at the centre of mass", gt=0)]
    inertia_kgm2: Annotated[tuple[Positive, Positive, Positive], meta("kg m2", "moments with full tanks")]
    drag_area_m2: Annotated[
        tuple[Positive, Positive, Positive], meta("m2", "drag coefficient times area along x, y, z")
    ]
    pressure_centre_m: Annotated[float, meta("m", "where drag acts, above the centre of mass; below: negative")]
    length_m: Annotated[float, meta("m", "from nozzle to nose", gt=0)]
    radius_m: Annotated[float, meta("m", "radius of the hull", gt=0)]
    legs_m: Annotated[float, meta("m", "height of the centre of mass when it stands on its legs", gt=0)]


class Motor(Config, frozen=True):
    """One motor on a gimbal below the centre of mass."""

    thrust_max_N: Annotated[float, meta("N", "full thrust", gt=0)]
    throttle_min: Annotated[float, meta("-", "least share of it while it burns", gt=0, lt=1)]
    throttle_lag_s: Annotated[float, meta("s", "time constant of the thrust", gt=0, le=2)]
    exhaust_m_s: Annotated[float, meta("m/s", "thrust over mass flow", gt=0)]
    arm_m: Annotated[float, meta("m", "gimbal below the centre of mass", gt=0)]
    gimbal_max_rad: Annotated[float, meta("rad", "largest deflection about each axis", gt=0, le=0.5)]
    gimbal_lag_s: Annotated[float, meta("s", "time constant of the gimbal", gt=0, le=1)]


class Landing(Config, frozen=True):
    """Limits of a touchdown on the legs."""

    speed_max_m_s: Annotated[float, meta("m/s", "hardest touchdown", gt=0)]
    tilt_max_rad: Annotated[float, meta("rad", "largest lean at touchdown", gt=0, le=1.5)]


class Rocket(Config, frozen=True):
    """One parameter file."""

    body: Annotated[Body, note("mass and shape")]
    motor: Annotated[Motor, note("thrust and gimbal")]
    landing: Annotated[Landing, note("what its legs bear")]

    @property
    def full_kg(self) -> float:
        return self.body.dry_kg + self.body.propellant_kg


def flown(scenario: RocketScenario) -> Rocket:
    name = scenario.aircraft.vehicle.airframe
    if not Path(name).is_file():
        raise ConfigError(f"vehicle.airframe: {name}: there is no such file")
    rocket = convert(read_toml(Path(name)), Rocket, name)
    weight_N = rocket.full_kg * GRAVITY_M_S2
    if rocket.motor.thrust_max_N <= weight_N:
        raise ConfigError(
            f"{name}: motor.thrust_max_N: {rocket.motor.thrust_max_N:g} does not lift it, "
            f"expected more than {weight_N:.0f}"
        )
    return rocket


def check(scenario: RocketScenario) -> None:
    """Check before the flight that it can fly."""
    flown(scenario)
