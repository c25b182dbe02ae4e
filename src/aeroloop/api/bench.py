"""A vehicle in your own loop: no controller, no link, no process, as fast as the plant.

with aeroloop.bench("quad-hover") as b:
    seen = b.reset()
    while not seen.ended and seen.t_s < 5:
        seen = b.step(my_controller(seen.truth))

The aircraft, its surroundings, sensors and planned faults are those of the scenario; its controller, links and checks
are left out. Equal seeds and commands give equal flights, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from aeroloop.api.scenarios import ScenarioPlan, named, overrides_of
from aeroloop.api.tables import FlightLog
from aeroloop.core.change_offers import change_offers, checked
from aeroloop.core.changes import Change
from aeroloop.core.config import override
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.faults import BOARD_TARGETS, LINE_TARGETS, SIGHT_TARGETS
from aeroloop.core.fleet import Plan, parts_of
from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.signals import NS, new_tuple
from aeroloop.core.stream import KEYS, Publish
from aeroloop.core.streams import named as streams_by_name
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import calling
from aeroloop.core.trust import guarded
from aeroloop.exchanges.direct import Direct
from aeroloop.flight.inline import KeptRows
from aeroloop.flight.part import built
from aeroloop.sensors.rows import STREAM_OF
from aeroloop.sim.exchange import NEVER_NS
from aeroloop.sim.fault_plan import FaultPlan
from aeroloop.sim.loop import Craft
from aeroloop.sim.vehicle import Vehicle

Command = Sequence[float] | Mapping[str, float] | NDArray[np.float64]
"""Values of the actuators' channels: in the order of `Bench.channels`, or by their names."""
_ABSENT = (*BOARD_TARGETS, *LINE_TARGETS, *SIGHT_TARGETS)
"""Targets of faults that a bench does not have."""


class TruthState(Protocol):
    """The true state of an aircraft, in SI units: ENU world, FLU body, quaternions (w, x, y, z).

    Families add their own fields, such as `tilt_rad` of the tilt-rotor. An external family has at least the first two.
    """

    @property
    def pos_W(self) -> Vec3: ...
    @property
    def vel_W(self) -> Vec3: ...
    @property
    def quat_WB(self) -> Quat: ...
    @property
    def rate_B(self) -> Vec3: ...


class Observation(NamedTuple):
    """The result of a step."""

    t_s: float  # simulated time
    truth: TruthState
    samples: list[Any]  # samples delivered by the sensors in this step, in order: `ImuSample`, `GnssSample` ...
    measured: tuple[float, ...] | None  # values of the state sensors, for an aircraft that has them (`measured_names`)
    ended: str  # end reason, "diverged" or "crashed"; empty while the flight continues

    @property
    def sensors(self) -> dict[str, Any]:
        """The latest sample of each sensor, by its name: `imu`, `gnss`, `barometer` ..."""
        return {STREAM_OF.get(type(sample), type(sample).__name__): sample for sample in self.samples}


