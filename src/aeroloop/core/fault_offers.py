"""Faults that a person can switch on and off in a flight, each with its unit and a value to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aeroloop.core.config import convert
from aeroloop.core.faults import ADDING, KINDS, SENSOR_KINDS, TARGETS, Switch
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import family, part


@dataclass(frozen=True, slots=True)
class Offer:
    """One fault. A bias or noise is offered for each channel by itself, since each has its unit."""

    target: str
    kind: str
    channels: tuple[str, ...]  # the one it concerns; none where it concerns the whole
    unit: str  # of the value; empty where it has none
    value: float  # to begin with
    axes: int  # 3: the value may be given for each axis
    words: str

    def switch(self, *, on: bool, value: float | Vec3 | None = None, vehicle: int = 0) -> Switch:
        """The order that does it."""
        wanted = self.value if value is None else value
        channel = self.channels[0] if self.channels else ""
        table = {"target": self.target, "kind": self.kind, "on": on, "vehicle": vehicle, "channel": channel}
        return convert({**table, "value": wanted if on else 0.0}, Switch, self.words)


@dataclass(frozen=True, slots=True)
class _Channel:
    name: str
    unit: str
    axes: int
    bias: float
    noise: float
    words: str


SENSORS: dict[str, tuple[str, tuple[_Channel, ...]]] = {
    "state": (
        "state",
        (
            _Channel("position", "m", 3, 0.5, 0.05, "position"),
            _Channel("attitude", "rad", 3, 0.05, 0.01, "attitude"),
            _Channel("tilt", "rad", 2, 0.05, 0.01, "pod tilt"),
            _Channel("velocity", "m/s", 3, 0.2, 0.05, "velocity"),
            _Channel("rate", "rad/s", 3, 0.05, 0.02, "angle rates"),
            _Channel("tilt_rate", "rad/s", 2, 0.05, 0.02, "tilt rates"),
        ),
    ),
    "imu": (
        "IMU",
        (
            _Channel("gyro", "rad/s", 3, 0.02, 0.02, "rate"),
            _Channel("accel", "m/s2", 3, 0.3, 0.5, "specific force"),
        ),
    ),
    "magnetometer": ("magnetometer", (_Channel("field", "T", 3, 1e-5, 2e-6, "field"),)),
    "barometer": (
        "barometer",
        (
            _Channel("pressure", "Pa", 1, 60.0, 10.0, "pressure"),
            _Channel("temperature", "K", 1, 5.0, 1.0, "temperature"),
        ),
    ),
    "gnss": (
        "GNSS",
        (
            _Channel("position", "m", 3, 5.0, 3.0, "position"),
            _Channel("velocity", "m/s", 3, 1.0, 0.5, "velocity"),
        ),
    ),
    "airspeed": (
        "airspeed sensor",
        (
            _Channel("pressure", "Pa", 1, 50.0, 10.0, "pressure"),
            _Channel("temperature", "K", 1, 5.0, 1.0, "temperature"),
        ),
    ),
    "rangefinder": ("range finder", (_Channel("range", "m", 1, 0.5, 0.1, "distance"),)),
}
"""Name for people and channels of each sensor; the first channel is the one meant where none is named."""

_LINES = {"to_plant": "board to plant", "to_board": "plant to board"}
_LINE_FAULTS = {
    "delay_s": ("s", 0.02, "every frame is delayed by this"),
    "jitter_s": ("s", 0.02, "every frame is delayed by up to this, order kept"),
    "loss": ("-", 0.3, "fraction of frames lost"),
    "corrupt": ("-", 0.001, "fraction of bytes corrupted"),
    "duplicate": ("-", 0.2, "fraction of frames duplicated"),
    "reorder": ("-", 0.2, "fraction of frames overtaken by the next"),
    "baud": ("Bd", 115_200.0, "limit of the bit rate, ten bits a byte"),
}
_WHOLE = {"silent": "sends nothing", "frozen": "sends its last values again and again"}


def offers(scenario: Scenario) -> tuple[Offer, ...]:
    """The faults that work in this flight, as its family says."""
    reference = family(scenario.kind).faults
    offered: tuple[Offer, ...] = part(reference)(scenario) if reference else ()
    return offered


def of_sensor(target: str) -> tuple[Offer, ...]:
    """What a sensor, one of SENSORS, can do wrong."""
    name, channels = SENSORS[target]
    whole = [Offer(target, kind, (), "", 0.0, 0, f"{name}: {_WHOLE[kind]}") for kind in SENSOR_KINDS if kind in _WHOLE]
    adding = [
        Offer(target, kind, (c.name,), c.unit, getattr(c, kind), c.axes, f"{name}: {kind} of the {c.words}")
        for kind in ADDING
        for c in channels
    ]
    return (*whole, *adding)


def of_links() -> tuple[Offer, ...]:
    """What the link can do to frames, in both directions."""
    return tuple(
        Offer(target, kind, (), unit, value, 1, f"{way}: {words}")
        for target, way in _LINES.items()
        for kind, (unit, value, words) in _LINE_FAULTS.items()
    )


def words(row: Sequence[float]) -> str:
    """What a row of the log says that was switched, from its target on."""
    numbers = [int(number) for number in row[:4]]
    if not (0 <= numbers[0] < len(TARGETS) and 0 <= numbers[1] < len(KINDS)):
        return f"fault {numbers[0]}, {numbers[1]}"
    target, kind, on = TARGETS[numbers[0]], KINDS[numbers[1]], bool(row[2])
    if target in _LINES:
        what, unit, axes = f"{_LINES[target]}: {kind}", _LINE_FAULTS[kind][0], 1
    else:
        name, channels = SENSORS[target]
        channel = channels[min(max(numbers[3], 0), len(channels) - 1)]
        what, unit, axes = f"{name}: {kind}", "", 0
        if kind in ADDING:
            what, unit, axes = f"{what} of the {channel.words}", channel.unit, channel.axes
    if not on:
        return f"{what} off"
    values = list(row[4 : 4 + axes])
    if len(set(values)) == 1:  # the same for all axes
        values = values[:1]
    amount = ", ".join(f"{value:g}" for value in values)
    shown = f" {amount} {unit}".rstrip(" -") if any(values) else ""
    return f"{what}{shown} on"
