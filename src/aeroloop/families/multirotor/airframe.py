"""A multirotor from its parameter file alone: the file, its MuJoCo model and the loads on it. No airframe has code."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import resources
from typing import Annotated

import mujoco
import numpy as np

from aeroloop.actuators.motors import Motor, RotorEffort
from aeroloop.core import parameter_files
from aeroloop.core.config import Config, meta
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Quat, Vec3
from aeroloop.core.signals import NS, Air
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.models import quadrotor
from aeroloop.models.rigid_body import Body
from aeroloop.models.rotors import Rotors
from aeroloop.sensors.scene import body_from_world
from aeroloop.world.ground import Ground, lay, upright
from aeroloop.world.rigid import Rigid
from aeroloop.world.terrain import Flat

FOLDER = "families/multirotor"
AT_REST_M_S = 0.05
"""Faster than this a second after it was put down, it slides or rolls."""
BODY_LOADS = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")


class Contact(Config, frozen=True):
    """What touches the ground: feet, and in a crash the body and the rotors."""

    feet_B_m: Annotated[tuple[Vec3, ...], meta("m", "centres of the feet")]
    foot_radius_m: Annotated[float, meta("m", "a foot is a ball of this radius", gt=0)]
    body_half_size_m: Annotated[Vec3, meta("m", "half length, width and height of the body")]
    rotor_radius_m: Annotated[float, meta("m", "radius of a rotor", gt=0)]
    friction: Annotated[float, meta("-", "coefficient of friction on the ground", ge=0)]


class Supply(Config, frozen=True):
    """Where the motors' power comes from; its current disturbs a magnetometer."""

    hover_A: Annotated[
        float, meta("A", "current of all motors in hover, in the air of the coefficients", gt=0, le=10000)
    ]


class Airframe(Config, frozen=True):
    """One parameter file."""

    body: Body
    rotors: Rotors
    motors: Motor
    contact: Contact
    supply: Supply

    @property
    def flight(self) -> quadrotor.Parameters:
        """What the design model needs of it."""
        return quadrotor.Parameters(body=self.body, rotors=self.rotors)

    @property
    def mix(self) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
        return mixer(self)

    @property
    def rest_height_m(self) -> float:
        """Height of the centre of mass when it stands on its feet."""
        return self.contact.foot_radius_m - min(foot[2] for foot in self.contact.feet_B_m)


def names() -> list[str]:
    """The airframes that come with the project."""
    return parameter_files.names(FOLDER)


def load(name: str) -> Airframe:
    """An airframe of the project by its name, or your own by the path of its file (ending in .toml)."""
    airframe, source = parameter_files.load(name, FOLDER, Airframe)
    _check(airframe, source)
    return airframe


def flown(scenario: QuadrotorScenario) -> Airframe:
    return load(scenario.aircraft.vehicle.airframe)


def _check(airframe: Airframe, source: str) -> None:
    """What single numbers cannot show: that it can fly and stand."""
    rotors, motors = airframe.rotors, airframe.motors
    if rotors.count < 4 or len(rotors.spin) != rotors.count:
        raise ConfigError(
            f"{source}: rotors: expected four or more places and as many directions, "
            f"not {rotors.count} and {len(rotors.spin)}"
        )
    if len(airframe.contact.feet_B_m) < 3:
        raise ConfigError(f"{source}: contact.feet_B_m: expected three feet or more to stand on")
    x, y, z = sorted(airframe.body.inertia_kgm2)
    if z > x + y:
        raise ConfigError(f"{source}: body.inertia_kgm2: expected no moment larger than the sum of the other two")
    if motors.speed_idle_rad_s >= motors.speed_max_rad_s:
        raise ConfigError(f"{source}: motors.speed_idle_rad_s: expected less than speed_max_rad_s")
    try:
        needed = float(max(quadrotor.hover_speeds_rad_s(airframe.flight)))
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    if needed >= motors.speed_max_rad_s:
        raise ConfigError(
            f"{source}: motors.speed_max_rad_s: {motors.speed_max_rad_s:g} is too slow to hover, "
            f"expected more than {needed:.0f}"
        )


