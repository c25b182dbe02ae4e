"""Faults: what can fail, how, and when. Each change, manual or planned, is one `Switch` and one log row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, get_args

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

SensorTarget = Literal["state", "imu", "magnetometer", "barometer", "gnss", "airspeed", "rangefinder"]
LineTarget = Literal["to_plant", "to_board"]
ActuatorTarget = Literal["rotor", "servo", "battery"]
BoardTarget = Literal["board", "board.1", "board.2", "board.3"]
"""The only board of a flight, or one of several."""
RotorSensorTarget = Literal["tachometer"]
RobotTarget = Literal["joint", "platform"]
RobotSensorTarget = Literal["encoder"]
SightTarget = Literal["camera", "pad"]
Target = Literal[
    SensorTarget,
    LineTarget,
    ActuatorTarget,
    BoardTarget,
    RotorSensorTarget,
    RobotTarget,
    RobotSensorTarget,
    SightTarget,
]
SensorKind = Literal["silent", "frozen", "bias", "noise"]
LineKind = Literal["delay_s", "jitter_s", "loss", "corrupt", "duplicate", "reorder", "baud"]
ActuatorKind = Literal["dead", "stuck", "weak", "slow", "offset", "sag"]
BoardKind = Literal["hang", "reset"]
BoardsKind = Literal["babbling", "nan"]
"""Of one of several boards."""
AmongBoardsKind = Literal["sensor_bias", "reference_bias", "unaligned", "wrong_image"]
"""The same, of what it receives, and of what it is."""
GnssKind = Literal["no_fix"]
DriftKind = Literal["ramp", "jump"]
ImuKind = Literal["vibration", "clipped"]
MotorKind = Literal["effectiveness", "load"]
WaveKind = Literal["load_sine"]
RobotKind = Literal["payload", "friction"]
SightKind = Literal["dark", "hide", "cover"]
Kind = Literal[
    SensorKind,
    LineKind,
    ActuatorKind,
    BoardKind,
    GnssKind,
    MotorKind,
    WaveKind,
    RobotKind,
    SightKind,
    BoardsKind,
    DriftKind,
    ImuKind,
    AmongBoardsKind,
]

SENSOR_TARGETS: tuple[str, ...] = (
    *get_args(SensorTarget),
    *get_args(RotorSensorTarget),
    *get_args(RobotSensorTarget),
)
LINE_TARGETS: tuple[str, ...] = get_args(LineTarget)
ACTUATOR_TARGETS: tuple[str, ...] = get_args(ActuatorTarget)
ROBOT_TARGETS: tuple[str, ...] = get_args(RobotTarget)
BOARD_TARGETS: tuple[str, ...] = get_args(BoardTarget)
BOARD, *BOARDS = BOARD_TARGETS
INSTANT = ("hang", "reset")
"""Faults of a board that happen once; it ends them itself."""
SIGHT_TARGETS: tuple[str, ...] = get_args(SightTarget)
"""What the camera process draws; the plant only logs the switch."""
CAMERA, PAD = SIGHT_TARGETS
SENSOR_KINDS: tuple[str, ...] = get_args(SensorKind)
LINE_KINDS: tuple[str, ...] = get_args(LineKind)

TARGETS: tuple[str, ...] = (
    *get_args(SensorTarget),
    *LINE_TARGETS,
    *ACTUATOR_TARGETS,
    BOARD,
    *get_args(RotorSensorTarget),
    *ROBOT_TARGETS,
    *get_args(RobotSensorTarget),
    *SIGHT_TARGETS,
    *BOARDS,
)
KINDS: tuple[str, ...] = (
    *SENSOR_KINDS,
    *LINE_KINDS,
    *get_args(ActuatorKind),
    *get_args(BoardKind),
    *get_args(GnssKind),
    *get_args(MotorKind),
    *get_args(WaveKind),
    *get_args(RobotKind),
    *get_args(SightKind),
    *get_args(BoardsKind),
    *get_args(DriftKind),
    *get_args(ImuKind),
    *get_args(AmongBoardsKind),
)
"""The index, here and in TARGETS, is the number in the log: append only."""

KINDS_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SENSOR_TARGETS, SENSOR_KINDS),
    "gnss": (*SENSOR_KINDS, *get_args(GnssKind), *get_args(DriftKind)),
    "imu": (*SENSOR_KINDS, *get_args(ImuKind)),
    **dict.fromkeys(LINE_TARGETS, LINE_KINDS),
    "encoder": ("frozen", "bias", "noise"),
    "rotor": ("dead", "stuck", "weak", *get_args(MotorKind), *get_args(WaveKind)),
    "servo": ("stuck", "slow", "offset"),
    "battery": ("sag",),
    BOARD: (*get_args(BoardKind), "slow"),
    **dict.fromkeys(
        BOARDS,
        ("dead", *get_args(BoardKind), "slow", "stuck", "bias", *get_args(BoardsKind), *get_args(AmongBoardsKind)),
    ),
    "joint": ("load", *get_args(WaveKind), "friction"),
    "platform": ("payload",),
    CAMERA: ("frozen", "dark"),
    PAD: ("hide", "cover"),
}

ADDING = ("bias", "noise")
"""The faults of a sensor that have a channel and a value."""
VARYING: tuple[str, ...] = (*get_args(DriftKind), *get_args(ImuKind))
"""The same, for single sensors."""
CHANNELLED = (*ADDING, *VARYING)
WITH_CHANNEL = (*CHANNELLED, "dead", "stuck", "weak", "slow", "offset", *get_args(MotorKind), *get_args(WaveKind))
MOTOR_KINDS: tuple[str, ...] = (*get_args(MotorKind), *get_args(WaveKind))
"""Faults of rotors whose speed is simulated."""
LARGEST = 1e4
"""Largest fault value of a sensor in any unit: the faulty value must still fit its message."""
RANGES: dict[str, tuple[float, float]] = {
    "bias": (-LARGEST, LARGEST),
    "noise": (0.0, LARGEST),
    "weak": (0.0, 1.0),
    "slow": (0.0, 10.0),
    "offset": (-LARGEST, LARGEST),
    "sag": (0.0, 0.9),
    "effectiveness": (0.0, 1.0),
    "load": (-LARGEST, LARGEST),
    "friction": (0.0, 100.0),
    "ramp": (-100.0, 100.0),
    "jump": (-LARGEST, LARGEST),
    "clipped": (0.0, LARGEST),
    "sensor_bias": (-100.0, 100.0),
    "reference_bias": (-100.0, 100.0),
}
"""Limits of fault values of sensors and actuators; those of a link are the limits of its impairments."""
RANGES_OF_THREE: dict[str, dict[str, tuple[float, float]]] = {
    "load_sine": {
        "an amplitude": (-LARGEST, LARGEST),
        "a frequency (Hz)": (0.01, 50.0),
        "a phase (rad)": (-math.tau, math.tau),
    },
    "vibration": {
        "an amplitude": (-LARGEST, LARGEST),
        "a frequency (Hz)": (0.01, 2000.0),
        "a phase (rad)": (-math.tau, math.tau),
    },
    "payload": {"a mass (kg)": (0.0, 100.0), "a place x (m)": (-10.0, 10.0), "a place y (m)": (-10.0, 10.0)},
}
"""The same of faults whose value may be three numbers. With a single number, the first, the others are the aircraft's
usual ones."""
NOT_ZERO = (*CHANNELLED, "sensor_bias", "reference_bias", "slow", "offset", "sag", "load", "friction", *RANGES_OF_THREE)
"""A value of zero would be no fault."""


class Switch(Config, frozen=True):
    """Switch one fault on or off now."""

    target: Annotated[
        Target, note("a sensor, an actuator, a part of a robot, a camera, the pad, or one direction of the link")
    ]
    kind: Annotated[Kind, note("how it fails")]
    on: Annotated[bool, note("true: on; false: off")]
    vehicle: Annotated[int, meta("-", "which of the flight's aircraft, from 0", ge=0, le=15)] = 0
    channel: Annotated[str, note("which channel of the sensor, which actuator or camera; empty for the first")] = ""
    value: Annotated[float | Vec3, meta("of the kind", "fault value, for all axes or each; ignored when off")] = 0.0

    def __post_init__(self) -> None:
        fault, kinds = f"{self.target}: {self.kind}", KINDS_OF[self.target]
        if self.kind not in kinds:
            raise ValueError(f"{self.target}: cannot have {self.kind}, expected one of: {', '.join(kinds)}")
        of_one_board = self.target in LINE_TARGETS and self.channel in BOARDS
        if self.channel and self.kind not in WITH_CHANNEL and self.target != CAMERA and not of_one_board:
            raise ValueError(f"{fault}: concerns the whole, so it has no channel")
        if not all(math.isfinite(value) for value in self.values):
            raise ValueError(f"{fault}: expected a finite value, not {self.value}")
        if not self.on:
            return
        of_three = RANGES_OF_THREE.get(self.kind, {})
        if self.target not in SENSOR_TARGETS and len(self.values) != 1 and not of_three:
            raise ValueError(f"{fault}: expected one number, not {self.value}")
        if self.kind in NOT_ZERO and not any(self.values[:1] if of_three else self.values):
            raise ValueError(f"{fault}: expected a value other than zero")
        for value, (name, (low, high)) in zip(self.values, of_three.items(), strict=False):
            if not low <= value <= high:
                raise ValueError(f"{fault}: expected {name} from {low:g} to {high:g}, not {value:g}")
        low, high = RANGES.get(self.kind, (-math.inf, math.inf))
        if not all(low <= value <= high for value in self.values):
            raise ValueError(f"{fault}: expected {low:g} to {high:g}, not {self.value}")

    @property
    def values(self) -> tuple[float, ...]:
        return self.value if isinstance(self.value, tuple) else (self.value,)


class Switched(NamedTuple):
    """Result of a switch."""

    channel: int = 0  # number of the sensor's channel, or of the actuator among those of its kind
    values: tuple[float, ...] = ()  # for each axis


def three(given: tuple[float, ...], usual: Vec3) -> Vec3:
    """A value of three numbers; of a single one, the others are the usual ones."""
    first, second, third = given if len(given) == 3 else (*given[:1], *usual[1:])
    return first, second, third


def sine(wave: Sequence[float], t_s: float) -> float:
    """Amplitude, frequency (Hz) and phase (rad) of a load, a time after it was switched on."""
    amplitude, frequency_hz, phase_rad = wave
    return amplitude * math.sin(math.tau * frequency_hz * t_s + phase_rad)


def log_row(switch: Switch, switched: Switched) -> tuple[float, ...]:
    """A row of the stream `fault`, from its target on."""
    what = TARGETS.index(switch.target), KINDS.index(switch.kind), switch.on, switched.channel
    return (*what, *(*switched.values, 0.0, 0.0, 0.0)[:3])


class PlannedFault(Config, frozen=True):
    """A fault that starts, and may end, at a simulated time, at every pace and on every rung."""

    target: Annotated[
        Target,
        note(
            "a sensor, `rotor`, `servo`, `battery`, a robot's `joint` or `platform`, a `camera`, the `pad`, one "
            "direction of the link, or the emulated `board`"
        ),
    ]
    kind: Annotated[Kind, note("how it fails, see docs/faults.md")]
    from_s: Annotated[float, meta("s", "start: the first step that begins at or after this time", ge=0, le=86400)]
    to_s: Annotated[
        float | None, meta("s", "end: the first step that begins at or after this time; omitted: no end")
    ] = None
    channel: Annotated[str, note("which channel of the sensor, which actuator or camera; empty for the first")] = ""
    value: Annotated[float | Vec3, meta("of the kind", "fault value, for all axes or each")] = 0.0
    vehicle: Annotated[int, meta("-", "which of the flight's aircraft, from 0", ge=0, le=15)] = 0
    manual: Annotated[
        Literal["", "on", "off"],
        note("recorded from a switch by hand: this one switch at `from_s`, whatever was on before; no `to_s`"),
    ] = ""

    def __post_init__(self) -> None:
        self.switch(on=self.manual != "off")  # raises an error if it is not valid
        if self.manual and self.to_s is not None:
            raise ValueError(f"to_s: a switch by hand ({self.manual}) has no end; leave it out")
        if self.to_s is not None and not self.from_s < self.to_s:
            raise ValueError(f"to_s: expected more than from_s ({self.from_s:g}), not {self.to_s:g}")
        if self.target in BOARD_TARGETS and self.kind in (*INSTANT, "dead") and self.to_s is not None:
            raise ValueError(f"to_s: a board's {self.kind} has no end; leave it out")

    def switch(self, *, on: bool) -> Switch:
        value = self.value if on else 0.0
        return Switch(
            target=self.target, kind=self.kind, on=on, vehicle=self.vehicle, channel=self.channel, value=value
        )

    @property
    def what(self) -> tuple[object, ...]:
        """What can have only one fault at a time; some of a board's faults are instantaneous."""
        moment = self.from_s if self.target in BOARD_TARGETS and self.kind in INSTANT else None
        return self.target, self.kind, self.channel, self.vehicle, moment


