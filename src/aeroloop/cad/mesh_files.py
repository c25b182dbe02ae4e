"""Meshes in files: STL in binary or text, and OBJ. Sizes are bounded, since files come from anywhere."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from aeroloop.cad.mesh import Mesh, of_corners
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec

MOST_BYTES = 128 * 2**20
MOST_TRIANGLES = 2_000_000
KINDS = (".stl", ".obj")
HEADER, RECORD = 84, 50
"""Bytes of binary STL: 80 of text and the number of triangles; normal, three points and two bytes for each."""
_TRIANGLES = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)
LARGEST = 1e12
"""Of a coordinate, in the file's unit; its sixth power is still a number."""


def read(path: Path, name: str = "") -> Mesh:
    """In the unit of the file; ConfigError if it cannot be read. `name` is for messages."""
    name = name or str(path)
    if path.suffix.lower() not in KINDS:
        raise ConfigError(f"{name}: meshes of this format are not read; expected {' or '.join(KINDS)}")
    content = read_bytes(path, MOST_BYTES, name)
    return parse_stl(content, name) if path.suffix.lower() == ".stl" else parse_obj(content, name)


def read_bytes(path: Path, most: int, name: str) -> bytes:
    """A regular file of at most so many bytes."""
    try:
        if not path.is_file():
            raise ConfigError(f"{name}: there is no such file")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL character in its name
        raise ConfigError(f"{name!r}: not the name of a file") from None
    if len(content) > most:
        raise ConfigError(f"{name}: larger than {most / 2**20:g} MiB; expected a smaller file (export it coarser)")
    return content


def parse_stl(content: bytes, name: str) -> Mesh:
    if len(content) >= HEADER:
        (count,) = struct.unpack_from("<I", content, 80)
        if len(content) == HEADER + RECORD * count:
            _check_count(count, name)
            records = np.frombuffer(content, _TRIANGLES, count, HEADER)
            return _made(records["corners"].reshape(-1, 3).astype(np.float64), name)
    if content.lstrip()[:5].lower() == b"solid":
        return _made(_text_corners(content, name), name)
    if len(content) < HEADER:
        raise ConfigError(f"{name}: {len(content)} bytes are too few for an STL file; expected at least {HEADER}")
    raise ConfigError(
        f"{name}: not an STL file, or incomplete: its header has {count} triangles, which need "
        f"{HEADER + RECORD * count} bytes, not {len(content)}"
    )


def _text_corners(content: bytes, name: str) -> Vec:
    corners: list[tuple[float, float, float]] = []
    for match in _VERTEX.finditer(content):
        corners.append(_numbers(match.groups(), name))
        if len(corners) > 3 * MOST_TRIANGLES:
            _check_count(len(corners) // 3, name)
    facets = len(re.findall(rb"\bendfacet\b", content, re.IGNORECASE))
    if len(corners) != 3 * facets:
        raise ConfigError(
            f"{name}: incomplete or not text STL: {len(corners)} vertices in {facets} facets; expected three each"
        )
    return np.array(corners, dtype=np.float64).reshape(-1, 3)


def parse_obj(content: bytes, name: str) -> Mesh:
    """Points and polygons, split into triangles from their first point; materials and normals are not read."""
    points: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(content.splitlines(), 1):
        words = line.split()
        if len(words) >= 4 and words[0] == b"v":
            points.append(_numbers(tuple(words[1:4]), f"{name}: line {number}"))
        elif len(words) >= 4 and words[0] == b"f":
            polygon = list(_indices(words[1:], len(points), f"{name}: line {number}"))
            faces += [(polygon[0], b, c) for b, c in pairwise(polygon[1:])]
        if len(points) > 3 * MOST_TRIANGLES or len(faces) > MOST_TRIANGLES:
            _check_count(max(len(points) // 3, len(faces)), name)
    if not faces:
        raise ConfigError(f"{name}: no faces; expected an OBJ file with lines `v x y z` and `f 1 2 3`")
    return _made(np.array(points, dtype=np.float64)[np.array(faces).ravel()], name)


def _indices(words: list[bytes], count: int, name: str) -> Iterator[int]:
    """From 1, or from the last point backwards if negative."""
    for word in words:
        try:
            index = int(word.partition(b"/")[0])
        except ValueError:
            index = 0
        if not (1 <= index <= count or -count <= index <= -1):
            raise ConfigError(f"{name}: expected the numbers of points that precede it, 1 to {count}")
        yield index - 1 if index > 0 else count + index


def _numbers(words: tuple[bytes, ...], name: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(word) for word in words)
    except ValueError:
        raise ConfigError(f"{name}: expected three numbers of a point, not {b' '.join(words)[:60]!r}") from None
    return x, y, z


def _made(corners: Vec, name: str) -> Mesh:
    _check_count(len(corners) // 3, name)
    if not len(corners):
        raise ConfigError(f"{name}: no triangles; expected the surface of a body")
    if not np.isfinite(corners).all() or np.abs(corners).max() > LARGEST:
        raise ConfigError(f"{name}: a coordinate is NaN, infinite or above {LARGEST:g}; expected numbers")
    mesh = of_corners(corners)
    if not len(mesh.faces):
        raise ConfigError(f"{name}: its triangles have no area; expected the surface of a body")
    return mesh


def _check_count(count: int, name: str) -> None:
    if count > MOST_TRIANGLES:
        raise ConfigError(
            f"{name}: more than {MOST_TRIANGLES} triangles; expected fewer (export it with a coarser tolerance)"
        )


def as_stl(mesh: Mesh) -> bytes:
    """Binary STL."""
    corners = mesh.points_m[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    records = np.zeros(len(mesh.faces), _TRIANGLES)
    records["normal"] = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    records["corners"] = corners
    return b"Aeroloop".ljust(80) + struct.pack("<I", len(records)) + records.tobytes()