def build(airframe: Airframe, step_s: float, terrain: Ground | None = None) -> mujoco.MjModel:
    """Actuators: the six of BODY_LOADS, then one thrust for each rotor."""
    text = resources.files("aeroloop").joinpath(f"{FOLDER}/model.xml").read_text(encoding="utf-8")
    spec = mujoco.MjSpec.from_string(text)
    spec.option.timestep = step_s
    # A state that is no number must stay so: MuJoCo would put the aircraft back at the origin and fly on.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.option.gravity = [0.0, 0.0, -GRAVITY_M_S2]
    contact, rotors = airframe.contact, airframe.rotors
    spec.geom("ground").friction = [contact.friction, 0.01, 0.001]
    if terrain is not None:
        lay(spec, terrain)
    frame = spec.body("frame")
    frame.mass, frame.inertia = airframe.body.mass_kg, airframe.body.inertia_kgm2
    frame.ipos, frame.iquat = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    frame.explicitinertial = True
    sphere, capsule, cylinder = (
        mujoco.mjtGeom.mjGEOM_SPHERE,
        mujoco.mjtGeom.mjGEOM_CAPSULE,
        mujoco.mjtGeom.mjGEOM_CYLINDER,
    )
    touches = {"contype": 2, "conaffinity": 1, "friction": [contact.friction, 0.01, 0.001]}
    passes = {"contype": 0, "conaffinity": 0}
    frame.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=contact.body_half_size_m, rgba=[0.2, 0.2, 0.25, 1], **touches)
    for foot in contact.feet_B_m:
        frame.add_geom(type=sphere, size=[contact.foot_radius_m, 0, 0], pos=foot, rgba=[0.1, 0.1, 0.1, 1], **touches)
    for i, (pos, spin) in enumerate(zip(rotors.pos_B_m, rotors.spin, strict=True)):
        colour = [0.2, 0.4, 0.8, 0.5] if spin > 0 else [0.8, 0.3, 0.2, 0.5]
        frame.add_geom(type=capsule, size=[0.01, 0, 0], fromto=[0, 0, 0, *pos], rgba=[0.3, 0.3, 0.3, 1], **passes)
        frame.add_geom(type=sphere, size=[0.02, 0, 0], pos=pos, rgba=[0.1, 0.1, 0.1, 1], **touches)  # the hub
        frame.add_geom(type=cylinder, size=[contact.rotor_radius_m, 0.002, 0], pos=pos, rgba=colour, **passes)
        frame.add_site(name=f"rotor_{i}", pos=pos)
        thrust = spec.add_actuator(name=f"thrust_{i}", trntype=mujoco.mjtTrn.mjTRN_SITE, target=f"rotor_{i}")
        # A rotor pushes along z and turns the body against its own direction, in proportion.
        thrust.gear = [0.0, 0.0, 1.0, 0.0, 0.0, -spin * rotors.torque_to_thrust_m]
    return spec.compile()


def loads(airframe: Airframe) -> Callable[[RotorEffort, Vec3, Vec3, float], list[float]]:
    """What the air and the rotors' inertia do to the body, then the thrusts, in the order of the model's actuators."""
    rotors = airframe.rotors
    places = tuple((*pos, spin) for pos, spin in zip(rotors.pos_B_m, rotors.spin, strict=True))
    area_x, area_y, area_z = airframe.body.drag_area_m2
    thrust_Ns2, drag_Ns2_m, inertia = rotors.thrust_Ns2, rotors.drag_Ns2_m, rotors.inertia_kgm2
    per_density = 1.0 / rotors.density_kg_m3

    def actuators(effort: RotorEffort, vel_air_B: Vec3, rate_B: Vec3, density_kg_m3: float) -> list[float]:
        u, v, w = vel_air_B
        p, q, r = rate_B
        ratio = density_kg_m3 * per_density
        k, c = ratio * thrust_Ns2, ratio * drag_Ns2_m
        pressure = -0.5 * density_kg_m3 * (u * u + v * v + w * w) ** 0.5
        fx, fy, fz = pressure * area_x * u, pressure * area_y * v, pressure * area_z * w
        tx = ty = tz = momentum = 0.0
        thrusts = []
        for (x, y, z, spin), speed, spin_up in zip(places, effort.speed_rad_s, effort.spin_up_rad_s2, strict=True):
            thrusts.append(k * speed * speed)
            brake = -c * speed
            gx, gy = brake * (u + q * z - r * y), brake * (v + r * x - p * z)
            fx += gx
            fy += gy
            tx -= z * gy
            ty += z * gx
            tz += x * gy - y * gx - spin * inertia * spin_up
            momentum += spin * inertia * speed
        return [fx, fy, fz, tx - q * momentum, ty + p * momentum, tz, *thrusts]

    return actuators


