"""The board's path generation, compiled for this machine, against the Python one: points, nodes and transients."""

from __future__ import annotations

import ctypes as ct
import math
import os
import re
import shlex
import subprocess
from pathlib import Path as File

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aeroloop.core.wing_signals import Turn
from aeroloop.planning import mission, mission_paths, transient
from aeroloop.planning.cells import Cell
from aeroloop.planning.channel import ChannelError
from aeroloop.planning.loiter import Circle, JoinSettings, enter, leave
from aeroloop.planning.path import LONGEST_STEP_M, MOST_POINTS, Path, PathPoint, path_of_channel
from aeroloop.planning.tables_c import mission_c, templates_c
from aeroloop.planning.templates import NodeKind
from aeroloop.planning.transient import Quintic
from peers.channels import CELL_M, FIRST, LEVEL, SIDE_M, channel_of, channels, turns

ROOT = File(__file__).resolve().parents[2]
WING = ROOT / "firmware" / "wing"
FLAGS = ("-std=c11", "-O1", "-g", "-ffp-contract=off", "-fsanitize=undefined", "-fno-sanitize-recover=all")
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wdouble-promotion", "-Werror")
DONE = 1
REFUSED = {
    2: "at least two cells",
    3: "do not share an edge",
    4: "begins on a diagonal",
    5: "turns back",
    6: "a U turn",
    7: "points are not enough",
}
POSITION_M = 0.01
HEADING_RAD = 1e-4
KAPPA_1_M = 1e-5

