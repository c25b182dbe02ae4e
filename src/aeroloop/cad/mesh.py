"""Triangle meshes: whether they enclose a volume, and mass, centre and inertia of what they enclose.

Each triangle (a, b, c) spans a tetrahedron with the origin, of the signed volume d / 6, d = a . (b x c). Summed over a
closed surface with s = a + b + c (Tonon, "Explicit exact formulas for the 3-D tetrahedron inertia tensor"):

    V = sum d / 6,   V c = sum d s / 24,   integral x x^T = sum d (s s^T + a a^T + b b^T + c c^T) / 120

A cavity is a closed surface whose triangles face into it; its volume is negative, so it needs no special treatment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.cad.inertial import Inertial, Pose
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec

Faces = NDArray[np.int64]
FLAT = 1e-9
"""A volume below this fraction of that of its bounding box is none."""
THIN = 1e-4
"""Thickness of a plane over its size."""
MERGED = 1e-6
"""Points closer than this fraction of the mesh's size are one, if the mesh is open otherwise: text has few digits."""
MOST_SURFACES = 200
"""Of so many closed surfaces it is examined which lies in which."""


@dataclass(frozen=True, eq=False)
class Mesh:
    points_m: Vec  # (n, 3)
    faces: Faces  # (m, 3), anticlockwise seen from outside

    @property
    def bounds_m(self) -> tuple[Vec, Vec]:
        """Lowest and highest coordinates."""
        return self.points_m.min(axis=0), self.points_m.max(axis=0)

    @property
    def size_m(self) -> float:
        """Longest side of the bounding box."""
        low, high = self.bounds_m
        return float((high - low).max())

    def moved(self, to: Pose) -> Mesh:
        return Mesh(to.points(self.points_m), self.faces)

    def scaled(self, factors: Vec) -> Mesh:
        """Mirrored if the product of the factors is negative: its triangles then turn the other way."""
        faces = self.faces[:, ::-1] if np.prod(factors) < 0.0 else self.faces
        return Mesh(self.points_m * factors, faces)


def of_corners(corners_m: Vec) -> Mesh:
    """From three points for each triangle, equal points merged; triangles without area are left out."""
    points, index = np.unique(corners_m.reshape(-1, 3), axis=0, return_inverse=True)
    return _without_degenerate(points, index.reshape(-1, 3).astype(np.int64))


def solid(mesh: Mesh, density_kg_m3: float, name: str) -> tuple[Inertial, list[str]]:
    """Of the enclosed volume, and remarks; ConfigError if the surface encloses none. `name` is for messages."""
    closed = _closed(mesh, name)
    low, high = closed.bounds_m
    middle = (low + high) / 2.0  # sums of large coordinates would lose digits
    volume, centre, second = _integrals(closed.points_m - middle, closed.faces)
    box = float(np.prod(np.maximum(high - low, 1e-12)))
    if not np.isfinite(second).all() or abs(volume) <= FLAT * box:
        raise ConfigError(f"{name}: the mesh encloses no volume; expected the surface of a solid body")
    remarks = _nested(closed, name)
    if volume < 0.0:
        remarks.append(f"{name}: all triangles faced inwards, and were turned")
        volume, second = -volume, -second
    mass_kg = density_kg_m3 * volume
    about_centre = density_kg_m3 * (second - volume * np.outer(centre, centre))
    inertia = np.trace(about_centre) * np.eye(3) - about_centre
    return Inertial(mass_kg, centre + middle, inertia), remarks


def flat(mesh: Mesh) -> bool:
    """Whether its points lie in a plane: physics engines accept no such mesh, even to draw it."""
    spread = np.linalg.eigvalsh(np.cov(mesh.points_m.T)) if len(mesh.points_m) > 3 else np.zeros(3)
    return bool(spread[0] <= THIN**2 * spread[2])


def simplified(mesh: Mesh, most: int) -> Mesh:
    """At most so many triangles: points in one cell of a grid become one, in a grid as fine as that permits."""
    cells = 512
    while len(mesh.faces) > most and cells >= 2:
        low, _ = mesh.bounds_m
        cell = np.floor((mesh.points_m - low) / max(mesh.size_m, 1e-12) * cells).astype(np.int64)
        _, index = np.unique(cell, axis=0, return_inverse=True)
        index = index.reshape(-1)
        sums = np.zeros((int(index.max()) + 1, 3))
        np.add.at(sums, index, mesh.points_m)
        points = sums / np.bincount(index)[:, None]
        coarse = _without_degenerate(points, index[mesh.faces])
        if len(coarse.faces) <= most:
            return coarse
        cells = cells * 3 // 4
    return mesh


