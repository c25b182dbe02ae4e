"""Runs beside one another: how far each flew from the first one, and all their numbers in one table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from aeroloop.errors import ConfigError
from aeroloop.recording.log import Log, log_sha256
from aeroloop.scenario import TiltrotorScenario

Array = NDArray[np.float64]

POSITION = ("x_m", "y_m", "z_m")
ATTITUDE = ("roll", "pitch", "yaw")
COMMAND = ("thrust_right_N", "thrust_left_N", "torque_right_Nm", "torque_left_Nm")


@dataclass(frozen=True)
class Run:
    name: str
    scenario: TiltrotorScenario
    log: Log
    summary: Mapping[str, Any]  # as summary.json holds it


@dataclass(frozen=True)
class Difference:
    """A run minus the first one, over the time that both flew."""

    t_s: Array  # (n,) the first run's times of truth
    position_W: Array  # (n, 3) m
    attitude_deg: Array  # (n, 3) roll, pitch, yaw
    command_t_s: Array  # (m,) those of t_s at which both had a command
    command: Array  # (m, 4) N, N, N m, N m

    @property
    def distance_m(self) -> Array:
        distance_m: Array = np.linalg.norm(self.position_W, axis=1)
        return distance_m


def labels(runs: Sequence[Run]) -> list[str]:
    """What a reader calls them: by rung where that tells them apart, else by name, else by number too."""
    for of_runs in ([run.scenario.loop for run in runs], [run.name for run in runs]):
        if len(set(of_runs)) == len(runs):
            return list(of_runs)
    return [f"{number} {run.name}" for number, run in enumerate(runs, 1)]


def differences(runs: Sequence[Run]) -> list[Difference]:
    """Of each run but the first, to the first."""
    if len(runs) < 2:
        raise ConfigError(f"expected two or more runs to compare, not {len(runs)}")
    for run in runs:
        if not len(run.log.rows["truth"]):
            raise ConfigError(f"{run.name}: its log holds no flight, so there is nothing to compare")
    return [_difference(runs[0], run) for run in runs[1:]]


def _difference(first: Run, other: Run) -> Difference:
    t_s, other_t_s = first.log.column("truth", "t_s"), other.log.column("truth", "t_s")
    both = (t_s >= other_t_s[0]) & (t_s <= other_t_s[-1])
    if not both.any():
        raise ConfigError(
            f"{other.name} flew from {other_t_s[0]:g} to {other_t_s[-1]:g} s and {first.name} from {t_s[0]:g} to "
            f"{t_s[-1]:g} s: there is no common time to compare"
        )
    t_s = t_s[both]

    def minus(one: Array, another: Array) -> Array:
        difference: Array = np.interp(t_s, other_t_s, another) - one[both]
        return difference

    angles = [_unwrapped_deg(first.log, other.log, angle) for angle in ATTITUDE]
    command_t_s, command = _command_difference(first.log, other.log, t_s)
    return Difference(
        t_s,
        np.stack(
            [minus(first.log.column("truth", axis), other.log.column("truth", axis)) for axis in POSITION], axis=1
        ),
        np.stack([_nearest_turn(minus(one_deg, another_deg)) for one_deg, another_deg in angles], axis=1),
        command_t_s,
        command,
    )


def _unwrapped_deg(first: Log, other: Log, angle: str) -> tuple[Array, Array]:
    """Without the jumps of a full turn, between which interpolation would go the long way round."""
    one, another = (np.degrees(np.unwrap(log.column("truth", f"{angle}_rad"))) for log in (first, other))
    return one, another


def _nearest_turn(angle_deg: Array) -> Array:
    nearest: Array = angle_deg - 360 * np.round(angle_deg / 360)
    return nearest


def _command_difference(first: Log, other: Log, t_s: Array) -> tuple[Array, Array]:
    """A command stands until the next one comes, so it is held, not interpolated."""
    begun_s = [log.column("command", "t_s")[:1] for log in (first, other)]
    if not all(begun.size for begun in begun_s):
        return np.empty(0), np.empty((0, len(COMMAND)))
    t_s = t_s[t_s >= max(begun[0] for begun in begun_s)]
    held = [
        np.stack([log.column("command", field) for field in COMMAND], axis=1)[
            np.searchsorted(log.column("command", "t_s"), t_s, side="right") - 1
        ]
        for log in (first, other)
    ]
    return t_s, held[1] - held[0]


def compare(runs: Sequence[Run]) -> dict[str, Any]:
    """What can be said in numbers and words; None stands for a number that is not known, as JSON has no NaN."""
    found = differences(runs)
    hashes = [log_sha256(run.log) for run in runs]
    return {
        "runs": [
            {
                "label": label,
                "name": run.name,
                "scenario": run.scenario.name,
                "loop": run.scenario.loop,
                "pace": run.scenario.pace,
                "seed": run.scenario.seed,
                "exit_code": run.summary["exit_code"],
                "ok": run.summary["exit_code"] == 0,
                "ended": run.summary["ended"],
                "flown_s": float(run.log.column("truth", "t_s")[-1]),
                "log_sha256": sha256,
            }
            for run, label, sha256 in zip(runs, labels(runs), hashes, strict=True)
        ],
        "log_hashes_equal": len(set(hashes)) == 1,
        "differences": [
            {"label": label, "to": labels(runs)[0], **_numbers(difference)}
            for label, difference in zip(labels(runs)[1:], found, strict=True)
        ],
        "remarks": _remarks(runs, found),
        "settings": _settings(runs),
        "checks": _checks(runs),
        "metrics": {
            name: [run.summary["metrics"].get(name) for run in runs]
            for name in dict.fromkeys(name for run in runs for name in run.summary["metrics"])
        },
        "board": [run.summary.get("board") for run in runs],
    }


def _numbers(difference: Difference) -> dict[str, Any]:
    distance_m = difference.distance_m
    worst = int(np.argmax(distance_m))  # of NaN, if there is one
    return {
        "from_s": float(difference.t_s[0]),
        "to_s": float(difference.t_s[-1]),
        "samples": len(difference.t_s),
        "position_max_m": _known(distance_m[worst]),
        "position_max_at_s": float(difference.t_s[worst]),
        "position_rms_m": _rms(distance_m),
        **{
            key: value
            for name, values in zip(ATTITUDE, difference.attitude_deg.T, strict=True)
            for key, value in ((f"{name}_max_deg", _largest(values)), (f"{name}_rms_deg", _rms(values)))
        },
        **{
            key: value
            for (name, unit), values in zip((f.rsplit("_", 1) for f in COMMAND), difference.command.T, strict=True)
            for key, value in ((f"{name}_max_{unit}", _largest(values)), (f"{name}_rms_{unit}", _rms(values)))
        },
    }


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _largest(values: Array) -> float | None:
    return _known(np.max(np.abs(values))) if values.size else None


def _rms(values: Array) -> float | None:
    return _known(math.sqrt(np.mean(values**2))) if values.size else None


def _checks(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Per metric with a check in any run, each run's check of it; None where a run has none."""
    of_runs = [{check["name"]: check for check in run.summary["checks"]} for run in runs]
    names = dict.fromkeys(name for checks in of_runs for name in checks)
    return [{"name": name, "results": [checks.get(name) for checks in of_runs]} for name in names]


