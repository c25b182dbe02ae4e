"""Elevations from files and what becomes of them: a map of whole metres, and the ground under the aircraft."""

from __future__ import annotations

import hashlib
import io
import math
import struct
import zipfile
from pathlib import Path

import msgspec
import mujoco
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, TiffImagePlugin
from scipy import ndimage

from aeroloop.core.config import Config, convert
from aeroloop.core.errors import ConfigError
from aeroloop.families.multirotor import airframe
from aeroloop.world.elevation_map import (
    ElevationConfig,
    ElevationFile,
    ElevationMap,
    GeneratedMap,
    JacksboroMap,
    cut,
    elevation_map,
    jacksboro,
)
from aeroloop.world.terrain_files import MOST_POINTS, Elevations, read_elevations

HEIGHTS = np.array([[300.0, 310.0, 325.0], [400.0, 450.0, 500.0]])  # rows from south to north
PROJECTED = (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3076, 0, 1, 9001)
GEOGRAPHIC = (1, 1, 0, 2, 1024, 0, 1, 2, 1025, 0, 1, 2)


def tiff(
    values: np.ndarray,
    *,
    order: str = "<",
    nodata: str | None = None,
    keys: tuple[int, ...] = PROJECTED,
    scale: tuple[float, ...] = (30.0, 40.0, 0.0),
    tie: tuple[float, ...] = (0, 0, 0, 1000.0, 5000.0, 0),
) -> bytes:
    """A GeoTIFF written by hand, with its first row in the north."""
    pixels = np.ascontiguousarray(values[::-1]).astype(values.dtype.newbyteorder(order)).tobytes()
    kind = {"i": 2, "u": 1, "f": 3}[values.dtype.kind]
    entries: list[tuple[int, int, int, bytes]] = []

    def add(tag: int, code: str, numbers: tuple[float, ...]) -> None:
        entries.append(
            (tag, {"H": 3, "I": 4, "d": 12}[code], len(numbers), struct.pack(f"{order}{len(numbers)}{code}", *numbers))
        )

    for tag, number in ((256, values.shape[1]), (257, values.shape[0])):
        add(tag, "I", (number,))
    for tag, number in ((258, 8 * values.dtype.itemsize), (259, 1), (262, 1)):
        add(tag, "H", (number,))
    add(273, "I", (8,))
    add(277, "H", (1,))
    add(278, "I", (values.shape[0],))
    add(279, "I", (len(pixels),))
    add(339, "H", (kind,))
    if scale:
        add(33550, "d", scale)
        add(33922, "d", tie)
    if keys:
        add(34735, "H", keys)
    if nodata is not None:
        entries.append((42113, 2, len(nodata) + 1, nodata.encode() + b"\0"))
    extra_at = 8 + len(pixels) + 2 + 12 * len(entries) + 4
    directory, extra = struct.pack(f"{order}H", len(entries)), b""
    for tag, code, count, data in entries:
        directory += struct.pack(f"{order}HHI", tag, code, count)
        if len(data) <= 4:
            directory += data.ljust(4, b"\0")
        else:
            directory += struct.pack(f"{order}I", extra_at + len(extra))
            extra += data
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8 + len(pixels))
    return head + pixels + directory + bytes(4) + extra


def asc(head: str = "", rows: str = "400 450 500\n300 310 325\n", **changed: object) -> bytes:
    words = {"ncols": 3, "nrows": 2, "xllcorner": 1000, "yllcorner": 5000, "cellsize": 30} | changed
    return (head + "".join(f"{key} {value}\n" for key, value in words.items() if value is not None) + rows).encode()


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def read(folder: Path, name: str, data: bytes) -> Elevations:
    path = folder / name
    path.write_bytes(data)
    return read_elevations(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["int16", "uint16", "int32", "float32"])
def test_geotiff_of_any_number_lies_south_first(tmp_path: Path, kind: str, order: str) -> None:
    found = read(tmp_path, "a.tif", tiff(HEIGHTS.astype(kind), order=order))
    assert found.heights_m.tolist() == HEIGHTS.tolist()
    assert found.step == (30.0, 40.0) and not found.degrees
    assert found.corner == (1015.0, 5000.0 - 1.5 * 40.0), "the tie point is the corner of the north-western pixel"