def mixer(airframe: Airframe) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
    """Motor commands of roll, pitch, yaw (-1..1, of FRD: right, up, clockwise from above) and throttle (0..1)."""
    rotors = airframe.rotors
    reach_m = max(math.hypot(x, y) for x, y, _ in rotors.pos_B_m)
    # Left rotors lift for a roll to the right, front ones for the nose; those that turn left turn the body right.
    gains = tuple((y / reach_m, x / reach_m, spin) for (x, y, _), spin in zip(rotors.pos_B_m, rotors.spin, strict=True))

    def motors(axes: tuple[float, ...]) -> tuple[float, ...]:
        roll, pitch, yaw, throttle = axes[:4]
        return tuple(
            min(1.0, max(0.0, throttle + right * roll + up * pitch + clockwise * yaw)) for right, up, clockwise in gains
        )

    return motors


def supply(airframe: Airframe) -> Callable[[RotorEffort, Air], tuple[float, float]]:
    """Current that the motors draw (A) and thrust of all rotors (N)."""
    rotors = airframe.rotors
    per_density = rotors.thrust_Ns2 / rotors.density_kg_m3
    # Drawn as the power at the shafts; the file's torques would ask for several times what such a battery gives.
    hovering = float(np.sum(quadrotor.hover_speeds_rad_s(airframe.flight) ** 3)) * rotors.density_kg_m3
    per_power = airframe.supply.hover_A / hovering

    def drawn(effort: RotorEffort, air: Air) -> tuple[float, float]:
        thrust = power = 0.0
        for speed in effort.speed_rad_s:
            squared = speed * speed
            thrust += squared
            power += squared * speed
        return per_power * air.density_kg_m3 * power, per_density * air.density_kg_m3 * thrust

    return drawn


def world(
    airframe: Airframe, step_s: float, start_m: tuple[float, float] = (0.0, 0.0), terrain: Ground | None = None
) -> Rigid[RotorEffort]:
    """Standing on the ground at rest, so far east and north of the origin."""
    rigid = Rigid(build(airframe, step_s, terrain), loads(airframe))
    rigid.reset(*_standing(airframe, start_m, terrain))
    rigid.settle(round(step_s * NS))
    if math.hypot(*rigid.state(0).vel_W) > AT_REST_M_S:
        raise ConfigError(
            f"world.terrain: the aircraft cannot stand {start_m[0]:g} m east and {start_m[1]:g} m north of home, "
            "where it starts; expected ground that is less steep there"
        )
    return rigid


def _standing(airframe: Airframe, start_m: tuple[float, float], terrain: Ground | None) -> tuple[Vec3, Quat]:
    """Upright on the ground, its lowest foot just touching."""
    x, y = start_m
    if terrain is None or isinstance(terrain, Flat):
        ground_m = terrain.height_m(x, y) if terrain is not None else 0.0
        return (x, y, ground_m + airframe.rest_height_m), (1.0, 0.0, 0.0, 0.0)
    normal_W = terrain.normal_W(x, y)
    quat_WB = upright(normal_W)
    R_WB = tuple(zip(*body_from_world(quat_WB), strict=True))
    gaps_m = []
    for foot_B in airframe.contact.feet_B_m:
        dx, dy, dz = (sum(a * b for a, b in zip(row, foot_B, strict=True)) for row in R_WB)
        gaps_m.append(dz - terrain.height_m(x + dx, y + dy))
    return (x, y, airframe.contact.foot_radius_m / normal_W[2] - min(gaps_m)), quat_WB
