"""Servo channels of an external autopilot's helicopter: three servos of the swash plate, the tail and the rotor speed.

ArduPilot's mixing of a plate with three servos, with roll (right), pitch (nose up) and collective of its outputs
(AP_MotorsHeli_Swash.cpp, H3 and H3_120; AP_MotorsHeli_Single.cpp), servo i at the azimuth a_i, from the nose to the
right:

    share_i = 0.45 (cos(a_i + 90 deg) roll + cos(a_i) pitch) + collective,     pulse_i = trim + span (2 share_i - 1)

Here it is inverted. The pitches of the blades follow: collective by the pulse of the level plate, lateral = roll and
longitudinal = -pitch by the share at which the plate has its largest cyclic pitch, and the tail's by its pulse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec
from aeroloop.families.helicopter.airframe import Helicopter
from aeroloop.protocols.servo_pulses import PulseChannel, PulseMap

Number = Annotated[int, Meta(ge=1, le=32)]
Pulse = Annotated[float, Meta(ge=800, le=2200)]
Pitch = Annotated[float, Meta(ge=-1, le=1)]
CYCLIC_SHARE = 0.45
"""Of a servo's travel, for full roll or pitch."""
LEAST_ROTATION = 0.05
"""Determinant below which three servos cannot tilt a plate both ways."""


class HelicopterChannels(Config, frozen=True):
    """Servo channels of ArduPilot's traditional helicopter."""

    swash: Annotated[tuple[Number, Number, Number], note("channels of the swash plate's servos (motor 1, 2, 3)")] = (
        1,
        2,
        3,
    )
    tail: Annotated[Number, note("channel of the tail rotor's pitch (motor 4); a longer pulse yaws right")] = 4
    rsc: Annotated[Number, note("channel of the rotor speed (HeliRSC)")] = 8
    azimuth_deg: Annotated[
        tuple[float, float, float],
        meta("deg", "azimuths of the swash plate's servos, from the nose to the right (H_SW_H3_SV1_POS to SV3_POS)"),
    ] = (-60.0, 60.0, 180.0)
    phase_deg: Annotated[float, meta("deg", "phase angle of the plate (H_SW_H3_PHANG)", ge=-30, le=30)] = 0.0
    trim_us: Annotated[Pulse, meta("us", "pulse in the middle of a servo's travel (SERVOn_TRIM)")] = 1500.0
    span_us: Annotated[float, meta("us", "from there to either end (SERVOn_MAX - SERVOn_TRIM)", gt=0, le=700)] = 500.0
    collective_zero_us: Annotated[
        Pulse, meta("us", "pulse of all three servos at which the level plate has no collective pitch")
    ] = 1500.0
    collective_deg_per_us: Annotated[
        float,
        meta(
            "deg/us",
            "collective pitch per pulse: (H_COL_ANG_MAX - H_COL_ANG_MIN) / (H_COL_MAX - H_COL_MIN)",
            gt=0,
            le=1,
        ),
    ] = 0.05
    cyclic_full: Annotated[
        float, meta("-", "output for the largest cyclic pitch of the airframe (H_CYC_MAX / 4500)", gt=0, le=1)
    ] = 2500 / 4500
    tail_neutral_rad: Annotated[
        Pitch | None, meta("rad", "pitch of the tail rotor at `trim_us`; without it that of hover")
    ] = None
    rsc_low_us: Annotated[Pulse, meta("us", "pulse of a stopped rotor (SERVO8_MIN)")] = 1000.0
    rsc_full_us: Annotated[
        Pulse, meta("us", "pulse of the governor at the airframe's rotor speed: SERVO8_MIN to MAX by H_RSC_SETPOINT")
    ] = 1660.0

    def __post_init__(self) -> None:
        if len({*self.swash, self.tail, self.rsc}) < len(self.swash) + 2:
            raise ValueError(
                "channels: expected a channel of its own for each servo of the plate, tail and rotor speed"
            )
        if self.rsc_low_us >= self.rsc_full_us:
            raise ValueError(f"channels.rsc_full_us: expected more than rsc_low_us ({self.rsc_low_us:g})")
        if not all(-180.0 <= angle <= 180.0 for angle in self.azimuth_deg):
            raise ValueError("channels.azimuth_deg: expected angles from -180 to 180")
        if not abs(np.linalg.det(mixing(self))) > LEAST_ROTATION:
            raise ValueError("channels.azimuth_deg: expected three servos around the mast, which can tilt the plate")


