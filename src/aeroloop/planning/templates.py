"""The library of path templates: curves between the nodes of a channel, in units of a cell, with arc-length tables.

A node is a point where a path's heading and curvature are known before the path is: N, the centre of a cell that is
passed straight; D, the middle of the edge between two cells that turn in opposite directions, where the path runs
diagonally. Curvature is zero at both, so templates join there with all of position, heading and curvature continuous.

The file holds curves that enter eastwards and turn left; the others are mirrored (y to -y) and rotated by quarter
turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path

import numpy as np

from aeroloop.core.config import Config, convert, read_toml
from aeroloop.planning.spline import Samples, sampled

LIBRARY = Path(__file__).with_name("templates.toml")
LONGEST_STEP = 1.0 / 150.0
"""Of the tables: 1 m for a cell of 150 m. A straight line needs only its end points."""


class NodeKind(IntEnum):
    N = 0
    D = 1


class Shape(Config, frozen=True):
    """A template as stored in the file."""

    length: float
    margin: float
    kappa_peak: float
    kappa_bound: float
    rectangles: tuple[int, ...]
    control: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Template:
    name: str
    begin: NodeKind
    turning: bool
    end: NodeKind
    shape: Shape
    samples: Samples


Library = dict[tuple[NodeKind, bool, NodeKind], Template]
"""Keys: kind of the first node, whether a cell between turns, and kind of the last node."""


@cache
def library(path: Path = LIBRARY) -> Library:
    found: Library = {}
    for name, table in read_toml(path).items():
        shape = convert(table, Shape, f"{path}: {name}")
        begin, turn, end = name.split("-")
        samples = sampled(np.array(shape.control), LONGEST_STEP if shape.kappa_peak else shape.length)
        one = Template(name, NodeKind[begin], turn == "L", NodeKind[end], shape, samples)
        found[one.begin, one.turning, one.end] = one
    return found