def overlap(faults: Mapping[str, PlannedFault]) -> str:
    """Two faults that overlap on one target, in one sentence with their keys; empty: none."""
    ends: dict[tuple[object, ...], tuple[float, str]] = {}
    planned = {key: fault for key, fault in faults.items() if not fault.manual}
    for key, fault in sorted(planned.items(), key=lambda item: item[1].from_s):
        end_s, other = ends.get(fault.what, (-math.inf, ""))
        if fault.from_s < end_s:
            return (
                f"{key}: {fault.target}: {fault.kind} at {fault.from_s:g} s is on already by {other}; "
                f"expected one after the other, or one with both values"
            )
        ends[fault.what] = (math.inf if fault.to_s is None else fault.to_s), key
    return ""


class SightFaults:
    """Which faults of cameras and of what they see are on, by the rows of the stream `fault`."""

    def __init__(self) -> None:
        self._switches: dict[tuple[str, str, int], list[tuple[float, bool]]] = {}

    def take(self, t_s: float, target: float, kind: float, on: float, channel: float) -> None:
        """A row's values, in the order of time."""
        key = TARGETS[int(target)], KINDS[int(kind)], int(channel)
        self._switches.setdefault(key, []).append((t_s, bool(on)))

    def active(self, target: SightTarget, kind: Kind, t_s: float, channel: int = 0) -> bool:
        """At a frame's time. A switch acts on frames after it: one of the same time may be drawn already."""
        on = False
        for switched_s, is_on in self._switches.get((target, kind, channel), ()):
            if switched_s >= t_s:
                break
            on = is_on
        return on
