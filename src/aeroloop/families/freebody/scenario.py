"""The keys that a free body adds to a scenario file."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.geodesy import EARTH_RATE_RAD_S
from aeroloop.core.scenario import FamilyTables, Scenario
from aeroloop.families.freebody import airframe
from aeroloop.models.free_body import Field
from aeroloop.models.rigid_body import LEAST_KG, Moment
from aeroloop.models.tabulated_aircraft import Controls

SLOWEST_TRIM_M_S = 1.0
"""A trim has a track."""


class FreeBody(Config, frozen=True):
    """Mass and aerodynamics of the body; its axes are forward, left, up and its principal axes of inertia."""

    kind: Annotated[Literal["freebody"], note("`freebody`: a body without a controller, for checks of the simulation")]
    mass_kg: Annotated[float, meta("kg", "mass", ge=LEAST_KG)] = 1.0
    inertia_kgm2: Annotated[tuple[Moment, Moment, Moment], meta("kg m2", "principal moments of inertia")] = (
        0.01,
        0.01,
        0.01,
    )
    drag_coefficient: Annotated[float, meta("-", "drag over dynamic pressure and area, in any direction", ge=0)] = 0.0
    area_m2: Annotated[float, meta("m2", "reference area", ge=0)] = 0.0
    rate_damping: Annotated[
        Vec3, meta("-", "derivatives of the moments' coefficients with the rates, Clp, Cmq and Cnr, by rate l / 2V")
    ] = (0.0, 0.0, 0.0)
    span_m: Annotated[float, meta("m", "reference length l of roll and yaw", ge=0)] = 0.0
    chord_m: Annotated[float, meta("m", "reference length l of pitch", ge=0)] = 0.0
    airframe: Annotated[
        str,
        note(
            "an aircraft with tables of aerodynamics and engine: `f16`, or the path of a file like "
            "families/freebody/f16.toml; it has all other keys of this table in its own units; empty: none"
        ),
    ] = ""

    def __post_init__(self) -> None:
        if not self.airframe:
            return
        airframe.load(self.airframe)
        empty = FreeBody(kind=self.kind)
        for name in self.__struct_fields__:
            if name not in ("kind", "airframe") and getattr(self, name) != getattr(empty, name):
                raise ValueError(f"{name}: expected it in the file of vehicle.airframe only")


class World(Config, frozen=True):
    """Earth and air."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-4, le=0.1)] = 0.01
    earth: Annotated[Literal["wgs84", "sphere"], note("shape of the earth, for heights and latitudes")] = "wgs84"
    radius_m: Annotated[float, meta("m", "radius of the earth if it is a sphere", gt=1e6, le=1e7)] = 6371007.2
    gravitation: Annotated[Field, note("`j2`: with the earth's oblateness; `inverse-square`: that of a sphere")] = "j2"
    earth_rate_rad_s: Annotated[float, meta("rad/s", "rotation of the earth; 0: it does not turn", ge=0, le=1e-3)] = (
        EARTH_RATE_RAD_S
    )
    wind_W: Annotated[Vec3, meta("m/s", "wind to the east, to the north and up, at height 0")] = (0.0, 0.0, 0.0)
    wind_gradient_per_s: Annotated[Vec3, meta("1/s", "its change per metre of height")] = (0.0, 0.0, 0.0)


class Start(Config, frozen=True):
    """State at the start, relative to the rotating earth."""

    lat_deg: Annotated[float, meta("deg", "geodetic latitude", ge=-90, le=90)] = 0.0
    lon_deg: Annotated[float, meta("deg", "longitude", ge=-180, le=180)] = 0.0
    height_m: Annotated[float, meta("m", "height above the ellipsoid or sphere", ge=-1000, le=20000)] = 0.0
    vel_W: Annotated[Vec3, meta("m/s", "velocity to the east, to the north and up")] = (0.0, 0.0, 0.0)
    heading_deg: Annotated[float, meta("deg", "direction of the nose from north over east", ge=-360, le=360)] = 0.0
    pitch_deg: Annotated[float, meta("deg", "pitch, nose up", ge=-90, le=90)] = 0.0
    roll_deg: Annotated[float, meta("deg", "roll to the right", ge=-180, le=180)] = 0.0
    rates_deg_s: Annotated[
        Vec3, meta("deg/s", "roll, pitch and yaw rate about forward, right and down, relative to inertial space")
    ] = (0.0, 0.0, 0.0)
    trim: Annotated[
        bool,
        note(
            "of an aircraft: pitch, elevator and power are solved for, so that it flies straight and level; its rates "
            "are those with which its attitude stays"
        ),
    ] = False


class FreeBodyTables(FamilyTables, frozen=True, kw_only=True):
    """A free body."""

    vehicle: Annotated[FreeBody, note("the body")]
    world: Annotated[World, note("earth and air")] = World()
    start: Annotated[Start, note("where and how it starts")] = Start()
    controls: Annotated[Controls, note("of an aircraft: surfaces and power")] = Controls()
    metrics_at_s: Annotated[
        tuple[float, ...], meta("s", "times whose state becomes metrics, such as `height_10s_m`")
    ] = (10.0, 30.0)

    def __post_init__(self) -> None:
        ratios = [time_s / self.world.step_s for time_s in self.metrics_at_s]
        if any(abs(ratio - round(ratio)) > 1e-6 or ratio <= 0 for ratio in ratios):
            raise ValueError(
                f"metrics_at_s: expected positive whole multiples of world.step_s, not {list(self.metrics_at_s)}"
            )
        if not self.vehicle.airframe and (self.start.trim or self.controls != Controls()):
            raise ValueError("vehicle.airframe: missing; controls and start.trim are those of an aircraft")
        if self.start.trim:
            self._check_trim()

    def _check_trim(self) -> None:
        start, controls = self.start, self.controls
        solved = {
            "start.pitch_deg": start.pitch_deg,
            "controls.elevator_deg": controls.elevator_deg,
            "controls.power_percent": controls.power_percent,
            "start.rates_deg_s": any(start.rates_deg_s),
        }
        if given := [key for key, value in solved.items() if value]:
            raise ValueError(f"{given[0]}: leave it out, start.trim solves for it")
        if math.hypot(*start.vel_W[:2]) < SLOWEST_TRIM_M_S:
            raise ValueError(f"start.vel_W: expected at least {SLOWEST_TRIM_M_S:g} m/s over the ground with start.trim")


FreeBodyScenario = Scenario[FreeBodyTables]
