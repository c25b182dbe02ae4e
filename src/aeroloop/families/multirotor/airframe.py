"""A multirotor from its parameter file alone: the file, its MuJoCo model and the loads on it. Airframes have no code of
their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import resources
from typing import Annotated

import msgspec
import mujoco
import numpy as np

from aeroloop.actuators.motors import Motor, RotorEffort
from aeroloop.actuators.power import BatteryFile
from aeroloop.cad.drawn import DrawnPart
from aeroloop.control.allocation import effects
from aeroloop.core import parameter_files
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Quat, Vec, Vec3
from aeroloop.core.signals import NS, Air
from aeroloop.families.multirotor import laden_world, rotor_law
from aeroloop.families.multirotor import scale as scales
from aeroloop.families.multirotor.blade_loads import BladeLoads
from aeroloop.families.multirotor.payload import Laden, Payload, laden
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.models import quadrotor, rotor_aerodynamics
from aeroloop.models.rigid_body import Body, Positive
from aeroloop.models.rotors import Rotors
from aeroloop.protocols.servo_pulses import PulseMap, motor_pulses
from aeroloop.sensors.scene import body_from_world
from aeroloop.world import feet
from aeroloop.world.ground import SPRUNG, Ground, furnish, lay, touch_furniture, upright
from aeroloop.world.rigid import Rigid
from aeroloop.world.room_layout import Layout
from aeroloop.world.terrain import Flat

FOLDER = "families/multirotor"
AT_REST_M_S = 0.05
"""Faster than this a second after it was placed on the ground, it slides or rolls."""
LEAST_ROTORS = 4
AXES = {1: "roll (x)", 2: "pitch (y)", 3: "yaw (z)"}
"""Torques by their rows in `control.allocation.effects`."""
BODY_LOADS = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")


class Contact(Config, frozen=True):
    """Parts that touch the ground: feet, and in a crash the body and the rotors."""

    feet_B_m: Annotated[tuple[Vec3, ...], meta("m", "centres of the feet")]
    foot_radius_m: Annotated[float, meta("m", "a foot is a ball of this radius", gt=0)]
    body_half_size_m: Annotated[
        tuple[Positive, Positive, Positive], meta("m", "half length, width and height of the body")
    ]
    rotor_radius_m: Annotated[float, meta("m", "radius of a rotor", gt=0)]
    friction: Annotated[float, meta("-", "coefficient of friction on the ground", ge=0)]
    stiffness_N_m: feet.Stiffness = None
    damping_Ns_m: feet.Damping = None

    @property
    def springs(self) -> feet.Springs | None:
        """None: the feet have MuJoCo's contact."""
        return feet.springs(self.stiffness_N_m, self.damping_Ns_m, self.friction, self.feet_B_m, self.foot_radius_m)


class Supply(Config, frozen=True):
    """Power supply of the motors; its current disturbs a magnetometer."""

    hover_A: Annotated[
        float, meta("A", "current of all motors in hover, in the air of the coefficients", gt=0, le=10000)
    ]


class Airframe(Config, frozen=True):
    """One parameter file."""

    body: Annotated[Body, note("mass and shape")]
    rotors: Annotated[Rotors, note("positions and coefficients of the rotors")]
    motors: Annotated[Motor, note("response of the motors")]
    contact: Annotated[Contact, note("parts that touch the ground")]
    supply: Annotated[Supply, note("power supply")]
    battery: Annotated[BatteryFile | None, note("battery and motors; left out: none is simulated")] = None
    drawn: Annotated[tuple[DrawnPart, ...], note("its shape in 3D views, logs and cameras")] = ()

    @property
    def flight(self) -> quadrotor.Parameters:
        """Airframe data of the design model."""
        return quadrotor.Parameters(body=self.body, rotors=self.rotors)

    @property
    def mix(self) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
        return mixer(self)

    @property
    def rest_height_m(self) -> float:
        """Height of the centre of mass when it stands on its feet."""
        return self.contact.foot_radius_m - min(foot[2] for foot in self.contact.feet_B_m)


def names() -> list[str]:
    """The airframes included in the project."""
    return parameter_files.names(FOLDER)


