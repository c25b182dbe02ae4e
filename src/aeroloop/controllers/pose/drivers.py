"""The drivers of a pose board in Python, equal to those in C (`firmware/pose/drivers.c`) to the byte.

Hard drivers read the ordinary sensor message of the first line, soft ones what is rebuilt from the pose packets of the
second. Who reads does not know which: both give a `Sample`, or None where there is nothing new. A control period calls
`time`, `line`, `values`, `step`, then `begin` and `rebuild` where a set has come, then `read`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from aeroloop.codegen.single import F, Floats, Single
from aeroloop.controllers.pose.board_settings import BoardSettings
from aeroloop.controllers.pose.driver_table import ACCELEROMETER, CLASSES, DRIVERS, GNSS, GYRO, REBUILT_FIX
from aeroloop.controllers.pose.parameters import DEGREE, NAMES, TABLE, Answer
from aeroloop.protocols.pose import (
    STATUS,
    Motors,
    PoseCounters,
    PoseIn,
    Position,
    RotorSpeeds,
    decode,
    encode,
    position_counts,
)
from aeroloop.protocols.pose_sets import PoseSet, SetCollector
from aeroloop.sensors.reconstruction import RAD_PER_COUNT

HARD, SOFT = 0, 1
STALE, HELD = 1, 2
"""Flags of a sample: no complete set for SENS_STALE; none since the last read."""
STEP_STALE, STEP_BACK, STEP_FAILED = 1, 2, 4
"""What a step found, when it begins."""
SAMPLE_MOST = 8
US = F(1e-6)
DRIFT_US = 1
"""A set: by so much the sender's clock may have drifted from ours."""
MOST_ALTITUDE_MM = 100_000_000
LONGEST_AGE_S = 4000.0
GAUSS_MEAN, GAUSS_UNIT = 393_210, F(65536)
U32 = 0xFFFF_FFFF
TURN = 3_600_000_000  # 360 deg in counts of longitude

_SAMPLE = struct.Struct("<8fI4B")


class Sample(NamedTuple):
    """What a read gives, whichever driver it was."""

    value: tuple[float, ...]  # SAMPLE_MOST, of which `size` are used
    t_us: int  # when it was measured, of the board's clock, modulo 2^32
    size: int
    source: int
    flags: int

    def pack(self) -> bytes:
        """As it lies in the board's memory."""
        return _SAMPLE.pack(*self.value, self.t_us, self.size, self.source, self.flags, 0)

    @classmethod
    def unpack(cls, data: bytes) -> Sample:
        *value, t_us, size, source, flags, _ = _SAMPLE.unpack(data)
        return cls(tuple(value), t_us, size, source, flags)


class LineCounts(NamedTuple):
    """Of the second line, in the order of the board's counters."""

    frames_in: int
    bytes_in: int
    bad_checksums: int
    malformed: int
    skipped_bytes: int
    implausible: int
    other: int
    sets: int
    lost: int


class SensorDrivers(Protocol):
    """Those in Python and those in C."""

    @property
    def counts(self) -> LineCounts: ...
    @property
    def refused(self) -> int:
        """Rebuilt samples that were not finite."""

    @property
    def stale(self) -> bool: ...
    @property
    def failed(self) -> bool: ...
    def parameter(self, number: int) -> float: ...
    def time(self, now_us: int) -> None: ...
    def line(self, chunk: bytes) -> None: ...
    def values(self, measured: Sequence[float], groups: int) -> None: ...
    def step(self, armed: bool) -> int: ...
    def begin(self) -> bool: ...
    def rebuild(self, number: int) -> None: ...
    def read(self, number: int, source: int) -> Sample | None: ...
    def latest(self, number: int, source: int) -> Sample | None:
        """The last sample of a driver, read or not; None where there was none."""

    def source(self, number: int) -> int: ...
    def age_s(self) -> float: ...
    def stop(self) -> bool: ...
    def set(self, parameter: int, value: float, armed: bool) -> int: ...
    def motors(self, command: Sequence[float]) -> bytes: ...


@dataclass
class _Class:
    memory: Floats
    soft: Sample | None = None
    hard: Sample | None = None
    fresh_soft: bool = False
    fresh_hard: bool = False
    due_us: int = 0


@dataclass
class _PoseLink:
    """Packets and sets of the second link."""

    settings: BoardSettings
    received: PoseCounters = field(default_factory=PoseCounters)
    implausible: int = 0
    motors: int = 0
    set: PoseSet | None = None

    def __post_init__(self) -> None:
        self._reader = PoseIn(self.received, self.settings.layout)
        self.collector = SetCollector(self.settings.kinds)

    def take(self, chunk: bytes) -> bool:
        """Whether a set is complete."""
        complete = False
        for frame in self._reader.feed(chunk):
            pose = decode(frame, self.settings.layout)
            if pose is None or (isinstance(pose, Position) and abs(position_counts(pose)[2]) > MOST_ALTITUDE_MM):
                self.implausible += 1
                continue
            found = self.collector.add(pose, 0)
            if found is not None:
                self.set, complete = found, True
        return complete


