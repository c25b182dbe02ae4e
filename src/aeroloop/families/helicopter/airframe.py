"""A helicopter from its parameter file alone: main rotor, tail rotor, engine, swash plate, weights of its law."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from aeroloop.core import parameter_files
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.models.rigid_body import Body, Positive
from aeroloop.world import feet

FOLDER = "families/helicopter"
SKID_RADIUS_M = 0.012
Range = tuple[float, float]
Positive3 = tuple[Positive, Positive, Positive]


class Rotor(Config, frozen=True):
    """Blades of constant chord without twist, in blade element and momentum theory with uniform inflow."""

    radius_m: Annotated[float, meta("m", "radius", gt=0, le=20)]
    chord_m: Annotated[float, meta("m", "chord of a blade", gt=0, le=2)]
    blades: Annotated[int, meta("-", "number of blades", ge=1, le=10)]
    lift_slope: Annotated[float, meta("1/rad", "slope of the blades' lift coefficient", gt=0, le=10)]
    drag_coefficient: Annotated[float, meta("-", "profile drag coefficient of the blades", ge=0, le=1)]
    thrust_coefficient_max: Annotated[
        float, meta("-", "largest thrust over density, disc area and squared tip speed: stall", gt=0, le=1)
    ]
    wake_factor: Annotated[float, meta("-", "of the momentum of the wake; 1: ideal", gt=0, le=1)]
    hub_B_m: Annotated[Vec3, meta("m", "its hub")]

    @property
    def disc_m2(self) -> float:
        return math.pi * self.radius_m**2

    @property
    def blade_m2(self) -> float:
        return self.blades * self.chord_m * self.radius_m

    @property
    def solidity(self) -> float:
        return self.blade_m2 / self.disc_m2


class Head(Config, frozen=True):
    """The main rotor's head: its rotation, and how its disc tilts."""

    spin: Annotated[Literal[-1, 1], note("1: anticlockwise seen from above; -1: clockwise")]
    speed_rad_s: Annotated[float, meta("rad/s", "rotor speed that the governor holds", gt=0, le=1000)]
    hub_stiffness_Nm: Annotated[float, meta("N m/rad", "moment of the hub for the tilt of the disc", ge=0)]
    lock_number: Annotated[
        float, meta("-", "Lock number of what sets the flapping: a bar, or the blades; its lag is 16/(it speed)", gt=0)
    ]
    cyclic_gain: Annotated[float, meta("rad/rad", "tilt of the disc for a cyclic pitch, at rest", gt=0)]
    speed_factor: Annotated[float, meta("-", "fraction of the flapping with airspeed of a rotor without a bar", ge=0)]

    @property
    def flap_lag_s(self) -> float:
        return 16.0 / (self.lock_number * self.speed_rad_s)


class Drive(Config, frozen=True):
    """Engine and gears."""

    inertia_kgm2: Annotated[float, meta("kg m2", "inertia of all that rotates, at the main shaft", gt=0)]
    tail_gear: Annotated[float, meta("-", "speed of the tail rotor over that of the main rotor", gt=0, le=100)]
    power_max_W: Annotated[float, meta("W", "power at full throttle", gt=0)]
    engine_lag_s: Annotated[float, meta("s", "time constant of the power", gt=0, le=5)]


class Surface(Config, frozen=True):
    """A fin or stabiliser."""

    area_m2: Annotated[float, meta("m2", "area", ge=0)]
    lift_slope: Annotated[float, meta("1/rad", "slope of its lift coefficient", ge=0)]
    pos_B_m: Annotated[Vec3, meta("m", "where it is")]


class Swashplate(Config, frozen=True):
    """Limits and lags of the pitch of the blades."""

    collective_rad: Annotated[Range, meta("rad", "least and largest collective pitch of the main rotor")]
    cyclic_max_rad: Annotated[float, meta("rad", "largest cyclic pitch, both ways", gt=0, le=1)]
    tail_rad: Annotated[Range, meta("rad", "least and largest pitch of the tail rotor; positive against the torque")]
    lag_s: Annotated[float, meta("s", "time constant of the servos", gt=0, le=1)]
    rate_rad_s: Annotated[float, meta("rad/s", "rate limit of the pitch", gt=0)]


