"""Actuator faults: they change the command before the actuators, so that they apply to rotors and servos of every kind.

slow y' = (command - y) / value, on top of the servo's own lag offset command + value weak the command that gives
`value` of the thrust sag the same for all rotors, with (1 - value)^2: the voltage falls by `value`, thrust with its
square stuck the command that holds its position at the start of the fault dead no command effectiveness the command
that gives `value` of the speed load the command that decelerates a motor by `value` more load_sine the same with
amplitude, frequency and phase, from the time of the switch on
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import ACTUATOR_TARGETS, MOTOR_KINDS, Switch, Switched, sine, three
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS

Row = tuple[float, ...]

WITH_VALUE = ("weak", "slow", "offset", *MOTOR_KINDS)
USUAL_WAVE: Vec3 = (3000.0, 2.0, 0.0)
"""Amplitude (rad/s2), frequency (Hz) and phase of a sinusoidal load."""


def scaled(command: float, fraction: float) -> float:
    """For an actuator whose thrust is proportional to its command."""
    return fraction * command


@dataclass(frozen=True, slots=True)
class Channel:
    """One element of the command, and the actuator it moves."""

    name: str
    target: Literal["rotor", "servo"]
    held: Callable[[], float] | None = None  # the command that holds its present state; None: the last one it got
    weakened: Callable[[float, float], float] = (
        scaled  # command, fraction -> the command with that fraction of the thrust
    )
    slowed: Callable[[float, float], float] | None = None  # command, fraction -> with that fraction of the speed
    loaded: Callable[[float, float], float] | None = None  # command, deceleration (rad/s2) -> with that load


class ActuatorFaults:
    """Between the command of the controller and the actuators."""

    def __init__(self, channels: Sequence[Channel], supplied: Callable[[float], None] | None = None) -> None:
        """One channel for each element of the command. `supplied`: sets the voltage of a simulated battery, as a
        fraction of its own; without one a voltage acts on the commands."""
        self._supplied = supplied
        self._channels = tuple(channels)
        self._on: dict[tuple[int, str], float] = {}  # by channel and kind: its value, for `stuck` the held command
        self._sag = 0.0
        self._supply = 1.0  # voltage of the battery, as a fraction of the nominal one
        self._by_voltage = 1.0, 1.0  # thrust that both leave, where no battery is simulated
        self._waves: dict[int, tuple[Vec3, int]] = {}  # sinusoidal loads, and the time for which they act (ns)
        self._followed: dict[int, float] = {}  # positions of slow servos
        self._last: Row | None = None
        self.active = False

    def switch(self, switch: Switch, command: Row) -> Switched:
        """Switch a fault on or off; `command` is the present one."""
        if switch.target == "battery" and self._names("rotor"):
            self._sag = switch.values[0] if switch.on else 0.0
            number, values = 0, switch.values
        else:
            number, index = self._find(switch)
            values = switch.values if switch.kind in WITH_VALUE else ()
            if switch.kind == "load_sine":
                values = three(values, USUAL_WAVE)
            if switch.on:
                self._begin(index, switch, command)
            else:
                self._end(index, switch.kind)
        self._look()
        return Switched(number, values if switch.on else ())

    def supply(self, values: Row) -> None:
        """Set the voltage of the battery, as a fraction of the nominal one; it multiplies with a sag."""
        (self._supply,) = values
        self._look()

    def _look(self) -> None:
        if self._supplied is None:
            self._by_voltage = (1.0 - self._sag) ** 2, self._supply**2
        else:
            self._supplied((1.0 - self._sag) * self._supply)
        self.active = bool(self._on or self._waves or self._by_voltage != (1.0, 1.0))
        if not self.active:
            self._last = None

    def applied(self, command: Row, dt_ns: int) -> Row:
        """The command that reaches the actuators over the next dt."""
        changed = list(command)
        for (index, kind), value in self._on.items():
            if kind == "offset":
                changed[index] += value
        for (index, kind), value in self._on.items():
            if kind == "slow" and math.isfinite(changed[index]):
                at = self._followed[index]
                changed[index] = self._followed[index] = at - math.expm1(-dt_ns / NS / value) * (changed[index] - at)
        by_sag, by_supply = self._by_voltage
        for index, channel in enumerate(self._channels):
            if channel.target == "rotor":
                fraction = self._on.get((index, "weak"), 1.0) * by_sag * by_supply
                if fraction < 1.0:
                    changed[index] = channel.weakened(changed[index], fraction)
                if (slowed := channel.slowed) and (index, "effectiveness") in self._on:
                    changed[index] = slowed(changed[index], self._on[index, "effectiveness"])
                load = self._load(index, dt_ns)
                if (loaded := channel.loaded) and load:
                    changed[index] = loaded(changed[index], load)
        for kind in ("stuck", "dead"):
            for (index, of_kind), value in self._on.items():
                if of_kind == kind:
                    changed[index] = value
        self._last = tuple(changed)
        return self._last

    def _load(self, index: int, dt_ns: int) -> float:
        """Of a rotor over the next dt, held at its value at the start."""
        load = self._on.get((index, "load"), 0.0)
        if index in self._waves:
            wave, t_ns = self._waves[index]
            load += sine(wave, t_ns / NS)
            self._waves[index] = wave, t_ns + dt_ns
        return load

    def _end(self, index: int, kind: str) -> None:
        self._on.pop((index, kind), None)
        if kind == "slow":
            self._followed.pop(index, None)
        if kind == "load_sine":
            self._waves.pop(index, None)

    def _begin(self, index: int, switch: Switch, command: Row) -> None:
        held, last = self._channels[index].held, self._last or command
        at = held() if held is not None else last[index]
        match switch.kind:
            case "stuck":
                if (index, "stuck") not in self._on:  # it is already stuck: switched on again, it does not move
                    self._on[index, "stuck"] = at
            case "dead":
                self._on[index, "dead"] = 0.0
            case "load_sine":
                self._waves[index] = three(switch.values, USUAL_WAVE), 0
            case kind:
                self._on[index, kind] = switch.values[0]
                if kind == "slow":
                    self._followed.setdefault(index, at)

    def _find(self, switch: Switch) -> tuple[int, int]:
        """Number of the actuator among those of its target, and its index in the command."""
        names = self._names(switch.target)
        if not names:
            there = [name for name in ACTUATOR_TARGETS if self._names("rotor" if name == "battery" else name)]
            raise ConfigError(f"{switch.target}: this aircraft has none; expected one of: {', '.join(there) or 'none'}")
        name = switch.channel or names[0]
        if name not in names:
            raise ConfigError(f"{switch.target}: unknown channel {name!r}, expected one of: {', '.join(names)}")
        index = next(i for i, c in enumerate(self._channels) if (c.target, c.name) == (switch.target, name))
        channel = self._channels[index]
        if switch.kind in MOTOR_KINDS and (channel.slowed is None or channel.loaded is None):
            raise ConfigError(f"{switch.target}: {name}: no speed is simulated, so it cannot have {switch.kind}")
        return names.index(name), index

    def _names(self, target: str) -> list[str]:
        return [channel.name for channel in self._channels if channel.target == target]
