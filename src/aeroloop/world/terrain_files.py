"""Reads elevation grids from files: GeoTIFF, NPZ, Esri ASCII grid and CSV.

Files are untrusted: the header is checked before any point is read, and a file that is too large, truncated or invalid
is refused with a sentence that names it. Points that a file marks as unknown are NaN here.
"""

from __future__ import annotations

import array
import math
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.world.terrain import read_heights

MOST_POINTS = 4097
"""Maximum points along a side: those of a tile of one degree, and one more than the largest map."""
MOST_BYTES = 256 * 1024 * 1024
"""Maximum size of a file."""
VOID_M = -32768.0
"""Usual marker of unknown points in files that define none."""
LARGEST_DEGREES_CELL = 0.05
"""An Esri grid does not define its unit: cells up to this size are degrees (5 km), larger ones are metres."""
_MOST_LINE = 1 << 20
_MOST_MEMBERS = 64
_MOST_HEADER = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Elevations:
    """Heights at points, `[north, east]` with rows from south to north; NaN where unknown."""

    heights_m: Vec
    step: tuple[float, float] | None
    """Distance between points, to the east and to the north; None: not in the file."""
    corner: tuple[float, float]  # position of the south-western point, east and north
    degrees: bool  # step and corner are degrees of longitude and latitude, otherwise metres


class _FileError(Exception):
    """Description of an error in a file, to follow its name."""


def read_elevations(path: Path) -> Elevations:
    """The elevation grid of a file; its suffix gives the format."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        _refuse(path, f"expected a file that ends in {', '.join(READERS)}")
    try:
        if not path.is_file():
            _refuse(
                path, "cannot be read: it is not a file" if path.exists() else "cannot be read: there is no such file"
            )
        if path.stat().st_size > MOST_BYTES:
            _refuse(path, f"expected at most {MOST_BYTES} bytes")
        found = reader(path)
    except OSError as error:
        _refuse(path, f"cannot be read: {error.strerror or error}")
    except _FileError as error:
        _refuse(path, str(error))
    found.heights_m[found.heights_m == VOID_M] = np.nan
    return found


def _refuse(path: Path, why: str) -> NoReturn:
    raise ConfigError(f"world.terrain.file: {path}: {why}")


def _check_size(rows: int, columns: int) -> None:
    if not (2 <= rows <= MOST_POINTS and 2 <= columns <= MOST_POINTS):
        raise _FileError(f"expected 2 to {MOST_POINTS} points along each side, not {columns} by {rows}")


def _csv(path: Path) -> Elevations:
    return Elevations(read_heights(path), None, (0.0, 0.0), False)


def _ascii_grid(path: Path) -> Elevations:
    """Esri's: six words with numbers, then the heights from the north-western one on, along rows."""
    values = array.array("d")
    header: dict[str, float] = {}
    most = MOST_POINTS**2
    with path.open(encoding="utf-8") as file:
        try:
            while line := file.readline(_MOST_LINE):
                words = line.split()
                if words and len(words) == 2 and not values and words[0][0].isalpha() and len(header) < 16:
                    header[words[0].lower()] = float(words[1])
                    if len(header.keys() & {"ncols", "nrows"}) == 2:
                        most = _whole(header["nrows"]) * _whole(header["ncols"])
                else:
                    values.extend(map(float, words))
                if len(values) > most:
                    break
        except (ValueError, UnicodeDecodeError) as error:
            raise _FileError(f"expected an Esri ASCII grid: {error}") from None
    if missing := {"ncols", "nrows", "cellsize"} - header.keys():
        raise _FileError(f"expected an Esri ASCII grid, which has {', '.join(sorted(missing))}")
    rows, columns, cell = _whole(header["nrows"]), _whole(header["ncols"]), header["cellsize"]
    if not (0.0 < cell <= 1e6):
        raise _FileError(f"cellsize: expected a positive number, not {cell:g}")
    if len(values) != most:
        raise _FileError(f"expected {rows} rows of {columns} heights, not {len(values)} or more numbers in all")
    heights = np.array(values).reshape(rows, columns)[::-1].copy()
    heights[heights == header.get("nodata_value", -9999.0)] = np.nan
    # A corner is that of the outermost cell, a centre that of the outermost point.
    west = header.get("xllcenter", header.get("xllcorner", 0.0) + cell / 2)
    south = header.get("yllcenter", header.get("yllcorner", 0.0) + cell / 2)
    return _placed(heights, (cell, cell), (west, south), cell <= LARGEST_DEGREES_CELL)


