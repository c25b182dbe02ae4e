"""A flight record flown again: what drives it, the fit on the first half, the scores on the second."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.core.config import read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import FAMILIES
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.flown.comparison import Comparison, Settings, compare
from aeroloop.flown.record import FlightRecord
from aeroloop.flown.segments import chosen
from aeroloop.reflight import angular_acceleration
from aeroloop.reflight.drives import DRIVES, OF_FLIGHT, RESTART_S, Drive
from aeroloop.reflight.fit import DETERMINED, Fit, Fitted, fit
from aeroloop.reflight.flown_motion import LEAST_S, FlownMotion, flown_motion
from aeroloop.reflight.numbers import BY_NAME, Plant
from aeroloop.reflight.rollout import Rollout
from aeroloop.reflight.simulated import record as simulated_record

FAMILY = "multirotor"
FAST_PULSES_HZ = 100.0
"""Commands that a log has this often tell mass, inertia and lag by themselves, without any loops."""
FIT_BY = {"setpoints": "setpoints", "route": "setpoints", "pulses": "pulses"}
"""What the numbers are fitted by: a route is a reference for position, which tells little about motors."""
LAG_LEAST_S = 1e-3
"""A fit starts with no smaller lag."""
SCENARIO = "scenario.toml"

Progress = Callable[[str, float], None]
"""Called with what is being done and the fraction that is done."""


@dataclass(frozen=True)
class Options:
    replay: str = "setpoints"
    fit: bool = False
    unknowns: tuple[str, ...] = ()  # none: all that the log can tell
    restart_s: float = RESTART_S
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True)
class Number:
    """A fitted number, and what drove the simulator when it was fitted."""

    fitted: Fitted
    by: str


@dataclass(frozen=True)
class Half:
    """A part of the flight and how alike it is."""

    role: str  # fitted, judged or flown
    comparison: Comparison


@dataclass(frozen=True)
class Replayed:
    log: FlightRecord
    vehicle: str  # the airframe file
    airframe: Airframe  # as the file has it
    replay: str
    loops: str
    plant: Plant  # with which it was flown
    numbers: tuple[Number, ...]  # fitted ones
    entangled: tuple[tuple[str, str, float], ...]
    halves: tuple[Half, ...]
    whole: Comparison
    remarks: tuple[str, ...]

    @property
    def judged(self) -> Half:
        return self.halves[-1]

    @property
    def fitted_airframe(self) -> Airframe | None:
        return self.plant.applied(self.airframe) if self.numbers else None


def replay(
    record: FlightRecord, vehicle: str, options: Options, progress: Progress = lambda what, done: None
) -> Replayed:
    """ConfigError says in a sentence why a log cannot be flown again."""
    if record.vehicle and FAMILIES.get(record.vehicle, record.vehicle) != FAMILIES[FAMILY]:
        raise ConfigError(f"{record.path}: was flown by a {record.vehicle}; only multirotors can be flown again")
    _check(options)
    airframe = airframes.load(vehicle)
    if airframe.rotors.aerodynamics is not None:
        raise ConfigError(
            f"{vehicle}: a log is flown again without rotors.aerodynamics; expected an airframe without it"
        )
    segment = chosen(record, options.from_s, options.to_s)
    motion = flown_motion(record, segment.start_s, segment.end_s)
    from_s, to_s = float(motion.t_s[0]), float(motion.t_s[-1])
    middle_s = 0.5 * (from_s + to_s)
    if options.fit and to_s - from_s < 2 * LEAST_S:
        raise ConfigError(
            f"{record.path}: {to_s - from_s:.1f} s of flight are too short to fit on one half and judge on the other; "
            f"expected {2 * LEAST_S:g} s"
        )
    believed = _believed(record, airframe)
    plant, remarks = Plant.of(airframe), [*motion.remarks]
    fits: list[tuple[str, Fit]] = []
    if options.fit:
        fits = _fits(record, motion, airframe, believed, options, middle_s, progress)
        plant = fits[-1][1].plant
    progress("flying", 0.0)
    drive = DRIVES[options.replay](record, motion, believed, options.restart_s)
    rows = Rollout(airframe, motion.site, drive.law)(drive.rows, plant)
    if not np.isfinite(rows).all() or np.abs(rows[:, :3]).max() > 1e6:
        raise ConfigError(
            f"{record.path}: the simulated aircraft diverged; check {vehicle} and the order of its rotors, or choose "
            "another part by --from and --to"
        )
    simulated = simulated_record(rows, motion, airframe.rotors.count, drive.compared, Path("replayed"))
    spans = (("fitted", from_s, middle_s), ("judged", middle_s, to_s)) if options.fit else (("flown", from_s, to_s),)
    scored = _scorer(record, simulated, motion, drive, rows)
    halves = tuple(Half(role, scored(a, b)) for role, a, b in spans)
    progress("flying", 1.0)
    numbers = _numbers(fits)
    remarks += [*drive.remarks, *_doubts(numbers)]
    entangled = tuple(pair for _, each in fits for pair in each.correlations)
    return Replayed(
        record,
        vehicle,
        airframe,
        options.replay,
        drive.loops,
        plant,
        numbers,
        entangled,
        halves,
        scored(from_s, to_s),
        tuple(dict.fromkeys(remarks)),
    )


def _check(options: Options) -> None:
    if options.replay not in DRIVES:
        raise ConfigError(f"--replay {options.replay}: expected one of: {', '.join(DRIVES)}")
    allowed = [name for name, unknown in BY_NAME.items() if not unknown.nuisance]
    for name in options.unknowns:
        if name not in allowed:
            raise ConfigError(f"--unknown {name}: expected one or more of: {', '.join(allowed)}")
    if not 0.1 <= options.restart_s <= 60.0:
        raise ConfigError(f"--restart {options.restart_s:g}: expected 0.1 to 60 s")


def _scorer(
    record: FlightRecord, simulated: FlightRecord, motion: FlownMotion, drive: Drive, rows: Any
) -> Callable[[float, float], Comparison]:
    """Of a part of the flight: simulated against flown, on the log's own clock."""

    def scored(from_s: float, to_s: float) -> Comparison:
        found = compare(record, simulated, Settings(from_s, to_s, same_clock=True))
        kept = [each for each in found.signals if each.quantity.name in drive.compared]
        if drive.restart_s:
            kept += angular_acceleration.compared(record, motion, rows, from_s, to_s)
        return replace(found, signals=kept)

    return scored