def test_geotiff_in_degrees_of_points(tmp_path: Path) -> None:
    step = 1 / 1200
    data = tiff(HEIGHTS.astype("int16"), keys=GEOGRAPHIC, scale=(step, step, 0), tie=(0, 0, 0, -84.0, 36.5, 0))
    found = read(tmp_path, "a.tiff", data)
    assert found.degrees and found.step == (step, step)
    assert found.corner == pytest.approx((-84.0, 36.5 - step)), "the tie point is the north-western point itself"


def test_geotiff_in_feet(tmp_path: Path) -> None:
    keys = (1, 1, 0, 3, 1024, 0, 1, 1, 3076, 0, 1, 9002, 4099, 0, 1, 9002)
    found = read(tmp_path, "a.tif", tiff(HEIGHTS.astype("int16"), keys=keys))
    assert found.step == pytest.approx((30 * 0.3048, 40 * 0.3048))
    assert found.heights_m == pytest.approx(HEIGHTS * 0.3048)


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_deflate"])
def test_geotiff_as_pillow_writes_it(tmp_path: Path, compression: str) -> None:
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[33550], tags[33922] = (30.0, 30.0, 0.0), (0.0, 0.0, 0.0, 0.0, 60.0, 0.0)
    tags[34735], tags[42113] = PROJECTED, "-3.40282346600000016e+38"
    for tag, code in ((33550, 12), (33922, 12), (34735, 3), (42113, 2)):
        tags.tagtype[tag] = code
    heights = HEIGHTS.astype("float32")
    heights[0, 0] = np.finfo("float32").min
    Image.fromarray(heights[::-1]).save(tmp_path / "a.tif", tiffinfo=tags, compression=compression)
    found = read_elevations(tmp_path / "a.tif")
    assert np.isnan(found.heights_m[0, 0])
    assert found.heights_m.ravel()[1:].tolist() == HEIGHTS.ravel()[1:].tolist()
    assert found.step == (30.0, 30.0)


def test_holes_are_unknown(tmp_path: Path) -> None:
    holed = np.array([[-32768, 310, 325], [400, -1, 500]], dtype="int16")
    expected = [[True, False, False], [False, True, False]]
    assert np.isnan(read(tmp_path, "a.tif", tiff(holed, nodata="-1")).heights_m).tolist() == expected
    rows = "400 -1 500\n-32768 310 325\n"
    assert np.isnan(read(tmp_path, "a.asc", asc(rows=rows, NODATA_value=-1)).heights_m).tolist() == expected


def test_esri_grid(tmp_path: Path) -> None:
    found = read(tmp_path, "a.asc", asc())
    assert found.heights_m.tolist() == HEIGHTS.tolist()
    assert (found.step, found.corner, found.degrees) == ((30.0, 30.0), (1015.0, 5015.0), False)
    wrapped = asc(rows="400\n450 500 300\n310 325", xllcorner=None, yllcorner=None, XLLCENTER=1, YLLCENTER=2)
    found = read(tmp_path, "b.asc", wrapped)
    assert found.heights_m.tolist() == HEIGHTS.tolist() and found.corner == (1.0, 2.0)
    assert read(tmp_path, "c.asc", asc(cellsize=0.000833, xllcorner=-84, yllcorner=36)).degrees


def test_npz_and_csv(tmp_path: Path) -> None:
    found = read(tmp_path, "a.npz", npz(elevation=HEIGHTS.astype("int16"), other=np.zeros((2, 2)), spacing_m=[30, 40]))
    assert found.heights_m.tolist() == HEIGHTS.tolist() and found.step == (30.0, 40.0)
    found = read(tmp_path, "b.npz", npz(only=np.asfortranarray(HEIGHTS), spacing_m=30))
    assert found.heights_m.tolist() == HEIGHTS.tolist() and found.step == (30.0, 30.0)
    assert read(tmp_path, "a.csv", b"300,310,325\n400,450,500\n").heights_m.tolist() == HEIGHTS.tolist()


def zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("elevation.npy", data)
    return file.getvalue()


def npy(shape: str, kind: str = "<f8", version: bytes = b"\x01\0") -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    size = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    return b"\x93NUMPY" + version + size + header + bytes(64)


