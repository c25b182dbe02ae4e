"""An aircraft as CAD and robot description files have it: links with shapes, joints between them, motor models.

Readers (`urdf.py`, `sdf.py`, `single_mesh.py`) return a `Model`; poses are in the model's frame, x forward, y left, z
up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from aeroloop.cad.inertial import Inertial, Pose
from aeroloop.cad.xml_tree import Node
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec, Vec3

Rgba = tuple[float, float, float, float]
TURNING = ("continuous", "revolute", "revolute2")
"""Kinds of joints of rotors and surfaces."""


@dataclass(frozen=True)
class MeshReference:
    """A mesh that a file names."""

    uri: str
    scale: Vec3 = (1.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Shape:
    """A geometry of a link; sizes as in `core.shape`."""

    name: str
    kind: str  # box, sphere, ellipsoid, capsule, cylinder or mesh
    size_m: Vec3
    pose: Pose  # in the link
    mesh: MeshReference | None = None
    material: str = ""
    rgba: Rgba | None = None
    density_kg_m3: float | None = None


@dataclass(frozen=True, eq=False)
class Link:
    name: str
    pose: Pose  # in the model
    mass_kg: float | None = None  # from the file
    inertial: Inertial | None = None  # from the file, in the link's frame
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The more exact ones: collision shapes are usually simplified."""
        return self.visuals or self.collisions


@dataclass(frozen=True, eq=False)
class Joint:
    name: str
    kind: str
    parent: str
    child: str
    axis: Vec  # in the model
    lower_rad: float | None = None
    upper_rad: float | None = None


@dataclass(frozen=True)
class MotorModel:
    """A motor model of Gazebo; None: not stated."""

    joint: str
    number: int | None = None
    spin: int | None = None  # 1: counter-clockwise seen from above
    thrust_Ns2: float | None = None
    torque_to_thrust_m: float | None = None
    speed_max_rad_s: float | None = None
    speed_idle_rad_s: float | None = None
    lag_up_s: float | None = None
    lag_down_s: float | None = None
    drag_Ns2_m: float | None = None
    slowdown: float = 1.0  # joints turn this many times slower than rotors


@dataclass(frozen=True)
class Model:
    source: str
    name: str
    folder: Path  # meshes are relative to it
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    motors: tuple[MotorModel, ...] = ()
    notes: list[str] = field(default_factory=list)


def checked(model: Model, named: dict[str, Node]) -> Model:
    """ConfigError if links are not all joined, or if joints or motors name what is not there."""
    links = {link.name for link in model.links}  # readers refuse a name that is used twice
    if not links:
        raise ConfigError(f"{model.source}: no links; expected at least one")
    group = {name: name for name in links}

    def root(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    for joint in model.joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise ConfigError(
                    f"{model.source}: joint {joint.name!r}: its {end} {name!r} is not a link; expected one of: "
                    f"{_listed(links)}"
                )
        group[root(joint.child)] = root(joint.parent)
    sizes: dict[str, list[str]] = {}
    for link in model.links:
        sizes.setdefault(root(link.name), []).append(link.name)
    main = max(sizes.values(), key=len)
    for part in sizes.values():
        if part is not main:
            raise ConfigError(
                f"{model.source}: link {part[0]!r}: no joint connects it to {main[0]!r}; expected a joint with this "
                "link as its child (type fixed, if it does not move)"
            )
    joints = {joint.name for joint in model.joints}
    for motor in model.motors:
        if motor.joint not in joints:
            raise ConfigError(
                f"{named[motor.joint].where}: jointName: there is no joint {motor.joint!r}; expected one of: "
                f"{_listed(joints)}"
            )
    return model


def _listed(names: set[str]) -> str:
    shown = sorted(names)[:12]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "") or "none in this file"