def load(name: str) -> Airframe:
    """An included airframe by its name, or your own by the path of its file (ending in .toml)."""
    airframe, source = parameter_files.load(name, FOLDER, Airframe)
    _check(airframe, source)
    return airframe


def scaled(airframe: Airframe, scale: scales.Scale) -> Airframe:
    """The simulated aircraft; the controller's airframe is without these factors."""
    body, rotors = scales.scaled(airframe.body, airframe.rotors, scale)
    return airframe if body is airframe.body else msgspec.structs.replace(airframe, body=body, rotors=rotors)


def flown(scenario: QuadrotorScenario) -> Airframe:
    return load(scenario.aircraft.vehicle.airframe)


def pulses(scenario: QuadrotorScenario) -> PulseMap:
    """Which servo channel drives which motor; ConfigError where there are not as many."""
    channels, rotors = scenario.aircraft.channels, flown(scenario).rotors.count
    motors = channels.motors or tuple(range(1, rotors + 1))
    if len(motors) != rotors:
        raise ConfigError(f"channels.motors: expected {rotors} channels, one for each rotor, not {len(motors)}")
    return motor_pulses(motors, channels.trim_us, channels.span_us)


def check(scenario: QuadrotorScenario) -> None:
    """Check before the start that the aircraft can fly and stand, and that its rotors' law fits it."""
    airframe = flown(scenario)
    rotor_law.check_drive(scenario.aircraft, airframe.motors, airframe.rotors.count)
    if (payload := scenario.aircraft.payload) is not None:
        laden_world.check(airframe.body.mass_kg, payload, airframe.rotors, airframe.motors.speed_max_rad_s)
    pulses(scenario)
    factors = scenario.aircraft.vehicle.scale.rotors
    if factors and len(factors) != airframe.rotors.count:
        raise ConfigError(
            f"vehicle.scale.rotors: expected {airframe.rotors.count} factors, one for each rotor, not {len(factors)}"
        )


def _check(airframe: Airframe, source: str) -> None:
    """Checks across several values: that it can fly and stand."""
    motors = airframe.motors
    _check_rotors(airframe.rotors, source)
    rotor_aerodynamics.check(airframe.rotors, source)
    if len(airframe.contact.feet_B_m) < 3:
        raise ConfigError(f"{source}: contact.feet_B_m: expected at least three feet")
    feet.check(airframe.contact.stiffness_N_m, airframe.contact.damping_Ns_m, source)
    if airframe.rest_height_m <= 0.0:
        raise ConfigError(f"{source}: contact.feet_B_m: expected feet below the centre of mass")
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


def _check_rotors(rotors: Rotors, source: str) -> None:
    if not LEAST_ROTORS <= rotors.count <= MOST_ROTORS or len(rotors.spin) != rotors.count:
        raise ConfigError(
            f"{source}: rotors: expected {LEAST_ROTORS} to {MOST_ROTORS} positions (pos_B_m) "
            f"and as many directions (spin), not {rotors.count} and {len(rotors.spin)}"
        )
    if len(rotors.shares) != rotors.count:
        raise ConfigError(
            f"{source}: rotors.thrust_share: expected a number for each of the {rotors.count} rotors or none at all, "
            f"not {len(rotors.shares)}"
        )
    per_rotor = effects(rotors.pos_B_m, rotors.spin, rotors.torque_to_thrust_m, rotors.shares)
    lacking = [axis for number, axis in AXES.items() if not _free(per_rotor, number)]
    if lacking:
        raise ConfigError(
            f"{source}: rotors: no thrusts of these rotors give a torque about the {lacking[0]} axis alone; "
            "expected positions (pos_B_m) and directions (spin) that control roll, pitch and yaw"
        )


def _free(per_rotor: Vec, axis: int) -> bool:
    """Whether this row of the effects is independent of the others."""
    others = np.delete(per_rotor, axis, axis=0)
    rest = per_rotor[axis] - np.linalg.pinv(others) @ others @ per_rotor[axis]
    return bool(np.linalg.norm(rest) > 1e-6 * max(1e-9, float(np.linalg.norm(per_rotor[axis]))))


