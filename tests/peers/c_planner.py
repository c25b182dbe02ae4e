"""The board's planner, compiled for this machine: the C of firmware/wing behind the Python planner's own settings."""

from __future__ import annotations

import ctypes as ct
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aeroloop.core.wing_signals import PlanStatus
from aeroloop.planning.cells import Cell
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.plan import Plan
from aeroloop.planning.planner import PlannerSettings
from aeroloop.planning.search import Entry

SOURCES = Path(__file__).resolve().parents[2] / "firmware" / "wing"
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wdouble-promotion", "-Werror")
MOST_LEVELS = 12
FREE = -1
FOUND = 1
"""The C's first status is that of a search that goes on; from here on they are ours."""


class _Settings(ct.Structure):
    _fields_ = (
        ("map", ct.c_void_p),
        ("order", ct.c_uint8),
        ("coarsest", ct.c_uint8),
        ("finest", ct.c_uint8),
        ("radii", ct.c_uint16 * MOST_LEVELS),
        ("safe", ct.c_int16),
        ("highest", ct.c_int16),
        ("blocked_above", ct.c_int16),
        ("obstacle", ct.c_int16),
        ("weight", ct.c_uint16),
        ("turn_rule", ct.c_bool),
    )


class _Sizes(ct.Structure):
    _fields_ = (
        ("approximations", ct.c_uint32),
        ("leaves", ct.c_uint32),
        ("states", ct.c_uint32),
        ("times", ct.c_uint32),
    )


class _Memory(ct.Structure):
    _fields_ = (
        ("approximations", ct.c_void_p),
        ("to_go", ct.c_void_p),
        ("cost", ct.c_void_p),
        ("from", ct.c_void_p),
        ("place", ct.c_void_p),
        ("open", ct.c_void_p),
        ("times", ct.c_void_p),
        ("sizes", _Sizes),
    )


class _Result(ct.Structure):
    _fields_ = (
        ("status", ct.c_int),
        ("cost", ct.c_uint32),
        ("expanded", ct.c_uint32),
        ("pieces", ct.c_uint32),
        ("leaves", ct.c_uint32),
        ("cells", ct.c_uint32),
        ("fine", ct.c_uint32),
        ("start_blocked", ct.c_bool),
        ("goal_blocked", ct.c_bool),
    )


class _Cell(ct.Structure):
    _fields_ = (("level", ct.c_uint8), ("col", ct.c_uint16), ("row", ct.c_uint16))


def build(folder: Path, *, wide: bool) -> ct.CDLL:
    """The library, with 32-bit indices where `wide`, which large maps need."""
    library = folder / f"planner-{'wide' if wide else 'board'}.so"
    compiler = shlex.split(os.environ.get("CC") or "cc")
    options = ["-O2", "-fPIC", "-shared", *(["-DPLANNER_WIDE"] if wide else [])]
    source = str(SOURCES / "host_planner.c")
    subprocess.run([*compiler, *FLAGS, *options, "-o", str(library), source], check=True, capture_output=True)
    loaded = ct.CDLL(str(library))
    loaded.planner_result.restype = ct.POINTER(_Result)
    loaded.planner_way.restype = ct.c_uint32
    for name in ("planner_needs", "planner_open", "planner_step"):
        getattr(loaded, name).restype = ct.c_bool
    return loaded


def c_settings(heights: npt.NDArray[np.int16], order: int, settings: PlannerSettings) -> _Settings:
    """As the C has them; `heights` must live as long."""
    resolution = settings.resolution
    return _Settings(
        map=heights.ctypes.data,
        order=order,
        coarsest=resolution.coarsest,
        finest=resolution.finest,
        radii=(ct.c_uint16 * MOST_LEVELS)(*resolution.radii_units),
        safe=settings.safe_m,
        highest=settings.highest_m,
        blocked_above=settings.blocked_above_m,
        obstacle=settings.obstacle_m,
        weight=settings.weight_256,
        turn_rule=settings.turn_rule,
    )