class Bench:
    """One aircraft of a scenario, advanced by control periods."""

    def __init__(
        self, scenario: Scenario, *, vehicle: int = 0, period_s: float | None = None, record: bool = False
    ) -> None:
        """`vehicle`: which of several aircraft; `period_s`: length of a step, by default the control period of the
        scenario's controller; `record`: keep the rows of every stream that the vehicle writes, for `log`."""
        if not 0 <= vehicle < scenario.aircraft.count:
            raise ConfigError(f"vehicle {vehicle}: there are {scenario.aircraft.count}, the first is 0")
        self.scenario = scenario
        self._number, self._record = vehicle, record
        self._build = scenario.family.vehicle
        streams = streams_by_name(scenario)
        command = streams.get("command")
        nominal_s = 1.0 / command.rate_hz if command is not None and command.rate_hz > 0 else scenario.aircraft.step_s
        self.period_s = period_s or scenario.controller.control_period_s or nominal_s
        self._period_ns = round(self.period_s * NS)
        if self._period_ns <= 0:
            raise ConfigError(f"period_s: expected a time above 0, not {self.period_s}")
        self._craft: Craft | None = None
        self._direct = Direct(())
        self._inbox: list[Any] = []
        self._kept: KeptRows | None = None
        self._unflown: Craft | None = self._fresh()
        count = len(self._unflown.vehicle.command)
        fields = [field for field in (command.fields if command is not None else ()) if field.name not in KEYS][:count]
        if len(fields) < count:
            self.channels: tuple[str, ...] = tuple(f"u{n}" for n in range(1, count + 1))
        else:
            self.channels = tuple(field.name for field in fields)
        """Names of the command's elements, in order."""
        self.units = {name: field.unit for name, field in zip(self.channels, fields, strict=False)}
        """By channel."""
        sensors = streams.get("sensors")
        self.measured_names = tuple(name for name in sensors.names if name not in KEYS) if sensors else ()
        """Names of the elements of `Observation.measured`."""

    def reset(self, seed: int | None = None) -> Observation:
        """Start a new flight from t = 0; the same as before, unless the seed changes."""
        if seed is not None:
            self.scenario, self._unflown = with_value(self.scenario, "seed", seed), None
        craft = self._craft = self._unflown or self._fresh()
        self._unflown = None
        vehicle = craft.vehicle
        self._inbox = vehicle.tap()
        with calling((self._build,)):
            vehicle.begin()
            craft.switch_planned()
            self._inbox += vehicle.sensed()
            return self._observed(vehicle)

    def step(self, command: Command | None = None) -> Observation:
        """Advance one control period with this command held; without one the previous command is held."""
        craft = self._craft
        if craft is None:
            raise AeroloopError("step: expected reset() first")
        vehicle, direct = craft.vehicle, self._direct
        if vehicle.ended:
            raise AeroloopError(f"step: the flight has ended ({vehicle.ended} at {vehicle.t_ns / NS:g} s); reset() it")
        if command is not None:
            direct.command = self._row(command)
        direct.until_ns = until_ns = vehicle.t_ns + self._period_ns
        try:
            craft.advance(until_ns)
            return self._observed(vehicle)
        except Exception as error:
            with calling((self._build,)):  # code of an external family
                raise error

    def change(self, key: str, value: float | tuple[float, ...]) -> None:
        """Set wind, mass or battery before the next step of the simulation, as `[[changes]]` does; ConfigError lists
        the keys that there are."""
        if self._craft is None:
            raise AeroloopError("change: expected reset() first")
        self._craft.schedule(Change(change=key, value=value, vehicle=self._number))

    @property
    def command(self) -> tuple[float, ...]:
        """The current command: at first that of the aircraft's start, its trim or stopped motors."""
        return self._direct.command

    @property
    def log(self) -> FlightLog:
        """With `record`: the streams of this flight so far."""
        if self._kept is None:
            raise ConfigError("log: expected bench(..., record=True) and reset() for a log")
        return FlightLog(self._kept.log(), streams_of(self.scenario))

    def close(self) -> None:
        """Release the aircraft."""
        self._craft = self._unflown = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        channels = ", ".join(f"{name} [{self.units.get(name, '')}]" for name in self.channels)
        return f"<Bench {self.scenario.name}: {self.period_s:g} s a step, commands {channels}>"

    def _fresh(self) -> Craft:
        self._kept = KeptRows(self.scenario) if self._record else None
        rows: Mapping[str, Publish] = self._kept.publish(self._number) if self._kept else _Nowhere()
        vehicle = built(self._build, self.scenario, self._number, rows)
        self._direct = Direct(vehicle.command)
        faults = [f for f in self.scenario.faults_of(self._number) if f.target not in _ABSENT]
        plan = FaultPlan(faults, self.scenario.changes_of(self._number))
        check = partial(checked, scenario=self.scenario, known=change_offers(self.scenario))
        return Craft(vehicle, (self._direct,), NEVER_NS, plan=plan, check=check)

    def _observed(self, vehicle: Vehicle[Any, Any]) -> Observation:
        inbox = self._inbox
        samples = inbox[:]
        inbox.clear()
        return new_tuple(Observation, (vehicle.t_ns / NS, vehicle.state, samples, vehicle.measured(), vehicle.ended))

    def _row(self, command: Command) -> tuple[float, ...]:
        if isinstance(command, Mapping):
            if command.keys() != {*self.channels}:
                expected = ", ".join(self.channels)
                raise ConfigError(f"command: expected the channels {expected}, not {', '.join(command) or 'none'}")
            row = tuple(float(command[name]) for name in self.channels)
        else:
            row = tuple(command.tolist() if isinstance(command, np.ndarray) else command)
        if len(row) != len(self.channels):
            raise ConfigError(
                f"command: expected {len(self.channels)} values ({', '.join(self.channels)}), not {len(row)}"
            )
        return row


def bench(
    scenario: str | Path | Mapping[str, Any] | ScenarioPlan,
    *,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the command line's name
    part: str = "",
    vehicle: int = 0,
    period_s: float | None = None,
    record: bool = False,
    trust: bool = False,
) -> Bench:
    """The vehicle of a scenario for your own loop; `scenario`, `seed`, `set` and `trust` as for `fly`.

    `part`: which of a fleet. `vehicle`, `period_s` and `record` as for `Bench`.
    """
    seeded = () if seed is None else (override("seed", seed),)
    with guarded(trust=trust):
        plan = named(scenario).changed((*overrides_of(set or {}), *seeded)).plan
    return Bench(_part(plan, part), vehicle=vehicle, period_s=period_s, record=record)


def _part(plan: Plan, name: str) -> Scenario:
    parts = {part.name: part for part in parts_of(plan)}
    if not name and len(parts) == 1:
        return next(iter(parts.values()))
    if name not in parts:
        raise ConfigError(
            f"part {name!r}: a bench has one aircraft of {plan.name}; expected one of: {', '.join(parts)}"
        )
    return parts[name]


class _Nowhere(dict[str, Publish]):
    """Accepts the rows of every stream, and keeps none."""

    def __missing__(self, stream: str) -> Publish:
        return _discard


def _discard(*_: float) -> None:
    """A row that is not kept."""