class Contact(Config, frozen=True):
    """What touches the ground."""

    skid_length_m: Annotated[float, meta("m", "length of the skids", gt=0)]
    skid_width_m: Annotated[float, meta("m", "distance between them", gt=0)]
    skid_below_m: Annotated[float, meta("m", "skids below the centre of mass", gt=0)]
    fuselage_half_m: Annotated[Positive3, meta("m", "half length, width and height of the fuselage")]
    friction: Annotated[float, meta("-", "coefficient of friction on the ground", ge=0)]
    speed_max_m_s: Annotated[float, meta("m/s", "a touchdown faster than this ends the flight as a crash", gt=0)]
    stiffness_N_m: feet.Stiffness = None
    damping_Ns_m: feet.Damping = None

    @property
    def springs(self) -> feet.Springs | None:
        """At the ends of the skids; None: the skids have MuJoCo's contact."""
        x_m, y_m, z_m = self.skid_length_m / 2, self.skid_width_m / 2, -self.skid_below_m
        ends_B_m = tuple((x, y, z_m) for x in (x_m, -x_m) for y in (y_m, -y_m))
        return feet.springs(self.stiffness_N_m, self.damping_Ns_m, self.friction, ends_B_m, SKID_RADIUS_M)


class LawWeights(Config, frozen=True):
    """Acceptable errors: the weight of each in the LQR is 1 / value^2 (Bryson's rule)."""

    position_m: Annotated[Positive3, meta("m", "forward, left, up")]
    velocity_m_s: Annotated[Positive3, meta("m/s", "forward, left, up")]
    angle_rad: Annotated[Positive3, meta("rad", "roll, pitch, yaw")]
    rate_rad_s: Annotated[Positive3, meta("rad/s", "about forward, left, up")]
    integral_ms: Annotated[Positive3, meta("m s", "integral of the position error")]
    yaw_integral_rads: Annotated[float, meta("rad s", "integral of the heading error", gt=0)]
    collective_rad: Annotated[float, meta("rad", "collective pitch", gt=0)]
    cyclic_rad: Annotated[float, meta("rad", "cyclic pitch", gt=0)]
    tail_rad: Annotated[float, meta("rad", "pitch of the tail rotor", gt=0)]
    governor_per_rad_s: Annotated[float, meta("s/rad", "throttle for an error of the rotor speed", gt=0)]
    governor_per_rad: Annotated[float, meta("1/rad", "throttle for the integral of that error", ge=0)]


class Helicopter(Config, frozen=True):
    """One parameter file."""

    body: Annotated[Body, note("mass and shape")]
    main_rotor: Annotated[Rotor, note("the main rotor")]
    tail_rotor: Annotated[Rotor, note("the tail rotor")]
    head: Annotated[Head, note("rotation and flapping of the main rotor")]
    drive: Annotated[Drive, note("engine and gears")]
    fin: Annotated[Surface, note("vertical fin")]
    stabiliser: Annotated[Surface, note("horizontal stabiliser")]
    swashplate: Annotated[Swashplate, note("limits and lags of the controls")]
    contact: Annotated[Contact, note("what touches the ground")]
    law: Annotated[LawWeights, note("weights of the control law")]

    @property
    def command_limits(self) -> tuple[Range, ...]:
        """Of collective, lateral, longitudinal and tail pitch (rad), and of the throttle."""
        plate = self.swashplate
        cyclic = (-plate.cyclic_max_rad, plate.cyclic_max_rad)
        return plate.collective_rad, cyclic, cyclic, plate.tail_rad, (0.0, 1.0)


def names() -> list[str]:
    """The helicopters included in the project."""
    return parameter_files.names(FOLDER)


def load(name: str) -> Helicopter:
    """An included helicopter by its name, or your own by the path of its file (ending in .toml)."""
    helicopter, source = parameter_files.load(name, FOLDER, Helicopter)
    _check(helicopter, source)
    return helicopter


def _check(helicopter: Helicopter, source: str) -> None:
    """Checks across several values; that it can hover is checked with its trim."""
    for key, (low, high) in (
        ("collective_rad", helicopter.swashplate.collective_rad),
        ("tail_rad", helicopter.swashplate.tail_rad),
    ):
        if not low < high:
            raise ConfigError(f"{source}: swashplate.{key}: expected the least value first, not {low:g} and {high:g}")
    feet.check(helicopter.contact.stiffness_N_m, helicopter.contact.damping_Ns_m, source)
    x, y, z = sorted(helicopter.body.inertia_kgm2)
    if z > x + y:
        raise ConfigError(f"{source}: body.inertia_kgm2: expected no moment larger than the sum of the other two")
    if helicopter.tail_rotor.hub_B_m[0] >= 0.0:
        raise ConfigError(f"{source}: tail_rotor.hub_B_m: expected it behind the centre of mass (x below 0)")