def build(
    airframe: Airframe,
    step_s: float,
    terrain: Ground | None = None,
    together: Laden | None = None,
    room: Layout | None = None,
) -> mujoco.MjModel:
    """Actuators: the six of BODY_LOADS, then the free-air thrust of each rotor. `together`: with a payload."""
    text = resources.files("aeroloop").joinpath(f"{FOLDER}/model.xml").read_text(encoding="utf-8")
    spec = mujoco.MjSpec.from_string(text)
    spec.option.timestep = step_s
    # A NaN state must persist: MuJoCo would reset the aircraft to the origin and continue.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    # One free body is one island of contacts, and testing its few geoms one by one is faster than a tree of boxes; the
    # motion is the same to the bit.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    spec.option.gravity = [0.0, 0.0, -GRAVITY_M_S2]
    contact, rotors = airframe.contact, airframe.rotors
    spec.geom("ground").friction = [contact.friction, 0.01, 0.001]
    if terrain is not None:
        lay(spec, terrain)
    if room is not None:
        furnish(spec, room)
    if contact.springs is not None:
        touch_furniture(spec)
    frame = spec.body("frame")
    frame.mass, frame.inertia = airframe.body.mass_kg, airframe.body.inertia_kgm2
    frame.ipos, frame.iquat = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    frame.explicitinertial = True
    if together is not None:
        laden_world.carry(spec, together)
    sphere, capsule, cylinder = (
        mujoco.mjtGeom.mjGEOM_SPHERE,
        mujoco.mjtGeom.mjGEOM_CAPSULE,
        mujoco.mjtGeom.mjGEOM_CYLINDER,
    )
    touches = {"contype": 2, "conaffinity": 1, "friction": [contact.friction, 0.01, 0.001]}
    passes = {"contype": 0, "conaffinity": 0}
    frame.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=contact.body_half_size_m, rgba=[0.2, 0.2, 0.25, 1], **touches)
    steps = touches if contact.springs is None else {**touches, **SPRUNG}
    for foot in contact.feet_B_m:
        frame.add_geom(type=sphere, size=[contact.foot_radius_m, 0, 0], pos=foot, rgba=[0.1, 0.1, 0.1, 1], **steps)
    for i, (pos, spin) in enumerate(zip(rotors.pos_B_m, rotors.spin, strict=True)):
        colour = [0.2, 0.4, 0.8, 0.5] if spin > 0 else [0.8, 0.3, 0.2, 0.5]
        frame.add_geom(type=capsule, size=[0.01, 0, 0], fromto=[0, 0, 0, *pos], rgba=[0.3, 0.3, 0.3, 1], **passes)
        frame.add_geom(type=sphere, size=[0.02, 0, 0], pos=pos, rgba=[0.1, 0.1, 0.1, 1], **touches)  # the hub
        frame.add_geom(type=cylinder, size=[contact.rotor_radius_m, 0.002, 0], pos=pos, rgba=colour, **passes)
        frame.add_site(name=f"rotor_{i}", pos=pos)
        thrust = spec.add_actuator(name=f"thrust_{i}", trntype=mujoco.mjtTrn.mjTRN_SITE, target=f"rotor_{i}")
        # A rotor's force acts along z and its torque against its own rotation, in proportion.
        thrust.gear = [0.0, 0.0, rotors.shares[i], 0.0, 0.0, -spin * rotors.torque_to_thrust_m]
    return spec.compile()


def loads(
    airframe: Airframe, blades: BladeLoads | None = None
) -> Callable[[RotorEffort, Vec3, Vec3, float], list[float]]:
    """Loads of the air and the rotors' inertia on the body, then the thrusts, in the order of the model's actuators.
    With `blades` theirs are among the loads on the body, and the thrusts are 0."""
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

    if blades is None:
        return actuators
    no_thrusts = [0.0] * rotors.count

    def with_blades(effort: RotorEffort, vel_air_B: Vec3, rate_B: Vec3, density_kg_m3: float) -> list[float]:
        body = actuators(effort, vel_air_B, rate_B, density_kg_m3)[: len(BODY_LOADS)]
        own = blades(effort, vel_air_B, rate_B, density_kg_m3)
        return [a + b for a, b in zip(body, own, strict=True)] + no_thrusts

    return with_blades