class CPlanner:
    """As `aeroloop.planning.planner.Planner`, for the host."""

    def __init__(
        self, library: ct.CDLL, elevation: Elevation, settings: PlannerSettings, *, remembers: bool = True
    ) -> None:
        self._library = library
        self._elevation = elevation
        self._map = np.ascontiguousarray(elevation.values, dtype=np.int16)
        self._settings = c_settings(self._map, elevation.order, settings)
        sizes = _Sizes()
        if not library.planner_needs(ct.byref(self._settings), ct.byref(sizes)):
            raise ValueError("the C planner refuses these settings")
        index = {2: np.uint16, 4: np.uint32}[library.host_index_bytes()]
        self.sizes = sizes
        self._arrays: dict[str, npt.NDArray[np.generic]] = {
            "approximations": np.empty(max(sizes.approximations, 1), np.int16),
            "to_go": np.empty(sizes.leaves, index),
            "cost": np.empty(sizes.states, np.uint32),
            "from": np.empty(sizes.states, index),
            "place": np.empty(sizes.states, index),
            "open": np.empty(sizes.states, index),
        }
        if remembers:
            self._arrays["times"] = np.empty(sizes.times, np.uint8)
        memory = _Memory(sizes=sizes, **{name: array.ctypes.data for name, array in self._arrays.items()})
        self._planner = ct.create_string_buffer(library.host_planner_bytes())
        if not library.planner_open(self._planner, ct.byref(self._settings), ct.byref(memory)):
            raise ValueError("the C planner refuses this memory")

    @property
    def memory_bytes(self) -> int:
        """All it works in, without the map."""
        return sum(array.nbytes for array in self._arrays.values()) + len(self._planner)

    @property
    def search_bytes(self) -> int:
        """What the search itself works in: without what is kept of the map and of the flight."""
        return sum(array.nbytes for name, array in self._arrays.items() if name not in ("approximations", "times"))

    def accepts(self, **changes: int) -> bool:
        """Whether the settings would do with these changes."""
        changed = _Settings.from_buffer_copy(self._settings)
        for name, value in changes.items():
            setattr(changed, name, value)
        return bool(self._library.planner_needs(ct.byref(changed), ct.byref(_Sizes())))

    def lift(self) -> None:
        """The transform of the map, which the first plan would make otherwise."""
        self._library.host_lift(self._planner)

    def flown(self, cell: Cell) -> None:
        self._library.planner_flown(self._planner, ct.c_uint16(cell.col), ct.c_uint16(cell.row))

    def forget(self) -> None:
        self._library.planner_forget(self._planner)

    def values(self, level: int) -> npt.NDArray[np.int32]:
        """All approximations of a level, as the search reads them, once the map is lifted."""
        found = np.empty((1 << level, 1 << level), np.int32)
        self._library.host_values(self._planner, ct.c_uint32(level), ct.c_void_p(found.ctypes.data))
        return found

    def plan(self, start_m: tuple[float, float], goal_m: tuple[float, float], entry: Entry | None = None) -> Plan:
        start, goal = (self._elevation.subunits_at(*place_m) for place_m in (start_m, goal_m))
        direction, last_turn = entry if entry is not None else (FREE, 0)
        ends = (ct.c_int32 * 4)(*start, *goal)
        self._library.host_run(self._planner, ends, ct.c_int8(direction), ct.c_int8(last_turn))
        result = self._library.planner_result(self._planner).contents
        cells = (_Cell * max(result.cells, 1))()
        self._library.planner_way(self._planner, cells, ct.c_uint32(result.cells))
        way = tuple(Cell(cell.level, cell.col, cell.row) for cell in cells[: result.cells])
        return Plan(
            PlanStatus(result.status - FOUND),
            cells=way,
            fine=way[: result.fine],
            reaches_goal=result.cells > 0 and result.fine == result.cells,
            cost=result.cost,
            expanded=result.expanded,
            pieces=result.pieces,
            leaves=result.leaves,
            start_blocked=result.start_blocked,
            goal_blocked=result.goal_blocked,
            entry=entry,
        )