def mixing(channels: HelicopterChannels) -> Vec:
    """(3, 3) Shares of the three servos by roll, pitch and collective."""
    angles = np.radians(np.array(channels.azimuth_deg) - channels.phase_deg)
    cyclic = CYCLIC_SHARE * np.column_stack([np.cos(angles + math.pi / 2), np.cos(angles)])
    found: Vec = np.column_stack([cyclic, np.ones(3)])
    return found


def mixed_us(channels: HelicopterChannels, roll: float, pitch: float, collective: float) -> tuple[float, ...]:
    """Pulses of the plate's servos, as ArduPilot computes them; the collective is a share of a servo's travel."""
    shares = mixing(channels) @ np.array([roll, pitch, collective])
    return tuple((channels.trim_us + channels.span_us * (2.0 * shares - 1.0)).tolist())


def unmixed(channels: HelicopterChannels) -> Callable[[float, float, float], tuple[float, float, float]]:
    """From the pulses of the plate's servos to (roll, pitch, collective)."""
    rows = [tuple(row) for row in np.linalg.inv(mixing(channels)).tolist()]
    trim_us, span_us = channels.trim_us, channels.span_us

    def outputs(first_us: float, second_us: float, third_us: float) -> tuple[float, float, float]:
        shares = [((pulse - trim_us) / span_us + 1.0) / 2.0 for pulse in (first_us, second_us, third_us)]
        roll, pitch, collective = (a * shares[0] + b * shares[1] + c * shares[2] for a, b, c in rows)
        return roll, pitch, collective

    return outputs


def pulse_map(channels: HelicopterChannels, h: Helicopter, hover: Sequence[float]) -> PulseMap:
    """To collective, lateral, longitudinal and tail pitch in rad, and the rotor speed over that of the airframe;
    `hover` is the command of hover."""
    outputs, plate = unmixed(channels), h.swashplate
    s1, s2, s3 = (number - 1 for number in channels.swash)
    tail, rsc = channels.tail - 1, channels.rsc - 1
    trim_us, span_us = channels.trim_us, channels.span_us
    zero_share = ((channels.collective_zero_us - trim_us) / span_us + 1.0) / 2.0
    rad_per_share = math.radians(channels.collective_deg_per_us) * 2.0 * span_us
    cyclic_rad = plate.cyclic_max_rad / channels.cyclic_full
    neutral_rad = hover[3] if channels.tail_neutral_rad is None else channels.tail_neutral_rad
    tail_rad = -h.head.spin * max(abs(stop) for stop in plate.tail_rad)
    low_us, per_us = channels.rsc_low_us, 1.0 / (channels.rsc_full_us - channels.rsc_low_us)

    def command(values: Sequence[float]) -> tuple[float, ...]:
        roll, pitch, collective = outputs(values[s1], values[s2], values[s3])
        return (
            rad_per_share * (collective - zero_share),
            cyclic_rad * roll,
            -cyclic_rad * pitch,
            neutral_rad + tail_rad * (values[tail] - trim_us) / span_us,
            max((values[rsc] - low_us) * per_us, 0.0),
        )

    servos = (PulseChannel(number, channels.collective_zero_us, motor=False) for number in channels.swash)
    others = PulseChannel(channels.tail, trim_us, motor=False), PulseChannel(channels.rsc, low_us, motor=True)
    return PulseMap((*servos, *others), command)
