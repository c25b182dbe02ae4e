"""A model put together: mass, centre and inertia of each link and of all, from the file or from shapes and densities.

Meshes are read once each. A length that no aircraft has is a unit slip, and is refused with the unit that it suggests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aeroloop.cad import mesh_files
from aeroloop.cad.inertial import HERE, Inertial, combined, of_shape
from aeroloop.cad.mesh import Mesh, solid
from aeroloop.cad.mesh_paths import located
from aeroloop.cad.model import Link, Model, Shape
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.suggest import did_you_mean

UNITS_M = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "in": 0.0254}
LONGEST_M, SHORTEST_M = 30.0, 0.01
"""No aircraft is longer or shorter."""
HEAVIEST_KG, LIGHTEST_KG = 1000.0, 1e-3
IMPOSSIBLE = 100.0
"""Inertia above this multiple of mass times squared size is a wrong unit; published models exceed 1 here and there."""
ASK = "if it is meant, name the folder that holds it by --meshes FOLDER"
MOST_MESHES = 500
MOST_TRIANGLES = 4_000_000
"""Of all meshes of an aircraft."""


@dataclass(frozen=True)
class Densities:
    """In kg/m3: of links or materials by name, and of all others."""

    named: Mapping[str, float] = field(default_factory=dict)
    other: float | None = None


@dataclass(frozen=True, eq=False)
class Body:
    """A link with its mass; frame: the model's."""

    name: str
    inertial: Inertial
    source: str  # of the mass and inertia


@dataclass(frozen=True, eq=False)
class Assembly:
    model: Model
    bodies: tuple[Body, ...]  # those with mass
    total: Inertial
    meshes: Meshes
    notes: tuple[str, ...]


class Meshes:
    """The meshes of a model in metres, each read once."""

    def __init__(self, model: Model, allowed: Path, unit: str | None) -> None:
        """`unit`: of the meshes; None: not stated, so m."""
        self._model, self._allowed, self._unit = model, allowed, unit
        self._read: dict[Path, Mesh] = {}
        self._triangles = 0

    def mesh(self, shape: Shape) -> Mesh:
        """In the link's frame, with the file's scale; ConfigError if it cannot be read or is too large."""
        reference = shape.mesh
        assert reference is not None
        name = _label(self._model.source, shape)
        path = located(reference.uri, self._model.folder, self._allowed, f"{self._model.source}: {shape.name}", ASK)
        if path not in self._read:
            if len(self._read) >= MOST_MESHES:
                raise ConfigError(f"{self._model.source}: more than {MOST_MESHES} meshes")
            self._read[path] = mesh_files.read(path, name)
            self._triangles += len(self._read[path].faces)
            if self._triangles > MOST_TRIANGLES:
                raise ConfigError(
                    f"{self._model.source}: more than {MOST_TRIANGLES} triangles; export its meshes coarser"
                )
        factors = np.array(reference.scale) * UNITS_M[self._unit or "m"]
        if not (np.abs(factors) > 1e-9).all():
            raise ConfigError(f"{name}: scale: expected numbers other than 0")
        scaled = self._read[path].scaled(factors)
        if scaled.size_m > LONGEST_M:
            raise ConfigError(_too_long(name, scaled.size_m, self._unit, bool(shape.name)))
        return scaled.moved(shape.pose)


def _too_long(name: str, size_m: float, unit: str | None, described: bool) -> str:
    """A sentence with the unit that would give an aircraft."""
    plain_m = size_m / UNITS_M[unit or "m"]
    likely = "mm" if plain_m * UNITS_M["mm"] > 3 * SHORTEST_M else "cm"
    scale = f', or scale="{" ".join([f"{UNITS_M[likely]:g}"] * 3)}" in the file' if described else ""
    return (
        f"{name}: {size_m:.3g} m long; no aircraft of this kind is longer than {LONGEST_M:g} m: if the mesh is in "
        f"{likely}, it is {plain_m * UNITS_M[likely]:.3g} m long; state it by --unit {likely}{scale}"
    )