def _without_degenerate(points: Vec, faces: Faces) -> Mesh:
    a, b, c = faces.T
    return Mesh(points, faces[(a != b) & (b != c) & (c != a)])


def _integrals(points: Vec, faces: Faces) -> tuple[float, Vec, Vec]:
    """Volume, centre and the integral of x x^T."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    d = np.einsum("ij,ij->i", a, np.cross(b, c))
    s = a + b + c
    volume = float(d.sum()) / 6.0
    centre = d @ s / 24.0 / volume if volume else np.zeros(3)
    second: Vec = sum(((x * d[:, None]).T @ x for x in (s, a, b, c)), np.zeros((3, 3))) / 120.0
    return volume, centre, second


def _closed(mesh: Mesh, name: str) -> Mesh:
    """The mesh if its surface is closed, perhaps with near points merged; ConfigError says what is wrong."""
    if not len(mesh.faces):
        raise ConfigError(f"{name}: no triangles; expected the surface of a solid body")
    open_edges, turned = _defects(mesh.faces)
    if not open_edges and not turned:
        return mesh
    cell = np.round(mesh.points_m / max(MERGED * mesh.size_m, 1e-300))
    _, first, index = np.unique(cell, axis=0, return_index=True, return_inverse=True)
    merged = _without_degenerate(mesh.points_m[first], index.reshape(-1)[mesh.faces])
    still_open, still_turned = _defects(merged.faces) if len(merged.faces) else (1, 0)
    if not still_open and not still_turned:
        return merged
    if open_edges:
        raise ConfigError(
            f"{name}: the mesh is open: {open_edges} of its edges belong to an odd number of triangles, so it has no "
            "volume; expected a closed surface (repair it in CAD, or state mass and inertia in the file)"
        )
    raise ConfigError(
        f"{name}: {turned} edges have triangles that face different ways (some inside out); expected all of them to "
        "face outwards (unify normals in CAD)"
    )


def _defects(faces: Faces) -> tuple[int, int]:
    """Edges with an odd number of triangles, and others that are not passed as often in either direction."""
    begin, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    _, edge, count = np.unique(low * (int(high.max()) + 1) + high, return_inverse=True, return_counts=True)
    balance = np.bincount(edge.reshape(-1), weights=np.where(begin < end, 1.0, -1.0))
    odd = count % 2 == 1
    return int(odd.sum()), int(((balance != 0.0) & ~odd).sum())


def _nested(mesh: Mesh, name: str) -> list[str]:
    """Remarks about solids within solids; ConfigError for one of several that is inside out."""
    from scipy.sparse import coo_array  # takes a tenth of a second that flights need not spend
    from scipy.sparse.csgraph import connected_components

    faces = mesh.faces
    joined = coo_array(
        (np.ones(2 * len(faces)), (faces[:, :2].T.ravel(), faces[:, 1:].T.ravel())), shape=(len(mesh.points_m),) * 2
    )
    _, of_point = connected_components(joined, directed=False)
    labels = np.unique(of_point[faces[:, 0]])
    if len(labels) < 2 or len(labels) > MOST_SURFACES:
        return []
    parts = [faces[of_point[faces[:, 0]] == label] for label in labels]
    volumes = [_integrals(mesh.points_m, part)[0] for part in parts]
    outwards = 1.0 if sum(volumes) > 0.0 else -1.0
    lows = np.array([mesh.points_m[part].min(axis=(0, 1)) for part in parts])
    highs = np.array([mesh.points_m[part].max(axis=(0, 1)) for part in parts])
    within: NDArray[np.bool_] = np.all((lows[:, None] >= lows[None]) & (highs[:, None] <= highs[None]), axis=2)
    np.fill_diagonal(within, False)
    twice = 0
    for index, volume in enumerate(volumes):
        inside = bool(within[index].any())
        if volume * outwards < 0.0 and not inside:
            raise ConfigError(
                f"{name}: one of its {len(parts)} closed surfaces is inside out; expected triangles that face outwards "
                "(unify normals in CAD)"
            )
        twice += volume * outwards > 0.0 and inside
    if twice:
        return [
            f"{name}: {twice} of its {len(parts)} closed surfaces lie within the box of another one and face outwards: "
            "where solids overlap the mass counts twice; the triangles of a cavity face into it"
        ]
    return []