SMALL = HEIGHTS.astype("int16")


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.tif", None, "there is no such file"),
        ("a.png", b"", "expected a file that ends in .tif, .tiff, .npz, .asc, .csv"),
        ("a.tif", b"", "expected a TIFF file"),
        ("a.tif", b"II*\0" + b"\xff" * 40, "expected a TIFF file"),
        ("a.tif", tiff(SMALL).replace(struct.pack("<HHII", 256, 4, 1, 3), struct.pack("<HHII", 256, 4, 1, 40_000)),
         "expected 2 to 4097 points along each side, not 40000 by 2"),
        ("a.tif", tiff(SMALL).replace(struct.pack("<HHII", 256, 4, 1, 3), struct.pack("<HHII", 256, 4, 1, 2**31)), ""),
        ("a.tif", tiff(np.zeros((2, 3), "float64")), "expected a TIFF file"),
        ("a.tif", tiff(SMALL, nodata="none"), "GeoTIFF tags are invalid"),
        ("a.tif", tiff(SMALL, scale=(0.0, 1.0, 0.0)), "expected a positive pixel scale"),
        ("a.tif", tiff(SMALL, tie=(0, 0)), "GeoTIFF tags are invalid"),
        ("a.tif", tiff(SMALL, tie=(0, 0, 0, math.nan, 0, 0)), "expected finite numbers"),
        ("a.tif", tiff(SMALL, keys=GEOGRAPHIC), "expected latitudes from -85 to 85"),
        ("a.tif", tiff(SMALL, keys=(1, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, 9036)), "expected degrees, metres or feet"),
        ("a.asc", asc(ncols=None), "which has ncols"),
        ("a.asc", asc(ncols=10**9), "expected 2 to 4097 points along each side, not 1e[+]09"),
        ("a.asc", asc(ncols=2.5), "expected 2 to 4097 points along each side, not 2.5"),
        ("a.asc", asc(nrows="nan"), "expected 2 to 4097 points along each side, not nan"),
        ("a.asc", asc(nrows=3), "expected 3 rows of 3 heights, not 6"),
        ("a.asc", asc(rows="1 2 3 4 5 6 7"), "expected 2 rows of 3 heights, not 7"),
        ("a.asc", asc(rows="1 2 3 4 5 high"), "could not convert string to float: 'high'"),
        ("a.asc", asc(cellsize=-1), "cellsize: expected a positive number, not -1"),
        ("a.asc", b"\xff\xfe\x00", "expected an Esri ASCII grid"),
        ("a.npz", b"PK garbage", "expected an NPZ file of numbers"),
        ("a.npz", npz(a=SMALL, b=SMALL), "called elevation, not a, b"),
        ("a.npz", npz(elevation=SMALL[0]), "called elevation"),
        ("a.npz", npz(elevation=SMALL[:1]), "expected 2 to 4097 points along each side, not 3 by 1"),
        ("a.npz", npz(elevation=np.array([[None, "text"]], dtype=object)), "not object"),
        ("a.npz", npz(elevation=SMALL, spacing_m=[1, 2, 3]), "spacing_m: expected one positive number, or two"),
        ("a.npz", npz(elevation=SMALL, spacing_m=math.nan), "spacing_m: expected one positive number, or two"),
        ("a.npz", npz(**{f"a{i}": 1 for i in range(65)}), "expected at most 64 arrays, not 65"),
        ("a.npz", zipped(npy("(100000, 100000)")), "expected at most 4097 by 4097 numbers"),
        ("a.npz", zipped(npy("(2, 10)")), "elevation.npy: truncated before its last number"),
        ("a.npz", zipped(npy("(2, -2)")), "expected at most 4097 by 4097 numbers"),
        ("a.npz", zipped(npy("(2, 2)", version=b"\x02\0")), "expected an array in NumPy's format 1.0"),
        ("a.npz", zipped(npy("(2, 2)" + " " * 9000)), "expected an NPZ file of numbers: Header info length"),
        ("a.csv", b"1,2\n3\n", "line 2 has 1 heights"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_a_sentence_that_names_it(
    tmp_path: Path, name: str, data: bytes | None, sentence: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=f"world.terrain.file: .*{name}: .*{sentence}"):
        read_elevations(tmp_path / name)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    many = npz(**{f"a{i}": np.zeros((MOST_POINTS, MOST_POINTS), "int8") for i in range(3)})
    with pytest.raises(ConfigError, match="expected at most 33554432 numbers in all"):
        read(tmp_path, "a.npz", many)
    with pytest.raises(ConfigError, match="cannot be read: it is not a file"):
        (tmp_path / "folder.asc").mkdir()
        read_elevations(tmp_path / "folder.asc")


WHOLE = {"a.tif": tiff(SMALL, nodata="-1"), "a.npz": npz(elevation=SMALL), "a.asc": asc(), "a.csv": b"1,2\n3,4\n"}


@pytest.mark.parametrize("name", WHOLE)
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str, data: st.DataObject) -> None:
    whole = WHOLE[name]
    damaged = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(whole)), st.integers(0, 255)), max_size=4)):
        if at < len(damaged):
            damaged[at] = byte
    try:
        found = read(tmp_path, name, bytes(damaged))
    except ConfigError as error:
        assert f"world.terrain.file: {tmp_path / name}: " in str(error)
    else:
        assert found.heights_m.ndim == 2 and max(found.heights_m.shape) <= MOST_POINTS


