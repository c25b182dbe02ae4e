"""What is compared of one flight of the failure matrix, and its file while the matrix is not complete.

The file's name is the flight's key (`identity.flight_key`): of its resolved scenario and of the code that flew it. So a
matrix that was interrupted goes on, and another scenario, seed or law begins anew.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.analysis.statistics import Array
from aeroloop.campaign.redundancy_failures import Cell
from aeroloop.core.errors import not_written

FLIGHTS = "flights"
"""Folder of these files, beside the results; it is removed when they are written."""


@dataclass(frozen=True)
class Flown:
    """What is compared of a flight."""

    cell: Cell
    refused: str  # why it did not start, or that every board has disconnected
    ended: str
    command: Array  # (n, 1 + m) cycle and thrusts
    truth: Array  # (n, 7) time, position, angles
    held: float
    identified: tuple[int, ...]
    disagreed: bool
    failed: frozenset[str]  # metrics of checks


def keep(file: Path, flown: Flown) -> None:
    """Written to another file first, so that a flight is there wholly or not at all."""
    about = {
        "ended": flown.ended,
        "held": flown.held,
        "identified": flown.identified,
        "disagreed": flown.disagreed,
        "failed": sorted(flown.failed),
    }
    unfinished = file.with_suffix(".part")
    try:
        with unfinished.open("wb") as out:
            np.savez_compressed(out, command=flown.command, truth=flown.truth, about=np.array(json.dumps(about)))
        unfinished.replace(file)
    except OSError as error:
        raise not_written(file, error) from None


def kept(file: Path, cell: Cell) -> Flown | None:
    """None if it was not flown yet, or its file is damaged."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            return Flown(
                cell,
                "",
                about["ended"],
                stored["command"],
                stored["truth"],
                about["held"],
                tuple(about["identified"]),
                disagreed=about["disagreed"],
                failed=frozenset(about["failed"]),
            )
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
