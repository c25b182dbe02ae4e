"""Servo pulses of an autopilot, in us: which are valid, which stop a motor, and which channel drives which actuator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

NO_PULSE = 0
STOPPED_BELOW_US = 1050
LEAST_US, MOST_US = 800, 2200
"""Other pulses are refused; no autopilot sends them."""


class PulseChannel(NamedTuple):
    """A channel that drives an actuator."""

    channel: int  # from 1
    rest_us: float  # pulse of a stopped motor or a neutral surface
    motor: bool  # stopped without a pulse; a surface without one stays where it is


@dataclass(frozen=True)
class PulseMap:
    """What a family's row offers as `pulses`."""

    channels: tuple[PulseChannel, ...]
    command: Callable[[Sequence[float]], tuple[float, ...]]  # of the pulses of all channels


class Pulses:
    """The last valid pulse of each channel."""

    def __init__(self, channels: Sequence[PulseChannel], count: int = 32) -> None:
        self.refused = 0
        self.refusing = False  # in the last packet
        self._values = [0.0] * count
        self._channels = [(channel - 1, rest_us, motor) for channel, rest_us, motor in channels]
        self.rest()

    def rest(self) -> None:
        """Motors stopped, surfaces neutral: before the first packet, and after a restart."""
        for index, rest_us, _ in self._channels:
            self._values[index] = rest_us

    def take(self, pwm: Sequence[int]) -> Sequence[float]:
        """Pulses of all channels after this packet. One that is refused leaves the last one of its channel."""
        values, count = self._values, len(pwm)
        refused = 0
        for index, rest_us, motor in self._channels:
            pulse_us = pwm[index] if index < count else NO_PULSE
            if pulse_us == NO_PULSE:
                if motor:
                    values[index] = rest_us
            elif not LEAST_US <= pulse_us <= MOST_US:
                refused += 1
            elif motor and pulse_us < STOPPED_BELOW_US:
                values[index] = rest_us
            else:
                values[index] = pulse_us
        self.refused += refused
        self.refusing = refused > 0
        return values


def motor_pulses(channels: Sequence[int], trim_us: float, span_us: float) -> PulseMap:
    """Motors from 0 at `trim_us` to 1 at `trim_us + span_us`, in the order of their commands."""
    indices = tuple(channel - 1 for channel in channels)

    def command(values: Sequence[float]) -> tuple[float, ...]:
        shares = ((values[index] - trim_us) / span_us for index in indices)
        return tuple(0.0 if share < 0.0 else 1.0 if share > 1.0 else share for share in shares)

    return PulseMap(tuple(PulseChannel(channel, trim_us, motor=True) for channel in channels), command)