def plane(rows: int, columns: int, step: float) -> Elevations:
    """500 m in its middle, rising by 0.02 to the east and 0.05 to the north."""
    x, y = (np.arange(columns) - (columns - 1) / 2) * step, (np.arange(rows) - (rows - 1) / 2) * step
    return Elevations(500.0 + 0.02 * x + 0.05 * y[:, None], (step, step), (0.0, 0.0), False)


@pytest.mark.parametrize("step", [90.0, 75.0, 25.0, 10.0])
def test_a_plane_stays_a_plane_whatever_the_spacing(step: float) -> None:
    found = cut(plane(int(5000 / step), int(6000 / step), step), 32, 75.0, (700.0, -900.0))
    x = (np.arange(32) - 15.5) * 75.0
    exact = 500.0 + 0.02 * (x + 700.0) + 0.05 * (x[:, None] - 900.0)
    assert np.abs(found.values - exact).max() <= 0.5 + 1e-6, "whole metres"
    assert found.values.dtype == np.int16 and found.side == 32 and found.side_m == 2400.0


def test_a_finer_source_is_averaged() -> None:
    stripes = np.tile([0.0, 0.0, 0.0, 100.0], (100, 25))
    found = cut(Elevations(stripes, (1.0, 1.0), (0.0, 0.0), False), 2, 40.0, (0.0, 0.0))
    assert found.values.tolist() == [[25, 25], [25, 25]]


def test_holes_get_their_nearest_neighbour_up_to_a_share() -> None:
    source = plane(40, 40, 75.0)
    source.heights_m[20, 20] = np.nan
    whole, holed = cut(plane(40, 40, 75.0), 32, 75.0, (0.0, 0.0)), cut(source, 32, 75.0, (0.0, 0.0))
    assert np.abs(whole.values - holed.values).max() <= 4
    source.heights_m[:2] = np.nan
    assert cut(source, 32, 75.0, (0.0, 0.0)).values.tolist() == holed.values.tolist(), "outside the map they do no harm"
    source.heights_m[18:23] = np.nan
    with pytest.raises(ConfigError, match=r"1\d % of the map's points are unknown, expected at most 5 %"):
        cut(source, 32, 75.0, (0.0, 0.0))


