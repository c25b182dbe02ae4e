"""Runs beside one another: how far each flew from the first one, and all their numbers in one table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.family import analysis_of
from aeroloop.analysis.track import ATTITUDE, Track
from aeroloop.core.angles import wrap_180
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import family
from aeroloop.recording.log import Log, log_sha256

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    name: str
    scenario: Scenario
    log: Log
    summary: Mapping[str, Any]  # as summary.json holds it

    @cached_property
    def tracks(self) -> list[Track]:
        """Of every aircraft that flew."""
        return analysis_of(self.scenario).tracks(self.log)

    @property
    def flown_s(self) -> float:
        return max(float(track.t_s[-1]) for track in self.tracks)


@dataclass(frozen=True)
class Difference:
    """An aircraft of a run minus the same one of the first run, over the time that both flew."""

    name: str  # of the aircraft; empty where there is one only
    run: int  # which of the runs, from 1: the first one is number 0
    t_s: Array  # (n,) the first run's times of truth
    position_W: Array  # (n, 3) m
    attitude_deg: Array  # (n, 3) roll, pitch, yaw
    command_t_s: Array  # (m,) those of t_s at which both had a command
    command: Array  # (m, number of commands)
    commands: tuple[str, ...]  # what each command is called, with its unit

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
    first, *others = runs
    for run in runs:
        if not any(track.t_s.size for track in run.tracks):
            raise ConfigError(f"{run.name}: its log holds no flight, so there is nothing to compare")
        if family(run.scenario.kind).name != family(first.scenario.kind).name:
            raise ConfigError(f"{run.name} and {first.name} flew different kinds of aircraft: nothing to compare")
    return [
        _difference(number, (first.name, one), (run.name, another))
        for number, run in enumerate(others, 1)
        for one, another in zip(first.tracks, run.tracks, strict=False)
    ]


def difference_label(runs: Sequence[Run], difference: Difference) -> str:
    return " ".join(filter(None, (labels(runs)[difference.run], difference.name)))


def _difference(number: int, first_run: tuple[str, Track], other_run: tuple[str, Track]) -> Difference:
    (first_name, first), (other_name, other) = first_run, other_run
    t_s, other_t_s = first.t_s, other.t_s
    both = (t_s >= other_t_s[0]) & (t_s <= other_t_s[-1])
    if not both.any():
        raise ConfigError(
            f"{other_name} flew from {other_t_s[0]:g} to {other_t_s[-1]:g} s and {first_name} from {t_s[0]:g} to "
            f"{t_s[-1]:g} s: there is no common time to compare"
        )
    t_s = t_s[both]

    def minus(one: Array, another: Array) -> Array:
        """Column by column."""
        held = [np.interp(t_s, other_t_s, column) for column in another.T]
        difference: Array = np.stack(held, axis=1) - one[both]
        return difference

    command_t_s, command = _command_difference(first, other, t_s)
    return Difference(
        first.name,
        number,
        t_s,
        minus(first.pos_W, other.pos_W),
        wrap_180(minus(_unwrapped_deg(first), _unwrapped_deg(other))),
        command_t_s,
        command,
        first.commands,
    )


def _vehicles(run: Run) -> str:
    return "1 vehicle" if len(run.tracks) == 1 else f"{len(run.tracks)} vehicles"


def _unwrapped_deg(track: Track) -> Array:
    """Without the jumps of a full turn, between which interpolation would go the long way round."""
    return np.asarray(np.degrees(np.unwrap(track.attitude_rad, axis=0)))


def _command_difference(first: Track, other: Track, t_s: Array) -> tuple[Array, Array]:
    """A command stands until the next one comes, so it is held, not interpolated."""
    begun_s = [track.command_t_s[:1] for track in (first, other)]
    if not all(begun.size for begun in begun_s) or first.commands != other.commands:
        return np.empty(0), np.empty((0, len(first.commands)))
    t_s = t_s[t_s >= max(begun[0] for begun in begun_s)]
    held = [track.command[np.searchsorted(track.command_t_s, t_s, side="right") - 1] for track in (first, other)]
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
                "flown_s": run.flown_s,
                "log_sha256": sha256,
            }
            for run, label, sha256 in zip(runs, labels(runs), hashes, strict=True)
        ],
        "log_hashes_equal": len(set(hashes)) == 1,
        "differences": [
            {"label": difference_label(runs, difference), "to": labels(runs)[0], **_numbers(difference)}
            for difference in found
        ],
        "remarks": _remarks(runs, found),
        "settings": _settings(runs),
        "checks": _checks(runs),
        "metrics": {
            name: [run.summary["metrics"].get(name) for run in runs]
            for name in dict.fromkeys(name for run in runs for name in run.summary["metrics"])
        },
        "board": [run.summary.get("board") for run in runs],
        "load": [run.summary.get("load") for run in runs],
        "rates": _beside(runs, "rates", ("signal", "at", "vehicle")),
        "tracking": _beside(runs, "tracking", ("modes", "vehicle")),
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
            for (name, unit), values in zip(_with_units(difference), difference.command.T, strict=True)
            for key, value in ((f"{name}_max_{unit}", _largest(values)), (f"{name}_rms_{unit}", _rms(values)))
        },
    }


def _with_units(difference: Difference) -> list[tuple[str, str]]:
    """Name and unit of each command."""
    parts = (command.rpartition("_") for command in difference.commands)
    return [(name, unit) for name, _, unit in parts]


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


def _beside(runs: Sequence[Run], table: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Rows of a table of the summaries, those with the same keys beside one another; None where a run has none."""
    of_runs = [{tuple(row[key] for key in keys): row for row in run.summary.get(table, ())} for run in runs]
    found = dict.fromkeys(key for rows in of_runs for key in rows)
    return [{**dict(zip(keys, key, strict=True)), "results": [rows.get(key) for rows in of_runs]} for key in found]


def _settings(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """Every key of the scenarios in which the runs differ."""
    tables = [_flat(run.scenario.flat()) for run in runs]
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
    for number, (run, label) in enumerate(zip(runs[1:], names[1:], strict=True), 1):
        of_run = [difference for difference in found if difference.run == number]
        if run.scenario.name != first.scenario.name:
            remarks.append(f"{label} flew {run.scenario.name}, but {names[0]} flew {first.scenario.name}.")
        if run.scenario.seed != first.scenario.seed:
            remarks.append(f"{label} flew with seed {run.scenario.seed}, {names[0]} with {first.scenario.seed}.")
        if len(run.tracks) != len(first.tracks):
            remarks.append(f"{label} flew {_vehicles(run)}, {names[0]} {_vehicles(first)}.")
        if first.flown_s != run.flown_s:
            remarks.append(
                f"{names[0]} flew to {first.flown_s:g} s and {label} to {run.flown_s:g} s: "
                f"compared from {of_run[0].t_s[0]:g} to {of_run[0].t_s[-1]:g} s."
            )
        if not all(difference.command_t_s.size for difference in of_run):
            remarks.append(f"{label} and {names[0]} had no command at the same time, so commands are not compared.")
        if not all(np.isfinite(difference.position_W).all() for difference in of_run):
            remarks.append(f"{label} or {names[0]} contains NaN positions: the difference is not known.")
    remarks += [
        f"The log of {label} is truncated." for run, label in zip(runs, names, strict=True) if run.log.truncated
    ]
    remarks += [
        f"{label} did not complete its flight: {run.summary['ended']}."
        for run, label in zip(runs, names, strict=True)
        if run.summary["exit_code"] not in (0, 1)
    ]
    return remarks
