"""Faults that can be switched in flight, each with its unit and default value, and their descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import (
    ACTUATOR_TARGETS,
    ADDING,
    BOARD,
    BOARD_TARGETS,
    BOARDS,
    CAMERA,
    CHANNELLED,
    INSTANT,
    KINDS,
    KINDS_OF,
    LINE_TARGETS,
    MOTOR_KINDS,
    PAD,
    ROBOT_TARGETS,
    SIGHT_TARGETS,
    TARGETS,
    VARYING,
    PlannedFault,
    Switch,
    Switched,
)
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import part


@dataclass(frozen=True, slots=True)
class Offer:
    """One fault. A fault with channels is listed once for each channel, since each has its own unit."""

    target: str
    kind: str
    channels: tuple[str, ...]  # the channel; empty: the whole sensor or actuator
    unit: str  # unit of the value, or of each of its three numbers; empty: no value
    value: float  # default value
    axes: int  # 3: the value may be given for each axis, or three different numbers
    words: str

    def switch(self, *, on: bool, value: float | Vec3 | None = None, vehicle: int = 0) -> Switch:
        """The request that switches it."""
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
    "tachometer": ("tachometer", (_Channel("speed", "rad/s", 1, 20.0, 5.0, "rotor speeds"),)),
    "encoder": ("encoders", (_Channel("angle", "rad", 3, 1e-3, 1e-4, "joint angles"),)),
}
"""Display name and channels of each sensor; the first channel is the default."""

_LINES = {"to_plant": "board to plant", "to_board": "plant to board"}
_LINE_FAULTS = {
    "delay_s": ("s", 0.02, "delay of every frame"),
    "jitter_s": ("s", 0.02, "random delay of every frame, up to this value; order is kept"),
    "loss": ("-", 0.3, "fraction of frames lost"),
    "corrupt": ("-", 0.001, "fraction of bytes corrupted"),
    "duplicate": ("-", 0.2, "fraction of frames duplicated"),
    "reorder": ("-", 0.2, "fraction of frames overtaken by the next"),
    "baud": ("Bd", 115_200.0, "limit of the bit rate, ten bits a byte"),
}
_WHOLE = {
    "silent": "sends nothing",
    "frozen": "repeats its last values",
    "no_fix": "reports no fix, no satellites and its last position",
}
_ACTUATOR_FAULTS = {
    "dead": ("", 0.0, "stops"),
    "stuck": ("", 0.0, "stays as it is now"),
    "weak": ("-", 0.5, "remaining fraction of its thrust"),
    "slow": ("s", 0.2, "additional lag"),
    "offset": ("rad", 0.05, "offset"),
    "sag": ("-", 0.2, "fraction of the voltage that is lost; thrust falls with its square"),
    "effectiveness": ("-", 0.8, "remaining fraction of its speed"),
    "load": ("rad/s2", 4000.0, "deceleration by an additional load"),
    "load_sine": ("rad/s2, Hz, rad", 3000.0, "deceleration by a load that oscillates, at 2 Hz unless given"),
}
_VARYING = {
    ("ramp", "position"): ("m/s", 0.5, "drift of the {}"),
    ("ramp", "velocity"): ("m/s2", 0.1, "drift of the {}"),
    ("jump", "position"): ("m", 10.0, "jump of the {}, which fades with 10 s"),
    ("jump", "velocity"): ("m/s", 2.0, "jump of the {}, which fades with 10 s"),
    ("vibration", "gyro"): ("rad/s, Hz, rad", 0.5, "vibration of the {}, at 80 Hz unless given"),
    ("vibration", "accel"): ("m/s2, Hz, rad", 10.0, "vibration of the {}, at 80 Hz unless given"),
    ("clipped", "gyro"): ("rad/s", 0.2, "largest magnitude of each axis of the {}"),
    ("clipped", "accel"): ("m/s2", 8.0, "largest magnitude of each axis of the {}"),
}
"""By kind and channel: unit, usual value, meaning."""
_SIGHT_FAULTS = {
    "frozen": "repeats its last image",
    "dark": "every image is black, and its depth has no reading",
    "hide": "not drawn",
    "cover": "one half of it is covered",
}
_BOARD_FAULTS = {
    "hang": ("", 0.0, "the control task hangs"),
    "reset": ("", 0.0, "reset"),
    "slow": ("s", 0.02, "commands are sent later"),
    "dead": ("", 0.0, "sends nothing"),
    "stuck": ("", 0.0, "repeats its last command"),
    "bias": ("of the command", 0.1, "offset of its command"),
    "babbling": ("", 0.0, "sends random commands"),
    "nan": ("", 0.0, "commands are not a number"),
    "sensor_bias": ("m", 0.5, "offset east of the position that it is sent"),
    "reference_bias": ("m", 0.5, "offset east of the references that it receives"),
    "unaligned": ("", 0.0, "messages between it and the other boards are lost"),
    "wrong_image": ("", 0.0, "reports another interface at its start"),
}


def offers(scenario: Scenario) -> tuple[Offer, ...]:
    """The faults that can be switched in this flight, from the rows of its family and of its controller; and those of
    its cameras, of any family."""
    rows = scenario.family.faults, scenario.flown_by.faults
    offered = (offer for reference in rows if reference for offer in part(reference)(scenario))
    by_hand = of_board(BOARD, scenario.controller.board_faults_by_hand(scenario))
    return (*offered, *by_hand, *of_sight(scenario))


def legal(scenario: Scenario) -> tuple[Offer, ...]:
    """All faults that can be planned: also those that a board injects into itself, by a plan of its own."""
    planned = of_board(BOARD, scenario.controller.board_faults(scenario))
    return tuple(dict.fromkeys((*offers(scenario), *planned)))


def of_board(target: str, kinds: Sequence[str], channels: Sequence[str] = ()) -> tuple[Offer, ...]:
    """Faults of a board; `channels`: elements of its command, for those kinds that have a channel."""
    found = []
    for kind in kinds:
        unit, value, meaning = _BOARD_FAULTS[kind]
        names: list[tuple[str, ...]] = [(name,) for name in channels] if kind in ADDING else []
        found += [
            Offer(target, kind, channel, unit, value, 1 if unit else 0, f"{': '.join((target, *channel))}: {meaning}")
            for channel in names or [()]
        ]
    return tuple(found)


def of_sight(scenario: Scenario) -> tuple[Offer, ...]:
    """Faults of the cameras, and of the landing pad if there is one."""
    cameras = [
        Offer(CAMERA, kind, (camera.name,), "", 0.0, 0, f"camera {camera.name}: {_SIGHT_FAULTS[kind]}")
        for camera in scenario.cameras
        for kind in KINDS_OF[CAMERA]
    ]
    if not cameras or scenario.pad is None:
        return tuple(cameras)
    return (*cameras, *(Offer(PAD, kind, (), "", 0.0, 0, f"pad: {_SIGHT_FAULTS[kind]}") for kind in KINDS_OF[PAD]))


def sight_switch(scenario: Scenario, switch: Switch) -> Switched:
    """What the plant does for a fault of SIGHT_TARGETS: it finds the camera's number for the log. ConfigError if the
    flight does not have the fault."""
    alike = [each for each in of_sight(scenario) if (each.target, each.kind) == (switch.target, switch.kind)]
    if not alike:
        raise ConfigError(f"no fault of {switch.target} can be switched in this flight: it has none")
    names = [name for offer in alike for name in offer.channels]
    if switch.channel and switch.channel not in names:
        raise ConfigError(f"{switch.target} has no {switch.channel!r}; expected one of: {', '.join(names)}")
    return Switched(names.index(switch.channel) if switch.channel else 0)


def of_sensor(target: str) -> tuple[Offer, ...]:
    """Faults of a sensor, one of SENSORS."""
    name, channels = SENSORS[target]
    kinds = [kind for kind in KINDS_OF[target] if kind in _WHOLE]
    whole = [Offer(target, kind, (), "", 0.0, 0, f"{name}: {_WHOLE[kind]}") for kind in kinds]
    adding = [
        Offer(target, kind, (c.name,), c.unit, getattr(c, kind), c.axes, f"{name}: {kind} of the {c.words}")
        for kind in ADDING
        for c in channels
    ]
    varying = [
        Offer(target, kind, (c.name,), unit, value, _axes_of(kind, unit, c), f"{name}: {words.format(c.words)}")
        for kind in KINDS_OF[target]
        if kind in VARYING
        for c in channels
        for unit, value, words in (_VARYING[kind, c.name],)
    ]
    return (*whole, *adding, *varying)


def of_links() -> tuple[Offer, ...]:
    """Impairments of the link, in both directions."""
    return tuple(
        Offer(target, kind, (), unit, value, 1, f"{way}: {words}")
        for target, way in _LINES.items()
        for kind, (unit, value, words) in _LINE_FAULTS.items()
    )


def of_actuators(
    rotors: Sequence[str],
    servos: Sequence[str] = (),
    *,
    offset_unit: str = "rad",
    offset: float = 0.05,
    motors: bool = False,
) -> tuple[Offer, ...]:
    """Faults of the rotors and servos of these names, and of the battery that supplies the rotors; `motors`: also those
    of motors whose speed is simulated."""
    found = []
    for target, names in (("rotor", rotors), ("servo", servos)):
        for name in names:
            for kind in KINDS_OF[target]:
                if kind in MOTOR_KINDS and not motors:
                    continue
                unit, value, meaning = _ACTUATOR_FAULTS[kind]
                if kind == "offset":
                    unit, value = offset_unit, offset
                found.append(Offer(target, kind, (name,), unit, value, _axes(unit), f"{name}: {meaning}"))
    if rotors:
        unit, value, meaning = _ACTUATOR_FAULTS["sag"]
        found.append(Offer("battery", "sag", (), unit, value, 1, f"battery: {meaning}"))
    return tuple(found)


def _axes_of(kind: str, unit: str, channel: _Channel) -> int:
    """A wave has three numbers for all axes, and a limit one."""
    return _axes(unit) if kind in ("vibration", "clipped") else channel.axes


def _axes(unit: str) -> int:
    """How many numbers a value of this unit may have: those of three have a unit each."""
    return len(unit.split(",")) if unit else 0


def check_planned(scenario: Scenario) -> None:
    """Check that the targets of the planned faults exist; ConfigError lists those that do."""
    planned = scenario.planned
    known = legal(scenario) if planned else ()
    for where, fault in planned.items():
        key, expected = _lacking(fault, scenario, known)
        if key:
            raise ConfigError(f"{where}.{key}: {expected}" if where.startswith("faults") else f"{where}: {expected}")


def check_switch(scenario: Scenario, switch: Switch) -> None:
    """Check that a fault can be switched by hand; ConfigError lists those that can."""
    known = offers(scenario)
    if switch.target == BOARD and not any(offer.target == BOARD for offer in known):
        raise ConfigError(f"board: {switch.kind} can be planned in [[faults]], not switched manually")
    _, expected = _lacking(switch, scenario, known)
    if expected:
        raise ConfigError(expected)


def _lacking(fault: PlannedFault | Switch, scenario: Scenario, known: Sequence[Offer]) -> tuple[str, str]:
    """The key with an error, and the reason; empty strings: none."""
    if fault.vehicle >= scenario.aircraft.count:
        return "vehicle", f"there are {scenario.aircraft.count} aircraft, the first is 0; not {fault.vehicle}"
    if fault.target == BOARD:
        kinds = [offer.kind for offer in known if offer.target == BOARD]
        if fault.kind not in kinds:
            rung = f"the board of this flight ({scenario.loop}, {scenario.pace})"
            return "kind", f"{rung} cannot {fault.kind}; expected one of: {', '.join(kinds) or 'none'}"
        return "", ""
    of_target = [offer for offer in known if offer.target == fault.target]
    if not of_target:
        targets = ", ".join(dict.fromkeys(offer.target for offer in known)) or "none"
        return "target", f"no fault of {fault.target} can be switched in this flight; expected one of: {targets}"
    alike = [offer for offer in of_target if offer.kind == fault.kind]
    if not alike:
        offered = ", ".join(dict.fromkeys(offer.kind for offer in of_target))
        return "kind", f"{fault.target} cannot have {fault.kind} in this flight; expected one of: {offered}"
    names = [name for offer in alike for name in offer.channels]
    if fault.target in LINE_TARGETS:  # of the link of one of several boards
        names = list(dict.fromkeys(offer.target for offer in known if offer.target in BOARDS))
    if fault.channel and fault.channel not in names:
        return "channel", f"{fault.target} has no {fault.channel!r}; expected one of: {', '.join(names)}"
    meant = next((offer for offer in alike if fault.channel in offer.channels), alike[0])
    if meant.axes and isinstance(fault.value, tuple) and meant.axes != len(fault.value):
        return "value", f"{fault.target} {fault.kind} has {meant.axes} axes; expected one number or one each"
    return "", ""


def words(row: Sequence[float], known: Sequence[Offer] = ()) -> str:
    """Description of a row of the stream `fault`, from its target on; `known` has the names of the actuators."""
    numbers = [int(number) for number in row[:4]]
    if not (0 <= numbers[0] < len(TARGETS) and 0 <= numbers[1] < len(KINDS)):
        return f"fault {numbers[0]}, {numbers[1]}"
    target, kind, on = TARGETS[numbers[0]], KINDS[numbers[1]], bool(row[2])
    if target in _LINES:
        whose = f"{BOARDS[numbers[3] - 1]}: " if 0 < numbers[3] <= len(BOARDS) else ""
        what, unit, axes = f"{whose}{_LINES[target]}: {kind}", _LINE_FAULTS[kind][0], 1
    elif target in BOARD_TARGETS:
        unit, _, meaning = _BOARD_FAULTS.get(kind, ("", 0.0, kind))
        if kind in INSTANT:
            return f"{target}: {meaning}"
        what, axes = f"{target}: {meaning}", 1 if unit else 0
    elif target in SIGHT_TARGETS:
        names = [name for offer in known if (offer.target, offer.kind) == (target, kind) for name in offer.channels]
        which = f" {names[numbers[3]]}" if 0 <= numbers[3] < len(names) else ""
        what, unit, axes = f"{target}{which}: {kind}", "", 0
    elif target in (*ACTUATOR_TARGETS, *ROBOT_TARGETS):
        what, unit, axes = _of_actuator(target, kind, numbers[3], known)
    else:
        name, channels = SENSORS[target]
        channel = channels[min(max(numbers[3], 0), len(channels) - 1)]
        what, unit, axes = f"{name}: {kind}", "", 0
        if kind in CHANNELLED:
            unit = _VARYING[kind, channel.name][0] if kind in VARYING else channel.unit
            what, axes = f"{what} of the {channel.words}", _axes_of(kind, unit, channel)
    if not on:
        return f"{what} off"
    values = list(row[4 : 4 + axes])
    if "," in unit:
        amounts = zip(values, unit.split(", "), strict=False)
        return f"{what} {', '.join(f'{value:g} {of_it}' for value, of_it in amounts)} on"
    if len(set(values)) == 1:  # the same for all axes
        values = values[:1]
    amount = ", ".join(f"{value:g}" for value in values)
    shown = f" {amount} {unit}".rstrip(" -") if any(values) else ""
    return f"{what}{shown} on"


def _of_actuator(target: str, kind: str, number: int, known: Sequence[Offer]) -> tuple[str, str, int]:
    """Description, unit of the value and number of axes."""
    alike = [offer for offer in known if (offer.target, offer.kind) == (target, kind)]
    if 0 <= number < len(alike):
        offer = alike[number]
        return f"{next(iter(offer.channels), target)}: {kind}", offer.unit, offer.axes
    name = target if target in ("battery", "platform") or kind == "friction" else f"{target}{number + 1}"
    unit = "" if kind == "offset" or target in ROBOT_TARGETS else _ACTUATOR_FAULTS.get(kind, ("",))[0]
    return f"{name}: {kind}", unit, 0 if kind in ("dead", "stuck") else max(1, _axes(unit))