def _fits(
    record: FlightRecord,
    motion: FlownMotion,
    airframe: Airframe,
    believed: Airframe,
    options: Options,
    until_s: float,
    progress: Progress,
) -> list[tuple[str, Fit]]:
    """By the drive of the replay; before that by recorded commands, where the log has them often enough."""
    last = FIT_BY[options.replay]
    motors = record.channels("motor") or record.channels("pulse")
    fast = len(motors) >= airframe.rotors.count and motors[0].rate_hz >= FAST_PULSES_HZ
    stages = ["pulses", last] if fast and last != "pulses" else [last]
    plant, fits = Plant.of(airframe), []
    # A factor on a lag of 0 changes nothing.
    plant = replace(plant, lag_up_s=max(plant.lag_up_s, LAG_LEAST_S), lag_down_s=max(plant.lag_down_s, LAG_LEAST_S))
    known: dict[str, float] = {}
    for number, stage in enumerate(stages):
        drive = DRIVES[stage](record, motion, believed, options.restart_s)
        wanted = options.unknowns or tuple(name for name in drive.fitted if name not in OF_FLIGHT)
        unknowns = [name for name in drive.fitted if (name in wanted and name not in known) or name in OF_FLIGHT]
        if not any(name in wanted for name in unknowns):
            break
        found = fit(
            record,
            motion,
            drive,
            Rollout(airframe, motion.site, drive.law),
            plant,
            unknowns=unknowns,
            until_s=until_s,
            known=known,
            progress=lambda done, number=number: progress("fitting", (number + done) / len(stages)),  # type: ignore[misc]
        )
        fits.append((stage, found))
        # The delay of a recorded command to its motor is not that of the whole loop.
        plant = replace(found.plant, delay_s=0.0) if number + 1 < len(stages) else found.plant
        known |= {n.name: n.std for n in found.numbers if n.determined and n.name != "delay" and not n.unknown.nuisance}
    return fits


def _numbers(fits: Sequence[tuple[str, Fit]]) -> tuple[Number, ...]:
    """The last fit of each."""
    found = {each.name: Number(each, stage) for stage, one in fits for each in one.numbers}
    return tuple(found[name] for name in BY_NAME if name in found)


def _doubts(numbers: Sequence[Number]) -> list[str]:
    return [
        f"{number.fitted.name} is not determined by this log (standard error "
        f"{_percent(number.fitted.relative_std)}, more than {DETERMINED:.0%}): the airframe file's number is kept."
        for number in numbers
        if not number.fitted.determined
    ]


def _percent(ratio: float) -> str:
    return f"{ratio:.0%}" if math.isfinite(ratio) and ratio < 10 else "beyond all bounds"


def _believed(record: FlightRecord, airframe: Airframe) -> Airframe:
    """The airframe that the log's autopilot was made for: of our own runs the one that flew, else the given one."""
    scenario = record.path / SCENARIO
    if not scenario.is_file():
        return airframe
    name = read_toml(scenario).get("vehicle", {}).get("airframe", "iris")
    beside = record.path / str(name)
    own = airframes.load(str(beside) if str(name).endswith(".toml") and beside.is_file() else str(name))
    return own if own.rotors.count == airframe.rotors.count else airframe
