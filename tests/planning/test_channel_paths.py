"""Paths through channels: inside, smooth, continuous, and continued exactly from their nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.core.wing_signals import Turn
from aeroloop.planning.cells import Cell
from aeroloop.planning.channel import ChannelError, pieces
from aeroloop.planning.path import LONGEST_STEP_M, Path, path_of_channel
from aeroloop.planning.templates import NodeKind, library
from peers.channels import CELL_M, LEVEL, SIDE_M, channel_of, channels, directions, mirrored, turned, turns

MARGIN_M = min(each.shape.margin for each in library().values()) * CELL_M
KAPPA_MOST = max(each.shape.kappa_bound for each in library().values()) / CELL_M
LIMIT_1_M = GRAVITY_M_S2 * math.tan(math.radians(30.0)) / 20.0**2
"""Of a level turn at 20 m/s with 30 degrees of bank."""
STEEPEST = 5.2 / CELL_M**2
"""Curvature per metre, of the templates."""
TABLE_M = 0.005
"""Between its points the table cuts corners by as much."""


def flown(cells: Sequence[Cell], begin: NodeKind = NodeKind.N) -> Path:
    return path_of_channel(cells, side_m=SIDE_M, begin=begin, most_points=5000)


def centre(cell: Cell) -> tuple[float, float]:
    return (cell.col + 0.5) * CELL_M - SIDE_M / 2, (cell.row + 0.5) * CELL_M - SIDE_M / 2


def clearance(path: Path, cells: Sequence[Cell]) -> np.ndarray:
    """How far each point is inside the best of the rectangles of two consecutive cells."""
    best = np.full(len(path.x_m), -math.inf)
    for a, b in pairwise(cells):
        (ax, ay), (bx, by) = centre(a), centre(b)
        west, east = min(ax, bx) - CELL_M / 2, max(ax, bx) + CELL_M / 2
        south, north = min(ay, by) - CELL_M / 2, max(ay, by) + CELL_M / 2
        best = np.maximum(best, np.min([path.x_m - west, east - path.x_m, path.y_m - south, north - path.y_m], axis=0))
    return best


@given(channels)
def test_the_curve_lies_inside_its_channel_with_the_margin(cells: tuple[Cell, ...]) -> None:
    assert clearance(flown(cells), cells).min() >= MARGIN_M - TABLE_M


@given(channels)
def test_the_curvature_stays_within_the_limit(cells: tuple[Cell, ...]) -> None:
    path = flown(cells)
    assert np.abs(path.kappa_1_m).max() <= KAPPA_MOST < LIMIT_1_M
    # What is flown is where the points lie: the circle through each three of them.
    x_m, y_m = path.x_m, path.y_m
    chord_m = np.hypot(np.diff(x_m), np.diff(y_m))
    course_rad = np.unwrap(np.arctan2(np.diff(y_m), np.diff(x_m)))
    assert np.abs(np.diff(course_rad) / (chord_m[1:] + chord_m[:-1]) * 2).max() < LIMIT_1_M


@given(channels)
def test_position_heading_and_curvature_are_continuous(cells: tuple[Cell, ...]) -> None:
    path = flown(cells)
    step_m = path.step_m
    assert step_m <= LONGEST_STEP_M * 1.001
    assert np.abs(np.diff(path.kappa_1_m)).max() <= STEEPEST * step_m
    middle = (path.kappa_1_m[1:] + path.kappa_1_m[:-1]) / 2
    assert np.abs(np.diff(path.psi_rad) - middle * step_m).max() < STEEPEST * step_m**2 / 4
    psi = (path.psi_rad[1:] + path.psi_rad[:-1]) / 2
    assert np.abs(np.diff(path.x_m) - step_m * np.cos(psi)).max() < 5e-3
    assert np.abs(np.diff(path.y_m) - step_m * np.sin(psi)).max() < 5e-3


@given(turns, directions)
def test_a_path_begins_and_ends_at_the_centres_of_its_cells(way: tuple[Turn, ...], direction: int) -> None:
    cells = channel_of(way, direction)
    path = flown(cells)
    assert (path.x_m[0], path.y_m[0]) == pytest.approx(centre(cells[0]), abs=1e-9)
    assert (path.x_m[-1], path.y_m[-1]) == pytest.approx(centre(cells[-1]), abs=1e-6)
    quarters = direction + way.count(Turn.LEFT) - way.count(Turn.RIGHT)
    assert path.psi_rad[0] == pytest.approx(direction * math.pi / 2)
    assert path.psi_rad[-1] == pytest.approx(quarters * math.pi / 2, abs=1e-9)


@given(channels)
def test_a_mirrored_channel_has_the_mirrored_path(cells: tuple[Cell, ...]) -> None:
    path, other = flown(cells), flown(mirrored(cells))
    assert np.abs(other.x_m - path.x_m).max() < 1e-9
    assert np.abs(other.y_m + path.y_m).max() < 1e-9
    assert np.abs(other.kappa_1_m + path.kappa_1_m).max() < 1e-12
    assert np.cos(other.psi_rad + path.psi_rad).min() > 1.0 - 1e-6


@given(channels)
def test_a_turned_channel_has_the_turned_path(cells: tuple[Cell, ...]) -> None:
    path, other = flown(cells), flown(turned(cells))
    assert np.abs(other.x_m + path.y_m).max() < 1e-9
    assert np.abs(other.y_m - path.x_m).max() < 1e-9
    assert np.abs(other.kappa_1_m - path.kappa_1_m).max() < 1e-12
    assert np.cos(other.psi_rad - path.psi_rad - math.pi / 2).min() > 1.0 - 1e-6


@given(channels)
def test_nodes_lie_on_the_path_with_zero_curvature(cells: tuple[Cell, ...]) -> None:
    path = flown(cells)
    assert path.nodes[0].s_m == 0.0
    assert path.nodes[-1].s_m == path.length_m
    for node in path.nodes:
        point = path.at(node.s_m)
        assert (point.x_m, point.y_m) == pytest.approx((node.x_m, node.y_m), abs=TABLE_M)
        assert math.remainder(point.psi_rad - node.psi_rad, 2 * math.pi) == pytest.approx(0.0, abs=1e-3)
        assert abs(point.kappa_1_m) <= STEEPEST * path.step_m
        assert (node.kind == NodeKind.D) == (round(node.psi_rad / (math.pi / 4)) % 2 == 1)


@given(channels, st.data())
def test_from_any_node_a_new_plan_continues_the_path_exactly(cells: tuple[Cell, ...], data: st.DataObject) -> None:
    path = flown(cells)
    node = data.draw(st.sampled_from([each for each in path.nodes if each.onward]))
    assert node.onward
    # The next plan finds what was left of this one, and the planner is told how its first cell is entered.
    rest = cells[cells.index(node.onward.start, cells.index(node.onward.lead[-1])) :]
    again = flown((*node.onward.lead, *rest), node.kind)
    assert again.length_m == pytest.approx(path.length_m - node.s_m)
    assert (again.x_m[0], again.y_m[0]) == pytest.approx((node.x_m, node.y_m), abs=1e-9)
    for s_m in np.linspace(0.0, again.length_m, 9):
        old, new = path.at(node.s_m + s_m), again.at(s_m)
        assert (new.x_m, new.y_m) == pytest.approx((old.x_m, old.y_m), abs=TABLE_M)
        assert new.kappa_1_m == pytest.approx(old.kappa_1_m, abs=2.5e-4)
    step = (node.onward.start.col - node.onward.lead[-1].col, node.onward.start.row - node.onward.lead[-1].row)
    assert step == ((1, 0), (0, 1), (-1, 0), (0, -1))[node.onward.entry.direction]
    assert (node.onward.entry.last_turn == Turn.STRAIGHT) == (node.kind == NodeKind.N)


def test_beyond_a_node_in_a_staircase_the_plan_may_turn_only_as_the_rule_allows() -> None:
    # Left, right, left: the first D node lies between the first two turns, the plan starts after the second.
    path = flown(channel_of((Turn.LEFT, Turn.RIGHT, Turn.LEFT)))
    onward = path.nodes[1].onward
    assert path.nodes[1].kind == NodeKind.D
    assert onward
    assert len(onward.lead) == 2
    assert onward.entry.last_turn == Turn.RIGHT


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("", ["N-S-N"]),
        ("S", ["N-S-N", "N-S-N"]),
        ("L", ["N-L-N"]),
        ("SRS", ["N-S-N", "N-L-N", "N-S-N"]),
        ("LR", ["N-L-D", "D-L-N"]),
        ("LRLS", ["N-L-D", "D-L-D", "D-L-N", "N-S-N"]),
        ("LSL", ["N-L-N", "N-L-N"]),
    ],
)
def test_which_templates_a_channel_is_made_of(way: str, names: list[str]) -> None:
    cells = channel_of([{"S": Turn.STRAIGHT, "L": Turn.LEFT, "R": Turn.RIGHT}[letter] for letter in way])
    assert [library()[piece.template].name for piece in pieces(cells)] == names


def cells_at(*places: tuple[int, int]) -> list[Cell]:
    return [Cell(LEVEL, col, row) for col, row in places]


@pytest.mark.parametrize(
    ("cells", "begin", "words"),
    [
        (cells_at((5, 5)), NodeKind.N, "a channel of at least two cells, not 1"),
        (
            cells_at((5, 5), (6, 6)),
            NodeKind.N,
            "cells 0 and 1 do not share an edge: column 5, row 5 and column 6, row 6",
        ),
        ([Cell(6, 5, 5), Cell(5, 6, 5)], NodeKind.N, "do not share an edge"),
        (cells_at((5, 5), (6, 5), (5, 5)), NodeKind.N, "turns back in its cell 1, column 6, row 5"),
        (cells_at((5, 5), (6, 5), (6, 6), (5, 6)), NodeKind.N, "a U turn, left in both of its cells 1 and 2"),
        (cells_at((5, 5), (6, 5), (7, 5)), NodeKind.D, "begins on a diagonal, but does not turn in its cell 1"),
    ],
)
def test_what_cannot_be_flown_is_refused_in_a_sentence(cells: list[Cell], begin: NodeKind, words: str) -> None:
    with pytest.raises(ChannelError, match=words):
        flown(cells, begin)


def test_a_path_that_is_too_long_ends_at_a_node() -> None:
    cells = channel_of([Turn.STRAIGHT] * 8)
    path = path_of_channel(cells, side_m=SIDE_M, most_points=400)
    assert path.length_m == pytest.approx(5 * CELL_M)
    assert len(path.x_m) <= 400
    assert path.nodes[-1].onward
    with pytest.raises(ValueError, match="10 points are not enough"):
        path_of_channel(cells, side_m=SIDE_M, most_points=10)


@given(channels, st.floats(-50.0, 3000.0), st.floats(-80.0, 80.0))
def test_points_between_and_nearest(cells: tuple[Cell, ...], s_m: float, aside_m: float) -> None:
    path = flown(cells)
    point = path.at(s_m)
    if not 0.0 < s_m < path.length_m:
        end = 0 if s_m <= 0.0 else -1
        assert (point.x_m, point.y_m) == (path.x_m[end], path.y_m[end])
        return
    assert -math.pi <= point.psi_rad <= math.pi
    x_m = point.x_m - aside_m * math.sin(point.psi_rad)
    y_m = point.y_m + aside_m * math.cos(point.psi_rad)
    found = path.at(path.nearest_s(x_m, y_m))
    assert math.hypot(found.x_m - x_m, found.y_m - y_m) <= abs(aside_m) + 0.01


@given(channels, st.floats(0.1, 0.9))
def test_parts_of_a_path_put_together_are_the_path(cells: tuple[Cell, ...], where: float) -> None:
    path = flown(cells)
    cut_m = where * path.length_m
    whole = path.part(0.0, cut_m).then(path.part(cut_m, path.length_m))
    assert whole.length_m == pytest.approx(path.length_m)
    assert [node.kind for node in whole.nodes] == [node.kind for node in path.nodes]
    for s_m in np.linspace(0.0, path.length_m, 7):
        old, new = path.at(s_m), whole.at(s_m)
        assert (new.x_m, new.y_m) == pytest.approx((old.x_m, old.y_m), abs=0.02)
        assert math.remainder(new.psi_rad - old.psi_rad, 2 * math.pi) == pytest.approx(0.0, abs=1e-3)


def test_headings_run_on_where_paths_that_count_turns_differently_meet() -> None:
    first = channel_of([Turn.LEFT], 3)
    onward = [first[-1]._replace(col=first[-1].col + steps) for steps in range(3)]
    from_the_south, eastwards = flown(first), flown(onward)
    assert from_the_south.psi_rad[-1] - eastwards.psi_rad[0] == pytest.approx(2 * math.pi)
    whole = from_the_south.then(eastwards)
    assert np.abs(np.diff(whole.psi_rad)).max() < KAPPA_MOST * LONGEST_STEP_M * 1.01


def test_only_what_begins_there_continues_a_path() -> None:
    path = flown(channel_of([Turn.LEFT]))
    with pytest.raises(ValueError, match=r"only at its end: they are 212\.132 m and 90\.000 deg apart"):
        path.then(path)
