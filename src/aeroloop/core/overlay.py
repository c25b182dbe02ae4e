"""What is drawn over a camera's image: outlines with labels, in pixels of that image, and a state in words."""

from __future__ import annotations

import math
from typing import Annotated

from aeroloop.core.config import Config, meta

MOST_OUTLINES = 64
MOST_CORNERS = 64
LONGEST_LABEL = 24
LONGEST_STATE = 80

Pixel = tuple[float, float]


class Outline(Config, frozen=True):
    """A closed polygon, such as the corners of a marker."""

    corners_px: Annotated[
        tuple[Pixel, ...],
        meta("px", "x right, y down; pixel centres are whole numbers", min_length=1, max_length=MOST_CORNERS),
    ]
    label: Annotated[str, meta("-", "drawn beside its first corner", max_length=LONGEST_LABEL)] = ""

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (value for corner in self.corners_px for value in corner))):
            raise ValueError("corners_px: expected finite numbers")


class Overlay(Config, frozen=True):
    """Of one frame."""

    number: Annotated[int, meta("-", "number of the frame", ge=0)]
    t_s: Annotated[float, meta("s", "simulated time of the frame")]
    outlines: Annotated[tuple[Outline, ...], meta("-", "what was found in it", max_length=MOST_OUTLINES)] = ()
    state: Annotated[str, meta("-", "state of the program that reads the camera", max_length=LONGEST_STATE)] = ""