def _whole(number: float) -> int:
    """A header's number of points along a side."""
    if not (number == number // 1 and 2 <= number <= MOST_POINTS):
        raise _FileError(f"expected 2 to {MOST_POINTS} points along each side, not {number:g}")
    return int(number)


def _placed(heights: Vec, step: tuple[float, float], corner: tuple[float, float], degrees: bool) -> Elevations:
    if not all(math.isfinite(number) for number in (*step, *corner)):
        raise _FileError(f"expected finite numbers for its position, not {corner} with steps of {step}")
    if degrees:
        north = corner[1] + step[1] * (heights.shape[0] - 1)
        # Towards a pole the length of a degree of longitude approaches zero, and a map would have no scale.
        if not (corner[1] >= -85.0 and north <= 85.0 and -360.0 <= corner[0] <= 360.0):
            raise _FileError(f"expected latitudes from -85 to 85 degrees, not {corner[1]:g} to {north:g}")
    return Elevations(heights, step, corner, degrees)


def _npz(path: Path) -> Elevations:
    """`elevation`, or the only array of two dimensions; `spacing_m`, one number or two (east, north), is optional."""
    arrays = read_arrays(path)
    grids = [name for name, values in arrays.items() if values.ndim == 2]
    if "elevation" not in grids and len(grids) != 1:
        raise _FileError(f"expected an array of two dimensions called elevation, not {', '.join(arrays) or 'nothing'}")
    heights = arrays["elevation" if "elevation" in grids else grids[0]]
    _check_size(*heights.shape)
    spacing = arrays.get("spacing_m")
    if spacing is None:
        return Elevations(heights, None, (0.0, 0.0), False)
    if spacing.size not in (1, 2) or not ((spacing > 0.0) & (spacing <= 1e6)).all():
        raise _FileError("spacing_m: expected one positive number, or two: to the east and to the north")
    east, north = np.broadcast_to(spacing.ravel(), 2).tolist()
    return Elevations(heights, (east, north), (0.0, 0.0), False)


def read_arrays(path: Path) -> dict[str, Vec]:
    """All arrays of an NPZ file, each with its size checked before it is unpacked; nothing in it is executed."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > _MOST_MEMBERS:
                raise _FileError(f"expected at most {_MOST_MEMBERS} arrays, not {len(members)}")
            found: dict[str, Vec] = {}
            for member in members:
                left = MOST_BYTES - sum(values.nbytes for values in found.values())
                with archive.open(member) as file:
                    found[member.filename.removesuffix(".npy")] = _array(file, member.filename, left)
            return found
    # RuntimeError: a password; NotImplementedError: a compression that zipfile does not support.
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError, struct.error, SyntaxError) as error:
        raise _FileError(f"expected an NPZ file of numbers: {error}") from None


def _array(file: IO[bytes], name: str, most_bytes: int) -> Vec:
    # Later versions of the format are for field names, and their headers may be gigabytes long.
    if np.lib.format.read_magic(file) != (1, 0):
        raise _FileError(f"{name}: expected an array in NumPy's format 1.0")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=_MOST_HEADER)
    if dtype.kind not in "iuf" or len(shape) > 2 or any(not 0 <= length <= MOST_POINTS for length in shape):
        raise _FileError(f"{name}: expected at most {MOST_POINTS} by {MOST_POINTS} numbers, not {dtype} {shape}")
    if 8 * math.prod(shape) > most_bytes:
        raise _FileError(f"expected at most {MOST_BYTES // 8} numbers in all")
    needed = math.prod(shape) * dtype.itemsize
    data = file.read(needed)
    if len(data) < needed:
        raise _FileError(f"{name}: truncated before its last number")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C").astype(np.float64)


_SCALE, _TIE, _TRANSFORM, _KEYS, _NODATA = 33550, 33922, 34264, 34735, 42113  # TIFF tags
_MODEL, _RASTER, _ANGLE, _LINEAR, _VERTICAL = 1024, 1025, 2054, 3076, 4099  # GeoTIFF keys
_UNITS_M = {9001: 1.0, 9002: 0.3048, 9003: 1200 / 3937}  # metre, foot, US survey foot


def _geotiff(path: Path) -> Elevations:
    """OGC GeoTIFF 1.1 of one band, north up, in degrees or in a projection of metres or feet."""
    from PIL import Image, UnidentifiedImageError  # slow to import, and few flights read a TIFF

    try:
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=("TIFF",)) as image:
            _check_size(image.height, image.width)
            if image.mode not in ("I", "F", "I;16", "I;16B", "L"):
                raise _FileError(f"expected one band of whole numbers or 32-bit floats, not {image.mode}")
            tags: dict[int, Any] = dict(image.tag_v2)  # type: ignore[attr-defined]
            pixels = np.asarray(image)
    except UnidentifiedImageError:
        raise _FileError("expected a TIFF file of whole numbers or 32-bit floats") from None
    except (_FileError, OSError):
        raise
    except Exception as error:  # Pillow's decoders raise many kinds of errors for invalid bytes
        raise _FileError(f"expected a TIFF file: {type(error).__name__}: {error}") from None
    with np.errstate(invalid="ignore"):  # a signalling NaN is unknown like any other
        heights = pixels[::-1].astype(np.float64)
    try:
        if _NODATA in tags:
            unknown = float(str(tags[_NODATA]).strip(" \0"))
            heights[heights == (float(np.float32(unknown)) if pixels.dtype.kind == "f" else unknown)] = np.nan
        return _georeferenced(heights, tags)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise _FileError(f"its GeoTIFF tags are invalid: {error}") from None


def _georeferenced(heights: Vec, tags: dict[int, Any]) -> Elevations:
    keys = _geo_keys(tags.get(_KEYS, ()))
    height_unit_m = _UNITS_M.get(keys.get(_VERTICAL, 9001))
    if height_unit_m is None:
        raise _FileError(f"expected heights in metres or feet, not in EPSG unit {keys[_VERTICAL]}")
    heights = heights * height_unit_m
    if _TRANSFORM in tags:
        raise _FileError("it is rotated by a ModelTransformation; expected a grid with north up")
    model = keys.get(_MODEL)
    if _SCALE not in tags or _TIE not in tags or model not in (1, 2):
        return Elevations(heights, None, (0.0, 0.0), False)
    unit = 1.0 if model == 2 else _UNITS_M.get(keys.get(_LINEAR, 9001))
    if unit is None or (model == 2 and keys.get(_ANGLE, 9102) != 9102):
        raise _FileError("expected degrees, metres or feet")
    east, north = float(tags[_SCALE][0]) * unit, float(tags[_SCALE][1]) * unit
    if not (0.0 < east <= 1e6 and 0.0 < north <= 1e6):
        raise _FileError(f"expected a positive pixel scale, not {east:g} by {north:g}")
    column, row, _, x, y = (float(number) for number in tags[_TIE][:5])
    # The tie point counts pixel corners unless the file defines pixels as points.
    half = 0.0 if keys.get(_RASTER, 1) == 2 else 0.5
    corner = (x * unit + (half - column) * east, y * unit - (len(heights) - 1 + half - row) * north)
    return _placed(heights, (east, north), corner, model == 2)


def _geo_keys(directory: tuple[int, ...]) -> dict[int, int]:
    """The keys whose value is in the directory itself; the others are texts and numbers that are not needed here."""
    entries = zip(*(iter(directory[4:]),) * 4, strict=False)
    return {int(key): int(value) for key, place, _, value in entries if place == 0}


READERS: dict[str, Callable[[Path], Elevations]] = {
    ".tif": _geotiff,
    ".tiff": _geotiff,
    ".npz": _npz,
    ".asc": _ascii_grid,
    ".csv": _csv,
}