def _settings(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """Every key of the scenarios in which the runs differ."""
    tables = [_flat(msgspec.to_builtins(run.scenario)) for run in runs]
    keys = dict.fromkeys(key for table in tables for key in table)
    return {
        key: [table.get(key) for table in tables]
        for key in keys
        if any(one.get(key) != another.get(key) for one, another in pairwise(tables))
    }


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _remarks(runs: Sequence[Run], found: Sequence[Difference]) -> list[str]:
    """What a reader must know before he believes the numbers."""
    first, names = runs[0], labels(runs)
    remarks = []
    for run, label, difference in zip(runs[1:], names[1:], found, strict=True):
        if run.scenario.name != first.scenario.name:
            remarks.append(f"{label} flew {run.scenario.name}, but {names[0]} flew {first.scenario.name}.")
        if run.scenario.seed != first.scenario.seed:
            remarks.append(f"{label} flew with seed {run.scenario.seed}, {names[0]} with {first.scenario.seed}.")
        ends_s = [one.log.column("truth", "t_s")[-1] for one in (first, run)]
        if ends_s[0] != ends_s[1]:
            remarks.append(
                f"{names[0]} flew to {ends_s[0]:g} s and {label} to {ends_s[1]:g} s: "
                f"compared from {difference.t_s[0]:g} to {difference.t_s[-1]:g} s."
            )
        if not difference.command_t_s.size:
            remarks.append(f"{label} and {names[0]} had no command at the same time, so commands are not compared.")
        if not np.isfinite(difference.position_W).all():
            remarks.append(f"{label} or {names[0]} holds positions that are no numbers: the difference is not known.")
    remarks += [
        f"The log of {label} has no proper end." for run, label in zip(runs, names, strict=True) if run.log.truncated
    ]
    remarks += [
        f"{label} did not fly to its end by itself: {run.summary['ended']}."
        for run, label in zip(runs, names, strict=True)
        if run.summary["exit_code"] not in (0, 1)
    ]
    return remarks