class Drivers:
    """The twin of `drivers_t`."""

    def __init__(self, settings: BoardSettings) -> None:
        self._settings = settings
        self._rebuild = [Single(settings.rebuild[name]) for name in CLASSES]
        self._place = Single(settings.rebuild["place"])
        self._line = _PoseLink(settings)
        self._parameters = np.array([settings.parameters[name] for name in NAMES], F)
        self._classes = [_Class(np.zeros(function.sizes_in[3], F)) for function in self._rebuild]
        self._random = int(self._value("SENS_SEED"))
        self._begun = self._pending = self._stamped = False
        self.stale = self.failed = False
        self.refused = 0
        self._now_us = self._begun_us = self._set_us = self._stamp_us = self._offset_us = 0
        self._step_s = F(0)
        self._pose = np.zeros(15, F)
        self._take_parameters()

    @property
    def counts(self) -> LineCounts:
        line, got, sets = self._line, self._line.received, self._line.collector
        return LineCounts(
            got.frames_in,
            got.bytes_in,
            got.bad_checksums,
            got.malformed,
            got.skipped_bytes,
            line.implausible,
            sets.other,
            sets.complete,
            sets.lost,
        )

    def parameter(self, number: int) -> float:
        return float(self._parameters[number])

    def time(self, now_us: int) -> None:
        self._now_us = now_us
        if not self._begun:
            self._begun_us = now_us
        self._begun = True

    def line(self, chunk: bytes) -> None:
        if self._line.take(chunk):
            self._pending, self._set_us = True, self._now_us

    def values(self, measured: Sequence[float], groups: int) -> None:
        for driver, own in zip(DRIVERS, self._classes, strict=True):
            if not groups & 1 << driver.group:
                continue
            at = driver.offset + driver.aged
            age_s = F(measured[driver.offset]) if driver.aged else F(0)
            age_us = int(age_s / US) if 0 < age_s < LONGEST_AGE_S else 0
            values = [float(F(value)) for value in measured[at : at + driver.count]]
            own.hard = Sample(_padded(values), (self._now_us - age_us) & U32, driver.count, HARD, 0)
            own.fresh_hard = True

    def step(self, armed: bool) -> int:
        found, age_s = 0, self._age_s()
        used = int(self._value("SENS_SOFT")) != 0
        stale = used and bool(age_s > self._value("SENS_STALE"))
        if stale != self.stale:
            found |= STEP_STALE if stale else STEP_BACK
        self.stale = stale
        failed = armed and (self.failed or (used and bool(age_s > self._value("SENS_FAIL"))))
        if failed and not self.failed:
            found |= STEP_FAILED
        self.failed = failed
        return found

    def begin(self) -> bool:
        found = self._line.set
        if not self._pending or found is None:
            return False
        self._pending = False
        stamp_us = self._stamp(found)
        forward = self._stamped and stamp_us > self._stamp_us
        if not forward:
            for own in self._classes:
                own.memory[:] = 0
        self._step_s = F(stamp_us - self._stamp_us) * US if forward else F(0)
        self._stamped, self._stamp_us = True, stamp_us
        self._find_offset(forward)
        pose = self._pose
        pose[:] = 0
        attitude, rates, velocity, force = found.attitude, found.rates, found.velocity, found.force
        pose[0:3] = attitude.roll_rad, attitude.pitch_rad, attitude.yaw_rad
        pose[3:6] = self._place(self._counts_from_home(found), self._takeoff)[0]
        if rates is not None:
            pose[6:9] = rates.roll_rad_s, rates.pitch_rad_s, rates.yaw_rad_s
        if velocity is not None:
            pose[9:12] = velocity.north_m_s, velocity.east_m_s, velocity.down_m_s
        if force is not None:
            pose[12:15] = force.forward_m_s2, force.right_m_s2, force.down_m_s2
        return True

    def rebuild(self, number: int) -> None:
        own, driver = self._classes[number], DRIVERS[number]
        found, memory = self._rebuild[number](self._pose, np.array([self._step_s], F), self._takeoff, own.memory)
        count = REBUILT_FIX if number == GNSS else driver.count
        values = list(found[driver.soft_from : driver.soft_from + count])
        if self._value("SENS_SOFT_NOISE") > F(0.5) and self.source(number) == SOFT:
            values = [value + self._noise(number, i) for i, value in enumerate(values)]
        if not all(map(math.isfinite, values)):
            self.refused += 1
            own.memory[:] = 0
            return
        if number == GNSS:
            values += [self._value("GNSS_EPH"), self._value("GNSS_EPV")]
        own.memory = memory
        own.soft = Sample(_padded(values), (self._stamp_us + self._offset_us) & U32, driver.count, SOFT, 0)
        own.fresh_soft = True

    def read(self, number: int, source: int) -> Sample | None:
        return self._soft_read(number) if source == SOFT else self._hard_read(number)

    def latest(self, number: int, source: int) -> Sample | None:
        own = self._classes[number]
        return own.soft if source == SOFT else own.hard

    def source(self, number: int) -> int:
        return SOFT if int(self._value("SENS_SOFT")) >> number & 1 else HARD

    def age_s(self) -> float:
        return float(self._age_s())

    def stop(self) -> bool:
        return self.failed and SOFT in (self.source(ACCELEROMETER), self.source(GYRO))

    def set(self, parameter: int, value: float, armed: bool) -> int:
        single = F(value)
        if not 0 <= parameter < len(TABLE):
            return Answer.RANGE
        row = TABLE[parameter]
        if not F(row.low) <= single <= F(row.high):
            return Answer.RANGE
        if armed:
            return Answer.ARMED
        self._parameters[parameter] = single
        if row.name == "SENS_SEED":
            self._random = int(single)
        self._take_parameters()
        return Answer.SET

    def motors(self, command: Sequence[float]) -> bytes:
        settings = self._settings
        parts = [min(max(F(value), F(0)), F(1)) for value in command]
        pulses = [1000 + int(np.rint(F(1000) * part)) for part in parts]
        if settings.layout.motors == "pulses":
            return encode(Motors((pulses[0], pulses[1], pulses[2], pulses[3])), settings.layout)
        idle, slope = F(settings.idle_rpm), F(settings.rpm_per_us)
        speeds = [min(int(np.rint(idle + slope * F(us - 1000))), 65535) if us > 1000 else 0 for us in pulses]
        return encode(RotorSpeeds((speeds[0], speeds[1], speeds[2], speeds[3])), settings.layout)

    def _value(self, name: str) -> np.float32:
        value: np.float32 = self._parameters[NAMES.index(name)]
        return value

    def _take_parameters(self) -> None:
        lon, lat = (
            int(np.rint(self._value(f"HOME_{axis}"))) * DEGREE + int(np.rint(self._value(f"HOME_{axis}_E7")))
            for axis in ("LON", "LAT")
        )
        self._home = lon, lat, int(np.rint(self._value("HOME_ALT") * F(1000)))
        named = ("HEIGHT", "PRES", "TEMP"), ("NORTH", "EAST", "DOWN")
        rest = [*(f"HOME_{name}" for name in named[0]), *(f"FIELD_{name}" for name in named[1]), "HOME_GRAV"]
        self._takeoff = np.array([F(lat) * F(RAD_PER_COUNT), *map(self._value, rest)], F)

    def _age_s(self) -> np.float32:
        since_us = self._set_us if self._line.collector.complete else self._begun_us
        return F(self._now_us - since_us) * US

    def _stamp(self, found: PoseSet) -> int:
        """Type 7's time, which is of the sender's clock; else when the set came."""
        stamped = STATUS in self._settings.kinds and found.status is not None
        return found.status.time_ms * 1000 if stamped and found.status is not None else self._set_us

    def _find_offset(self, forward: bool) -> None:
        """From the sender's clock to ours: by the set that took the shortest."""
        offset_us = self._set_us - self._stamp_us
        self._offset_us += DRIFT_US
        if not forward or offset_us < self._offset_us:
            self._offset_us = offset_us

    def _counts_from_home(self, found: PoseSet) -> Floats:
        lon, lat, alt = position_counts(found.position)
        lon0, lat0, alt0 = self._home
        return np.array([(lon - lon0 + TURN // 2) % TURN - TURN // 2, lat - lat0, alt - alt0], F)

    def _draw(self) -> int:
        x = self._random
        x ^= x << 13 & U32
        x ^= x >> 17
        x ^= x << 5 & U32
        self._random = x
        return x

    def _noise(self, number: int, axis: int) -> np.float32:
        """The sum of twelve even numbers, by its standard deviation."""
        total = -GAUSS_MEAN
        for _ in range(6):
            x = self._draw()
            total += (x & 0xFFFF) + (x >> 16)
        name = "VELOCITY" if number == GNSS and axis >= REBUILT_FIX // 2 else CLASSES[number].upper()
        return self._value(f"NOISE_{name}") * (F(total) / GAUSS_UNIT)

    def _hard_read(self, number: int) -> Sample | None:
        own = self._classes[number]
        fresh, own.fresh_hard = own.fresh_hard, False
        return own.hard if fresh else None

    def _soft_read(self, number: int) -> Sample | None:
        """A class of every control period holds its last sample; a slower one waits for its time, and for a set unless
        the line is stale."""
        own, period_us = self._classes[number], self._settings.periods_us[number]
        waits = period_us and (self._now_us < own.due_us or not (own.fresh_soft or self.stale))
        if own.soft is None or waits:
            return None
        flags = (STALE if self.stale else 0) | (0 if own.fresh_soft else HELD)
        own.fresh_soft, own.due_us = False, self._now_us + period_us
        return own.soft._replace(flags=flags)


def _padded(values: Sequence[float]) -> tuple[float, ...]:
    return (*map(float, values), *(0.0,) * (SAMPLE_MOST - len(values)))