Floats = ct.c_float * (4 * MOST_POINTS)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> ct.CDLL:
    folder = tmp_path_factory.mktemp("pathgen")
    for name, text in (templates_c() | mission_c()).items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [WING / "pathgen.c", WING / "mission.c", folder / "templates.c"]
    sources.append(File(__file__).with_name("pathgen_host.c"))
    library = folder / "pathgen.so"
    compiler = shlex.split(os.environ.get("CC") or "cc")
    includes = [f"-I{WING}", f"-I{folder}"]
    command = [
        *compiler,
        *FLAGS,
        *WARNINGS,
        *includes,
        "-fPIC",
        "-shared",
        *map(str, sources),
        "-lm",
        "-o",
        str(library),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ct.CDLL(str(library))


def board_path(
    board: ct.CDLL, cells: tuple[Cell, ...], begin: NodeKind = NodeKind.N, most: int = MOST_POINTS
) -> tuple[int, Path | None, int]:
    """PlanStatus, path, and steps that it took."""
    places = (ct.c_int * max(1, 2 * len(cells)))(*(part for cell in cells for part in (cell.col, cell.row)))
    length, out, steps = ct.c_float(), Floats(), ct.c_int()
    answer = board.host_path(
        places, len(cells), LEVEL, int(begin), ct.c_float(SIDE_M), most, ct.byref(length), out, ct.byref(steps)
    )
    status, count = divmod(answer, 10000)
    return status, table(out, count, length.value) if status == DONE else None, steps.value


def table(out: ct.Array[ct.c_float], count: int, length_m: float) -> Path:
    return Path(length_m, *np.array(out[: 4 * count], dtype=np.float64).reshape(count, 4).T)


def same(ours: Path, theirs: Path | None, kappa: float = KAPPA_1_M) -> None:
    assert theirs is not None
    assert len(theirs.x_m) == len(ours.x_m)
    assert theirs.length_m == pytest.approx(ours.length_m, abs=POSITION_M)
    assert np.hypot(theirs.x_m - ours.x_m, theirs.y_m - ours.y_m).max() < POSITION_M
    assert np.abs(np.sin(theirs.psi_rad - ours.psi_rad)).max() < HEADING_RAD
    assert np.cos(theirs.psi_rad - ours.psi_rad).min() > 0.0
    assert np.abs(np.diff(theirs.psi_rad)).max() < 1.0, "headings run on"
    assert np.abs(theirs.kappa_1_m - ours.kappa_1_m).max() < kappa


SHARED = {
    "pathgen.h": {"PATHGEN_MOST_POINTS": MOST_POINTS, "PATHGEN_LONGEST_STEP": LONGEST_STEP_M},
    "transient.h": {"TRANSIENT_MOST_POINTS": transient.MOST_POINTS, "TRANSIENT_GRID": transient.GRID},
    "transient.c": {"SHORTEST": transient.SHORTEST_M},
    "pgen.c": {
        name: getattr(mission_paths, name)
        for name in (
            *("HAVEN_RADIUS", "HAVEN_AHEAD", "HAVEN_ASIDE", "HAVEN_ANGLE_RAD"),
            *("ROOM_M", "WITHIN", "APPROACH_M", "STITCH_BEFORE", "STITCH_AFTER"),
        )
    },
    "country.h": {"COUNTRY_SPARE_M": mission_paths.SPARE_M},
    "mission.h": {"MISSION_MOST_FLOWN": mission.MOST_FLOWN},
}


def test_numbers_that_both_have_are_the_same() -> None:
    """What one takes for flyable must be so for the other."""
    number = r"^#define (\w+) \(?([-+.\de]+)f?(?: / ([.\d]+)f\))?(?: |$)"
    for file, ours in SHARED.items():
        found = re.findall(number, (WING / file).read_text(encoding="utf-8"), re.MULTILINE)
        theirs = {name: float(part) / float(of or 1.0) for name, part, of in found}
        assert {name: theirs[name] for name in ours} == pytest.approx(ours), file
    (stretches,) = re.findall(r"STRETCHES\[\] = \{(.*)\}", (WING / "transient.c").read_text(encoding="utf-8"))
    assert tuple(float(each.strip("f ")) for each in stretches.split(",")) == transient.STRETCHES


@given(cells=channels)
def test_paths_agree(board: ct.CDLL, cells: tuple[Cell, ...]) -> None:
    ours = path_of_channel(cells, side_m=SIDE_M)
    status, theirs, steps = board_path(board, cells)
    assert status == DONE
    same(ours, theirs)
    assert len(ours.x_m) <= 16 * (steps + 1), "a few points a step"


@given(cells=channels)
def test_nodes_agree(board: ct.CDLL, cells: tuple[Cell, ...]) -> None:
    ours = path_of_channel(cells, side_m=SIDE_M)
    board_path(board, cells)
    out = (ct.c_float * 640)()
    assert board.host_nodes(out) == len(ours.nodes)
    for node, row in zip(ours.nodes, np.array(out[:]).reshape(64, 10), strict=False):
        assert row[0] == pytest.approx(node.s_m, abs=POSITION_M)
        assert row[1] == node.kind
        assert bool(row[2]) == (node.onward is not None)
        if node.onward:
            start, lead, entry = node.onward.start, node.onward.lead, node.onward.entry
            centre = [(part + 0.5) * CELL_M - SIDE_M / 2 for part in (start.col, start.row)]
            assert row[3:5] == pytest.approx(centre, abs=1e-3)
            assert tuple(row[5:10]) == (entry.direction, entry.last_turn, len(lead), lead[0].col, lead[0].row)


@given(cells=channels, data=st.data())
def test_paths_from_a_node_agree(board: ct.CDLL, cells: tuple[Cell, ...], data: st.DataObject) -> None:
    path = path_of_channel(cells, side_m=SIDE_M)
    node = data.draw(st.sampled_from([each for each in path.nodes if each.onward]))
    assert node.onward
    rest = cells[cells.index(node.onward.start, cells.index(node.onward.lead[-1])) :]
    again = (*node.onward.lead, *rest)
    status, theirs, _ = board_path(board, again, node.kind)
    assert status == DONE
    same(path_of_channel(again, side_m=SIDE_M, begin=node.kind), theirs)


@given(cells=channels, most=st.integers(2, 900))
@example(cells=channel_of([Turn.STRAIGHT] * 3), most=300)  # 600 m: one point too few,
@example(cells=channel_of([Turn.STRAIGHT] * 3), most=301)  # and just enough
def test_both_end_at_the_last_node_there_is_room_for(board: ct.CDLL, cells: tuple[Cell, ...], most: int) -> None:
    status, theirs, _ = board_path(board, cells, most=most)
    try:
        ours = path_of_channel(cells, side_m=SIDE_M, most_points=most)
    except ValueError as refused:
        assert REFUSED[status] in str(refused)
    else:
        same(ours, theirs)


steps = st.lists(st.sampled_from([(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1)]), max_size=6)


@given(way=steps, begin=st.sampled_from(NodeKind))
@example(way=[], begin=NodeKind.N)
@example(way=[(1, 1)], begin=NodeKind.N)
@example(way=[(1, 0), (1, 0)], begin=NodeKind.D)
@example(way=[(1, 0), (-1, 0)], begin=NodeKind.N)
@example(way=[(1, 0), (0, 1), (-1, 0)], begin=NodeKind.N)
def test_both_refuse_the_same(board: ct.CDLL, way: list[tuple[int, int]], begin: NodeKind) -> None:
    cells = [FIRST]
    for col, row in way:
        cells.append(cells[-1]._replace(col=cells[-1].col + col, row=cells[-1].row + row))
    status, theirs, _ = board_path(board, tuple(cells), begin)
    try:
        ours = path_of_channel(cells, side_m=SIDE_M, begin=begin)
    except ChannelError as refused:
        assert REFUSED[status] in str(refused)
    else:
        same(ours, theirs)


angles = st.floats(-math.pi, math.pi)
bends = st.floats(-0.012, 0.012)


@given(
    begin=st.builds(PathPoint, st.floats(-4e3, 4e3), st.floats(-4e3, 4e3), angles, bends),
    chord_m=st.floats(100.0, 350.0),
    ahead=st.floats(-0.8, 0.8),
    turned=st.floats(-0.8, 0.8),
    kappa=bends,
    stretch=st.sampled_from([1.0, 1.25, 1.5]),
)
def test_quintics_agree(
    board: ct.CDLL, begin: PathPoint, chord_m: float, ahead: float, turned: float, kappa: float, stretch: float
) -> None:
    begin = PathPoint(*map(float, np.float32(begin)))
    along = begin.psi_rad + ahead
    end = PathPoint(begin.x_m + chord_m * math.cos(along), begin.y_m + chord_m * math.sin(along), along + turned, kappa)
    end = PathPoint(*map(float, np.float32(end)))
    ours = Quintic(begin, end, stretch).table()
    length, out = ct.c_float(), Floats()
    ends = [(ct.c_float * 4)(*point) for point in (begin, end)]
    count = board.host_between(*ends, ct.c_float(stretch), ct.byref(length), out)
    if len(ours.x_m) == count:
        same(ours, table(out, count, length.value))
    else:  # the length lay on the edge between two counts
        assert abs(len(ours.x_m) - count) == 1
        assert length.value == pytest.approx(ours.length_m, abs=POSITION_M)


def test_the_same_transients_are_chosen(board: ct.CDLL) -> None:
    """A verdict may hang on the last digit, so nearly always is enough; where they choose alike, points agree."""
    alike: list[bool] = []
    none: list[bool] = []

    @settings(max_examples=20)
    @given(turns, st.floats(90.0, 150.0), st.booleans(), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1), st.booleans())
    def compare(way: tuple[Turn, ...], radius_m: float, left: bool, where: float, seed: int, leaving: bool) -> None:
        cells = channel_of((Turn.STRAIGHT, *way, Turn.STRAIGHT))
        path = path_of_channel(cells, side_m=SIDE_M)
        board_path(board, cells)
        end = 0 if leaving else -1
        circle = Circle(*(float(np.float32(value)) for value in (path.x_m[end], path.y_m[end], radius_m)), left)
        free = np.random.default_rng(seed).random((2**LEVEL, 2**LEVEL)) < 0.85
        for cell in cells:
            free[cell.row, cell.col] = True

        def allowed(x_m: float, y_m: float) -> bool:
            col, row = (int((part / SIDE_M + 0.5) * 2**LEVEL) for part in (x_m, y_m))
            return bool(free[row, col])

        joining = JoinSettings()
        s_m = float(np.float32(where * (circle.length_m if leaving else path.length_m)))
        ours = leave(circle, s_m, path, allowed, joining) if leaving else enter(path, s_m, circle, allowed, joining)
        found, out = (ct.c_float * 3)(), Floats()
        count = board.host_transient(
            int(leaving),
            (ct.c_float * 4)(circle.x_m, circle.y_m, circle.radius_m, float(left)),
            ct.c_float(s_m),
            (ct.c_float * 5)(
                joining.least_radius_m,
                joining.bend_rate_1_m2,
                joining.leave_every_m,
                joining.join_every_m,
                joining.reach_m,
            ),
            free.astype(np.uint8).tobytes(),
            2**LEVEL,
            ct.c_float(SIDE_M),
            found,
            out,
        )
        none.append(ours.path is None)
        if ours.path is None:
            alike.append(count == 0)
            return
        here = (ours.begin_m, ours.join_m)
        alike.append(count > 0 and tuple(found[:2]) == pytest.approx(here, abs=0.05))
        if alike[-1] and len(ours.path.x_m) == count:
            # Ends are interpolated from tables that differ in the last digits.
            same(ours.path, table(out, count, found[2]), kappa=3e-5)

    compare()
    assert 0 < sum(none) < len(none)
    assert sum(alike) >= 0.95 * len(alike), f"{sum(alike)} of {len(alike)}"
