"""Numbers of a landing on the pad: where the aircraft touched down, and what its companion saw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aeroloop.core.companion import landing_camera
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.signals import Event
from aeroloop.recording.log import Log
from aeroloop.world.relief import of_config

ALOFT_M = 0.5
"""A contact with the ground after the last time above this height is the touchdown."""
FOUND = 0
OF_COMPANION = ("pad_seen_pct", "pad_sightings", "pad_residual_px", "companion_work_mean_s")
"""What only a companion process of the flight measures."""


class Touchdown(NamedTuple):
    t_s: float
    off_m: tuple[float, float]  # from the pad's middle: east, north
    speed_m_s: float  # horizontal, relative to the pad


def metrics(scenario: Scenario, log: Log) -> dict[str, float]:
    """None without a pad to land on."""
    if scenario.pad is None or scenario.landing is None:
        return {}
    touched = touchdown(scenario, log)
    numbers = {
        "touchdown_m": np.nan if touched is None else float(np.hypot(*touched.off_m)),
        "touchdown_east_m": np.nan if touched is None else touched.off_m[0],
        "touchdown_north_m": np.nan if touched is None else touched.off_m[1],
        "touchdown_speed_m_s": np.nan if touched is None else touched.speed_m_s,
        "touchdown_s": np.nan if touched is None else touched.t_s,
    }
    if "landing" not in log.rows:
        return numbers
    column = log.columns["landing"].index
    rows = log.rows["landing"]
    end_s = np.inf if touched is None else touched.t_s
    landing = rows[(rows[:, column("landing")] == 1) & (rows[:, column("t_s")] < end_s)]
    seen = landing[:, column("outcome")] == FOUND
    numbers["pad_seen_pct"] = 100.0 * float(seen.mean()) if len(seen) else np.nan
    numbers["pad_sightings"] = float(np.count_nonzero(rows[:, column("accepted")]))
    numbers["pad_residual_px"] = _mean(rows[:, column("residual_px")])
    numbers["companion_work_mean_s"] = _mean(rows[:, column("work_s")])
    return numbers


def unmeasured(scenario: Scenario) -> tuple[str, ...]:
    """Metrics that a landing without a companion of the flight, or with one outside, does not have."""
    return OF_COMPANION if scenario.landing is not None and scenario.landing.use != "vision" else ()


def touchdown(scenario: Scenario, log: Log) -> Touchdown | None:
    """None if the aircraft was not aloft, or has not come down."""
    assert scenario.pad is not None
    vehicle, truth = vehicle_of(scenario), path(scenario, log)
    aloft = np.flatnonzero(truth[:, 3] - truth[0, 3] > ALOFT_M) if len(truth) else np.zeros(0, int)
    if not len(aloft):
        return None
    events, column = log.rows["event"], log.columns["event"].index
    contacts = events[
        (events[:, column("vehicle")] == vehicle)
        & (events[:, column("code")] == Event.GROUND_CONTACT)
        & (events[:, column("t_s")] >= truth[aloft[-1], 0])
    ]
    if not len(contacts):
        return None
    t_s = float(contacts[0, column("t_s")])
    x, y, vx, vy = (float(np.interp(t_s, truth[:, 0], truth[:, i])) for i in (1, 2, 4, 5))
    (pad_x, pad_y, _), (then_x, then_y, _) = scenario.pad.at(t_s), scenario.pad.at(t_s + 0.01)
    off_m = x - pad_x, y - pad_y
    speed_m_s = float(np.hypot(vx - (then_x - pad_x) / 0.01, vy - (then_y - pad_y) / 0.01))
    return Touchdown(t_s, off_m, speed_m_s)


def vehicle_of(scenario: Scenario) -> int:
    """The aircraft that lands on the pad."""
    own = None if scenario.landing is None else landing_camera(scenario.cameras, scenario.landing)
    return 0 if own is None else scenario.cameras[own].vehicle


def pad_height_m(scenario: Scenario) -> float:
    """Of the ground under the pad, where it is at the start."""
    config = value_at(scenario, "world.terrain")
    if scenario.pad is None or config is None:
        return 0.0
    return of_config(config).height_m(*scenario.pad.pos_m)


def path(scenario: Scenario, log: Log) -> Vec:
    """Time, position and velocity of that aircraft."""
    rows, column = log.rows["truth"], log.columns["truth"].index
    names = ("t_s", "x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s")
    own: Vec = rows[rows[:, column("vehicle")] == vehicle_of(scenario)][:, [column(name) for name in names]]
    return own


def _mean(values: Vec) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
