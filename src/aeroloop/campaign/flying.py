"""Flies the cells of a table on the bench: each in lockstep, plant and controller in one process, several at a time.

A cell depends on its settings and its seed alone, so the numbers are the same whatever flies beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.analysis.family import metrics_of
from aeroloop.analysis.statistics import Array, largest, rms
from aeroloop.analysis.track import POSITION, QUATERNION, euler_rad
from aeroloop.api.scenarios import scenario
from aeroloop.campaign.plant import NONE, Cell, Plant
from aeroloop.campaign.plants import PLANTS
from aeroloop.campaign.pooled import in_processes
from aeroloop.core.angles import wrap_180
from aeroloop.core.scenario import Scenario
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

SETTLED_S = (1.0, 2.5)
"""After the start of a disturbance."""
Numbers = dict[str, float]
OnProgress = Callable[[Cell], None]
"""Called after each flight."""


@dataclass(frozen=True)
class Flown:
    """What a flight gave: its end reason, its numbers in the units of the table, and its attitude over time."""

    cell: Cell
    ended: str
    numbers: Numbers
    tilt_deg: Array  # (n, 3) time (s), roll and pitch


def plan_of(cell: Cell, seed: int) -> Scenario:
    plant = PLANTS[cell.plant]
    plan = scenario(plant.scenario, set={**plant.settings(cell), "seed": seed}).plan
    assert isinstance(plan, Scenario)
    return plan


def fly(cell: Cell, seed: int = 1) -> Flown:
    plant, plan = PLANTS[cell.plant], plan_of(cell, seed)
    flight = fly_inline(plan)
    log = flight.logs[0]
    found = metrics_of(plan, log)
    numbers = {name: factor * found[metric] for name, (metric, factor) in plant.metrics.items()}
    numbers |= {**_path(log, plant), **_axes(log, plant), "flown_s": found["flown_s"]}
    return Flown(cell, flight.ended, numbers, _tilt_deg(log))


def fly_all(
    cells: Sequence[Cell], seed: int = 1, *, workers: int | None = None, on_progress: OnProgress = lambda cell: None
) -> list[Flown]:
    """In the order of the cells. `workers`: processes, by default one for each processor; 1: this process."""
    return in_processes(fly, cells, (seed,), workers=workers, on_progress=on_progress)


def with_kicks(flown: Sequence[Flown]) -> dict[Cell, Numbers]:
    """The numbers of each cell, with the largest change of roll or pitch against the undisturbed flight of its law."""
    undisturbed = {(one.cell.plant, one.cell.law): one for one in flown if one.cell.disturbance == NONE}
    found = {}
    for one in flown:
        plant, calm = PLANTS[one.cell.plant], undisturbed.get((one.cell.plant, one.cell.law))
        kick = {}
        if plant.has("kick") and calm is not None and calm is not one:
            kick = {"kick": kick_deg(one.tilt_deg, calm.tilt_deg, plant.evaluate_from_s)}
        found[one.cell] = {**one.numbers, **kick}
    return found


def kick_deg(tilt_deg: Array, calm_deg: Array, since_s: float) -> float:
    count = min(len(tilt_deg), len(calm_deg))
    counted = calm_deg[:count, 0] >= since_s
    apart = tilt_deg[:count, 1:] - calm_deg[:count, 1:]
    return largest(np.abs(wrap_180(apart[counted])).ravel())


def _tilt_deg(log: Log) -> Array:
    quat_WB = np.column_stack([log.column("truth", name) for name in QUATERNION])
    tilt = np.degrees(euler_rad(quat_WB)[:, :2])
    return np.column_stack([log.column("truth", "t_s"), tilt])


def _path(log: Log, plant: Plant) -> Numbers:
    """Distance from the position setpoint in m, RMS, from the time on at which the errors count."""
    t_s, since_s = log.column("setpoint", "t_s"), plant.evaluate_from_s
    at_s = log.column("truth", "t_s")
    off = [np.interp(t_s, at_s, log.column("truth", axis)) - log.column("setpoint", axis) for axis in POSITION]
    distance: Array = np.linalg.norm(off, axis=0)[t_s >= since_s]
    return {"path": rms(distance[np.isfinite(distance)])}


def _axes(log: Log, plant: Plant) -> Numbers:
    """RMS error of the first axis and of the others, while a disturbance of the first one has settled."""
    stream, columns, count, factor = plant.axes
    since_s = log.column(stream, "t_s") - plant.start_s
    settled = (since_s >= SETTLED_S[0]) & (since_s < SETTLED_S[1])
    first, *others = (factor * log.column(stream, columns.format(i))[settled] for i in range(1, count + 1))
    return {"first_axis": rms(first), "other_axes": rms(np.concatenate(others))}
