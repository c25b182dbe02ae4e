"""Rotors and control surfaces of a model: by motor models, by names given by the user, or by the names in the file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aeroloop.cad.assembly import Assembly, Meshes, extent
from aeroloop.cad.inertial import HERE
from aeroloop.cad.model import TURNING, Joint, Link, Model, MotorModel
from aeroloop.cad.motor_models import MOST_MOTORS
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.suggest import did_you_mean

ROTOR = re.compile(r"rotor|prop(eller)?s?(?![a-z])|propeller|motor", re.IGNORECASE)
NO_ROTOR = re.compile(r"gimbal|wheel|servo|camera|tilt|mount", re.IGNORECASE)
SURFACES = {
    "aileron": re.compile(r"aileron", re.IGNORECASE),
    "elevator": re.compile(r"elevator|stabilator", re.IGNORECASE),
    "rudder": re.compile(r"rudder(?!vator)", re.IGNORECASE),
    "elevon": re.compile(r"elevon", re.IGNORECASE),
    "ruddervator": re.compile(r"ruddervator|v_?tail", re.IGNORECASE),
    "flap": re.compile(r"flap(?!eron)", re.IGNORECASE),
}
CLOCKWISE = re.compile(r"(?<![a-z])(ccw|cw)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Rotor:
    """None: the file does not tell."""

    name: str  # of its joint
    link: str
    pos_m: Vec  # in the model
    axis: Vec  # in the model, of length 1, upwards if it is upright
    by: str  # how it was recognised
    spin: int | None
    radius_m: float | None
    inertia_kgm2: float | None  # about its axis, for the speed of the rotor
    motor: MotorModel | None

    @property
    def upright(self) -> bool:
        return bool(abs(self.axis[2]) > math.cos(math.radians(45.0)))


@dataclass(frozen=True)
class Surface:
    name: str  # of its joint
    kind: str  # one of SURFACES
    lower_rad: float | None
    upper_rad: float | None


def rotors(assembly: Assembly, named: Sequence[str] = ()) -> tuple[Rotor, ...]:
    """In the order of the motor outputs: as named, by motor number, or by the numbers in the names."""
    model = assembly.model
    joints = {joint.name: joint for joint in model.joints}
    motors = {motor.joint: motor for motor in model.motors}
    if named:
        for name in named:
            if name not in joints:
                raise ConfigError(
                    f"--rotor {name}: {model.source} has no joint of this name{did_you_mean(name, joints)}; expected "
                    f"one of: {', '.join(sorted(joints)[:12]) or 'none in this file'}"
                )
        chosen = [(name, "named") for name in dict.fromkeys(named)]
    elif motors:
        numbered = sorted(motors.values(), key=lambda motor: math.inf if motor.number is None else motor.number)
        numbers = [motor.number for motor in numbered if motor.number is not None]
        if len(set(numbers)) < len(numbers):
            twice = next(number for number in numbers if numbers.count(number) > 1)
            raise ConfigError(f"{model.source}: motorNumber {twice} is used twice; expected one number for each motor")
        chosen = [(motor.joint, "motor model") for motor in numbered]
    else:
        chosen = [(name, "name") for name in sorted(_by_name(model), key=_numbered)]
    if len(chosen) > MOST_MOTORS:
        raise ConfigError(
            f"{model.source}: {len(chosen)} joints are called rotor; name those that are by --rotor JOINT"
        )
    links = {link.name: link for link in model.links}
    return tuple(_rotor(joints[name], links[joints[name].child], motors.get(name), by, assembly) for name, by in chosen)


def surfaces(model: Model) -> tuple[Surface, ...]:
    found = []
    for joint in model.joints:
        kind = next((kind for kind, name in SURFACES.items() if name.search(f"{joint.name} {joint.child}")), "")
        if kind and joint.kind in TURNING:
            found.append(Surface(joint.name, kind, joint.lower_rad, joint.upper_rad))
    return tuple(found)


def _by_name(model: Model) -> list[str]:
    """Joints that turn and are called a rotor; if none turns, fixed ones that are."""
    called = [
        joint
        for joint in model.joints
        if ROTOR.search(f"{joint.name} {joint.child}") and not NO_ROTOR.search(f"{joint.name} {joint.child}")
    ]
    turning = [joint.name for joint in called if joint.kind in TURNING]
    return turning or [joint.name for joint in called if joint.kind == "fixed"]


def _numbered(name: str) -> list[tuple[int, str]]:
    """Names with numbers in their natural order."""
    return [(int(digits[:9]), "") if digits else (-1, text) for text, digits in re.findall(r"(\D+)|(\d+)", name)]


def _rotor(joint: Joint, link: Link, motor: MotorModel | None, by: str, assembly: Assembly) -> Rotor:
    length = float(np.linalg.norm(joint.axis))
    axis = joint.axis / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    if joint.kind == "fixed":
        axis = np.array([0.0, 0.0, 1.0])
    upwards = axis if axis[2] >= 0.0 else -axis
    spin = motor.spin if motor is not None and motor.spin is not None else _named_spin(joint)
    own = next((body.inertial.inertia_kgm2 for body in assembly.bodies if body.name == link.name), None)
    slowdown = motor.slowdown if motor is not None else 1.0
    inertia = None if own is None else float(upwards @ own @ upwards) / slowdown
    radius_m = _radius(link, upwards, assembly.meshes)
    return Rotor(joint.name, link.name, link.pose.pos_m, upwards, by, spin, radius_m, inertia, motor)


def _named_spin(joint: Joint) -> int | None:
    found = CLOCKWISE.search(f"{joint.name} {joint.child}")
    return None if found is None else (1 if found.group(1).lower() == "ccw" else -1)


def _radius(link: Link, axis: Vec, meshes: Meshes) -> float | None:
    """Half the largest side of its shapes; of discs and blades alike this is the radius."""
    here = replace(link, pose=HERE)
    box = extent([(here, shape) for shape in (link.collisions or link.visuals)], meshes)
    if box is None:
        return None
    sides = (box[1] - box[0]) * (1.0 - np.abs(link.pose.rotation.T @ axis))
    radius_m = float(sides.max()) / 2.0
    return radius_m if radius_m > 1e-3 else None