def assemble(model: Model, densities: Densities, meshes: Meshes) -> Assembly:
    _check_names(model, densities)
    notes, bodies = list(model.notes), []
    for link in model.links:
        found, source, remarks = _of_link(link, densities, meshes, model.source)
        notes += remarks
        if found is not None and found.mass_kg > 0.0:
            notes += _plausible(link, found, meshes, model.source)
            bodies.append(Body(link.name, found.moved(link.pose), source))
    total = combined(body.inertial for body in bodies)
    _check_size(model, meshes)
    _check_total(model, total, bodies)
    return Assembly(model, tuple(bodies), total, meshes, tuple(dict.fromkeys(notes)))


def extent(shapes: Iterable[tuple[Link, Shape]], meshes: Meshes) -> tuple[Vec, Vec] | None:
    """Lowest and highest coordinates of shapes in the model; None without shapes that can be read."""
    found = []
    for link, shape in shapes:
        try:
            points = link.pose.points(corners(shape, meshes))
        except ConfigError:  # a mesh for drawing alone may be missing
            continue
        found += [points.min(axis=0), points.max(axis=0)]
    return (np.min(found, axis=0), np.max(found, axis=0)) if found else None


def corners(shape: Shape, meshes: Meshes) -> Vec:
    """Points that span a shape, in the link."""
    if shape.mesh is not None:
        return meshes.mesh(shape).points_m
    a, b, c = shape.size_m
    if shape.kind == "box":
        points = np.array([[x, y, z] for x in (-a, a) for y in (-b, b) for z in (-c, c)])
    elif shape.kind == "cylinder":
        points = np.concatenate([_RING * [a, a, 0.0] + [0.0, 0.0, z] for z in (-b, b)])
    elif shape.kind == "capsule":
        points = np.concatenate([_BALL * a + [0.0, 0.0, z] for z in (-b, b)])
    else:
        points = _BALL * ([a, a, a] if shape.kind == "sphere" else [a, b, c])
    return shape.pose.points(points)


_ANGLES = np.linspace(0.0, 2 * np.pi, 32, endpoint=False)
_RING = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), np.zeros(32)], axis=1)
_BALL = np.concatenate([np.roll(_RING, turn, axis=1) for turn in range(3)])


def _check_names(model: Model, densities: Densities) -> None:
    known = {link.name for link in model.links}
    known |= {shape.material for link in model.links for shape in (*link.visuals, *link.collisions) if shape.material}
    for name in densities.named:
        if name not in known:
            raise ConfigError(
                f"--density {name}: {model.source} has no link or material of this name{did_you_mean(name, known)}; "
                f"expected one of: {', '.join(sorted(known)[:12])}"
            )


def _of_link(link: Link, densities: Densities, meshes: Meshes, source: str) -> tuple[Inertial | None, str, list[str]]:
    """In the link's frame; a density that names the link precedes its file."""
    if link.name not in densities.named:
        if link.inertial is not None:
            return link.inertial, "file", []
        if link.mass_kg is not None and link.mass_kg <= 0.0:
            return None, "", []
    automatic = tuple(shape for shape in link.collisions if shape.density_kg_m3 is not None)
    shapes = automatic or link.shapes
    if not shapes:
        if link.mass_kg:
            raise ConfigError(f"{source}: link {link.name!r}: a mass without inertia and shape; expected one of them")
        return None, "", []
    spread = 1.0 if link.mass_kg is not None and link.name not in densities.named else None
    parts, used, notes = [], [], []
    for shape in shapes:
        density = spread or _density(link, shape, densities)
        if density is None:
            raise ConfigError(
                f"{source}: link {link.name!r}: no mass and inertia in the file; expected a density in kg/m3: "
                f"--density 1200 for all, or --density {link.name}=1200 for this link"
            )
        found, remarks = _of_shape(shape, density, meshes, source)
        parts.append(found)
        notes += remarks
        used.append(f"{density:g}")
    whole = combined(parts)
    if spread is not None and link.mass_kg is not None:
        return whole.scaled(link.mass_kg / whole.mass_kg), "mass of the file, inertia of its shape", notes
    return whole, f"shape, {'/'.join(dict.fromkeys(used))} kg/m3", notes


