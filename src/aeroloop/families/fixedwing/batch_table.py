"""What every flight of a wing's batch has in common, cycle by cycle: the schedule of fixes, and what counts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS
from aeroloop.families.fixedwing.analysis.metrics import SETTLED_S
from aeroloop.families.fixedwing.batch_sampling import before, sensors, steps
from aeroloop.families.fixedwing.scenario import FixedWingScenario


class Row(NamedTuple):
    """Of one cycle; truths are 0 or 1."""

    begun: float  # the flight has begun
    dt_s: float  # since the previous wind: 0 at the start
    first: float  # the first fix has arrived: the board starts
    ready: float  # it has started
    fresh: float  # a fix has arrived since the previous control period
    fix: float  # the index of that fix, from the latest taken
    imu_share: float  # one over the IMU's samples in the control period
    settled: float  # heights and speeds count
    compared: float  # estimates and the distance from the circle count


def table(scenario: FixedWingScenario) -> Vec:
    """(cycles, columns of `Row`); the last cycle is the end of the flight."""
    sampled = sensors(scenario)
    step_s, lead = scenario.aircraft.world.step_s, before(sampled)
    end = scenario.controller.end_ns(scenario) // round(step_s * NS)
    fixes = _fixes(scenario)
    rows = [Row(*(0.0,) * len(Row._fields))] * lead
    started = min(fixes, default=end + 1)
    share = sampled["imu"].every / steps("board.period_s", scenario.controller.board.period_s, step_s)
    for at in range(end + 1):
        settled = float(at * step_s >= SETTLED_S - 1e-9)
        rows.append(
            Row(
                begun=1.0,
                dt_s=step_s if at else 0.0,
                first=float(at == started),
                ready=float(at >= started),
                fresh=float(at in fixes),
                fix=float(fixes.get(at, 0)),
                imu_share=share if at else 1.0,
                settled=settled,
                compared=settled * float(at < end),
            )
        )
    return np.array(rows)


def fix_count(scenario: FixedWingScenario) -> int:
    """Fixes that must be kept."""
    return max(_fixes(scenario).values(), default=0) + 1


def _fixes(scenario: FixedWingScenario) -> dict[int, int]:
    """By the step of the control period that receives it: how many fixes were taken after it."""
    gnss = scenario.aircraft.aboard.gnss
    assert gnss is not None
    step_s = scenario.aircraft.world.step_s
    every = sensors(scenario)["gnss"].every
    period = steps("board.period_s", scenario.controller.board.period_s, step_s)
    late = math.ceil(gnss.delay_s / step_s - 1e-9)
    end = scenario.controller.end_ns(scenario) // round(step_s * NS)
    received: dict[int, int] = {}
    newest = -1
    for at in range(0, end + 1, period):
        arrived = (at - late) // every
        if arrived > newest and arrived >= 0:
            newest = arrived
            received[at] = at // every - arrived
    return received
