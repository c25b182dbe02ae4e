"""What a CAD file tells about an aircraft, for a family to write its airframe: body, rotors, surfaces, shape.

Frame: x forward, y left, z up, origin in the centre of mass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.cad import sdf, single_mesh, urdf, xml_tree
from aeroloop.cad.airframe_file import Entry
from aeroloop.cad.assembly import Assembly, Densities, Meshes, assemble, extent
from aeroloop.cad.drawn import MOST_TRIANGLES
from aeroloop.cad.inertial import Inertial, Pose, quat_of
from aeroloop.cad.mesh import flat, simplified
from aeroloop.cad.mesh_files import KINDS, as_stl, read_bytes
from aeroloop.cad.model import Model
from aeroloop.cad.recognised import Rotor, Surface, rotors, surfaces
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.suggest import did_you_mean

MESHES = "meshes"
"""Folder of the drawn meshes beside the airframe file."""
MOST_PARTS = 300
Box = tuple[Vec, Vec]


@dataclass(frozen=True, eq=False)
class Imported:
    source: str
    assembly: Assembly
    body: Inertial  # of the aircraft, in the model's frame
    weighed: str  # links whose masses are counted, for comments
    rotors: tuple[Rotor, ...]  # hubs from the centre of mass
    surfaces: tuple[Surface, ...]
    touching: Box | None  # collision shapes without rotors, or visual ones; from the centre of mass
    wings: Box | None  # links called wing
    drawn: tuple[dict[str, Any], ...]  # parts of the airframe file
    files: Mapping[str, bytes]  # meshes by their name in the folder
    notes: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """A mesh without joints."""
        return not self.assembly.model.joints and len(self.assembly.model.links) == 1


@dataclass(frozen=True)
class Written:
    """An airframe as a family writes it, and its first flight."""

    airframe: str
    flight: str
    flight_name: str  # of the file
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Importer:
    """The part of a family's row that writes its airframes (`core.tables.Family.importer`)."""

    lacks: Callable[[Imported], str]  # why it is no aircraft of this family; empty: it is one
    written: Callable[[Imported, str], Written]  # from the aircraft and its name


def read_model(path: Path) -> Model:
    """A file of any kind, by its ending; ConfigError if it is none or not valid."""
    kind = path.suffix.lower()
    if kind in KINDS:
        return single_mesh.read(path)
    if kind not in (".urdf", ".sdf", ".xml"):
        raise ConfigError(f"{path}: expected a file ending in .urdf, .sdf, {' or '.join(KINDS)}")
    root = xml_tree.parse(read_bytes(path, xml_tree.MOST_BYTES, str(path)), str(path))
    readers = {"robot": urdf.read, "sdf": sdf.read}
    if root.tag not in readers:
        raise ConfigError(f"{path}: its root is <{root.tag[:40]}>; expected <robot> (URDF) or <sdf>")
    return readers[root.tag](root, path.parent)


def read(
    path: Path,
    densities: Densities,
    *,
    unit: str | None = None,
    meshes: Path | None = None,
    body: str = "",
    rotor_joints: Sequence[str] = (),
) -> Imported:
    """`meshes`: folder that they may be in, by default the file's; `body`: the link whose mass counts alone."""
    model = read_model(path)
    found = assemble(model, densities, Meshes(model, meshes or path.parent, unit))
    turning = rotors(found, rotor_joints)
    whole, weighed = _weighed(found, body)
    to_body = Pose(np.eye(3), -whole.centre_m)
    rotor_links = {rotor.link for rotor in turning}
    links = [link for link in model.links if link.name not in rotor_links]
    solid = [(link, shape) for link in links for shape in (link.collisions or link.visuals)]
    wings = [(link, shape) for link in links if "wing" in link.name.lower() for shape in link.shapes]
    drawn, files, notes = _drawn(found, rotor_links, to_body)
    return Imported(
        str(path),
        found,
        whole,
        weighed,
        tuple(replace(rotor, pos_m=rotor.pos_m - whole.centre_m) for rotor in turning),
        surfaces(model),
        _moved(extent(solid, found.meshes), to_body),
        _moved(extent(wings, found.meshes), to_body),
        drawn,
        files,
        (*found.notes, *notes),
    )


def _weighed(found: Assembly, body: str) -> tuple[Inertial, str]:
    if not body:
        return found.total, f"sum of {len(found.bodies)} links" if len(
            found.bodies
        ) > 1 else f"link {found.bodies[0].name}"
    names = [each.name for each in found.bodies]
    if body not in names:
        raise ConfigError(
            f"--body {body}: {found.model.source} has no link of this name with a mass{did_you_mean(body, names)}; "
            f"expected one of: {', '.join(names[:12])}"
        )
    return next(each.inertial for each in found.bodies if each.name == body), f"link {body} alone"


def _moved(box: Box | None, to: Pose) -> Box | None:
    return None if box is None else (box[0] + to.pos_m, box[1] + to.pos_m)


def _drawn(
    found: Assembly, rotor_links: set[str], to_body: Pose
) -> tuple[tuple[dict[str, Any], ...], dict[str, bytes], list[str]]:
    """Visible shapes without rotors, which the family draws turning: table of each part, its meshes, and remarks."""
    links = [link for link in found.model.links if link.name not in rotor_links]
    shapes = [(link, shape) for link in links for shape in (link.visuals or link.collisions)]
    parts: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    notes = [f"only the first {MOST_PARTS} of {len(shapes)} shapes are drawn"] if len(shapes) > MOST_PARTS else []
    meshes = sum(shape.mesh is not None for _, shape in shapes[:MOST_PARTS])
    for link, shape in shapes[:MOST_PARTS]:
        colour = {} if shape.rgba is None else {"rgba": list(shape.rgba)}
        if shape.mesh is None:
            at = to_body @ link.pose @ shape.pose
            place = {"pos_B_m": at.pos_m.tolist(), "quat": list(quat_of(at.rotation))}
            parts.append({"kind": shape.kind, "size_m": list(shape.size_m), **place, **colour})
            continue
        try:
            mesh = found.meshes.mesh(shape).moved(to_body @ link.pose)
        except ConfigError as error:
            notes.append(f"not drawn: {error}")
            continue
        if flat(mesh):
            notes.append(f"not drawn: {shape.name}: {shape.mesh.uri}: flat")
            continue
        name = f"{MESHES}/part-{len(files) + 1}.stl"
        coarse = simplified(mesh, max(100, MOST_TRIANGLES // meshes))
        if len(coarse.faces) < len(mesh.faces):
            notes.append(
                f"{shape.name or found.model.name}: drawn with {len(coarse.faces)} of {len(mesh.faces)} triangles"
            )
        files[name] = as_stl(coarse)
        parts.append({"kind": "mesh", "file": name, **colour})
    return tuple(parts), files, notes