def _density(link: Link, shape: Shape, densities: Densities) -> float | None:
    for named in (link.name, shape.material):
        if named in densities.named:
            return densities.named[named]
    return shape.density_kg_m3 or densities.other


def _of_shape(shape: Shape, density: float, meshes: Meshes, source: str) -> tuple[Inertial, list[str]]:
    if shape.mesh is None:
        return of_shape(shape.kind, shape.size_m, density).moved(shape.pose), []
    return solid(meshes.mesh(shape), density, _label(source, shape))


def _label(source: str, shape: Shape) -> str:
    """A mesh in messages; one without a name is the file itself."""
    return f"{source}: {shape.name}: {shape.mesh.uri[:100]}" if shape.name and shape.mesh is not None else source


def _plausible(link: Link, found: Inertial, meshes: Meshes, source: str) -> list[str]:
    """Remark or ConfigError if the file's inertia cannot be that of its mass within the link's shape."""
    if link.inertial is None:
        return []
    here = Link(link.name, HERE, visuals=link.visuals, collisions=link.collisions)
    box = extent([(here, shape) for shape in (*link.visuals, *link.collisions)], meshes)
    if box is None:
        return []
    far = float(np.linalg.norm(np.maximum(np.abs(box[0] - found.centre_m), np.abs(box[1] - found.centre_m))))
    ratio = (found.gyration_m / max(far, 1e-6)) ** 2
    if ratio > IMPOSSIBLE:
        raise ConfigError(
            f"{source}: link {link.name!r}: its inertia is {ratio:.2g} times that of all its mass ({found.mass_kg:g} "
            f"kg) at its farthest point ({far:.3g} m away); expected kg and kg m2 (1 kg mm2 is 1e-6 kg m2)"
        )
    if ratio > 1.0:
        return [
            f"link {link.name!r}: its inertia is {ratio:.2g} times that of all its mass at the farthest point of its "
            "shape; taken as it is, check it"
        ]
    if ratio < 1e-4:
        return [
            f"link {link.name!r}: its inertia is that of a point, far too small for its shape; taken, check its unit"
        ]
    return []


def _check_size(model: Model, meshes: Meshes) -> None:
    """Links of an aircraft and their shapes span more than a centimetre."""
    shapes = [(link, shape) for link in model.links for shape in link.shapes]
    box = extent(shapes, meshes)
    if box is None:
        return
    at = [link.pose.pos_m for link in model.links]
    size_m = float((np.max([*at, box[1]], axis=0) - np.min([*at, box[0]], axis=0)).max())
    if size_m < SHORTEST_M:
        raise ConfigError(
            f"{model.source}: the aircraft is {size_m:.3g} m long; expected more than {SHORTEST_M:g} m: its unit is a "
            "larger one (--unit m, or the scale of its meshes in the file)"
        )


def _check_total(model: Model, total: Inertial, bodies: list[Body]) -> None:
    if not bodies:
        raise ConfigError(
            f"{model.source}: no link has a mass; expected <inertial> in the file, or --density 1200 (kg/m3)"
        )
    if not LIGHTEST_KG <= total.mass_kg <= HEAVIEST_KG:
        raise ConfigError(
            f"{model.source}: a mass of {total.mass_kg:.3g} kg; expected {LIGHTEST_KG:g} to {HEAVIEST_KG:g} kg (masses "
            "are in kg, densities in kg/m3, lengths in m: check their units)"
        )
    far = max((float(np.linalg.norm(body.inertial.centre_m - total.centre_m)), body.name) for body in bodies)
    if far[0] > LONGEST_M:
        raise ConfigError(
            f"{model.source}: link {far[1]!r} lies {far[0]:.3g} m from the centre of mass; positions of links and "
            f"joints are in m, and no aircraft of this kind is longer than {LONGEST_M:g} m (mm?)"
        )
