"""SDF: links, joints and frames of one model. Each pose is relative to another frame, by default the model's for links
and frames, the child's for joints."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from aeroloop.cad.inertia_check import checked_inertia
from aeroloop.cad.inertial import HERE, Inertial, Pose, pose, pose_of_quat
from aeroloop.cad.model import Joint, Link, MeshReference, Model, Shape, checked
from aeroloop.cad.motor_models import motor_models
from aeroloop.cad.urdf import positive, rgba
from aeroloop.cad.xml_tree import Node, checked_name, numbers
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec

MODEL = "__model__"
SIXTH = {"ixx": 0, "iyy": 1, "izz": 2, "ixy": 3, "ixz": 4, "iyz": 5}
OUTSIDE = "world"


def read(root: Node, folder: Path) -> Model:
    models = list(root.all("model")) or [model for world in root.all("world") for model in world.all("model")]
    if len(models) != 1:
        raise ConfigError(f"{root.source}: {len(models)} models; expected a file with one <model>")
    node = models[0]
    frames = _Frames(node)
    motors, plugins = motor_models(root)
    notes = [
        f"{each.where}: {each.value('uri') or each.attributes.get('name', '')}: not read; its mass is missing"
        for tag in ("include", "model")
        for each in node.all(tag)
    ]
    notes = [note if note.isprintable() else f"{root.source}: an <include> is not read" for note in notes]
    links = tuple(_link(each, frames) for each in node.all("link"))
    names = {link.name for link in links}
    joints = tuple(_joint(each, frames, names) for each in node.all("joint") if each.value("parent") != OUTSIDE)
    return checked(Model(root.source, node.name(), folder, links, joints, motors, notes), plugins)


class _Frames:
    """Poses in the model, by name."""

    def __init__(self, model: Node) -> None:
        self._own: dict[str, tuple[Pose, str, str]] = {}  # pose, the frame it is relative to, where it is written
        for tag in ("link", "joint", "frame"):
            for node in model.all(tag):
                default = {"joint": node.value("child"), "frame": node.attributes.get("attached_to", "")}.get(tag, "")
                own, relative_to = _pose(node)
                name = node.name()
                if name in self._own:
                    raise ConfigError(f"{node.where}: {name!r}: defined twice; expected names that differ")
                self._own[name] = own, relative_to or default or MODEL, node.where
        self._known: dict[str, Pose] = {MODEL: HERE}

    def pose(self, name: str, where: str) -> Pose:
        """Follows the frames up to a known one, then back."""
        path: dict[str, None] = {}  # in order
        here = name
        while here not in self._known:
            if here not in self._own:
                raise ConfigError(f"{where}: there is no frame {here[:60]!r}")
            if here in path:
                raise ConfigError(f"{where}: the pose of {here!r} is relative to itself")
            path[here] = None
            here = self._own[here][1]
        for each in reversed(path):
            own, relative_to, _ = self._own[each]
            self._known[each] = self._known[relative_to] @ own
        return self._known[name]


def _pose(node: Node) -> tuple[Pose, str]:
    """Of an element, and the frame that it names."""
    child = node.first("pose")
    if child is None or not child.text:
        return HERE, child.attributes.get("relative_to", "") if child is not None else ""
    relative_to = child.attributes.get("relative_to", "")
    if child.attributes.get("rotation_format") == "quat_xyzw":
        x, y, z, qx, qy, qz, qw = numbers(child.text, 7, child.where)
        length = math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
        if length < 1e-9:
            raise ConfigError(f"{child.where}: expected a quaternion other than 0")
        return pose_of_quat((x, y, z), (qw / length, qx / length, qy / length, qz / length)), relative_to
    x, y, z, *angles = numbers(child.text, 6, child.where)
    per = math.pi / 180.0 if child.attributes.get("degrees") in ("true", "1") else 1.0
    roll, pitch, yaw = (per * angle for angle in angles)
    return pose((x, y, z), (roll, pitch, yaw)), relative_to


def _own_pose(node: Node) -> Pose:
    """Of a part of a link, which is relative to the link."""
    own, relative_to = _pose(node)
    if relative_to:
        raise ConfigError(f"{node.where}: pose: relative_to is read for links, joints and frames only")
    return own


def _link(node: Node, frames: _Frames) -> Link:
    name = node.name()
    inertial_node = node.first("inertial")
    automatic = inertial_node is not None and inertial_node.attributes.get("auto") in ("true", "1")
    mass_kg, inertial = (None, None) if automatic else _inertial(inertial_node, name)
    visuals = tuple(_shape(each, f"{name} visual") for each in node.all("visual"))
    collisions = tuple(_shape(each, f"{name} collision", dense=automatic) for each in node.all("collision"))
    return Link(name, frames.pose(name, node.where), mass_kg, inertial, visuals, collisions)


def _inertial(node: Node | None, name: str) -> tuple[float | None, Inertial | None]:
    if node is None:
        return None, None
    mass_kg = node.number("mass")
    if mass_kg is None:
        raise ConfigError(f"{node.where}: link {name!r}: mass: missing")
    moments = node.first("inertia")
    if moments is None:
        return mass_kg, None
    values = [0.0] * 6
    for key, index in SIXTH.items():
        value = moments.number(key)
        if value is None and index < 3:
            raise ConfigError(f"{moments.where}: link {name!r}: {key}: missing")
        values[index] = value or 0.0
    return mass_kg, checked_inertia(mass_kg, values, _own_pose(node), f"{moments.where}: link {name!r}")


WATER_KG_M3 = 1000.0
"""Density in SDF where none is stated."""


def _shape(node: Node, name: str, *, dense: bool = False) -> Shape:
    geometry = node.first("geometry")
    inner = geometry.children[0] if geometry is not None and geometry.children else None
    if inner is None:
        raise ConfigError(f"{node.where}: geometry: missing")
    size, reference = (0.0, 0.0, 0.0), None
    if inner.tag == "mesh":
        scale = numbers(inner.value("scale") or "1 1 1", 3, f"{inner.where}: scale")
        reference = MeshReference(inner.value("uri"), (scale[0], scale[1], scale[2]))
    elif inner.tag == "box":
        x, y, z = positive(inner.value("size"), 3, f"{inner.where}: size")
        size = x / 2, y / 2, z / 2
    elif inner.tag in ("cylinder", "capsule"):
        (radius,) = positive(inner.value("radius"), 1, f"{inner.where}: radius")
        (length,) = positive(inner.value("length"), 1, f"{inner.where}: length")
        size = radius, length / 2, 0.0
    elif inner.tag == "sphere":
        (radius,) = positive(inner.value("radius"), 1, f"{inner.where}: radius")
        size = radius, radius, radius
    elif inner.tag == "ellipsoid":
        x, y, z = positive(inner.value("radii"), 3, f"{inner.where}: radii")
        size = x, y, z
    else:
        raise ConfigError(f"{inner.where}: expected one of: box, cylinder, capsule, ellipsoid, sphere, mesh")
    material = node.first("material")
    colour = material.first("diffuse") or material.first("ambient") if material is not None else None
    script = material.first("script") if material is not None else None
    named = script.value("name") if script is not None else ""
    density = (node.number("density") or WATER_KG_M3) if dense else None
    return Shape(
        name,
        inner.tag,
        size,
        _own_pose(node),
        reference,
        named if named.isprintable() else "",
        None if colour is None else rgba(colour.text, colour.where),
        density,
    )


def _joint(node: Node, frames: _Frames, links: set[str]) -> Joint:
    name, kind = node.name(), node.attributes.get("type", "")
    ends = []
    for end in ("parent", "child"):
        text = node.value(end)
        if not text:
            raise ConfigError(f"{node.where}: joint {name!r}: {end}: missing")
        ends.append(checked_name(text, f"{node.where}: {end}"))
    axis, axis_M = node.first("axis"), np.array([0.0, 0.0, 1.0])
    bounds: list[float | None] = [None, None]
    if axis is not None and ends[1] in links:  # a child that is no link is reported when the model is checked
        axis_M = _axis(axis, name, frames)
        limit = axis.first("limit")
        bounds = [limit.number(key) for key in ("lower", "upper")] if limit is not None else bounds
    return Joint(name, kind, ends[0], ends[1], axis_M, bounds[0], bounds[1])


def _axis(axis: Node, joint: str, frames: _Frames) -> Vec:
    """In the model; SDF gives it in the joint's frame, or in one that it names."""
    xyz = axis.first("xyz")
    direction = np.array(numbers(xyz.text, 3, xyz.where) if xyz is not None else (0.0, 0.0, 1.0))
    if axis.value("use_parent_model_frame") in ("true", "1"):
        return direction
    named = xyz.attributes.get("expressed_in", "") if xyz is not None else ""
    turned: Vec = frames.pose(named or joint, axis.where).rotation @ direction
    return turned