def blade_loads(airframe: Airframe) -> BladeLoads | None:
    """None where thrust is k w^2 in any flow."""
    return BladeLoads(airframe.rotors) if airframe.rotors.aerodynamics is not None else None


def mixer(airframe: Airframe) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
    """Motor commands of roll, pitch, yaw (-1..1, of FRD: right, up, clockwise from above) and throttle (0..1)."""
    rotors = airframe.rotors
    reach_m = max(math.hypot(x, y) for x, y, _ in rotors.pos_B_m)
    # For roll right the left rotors increase, for pitch up the front ones; rotors that turn left yaw the body right.
    gains = tuple((y / reach_m, x / reach_m, spin) for (x, y, _), spin in zip(rotors.pos_B_m, rotors.spin, strict=True))

    def motors(axes: tuple[float, ...]) -> tuple[float, ...]:
        roll, pitch, yaw, throttle = axes[:4]
        return tuple(
            min(1.0, max(0.0, throttle + right * roll + up * pitch + clockwise * yaw)) for right, up, clockwise in gains
        )

    return motors


def supply_factors(airframe: Airframe) -> tuple[float, float]:
    """Current over density and the sum of the cubes of the speeds; thrust over density and that of the squares."""
    rotors = airframe.rotors
    # Proportional to the shaft power; the file's torques would need several times the current of such a battery.
    hovering = float(np.sum(quadrotor.hover_speeds_rad_s(airframe.flight) ** 3)) * rotors.density_kg_m3
    return airframe.supply.hover_A / hovering, rotors.thrust_Ns2 / rotors.density_kg_m3


def supply(airframe: Airframe) -> Callable[[RotorEffort, Air], tuple[float, float]]:
    """Current of the motors (A) and thrust of all rotors (N)."""
    per_power, per_density = supply_factors(airframe)
    shares = airframe.rotors.shares

    def drawn(effort: RotorEffort, air: Air) -> tuple[float, float]:
        thrust = power = 0.0
        for speed, share in zip(effort.speed_rad_s, shares, strict=True):
            squared = speed * speed
            thrust += share * squared
            power += squared * speed
        return per_power * air.density_kg_m3 * power, per_density * air.density_kg_m3 * thrust

    return drawn


def world(
    airframe: Airframe,
    step_s: float,
    start_m: tuple[float, float] = (0.0, 0.0),
    terrain: Ground | None = None,
    payload: Payload | None = None,
    room: Layout | None = None,
    blades: BladeLoads | None = None,
) -> Rigid[RotorEffort]:
    """At rest on the ground, this far east and north of the origin. `blades`: of an airframe with aerodynamics of its
    rotors, as `blade_loads`."""
    model, of_air = build(airframe, step_s, terrain, room=room), loads(airframe, blades)
    springs = airframe.contact.springs
    on = feet.Feet(springs, terrain) if springs is not None else None
    if payload is None:
        rigid = Rigid(model, of_air, on)
    else:
        together = build(airframe, step_s, terrain, laden(airframe.body, payload), room)
        rigid = laden_world.LadenLater(model, together, of_air, payload.from_s, on)
    rigid.reset(*_standing(airframe, start_m, terrain))
    rigid.settle(round(step_s * NS))
    if math.hypot(*rigid.state(0).vel_W) > AT_REST_M_S and (terrain is None or isinstance(terrain, Flat)):
        raise ConfigError(
            "vehicle.airframe: contact.feet_B_m: the aircraft does not stand still on level ground; "
            "expected feet around its centre of mass"
        )
    if math.hypot(*rigid.state(0).vel_W) > AT_REST_M_S:
        raise ConfigError(
            f"world.terrain: the aircraft cannot stand {start_m[0]:g} m east and {start_m[1]:g} m north of home, "
            "where it starts; expected ground that is less steep there"
        )
    return rigid


def _standing(airframe: Airframe, start_m: tuple[float, float], terrain: Ground | None) -> tuple[Vec3, Quat]:
    """Upright on the ground, with its lowest foot just in contact."""
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
