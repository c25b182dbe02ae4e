"""The front end of the law on a pose board: each class of sensor read by the driver in use, the other one beside it in
shadow mode. `firmware/pose/front.c` is the same on a board with firmware.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aeroloop.codegen.single import F
from aeroloop.controllers.pose.driver_table import (
    BAROMETER,
    DRIVERS,
    GNSS,
    LOG_HARD,
    LOG_HELD,
    LOG_SOFT,
    LOG_STALE,
    LOG_USES_SOFT,
    PARAMETER_ROW,
    PARTS,
    SENSED_VALUES,
    SENSOR_ROW,
    STATE_ROW,
)
from aeroloop.controllers.pose.drivers import (
    HARD,
    HELD,
    SOFT,
    STALE,
    STEP_BACK,
    STEP_FAILED,
    STEP_STALE,
    U32,
    Sample,
    SensorDrivers,
)
from aeroloop.controllers.pose.parameters import NAMES
from aeroloop.core.signals import Event

PARAMETER_VALUES = 2
ARMED, PARAMETER_AT = -PARAMETER_VALUES - 1, -PARAMETER_VALUES
SHADOW = NAMES.index("SENS_SHADOW")
STATE_PARAMETERS = tuple(NAMES.index(name) for name in ("SENS_SOFT", "SENS_SOFT_NOISE", "SENS_SHADOW"))

Row = tuple[float, ...]


class Read(NamedTuple):
    """A control period as the law is to see it, and what the drivers have to report."""

    measured: list[float]
    fresh: list[float]
    rows: list[tuple[str, Row]]
    events: list[tuple[Event, float]]


class FrontEnd:
    def __init__(self, drivers: SensorDrivers, period_us: int) -> None:
        self._drivers = drivers
        self._state_runs = max(1, 1_000_000 // period_us)
        self._measured = [0.0] * SENSED_VALUES
        self._runs = 0
        self._now_us = 0

    def read(self, now_us: int, line: bytes, measured: Sequence[float], groups: int) -> Read:
        """`measured`: all values of the first line, of which `groups` are new; `line`: bytes of the second."""
        drivers, self._now_us = self._drivers, now_us
        armed = measured[ARMED] > 0.5
        drivers.time(now_us)
        age_s = drivers.age_s()
        drivers.line(line)
        drivers.values(measured[:SENSED_VALUES], groups & 0xF)
        events = _events(drivers.step(armed), age_s)
        rows: list[tuple[str, Row]] = []
        requested = self._parameter(measured[PARAMETER_AT:], armed) if groups >> 5 & 1 else None
        if drivers.begin():
            for number in range(len(DRIVERS)):
                drivers.rebuild(number)
        fresh = [0.0] * 4
        for number, driver in enumerate(DRIVERS):
            found, noted = self._read(number)
            rows += noted
            if found is not None:
                values = found.value[: found.size]
                values = (self._age_s(found), *values) if number == GNSS else values
                self._measured[driver.offset : driver.offset + len(values)] = values
                if not found.flags & STALE:
                    fresh[driver.group] = 1.0
        self._runs += 1
        if self._runs % self._state_runs == 1 % self._state_runs:
            rows.append((STATE_ROW, self._state()))
        if requested is not None:
            rows.append((PARAMETER_ROW, requested))
        rest = list(measured[SENSED_VALUES:])
        if drivers.stop():
            rest[ARMED] = 0.0
        return Read([*self._measured, *rest], [*fresh, float(groups >> 4 & 1), float(groups >> 5 & 1)], rows, events)

    def actuators(self, command: Sequence[float]) -> bytes:
        """For the second line."""
        return self._drivers.motors(command)

    def _age_s(self, sample: Sample) -> float:
        return float(F((self._now_us - sample.t_us) & U32) * F(1e-6))

    def _parameter(self, requested: Sequence[float], armed: bool) -> Row:
        number = int(requested[0]) if 0 <= requested[0] < 256 else 256
        answer = self._drivers.set(number, requested[1], armed)
        now = self._drivers.parameter(number) if number < len(NAMES) else 0.0
        return float(number), float(np.float32(requested[1])), now, float(answer)

    def _read(self, number: int) -> tuple[Sample | None, list[tuple[str, Row]]]:
        drivers, used = self._drivers, self._drivers.source(number)
        shadow = drivers.parameter(SHADOW) > 0.5
        hard, soft = (drivers.read(number, source) if source == used or shadow else None for source in (HARD, SOFT))
        return soft if used == SOFT else hard, self._noted(number, soft, hard)

    def _noted(self, number: int, soft: Sample | None, hard: Sample | None) -> list[tuple[str, Row]]:
        """Rows of the log: the latest of both drivers."""
        if soft is None and hard is None:
            return []
        drivers = self._drivers
        known = drivers.latest(number, SOFT)
        flags = (LOG_SOFT if known is not None else 0) | (LOG_HARD if hard is not None else 0)
        flags |= LOG_USES_SOFT if drivers.source(number) == SOFT else 0
        flags |= LOG_STALE if drivers.stale else 0
        flags |= LOG_HELD if soft is not None and soft.flags & HELD else 0
        if number == GNSS:
            return [self._row(number, known, hard, flags, 0, 3), self._row(len(PARTS) - 1, known, hard, flags, 3, 3)]
        return [self._row(number, known, hard, flags, 0, 1 if number == BAROMETER else 3)]

    def _row(
        self, part: int, soft: Sample | None, hard: Sample | None, flags: int, first: int, count: int
    ) -> tuple[str, Row]:
        ages = [self._age_s(sample) if sample is not None else 0.0 for sample in (soft, hard)]
        values: list[float] = []
        for sample in (soft, hard):
            own = sample.value[first : first + count] if sample is not None else ()
            values += [*own, *(0.0,) * (3 - len(own))]
        return SENSOR_ROW, (float(part), float(flags), *ages, *values)

    def _state(self) -> Row:
        drivers = self._drivers
        counts = drivers.counts
        numbers = (
            *(drivers.parameter(number) for number in STATE_PARAMETERS),
            drivers.stale,
            drivers.failed,
            counts.sets,
            counts.lost,
            counts.frames_in,
            counts.bad_checksums,
            counts.malformed,
            counts.skipped_bytes,
            counts.other,
            counts.implausible + drivers.refused,
        )
        return tuple(map(float, numbers))


def _events(found: int, age_s: float) -> list[tuple[Event, float]]:
    said = ((STEP_STALE, Event.SENSORS_LOST), (STEP_FAILED, Event.SAFE_COMMAND), (STEP_BACK, Event.SENSORS_BACK))
    return [(event, age_s) for bit, event in said if found & bit]