def test_a_map_larger_than_its_source_must_stretch_it(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(npz(elevation=plane(40, 50, 10.0).heights_m, spacing_m=10.0))
    with pytest.raises(
        ConfigError, match=r"extends beyond the data to east and west: .* within 250 m of the data's middle"
    ):
        elevation_map(ElevationFile(file=str(path), side_units=8))
    with pytest.raises(ConfigError, match=r"to north and south: .* centre_m \(101 m\) within 200 m"):
        elevation_map(ElevationFile(file=str(path), side_units=8, unit_m=25.0, centre_m=(0.0, 101.0)))
    found = elevation_map(ElevationFile(file=str(path), side_units=8, fit="stretch")).values
    assert found[0, 0] == round(500 - 0.02 * 500 / 2 * 7 / 8 - 0.05 * 400 / 2 * 7 / 8)
    assert found[7, 7] > found[0, 7] > found[0, 0]


def test_spacing_and_first_row_of_files_that_do_not_say(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("100,100,100\n200,200,200\n300,300,300\n")
    with pytest.raises(ConfigError, match="does not define the distance between its points; expected spacing_m"):
        elevation_map(ElevationFile(file=str(path), side_units=2))
    config = {"kind": "file", "file": str(path), "side_units": 2, "unit_m": 30.0, "spacing_m": 30.0}
    assert elevation_map(msgspec.convert(config, ElevationFile)).values.tolist() == [[150, 150], [250, 250]]
    config["first_row"] = "north"
    assert elevation_map(msgspec.convert(config, ElevationFile)).values.tolist() == [[250, 250], [150, 150]]
    path.write_text("100,100\n100,9500\n")
    with pytest.raises(ConfigError, match="expected elevations from -500 to 9000 m, not 100 to 9500"):
        elevation_map(ElevationFile(file=str(path), side_units=2, unit_m=30.0, spacing_m=30.0))


class World(Config, frozen=True):
    terrain: ElevationConfig = JacksboroMap()


def test_a_scenario_chooses_by_kind() -> None:
    given_map = elevation_map(convert({"terrain": {"kind": "generated", "seed": 7}}, World, "a").terrain)
    assert given_map.side == 128 and given_map.unit_m == 75.0
    assert given_map.values.tolist() == elevation_map(GeneratedMap(seed=7)).values.tolist()
    with pytest.raises(ConfigError, match=r"a: terrain: side_units: .* expected a power of two"):
        convert({"terrain": {"kind": "generated", "side_units": 100}}, World, "a")
    with pytest.raises(ConfigError, match="expected one of: jacksboro, file, generated"):
        convert({"terrain": {"kind": "moon"}}, World, "a")


def test_jacksboro_lies_where_it_should() -> None:
    source = jacksboro()
    assert source.step is not None
    row, column = np.unravel_index(source.heights_m.argmax(), source.heights_m.shape)
    # Cross Mountain, the highest in that part of Tennessee: 1077 m at 36.19833 N, 84.23056 W.
    assert source.heights_m.max() == 1076
    assert source.corner[1] + row * source.step[1] == pytest.approx(36.19833, abs=0.0005)
    assert source.corner[0] + column * source.step[0] == pytest.approx(-84.23056, abs=0.0005)


def test_jacksboro_map_is_a_fair_task() -> None:
    found = elevation_map(JacksboroMap())
    assert hashlib.sha256(found.values.astype("<i2").tobytes()).hexdigest()[:16] == "cd60b5c764141791"
    assert found.centre_deg == pytest.approx((36.3660, -84.3461), abs=1e-4)
    fine = found.values.reshape(64, 2, 64, 2).mean(axis=(1, 3))
    free = fine <= 650.0
    assert 0.15 < 1 - free.mean() < 0.30
    assert ndimage.label(free)[1] == 1, "from every free cell every other can be reached"


def test_the_aircraft_and_mujoco_meet_the_map_itself() -> None:
    found = ElevationMap(np.array([[500, 520], [560, 700]], np.int16), 75.0)
    ground = found.grid()
    assert ground.corner_m == (-37.5, -37.5)
    corners = [(-37.5, -37.5, 500), (37.5, -37.5, 520), (-37.5, 37.5, 560), (37.5, 37.5, 700), (-900, -900, 500)]
    for x, y, height in corners:
        assert ground.height_m(x, y) == height
    model = airframe.build(airframe.load("iris"), 0.004, ground)
    data = mujoco.MjData(model)
    data.qpos[2] = 2000.0
    mujoco.mj_forward(model, data)
    down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
    for x, y in ((0.0, 0.0), (20.0, -30.0), (-36.0, 5.0)):
        met_m = mujoco.mj_ray(model, data, np.array([x, y, 900.0]), down, None, 1, 1, hit)
        assert 900.0 - met_m == pytest.approx(ground.height_m(x, y), abs=1e-3)
