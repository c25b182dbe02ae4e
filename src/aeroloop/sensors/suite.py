"""All sensors of an aircraft: sampling times, samples in transit and faults."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections import deque
from pathlib import Path
from typing import Annotated, Any, Protocol, get_args

import numpy as np

from aeroloop.core.config import Config, convert, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import CHANNELLED, Switch, Switched, three
from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import NS, Air, Place, RigidState
from aeroloop.sensors.airspeed import Airspeed, AirspeedConfig, AirspeedSample
from aeroloop.sensors.barometer import Barometer, BarometerConfig, BarometerSample
from aeroloop.sensors.detailed_imu import DetailedImu
from aeroloop.sensors.fault_errors import TIMED, VIBRATION, error
from aeroloop.sensors.gnss import DetailedGnss, Gnss, GnssConfig, GnssSample
from aeroloop.sensors.imu import Imu, ImuConfig, ImuSample
from aeroloop.sensors.imu_history import ImuHistory
from aeroloop.sensors.magnetometer import Magnetometer, MagnetometerConfig, MagnetometerSample
from aeroloop.sensors.noise import Axes, Channel, Streams
from aeroloop.sensors.rangefinder import Beam, Rangefinder, RangefinderConfig, RangefinderSample
from aeroloop.sensors.scene import Scene, StateScene, body_from_world
from aeroloop.sensors.schedule import Grid, Name, Sensor
from aeroloop.sensors.tachometer import Tachometer, TachometerConfig, TachometerSample

Sample = (
    ImuSample
    | MagnetometerSample
    | BarometerSample
    | GnssSample
    | AirspeedSample
    | RangefinderSample
    | TachometerSample
)

NEVER_NS = 2**63 - 1

NAMES: tuple[str, ...] = get_args(Name)
"""Also the order of samples that are delivered at the same time."""


class Instrument(Protocol):
    """The part of a sensor that the suite uses."""

    channels: dict[str, Channel]

    def measure(self, scene: Scene, steps: int) -> Sample: ...


class SensorSet(Config, frozen=True):
    """The sensors of an aircraft; omitted ones are not fitted."""

    imu: Annotated[ImuConfig | None, note("gyroscope and accelerometer")] = None
    magnetometer: Annotated[MagnetometerConfig | None, note("magnetometer")] = None
    barometer: Annotated[BarometerConfig | None, note("barometer")] = None
    gnss: Annotated[GnssConfig | None, note("satellite navigation")] = None
    airspeed: Annotated[AirspeedConfig | None, note("pitot tube")] = None
    rangefinder: Annotated[RangefinderConfig | None, note("downward range finder")] = None
    tachometer: Annotated[TachometerConfig | None, note("speeds of a multirotor's rotors")] = None


def _imu(config: ImuConfig, streams: Streams) -> Imu:
    return DetailedImu(config, streams) if config.is_detailed else Imu(config, streams)


def _gnss(config: GnssConfig, streams: Streams) -> Gnss:
    return DetailedGnss(config, streams) if config.is_detailed else Gnss(config, streams)


BUILD: dict[str, Any] = {
    "imu": _imu,
    "magnetometer": Magnetometer,
    "barometer": Barometer,
    "gnss": _gnss,
    "airspeed": Airspeed,
    "rangefinder": Rangefinder,
    "tachometer": Tachometer,
}


def preset(name: str) -> SensorSet:
    """A set of sensors by name."""
    return convert(preset_table(name), SensorSet, f"sensor preset {name}")


def preset_table(name: str) -> dict[str, Any]:
    """The same as in the file, for callers that change single values."""
    table = _presets()
    if name not in table:
        raise ConfigError(f"unknown sensor preset {name!r}, expected one of: {', '.join(table)}")
    chosen: dict[str, Any] = table[name]
    return chosen


def presets() -> tuple[str, ...]:
    return tuple(_presets())


def _presets() -> dict[str, Any]:
    """By name; a set has all sensors of the earlier one that it is based on, except those that it has itself."""
    found: dict[str, Any] = {}
    for name, table in tomllib.loads((Path(__file__).parent / "presets.toml").read_text(encoding="utf-8")).items():
        based_on = table.pop("based_on", None)
        found[name] = {**found[based_on], **table} if based_on is not None else table
    return found


@dataclasses.dataclass(slots=True)
class _Disturbance:
    """An active fault, with its value for each axis of its channel, or of a vibration its three numbers."""

    kind: str
    channel: Channel
    values: tuple[float, ...]
    began_ns: int | None = None  # time of its first sample


class _Post:
    """One sensor, its sampling times, its samples in transit and its faults."""

    def __init__(self, name: str, config: Sensor, streams: Streams) -> None:
        self.name = name
        self.grid = Grid(config)
        self.due_ns = self.grid.next_ns  # time of the next sampling or delivery
        self._under_way: deque[Sample] = deque()
        self.instrument: Instrument = BUILD[name](config, streams.child(name))
        self._switched: dict[tuple[str, str], _Disturbance] = {}  # by kind and channel
        self._active: list[_Disturbance] = []
        self._fault_free = True  # no fault, and no remaining effect of one
        self._last: Sample | None = None

    def switch(self, switch: Switch) -> Switched:
        """Switch a fault on or off."""
        channels = self.instrument.channels
        where = f"fault of {self.name}"
        name = _channel(switch.channel, channels, where)
        whole = switch.kind not in CHANNELLED
        key = switch.kind, "" if whole else name
        values: tuple[float, ...] = ()
        if switch.on:
            if switch.kind == "vibration":
                values = three(switch.values, VIBRATION)
            elif not whole:
                values = _values(switch.value, channels[name], f"{where}: channel {name}")
            if self._fault_free:
                self._last = None  # of an earlier fault: the sensor would freeze to an old value
            self._fault_free = False
            self._switched[key] = _Disturbance(switch.kind, channels[name], values)
        else:
            self._switched.pop(key, None)
        return Switched(0 if whole else list(channels).index(name), values)

    def attend(self, t_ns: int, scene: Scene, arrived: list[Sample]) -> None:
        """Take a sample if it is due, and deliver those that have arrived."""
        grid, under_way = self.grid, self._under_way
        if grid.next_ns <= t_ns:
            steps = grid.take(t_ns)
            if self._fault_free:
                sample = self.instrument.measure(scene, steps)
                if sample.ready_ns <= t_ns and not under_way:  # without latency it need not be queued
                    arrived.append(sample)
                    self.due_ns = grid.next_ns
                    return
                under_way.append(sample)
            else:
                self._sample_disturbed(scene, steps)
        while under_way and under_way[0].ready_ns <= t_ns:
            arrived.append(under_way.popleft())
        self.due_ns = grid.next_ns
        if under_way and under_way[0].ready_ns < self.due_ns:
            self.due_ns = under_way[0].ready_ns

    def _sample_disturbed(self, scene: Scene, steps: int) -> None:
        """Take a sample and queue it with the effect of its faults, unless one suppresses it."""
        active = list(self._switched.values())
        timed = [fault for fault in active if fault.kind in TIMED]
        for fault in timed:
            fault.began_ns = scene.state.t_ns if fault.began_ns is None else fault.began_ns
        if timed or active != self._active:
            self._active = active
            self._disturb(scene.state.t_ns)
        self._fault_free = not active
        # A failed sensor continues to sample without delivery, so that its later noise does not depend on the fault.
        fresh = self.instrument.measure(scene, steps)
        kinds = {fault.kind for fault in active}
        if "frozen" in kinds and self._last is not None:
            sent = self._last._replace(t_ns=fresh.t_ns, ready_ns=fresh.ready_ns)
        else:
            sent = self._last = fresh
        if "silent" not in kinds:
            self._under_way.append(sent)

    def _disturb(self, t_ns: int) -> None:
        if isinstance(self.instrument, Gnss):
            self.instrument.lost = any(fault.kind == "no_fix" for fault in self._active)
        for channel in self.instrument.channels.values():
            mine = [fault for fault in self._active if fault.channel is channel]
            bias = np.array([fault.values for fault in mine if fault.kind == "bias"])
            noise = np.array([fault.values for fault in mine if fault.kind == "noise"])
            added = _summed(bias, channel.axes)
            for fault in mine:
                if fault.began_ns is not None:
                    added = added + error(fault.kind, fault.values, channel.axes, (t_ns - fault.began_ns) / NS)
            channel.disturb(added, _summed(noise**2, channel.axes) ** 0.5)
            channel.clip(min((fault.values[0] for fault in mine if fault.kind == "clipped"), default=math.inf))


def _summed(rows: Vec, axes: int) -> Vec:
    total: Vec = rows.reshape(-1, axes).sum(axis=0)
    return total


def _channel(name: str, channels: dict[str, Channel], where: str) -> str:
    name = name or next(iter(channels))
    if name not in channels:
        raise ConfigError(f"{where}: unknown channel {name!r}, expected one of: {', '.join(channels)}")
    return name


def _values(value: Axes, channel: Channel, where: str) -> tuple[float, ...]:
    values = value if isinstance(value, tuple) else (value,) * channel.axes
    if len(values) != channel.axes:
        raise ConfigError(f"{where} has {channel.axes} axis, expected one value")
    return values


class Suite:
    """The sensors of one aircraft in flight.

    In lockstep, step to `next_ns`; then every sample is taken and delivered at its exact nanosecond.
    """

    def __init__(self, sensors: SensorSet, streams: Streams, turn_W: Vec3 | None = None) -> None:
        """`turn_W`: rate of the earth's rotation (rad/s), None where it is not simulated."""
        self._posts: list[_Post] = []
        self.history: ImuHistory | None = None  # to be fed with every step of the body; None: no sensor needs it
        for name in NAMES:
            config = getattr(sensors, name)
            if config is not None:
                self._posts.append(_Post(name, config, streams))
                if isinstance(imu := self._posts[-1].instrument, Imu):
                    imu.turn_W = turn_W
                if isinstance(imu, DetailedImu) and imu.history is not None:
                    self.history = imu.history
                    self.history.turn_W = turn_W
        self._t_ns = -1
        self.next_ns = min((post.grid.next_ns for post in self._posts), default=NEVER_NS)
        """Time of the next sampling or delivery."""

    def switch(self, switch: Switch) -> Switched:
        """Switch a fault of one of them on or off."""
        for post in self._posts:
            if post.name == switch.target:
                return post.switch(switch)
        raise ConfigError(f"fault of {switch.target}: there is no such sensor on this aircraft")

    def see(self, beam: Beam) -> None:
        """Let the range finder's beam end at objects of the world."""
        for post in self._posts:
            if isinstance(post.instrument, Rangefinder):
                post.instrument.beam = beam

    def due(self, t_ns: int) -> tuple[str, ...]:
        """The sensors that take a sample at this time."""
        return tuple(post.name for post in self._posts if post.grid.next_ns <= t_ns)

    def sample(
        self,
        state: RigidState,
        air: Air,
        place: Place,
        *,
        motor_current_A: float = 0.0,
        thrust_N: float = 0.0,
        terrain_m: float = 0.0,
        ground_m: float = 0.0,
    ) -> list[Sample]:
        """Take the samples that are due, and return those that arrive by now, in order of arrival."""
        if self._t_ns <= state.t_ns < self.next_ns:
            self._t_ns = state.t_ns
            return []
        R_BW = body_from_world(state.quat_WB)
        scene = StateScene(state, air, place, R_BW, motor_current_A, thrust_N, terrain_m, ground_m=ground_m)
        return self.sample_scene(scene)

    def sample_scene(self, scene: Scene) -> list[Sample]:
        """The same for a scene that computes its quantities on demand."""
        t_ns = scene.state.t_ns
        if t_ns < self._t_ns:
            raise ValueError(f"sensors: time went back from {self._t_ns} ns to {t_ns} ns")
        self._t_ns = t_ns
        if t_ns < self.next_ns:
            return []
        arrived: list[Sample] = []
        next_ns = NEVER_NS
        for post in self._posts:
            if post.due_ns <= t_ns:
                post.attend(t_ns, scene, arrived)
            if post.due_ns < next_ns:
                next_ns = post.due_ns
        self.next_ns = next_ns
        if len(arrived) > 1:
            arrived.sort(key=lambda sample: sample.ready_ns)
        return arrived
