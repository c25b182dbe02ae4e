"""Sampling and delivery times of a sensor: in whole nanoseconds, without drift or jitter."""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.faults import PlannedFault
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS

Name = Literal["imu", "magnetometer", "barometer", "gnss", "airspeed", "rangefinder", "tachometer"]


class Sensor(Config, frozen=True):
    """Keys that all sensors have."""

    rate_hz: Annotated[float, meta("Hz", "samples a second", ge=0.001, le=1e5)]
    delay_s: Annotated[float, meta("s", "latency from sampling to delivery", ge=0, le=10)] = 0.0
    start_s: Annotated[float, meta("s", "simulated time of the first sample", ge=0, le=86400)] = 0.0

    @property
    def period_s(self) -> float:
        return 1.0 / self.rate_hz


class Fault(Config, frozen=True):
    """A planned sensor fault: the older form of `[[faults]]`, for every aircraft of the flight."""

    sensor: Annotated[Name, note("which sensor")]
    kind: Annotated[
        Literal["silent", "frozen", "bias", "noise"],
        note("`silent`: no samples; `frozen`: repeats the last values; `bias`, `noise`: adds `value`"),
    ]
    start_s: Annotated[float, meta("s", "simulated time of its start", ge=0, le=86400)]
    end_s: Annotated[float, meta("s", "simulated time of its end", gt=0)] = 86400.0
    channel: Annotated[str, note("for `bias` and `noise`: which channel of the sensor; empty for its first")] = ""
    value: Annotated[
        float | Vec3, meta("of the channel", "the bias, or the standard deviation of the noise, for all axes or each")
    ] = 0.0

    def __post_init__(self) -> None:
        if not self.start_s < self.end_s:
            raise ValueError(f"fault of {self.sensor}: expected start_s before end_s, not {self.start_s}, {self.end_s}")
        adds = self.kind in ("bias", "noise")
        if adds == (self.value in (0.0, (0.0, 0.0, 0.0))):
            raise ValueError(
                f"fault of {self.sensor}: value belongs to bias and noise, which need one; kind={self.kind}"
            )
        if self.channel and not adds:
            raise ValueError(f"fault of {self.sensor}: {self.kind} applies to the whole sensor; leave out channel")

    @property
    def planned(self) -> PlannedFault:
        """The same fault in the common form."""
        return PlannedFault(
            target=self.sensor,
            kind=self.kind,
            from_s=self.start_s,
            to_s=self.end_s,
            channel=self.channel,
            value=self.value,
        )


class Grid:
    """The sampling times of a sensor: k / rate after its start, each rounded to a nanosecond."""

    def __init__(self, sensor: Sensor) -> None:
        self._rate_mHz = round(sensor.rate_hz * 1000)
        self._start_ns = round(sensor.start_s * NS)
        period_ns, rest = divmod(NS * 1000, self._rate_mHz)
        self._period_ns = period_ns if rest == 0 else 0  # where every time is a whole number
        self._taken = 0
        self.next_ns = self._start_ns

    def take(self, t_ns: int) -> int:
        """Number of sampling times since the last call.

        More than one means that the loop stepped over some: there is one sample then, of the present state, with the
        errors of the latest sampling time.
        """
        if t_ns < self.next_ns:
            return 0
        before = self._taken
        self._taken += 1
        self.next_ns = self.next_ns + self._period_ns if self._period_ns else self._instant(self._taken)
        if t_ns < self.next_ns:
            return 1
        self._taken = (t_ns - self._start_ns) * self._rate_mHz // (NS * 1000)
        while self._instant(self._taken) <= t_ns:
            self._taken += 1
        self.next_ns = self._instant(self._taken)
        return self._taken - before

    def _instant(self, k: int) -> int:
        return self._start_ns + (k * NS * 1000 + self._rate_mHz // 2) // self._rate_mHz
