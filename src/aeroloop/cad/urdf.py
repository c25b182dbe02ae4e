"""URDF: links and joints of a tree. The pose of a link follows from the joints between it and the root."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aeroloop.cad.inertia_check import checked_inertia
from aeroloop.cad.inertial import HERE, Inertial, Pose, pose
from aeroloop.cad.model import Joint, Link, MeshReference, Model, Rgba, Shape, checked
from aeroloop.cad.motor_models import motor_models
from aeroloop.cad.xml_tree import Node, checked_name, numbers
from aeroloop.core.errors import ConfigError

KINDS = ("continuous", "revolute", "fixed", "prismatic", "floating", "planar")


def read(root: Node, folder: Path) -> Model:
    if any(":" in child.tag for child in root.children):
        raise ConfigError(
            f"{root.source}: contains macros (xacro); expected plain URDF: run `xacro FILE > FILE.urdf` first"
        )
    colours = {node.name(): rgba for node in root.all("material") if (rgba := _colour(node)) is not None}
    parsed = {}
    for node in root.all("link"):
        name = node.name()
        if name in parsed:
            raise ConfigError(f"{node.where}: link {name!r}: defined twice; expected names that differ")
        parsed[name] = node
    joints = [_joint(node) for node in root.all("joint")]
    origins = dict.fromkeys(parsed, HERE)
    placed: list[Joint] = []
    for joint, inner in _from_the_root(joints, parsed, root.source):
        if joint.parent in origins and joint.child in origins:
            origins[joint.child] = origins[joint.parent] @ inner
        turned = origins.get(joint.child, HERE).rotation @ joint.axis
        placed.append(
            Joint(joint.name, joint.kind, joint.parent, joint.child, turned, joint.lower_rad, joint.upper_rad)
        )
    motors, plugins = motor_models(root)
    links = tuple(_link(node, name, origins[name], colours) for name, node in parsed.items())
    name = checked_name(root.attributes.get("name", "aircraft"), f"{root.where}: attribute name")
    return checked(Model(root.source, name, folder, links, tuple(placed), motors), plugins)


def _from_the_root(joints: list[tuple[Joint, Pose]], links: dict[str, Node], source: str) -> list[tuple[Joint, Pose]]:
    """In an order in which the parent of each joint is placed before; ConfigError for two parents or a loop."""
    by_parent: dict[str, list[tuple[Joint, Pose]]] = {}
    children: set[str] = set()
    for joint, inner in joints:
        if joint.child in children:
            raise ConfigError(f"{source}: link {joint.child!r}: child of two joints; expected one")
        children.add(joint.child)
        by_parent.setdefault(joint.parent, []).append((joint, inner))
    ordered: list[tuple[Joint, Pose]] = []
    waiting = [name for name in links if name not in children]
    waiting += [name for name in by_parent if name not in links]  # reported when the model is checked
    while waiting:
        for joint, inner in by_parent.pop(waiting.pop(), []):
            ordered.append((joint, inner))
            waiting.append(joint.child)
    if by_parent:
        raise ConfigError(f"{source}: joints of link {next(iter(by_parent))!r} form a loop; expected a tree")
    return ordered


def _link(node: Node, name: str, at: Pose, colours: dict[str, Rgba]) -> Link:
    mass_kg, inertial = _inertial(node.first("inertial"), name)
    return Link(
        name,
        at,
        mass_kg,
        inertial,
        tuple(_shape(each, f"{name} visual", colours) for each in node.all("visual")),
        tuple(_shape(each, f"{name} collision", colours) for each in node.all("collision")),
    )


def _inertial(node: Node | None, name: str) -> tuple[float | None, Inertial | None]:
    if node is None:
        return None, None
    at = _origin(node)
    mass = node.first("mass")
    if mass is None:
        raise ConfigError(f"{node.where}: link {name!r}: mass: missing")
    (mass_kg,) = numbers(mass.attributes.get("value", ""), 1, mass.where)
    moments = node.first("inertia")
    if moments is None:
        return mass_kg, None
    values = [numbers(moments.attributes.get(key, "0"), 1, f"{moments.where}: {key}")[0] for key in _SIX]
    return mass_kg, checked_inertia(mass_kg, values, at, f"{moments.where}: link {name!r}")


_SIX = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def _shape(node: Node, name: str, colours: dict[str, Rgba]) -> Shape:
    geometry = node.first("geometry")
    inner = geometry.children[0] if geometry is not None and geometry.children else None
    if inner is None:
        raise ConfigError(f"{node.where}: geometry: missing")
    at, material = _origin(node), node.first("material")
    named = material.attributes.get("name", "") if material is not None else ""
    rgba = (_colour(material) if material is not None else None) or colours.get(named)
    size, reference = (0.0, 0.0, 0.0), None
    if inner.tag == "mesh":
        scale = numbers(inner.attributes.get("scale", "1 1 1"), 3, f"{inner.where}: scale")
        reference = MeshReference(inner.attributes.get("filename", ""), (scale[0], scale[1], scale[2]))
    elif inner.tag == "box":
        x, y, z = positive(inner.attributes.get("size", ""), 3, f"{inner.where}: size")
        size = x / 2, y / 2, z / 2
    elif inner.tag in ("cylinder", "capsule"):
        (radius,) = positive(inner.attributes.get("radius", ""), 1, f"{inner.where}: radius")
        (length,) = positive(inner.attributes.get("length", ""), 1, f"{inner.where}: length")
        size = radius, length / 2, 0.0
    elif inner.tag == "sphere":
        (radius,) = positive(inner.attributes.get("radius", ""), 1, f"{inner.where}: radius")
        size = radius, radius, radius
    else:
        raise ConfigError(f"{inner.where}: expected one of: box, cylinder, capsule, sphere, mesh")
    return Shape(name, inner.tag, size, at, reference, named if named.isprintable() else "", rgba)


def positive(text: str, count: int, where: str) -> tuple[float, ...]:
    values = numbers(text, count, where)
    if min(values) <= 0.0:
        raise ConfigError(f"{where}: expected more than 0, not {text[:60]}")
    return values


def _joint(node: Node) -> tuple[Joint, Pose]:
    name, kind = node.name(), node.attributes.get("type", "")
    if kind not in KINDS:
        raise ConfigError(f"{node.where}: joint {name!r}: type {kind[:40]!r}: expected one of: {', '.join(KINDS)}")
    ends = []
    for end in ("parent", "child"):
        child = node.first(end)
        if child is None:
            raise ConfigError(f"{node.where}: joint {name!r}: {end}: missing")
        ends.append(checked_name(child.attributes.get("link", ""), f"{child.where}: attribute link"))
    axis, limit = node.first("axis"), node.first("limit")
    direction = np.array(numbers(axis.attributes.get("xyz", "1 0 0"), 3, axis.where) if axis is not None else (1, 0, 0))
    bounds = [
        numbers(text, 1, f"{limit.where}: {key}")[0]
        if limit is not None and (text := limit.attributes.get(key))
        else None
        for key in ("lower", "upper")
    ]
    return Joint(name, kind, ends[0], ends[1], direction.astype(float), bounds[0], bounds[1]), _origin(node)


def _origin(node: Node) -> Pose:
    origin = node.first("origin")
    if origin is None:
        return HERE
    roll, pitch, yaw = numbers(origin.attributes.get("rpy", "0 0 0"), 3, f"{origin.where}: rpy")
    return pose(numbers(origin.attributes.get("xyz", "0 0 0"), 3, f"{origin.where}: xyz"), (roll, pitch, yaw))


def _colour(material: Node) -> Rgba | None:
    colour = material.first("color")
    return None if colour is None else rgba(colour.attributes.get("rgba", ""), colour.where)


def rgba(text: str, where: str) -> Rgba:
    red, green, blue, alpha = (min(1.0, max(0.0, value)) for value in numbers(text, 4, where))
    return red, green, blue, alpha
