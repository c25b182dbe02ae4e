"""A landing over time: where the aircraft was from the pad, what its companion believed, and its states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aeroloop.analysis.autopilot_log import status_texts
from aeroloop.analysis.landing_metrics import FOUND, Touchdown, pad_height_m, path, vehicle_of
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario
from aeroloop.perception.landing_states import State
from aeroloop.recording.log import Log

TEXT = "Precision landing: "
"""Begins the autopilot's texts of a precision landing."""
STAGES = {
    "target seen": "approach",
    "descending": "descend",
    "final approach": "final",
    "searching": "search",
}
BEFORE_S, AFTER_S = 3.0, 1.0
STATES = tuple(State)


@dataclass(frozen=True)
class Band:
    """A state of the landing."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Looks:
    """What the companion said of each frame."""

    t_s: Vec
    error_m: Vec  # (n, 3) of its estimate of the way from aircraft to pad; NaN: it has none
    markers: Vec
    seen: Vec  # 1 or 0
    residual_px: Vec
    latency_s: Vec  # from the image to its messages, simulated
    work_s: Vec  # of the detector, wall time


@dataclass(frozen=True)
class Followed:
    t_s: Vec
    off_m: Vec  # (n, 3) from the pad's middle to the aircraft: east, north, up
    touched: Touchdown | None
    bands: list[Band]
    looks: Looks | None  # None: no companion of its own


def followed(scenario: Scenario, log: Log, touched: Touchdown | None) -> Followed:
    """From shortly before the landing to shortly after the touchdown."""
    truth = path(scenario, log)
    end_s = float(truth[-1, 0]) if touched is None else touched.t_s + AFTER_S
    bands, looks = _bands(scenario, log, end_s), _looks(scenario, log)
    start_s = min((band.start_s for band in bands), default=_descent_s(truth)) - BEFORE_S
    kept = (truth[:, 0] >= start_s) & (truth[:, 0] <= end_s)
    t_s = truth[kept, 0]
    off_m = truth[kept, 1:4] - _pad(scenario, t_s)
    if looks is not None:
        inside = (looks.t_s >= start_s) & (looks.t_s <= end_s)
        looks = Looks(**{name: getattr(looks, name)[inside] for name in Looks.__dataclass_fields__})
    return Followed(t_s, off_m, touched, bands, looks)


def _descent_s(truth: Vec) -> float:
    """When it was last within a tenth of its greatest height."""
    low, high = float(truth[:, 3].min()), float(truth[:, 3].max())
    return float(truth[np.flatnonzero(truth[:, 3] >= high - 0.1 * (high - low))[-1], 0])


def _pad(scenario: Scenario, t_s: Vec) -> Vec:
    """(n, 3) m."""
    assert scenario.pad is not None
    height_m = pad_height_m(scenario)
    places = [(*scenario.pad.at(float(t))[:2], height_m) for t in t_s]
    return np.array(places).reshape(-1, 3)


def _looks(scenario: Scenario, log: Log) -> Looks | None:
    if "landing" not in log.rows or "own_x" not in log.columns["landing"]:  # of older versions
        return None

    def of(name: str) -> Vec:
        values: Vec = log.rows["landing"][:, log.columns["landing"].index(name)]
        return values

    t_s = of("t_s")
    # Pad and aircraft are in the same local frame, whose drift cancels in the difference.
    believed = np.column_stack([of(f"pad_{axis}") - of(f"own_{axis}") for axis in "xyz"])
    truth = path(scenario, log)
    own = np.column_stack([np.interp(t_s, truth[:, 0], truth[:, axis]) for axis in (1, 2, 3)])
    true = _pad(scenario, t_s) - own
    return Looks(
        t_s,
        believed - true,
        of("markers"),
        (of("outcome") == FOUND).astype(float),
        of("residual_px"),
        of("sent_s") - t_s,
        of("work_s"),
    )


def _bands(scenario: Scenario, log: Log, end_s: float) -> list[Band]:
    """By the companion's states if it commands, else by the autopilot's texts."""
    changes = _states(log) or _stages(scenario, log)
    changes = [(t_s, name) for t_s, name in changes if t_s < end_s]
    ends = [*(t_s for t_s, _ in changes[1:]), end_s]
    return [Band(name, t_s, end) for (t_s, name), end in zip(changes, ends, strict=True) if name]


def _stages(scenario: Scenario, log: Log) -> list[tuple[float, str]]:
    if "status_text" not in log.rows:
        return []
    own = [text for text in status_texts(log) if text["vehicle"] == vehicle_of(scenario)]
    stages = []
    for text in own:
        words = str(text["value"])
        if words.startswith(TEXT):
            said = words.removeprefix(TEXT)
            lost = "lost" if "lost" in said else "land without it"
            stages.append((float(text["t_s"]), STAGES.get(said, lost)))
    return stages


def _states(log: Log) -> list[tuple[float, str]]:
    if "landing" not in log.rows or not len(log.rows["landing"]):
        return []
    column, rows = log.columns["landing"].index, log.rows["landing"]
    state = rows[:, column("state")]
    if not (state >= 0).any():
        return []
    changed = [0, *(np.flatnonzero(np.diff(state)) + 1)]
    names = [STATES[int(state[i])].value if 0 <= state[i] < len(STATES) else "" for i in changed]
    return [(float(rows[i, column("t_s")]), name) for i, name in zip(changed, names, strict=True)]
