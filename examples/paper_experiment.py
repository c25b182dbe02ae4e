"""The experiment of the Pixhawk paper: one route, simulated with soft sensors and "flown", and sixteen correlations.

    python examples/paper_experiment.py [FOLDER]

No flown log comes with Aeroloop. In its place stands `quad-paper-flown`, a simulation with wind, vibration, motor noise
and magnetic disturbance, flown with the hard sensors: the table says how well the bench agrees with that, and nothing
about a real aircraft. With a log of your own: `aeroloop compare flight.bin runs/quad-paper-mil --table paper`.

A third flight has the paper's printed formulas beside the sensors that fly, and not in use: with an accelerometer that
shows tilt only the estimator loses the height on this route.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import aeroloop
from aeroloop.analysis import page as pages
from aeroloop.flown import board_samples, own_run, page, paper_table
from aeroloop.flown.comparison import ROUTE_MAX_LAG_S, Comparison, Settings, compare
from aeroloop.flown.read import read
from aeroloop.flown.record import FlightRecord
from aeroloop.flown.rules import apply
from aeroloop.recording import log

PRINTED = {"pose.format": "paper", "pose.reconstruction": "paper", "pose.soft": []}
"""Rate and baud as they are: the paper gives none."""


def soft_sensors(folder: Path) -> FlightRecord:
    """A run with what its soft drivers rebuilt, in use or not."""
    record = read(folder)
    soft = board_samples.used(log.read(folder / "flight.mcap"), 0, folder / own_run.SCENARIO, always_soft=True)
    return replace(record, signals={**record.signals, **apply(board_samples.RULES, soft).signals})


def compared(reference: FlightRecord, simulated: FlightRecord) -> Comparison:
    return compare(reference, simulated, Settings(max_lag_s=ROUTE_MAX_LAG_S))


def main(folder: Path) -> None:
    flown = aeroloop.fly("quad-paper-flown", out=folder / "flown")
    simulated = aeroloop.fly("quad-paper", out=folder / "simulated")
    printed = aeroloop.fly("quad-paper", set=PRINTED, out=folder / "printed")
    reference = read(flown.folder)
    exact = compared(reference, soft_sensors(simulated.folder))
    by_paper = compared(reference, soft_sensors(printed.folder))
    rows, printed_rows = paper_table.rows(exact), paper_table.rows(by_paper)
    print(f"{'signal':10} {'published':>9} {'exact':>8} {'printed formulas':>17}")
    for row, other in zip(rows, printed_rows, strict=True):
        print(f"{row.name:10} {row.published:9.4f} {_number(row.r):>8} {_number(other.r):>17}   {row.remark}")
    print("Reference: a simulation with disturbances (quad-paper-flown), not a flown log.")
    print(*paper_table.findings(rows), sep="\n")
    pages.write(folder / "comparison.html", page.render(exact, paper=True), "comparison")
    print(f"page: {folder / 'comparison.html'}")


def _number(r: float | None) -> str:
    return "-" if r is None else f"{r:.4f}"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "paper-experiment"))
