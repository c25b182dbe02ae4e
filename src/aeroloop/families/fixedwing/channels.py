"""Which channel of an external autopilot moves which surface: one row for each, with channel, trim, span and sign.

    share    = sign (value - trim) / span, from -1 to 1; of the throttle from 0 to 1
    position = neutral + share * travel

A value has the autopilot's own unit: a ratio for PX4 (HIL_ACTUATOR_CONTROLS), a pulse in us for ArduPilot. The travel
is the larger stop of the servo, and the servo's stops still hold. Surfaces have the signs of `core.wing_signals`:
positive elevator pitches the nose down and positive rudder yaws left, so both have the sign -1 for an autopilot whose
positive commands pitch up and yaw right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from aeroloop.actuators.servos import Limits
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.wing_signals import SURFACES, WingCommand

MOST_CHANNELS = 32
Number = Annotated[int, Meta(ge=1, le=MOST_CHANNELS)]
Span = Annotated[float, Meta(gt=0)]
THROTTLE = SURFACES.index("throttle")


class SurfaceChannel(Config, frozen=True):
    """One surface, or the throttle; a key that is left out has the value of the autopilot's standard row."""

    channel: Annotated[Number | None, note("number of the channel, from 1")] = None
    trim: Annotated[float | None, meta("of the channel", "value of the neutral position; of the throttle: of none")] = (
        None
    )
    span: Annotated[Span | None, meta("of the channel", "change of the value for the whole travel")] = None
    sign: Annotated[Literal[1, -1] | None, note("1 or -1: direction in which the surface moves as the value rises")] = (
        None
    )
    neutral: Annotated[
        float | None,
        meta("rad or ratio", "position at trim; without it a surface has the angle of level flight, the throttle 0"),
    ] = None


class Channels(Config, frozen=True):
    """The channels of an external autopilot."""

    aileron: Annotated[SurfaceChannel, note("positive rolls right")] = SurfaceChannel()
    elevator: Annotated[SurfaceChannel, note("positive pitches the nose down")] = SurfaceChannel()
    rudder: Annotated[SurfaceChannel, note("positive yaws left")] = SurfaceChannel()
    throttle: Annotated[SurfaceChannel, note("0 to 1")] = SurfaceChannel()


class ChannelRow(NamedTuple):
    """A row with all its values."""

    channel: int  # from 1
    trim: float
    span: float
    sign: int
    neutral: float | None = None  # None: as in level flight


ChannelRows = tuple[ChannelRow, ChannelRow, ChannelRow, ChannelRow]
"""In the order of SURFACES."""

STANDARD: Mapping[str, ChannelRows] = {
    "px4": (
        ChannelRow(1, 0.0, 1.0, 1),
        ChannelRow(2, 0.0, 1.0, -1),
        ChannelRow(3, 0.0, 1.0, -1),
        ChannelRow(4, 0.0, 1.0, 1, 0.0),
    ),
    "ardupilot": (
        ChannelRow(1, 1500.0, 500.0, 1),
        ChannelRow(2, 1500.0, 500.0, -1),
        ChannelRow(4, 1500.0, 500.0, -1),
        ChannelRow(3, 1000.0, 1000.0, 1, 0.0),
    ),
}
"""By the name of the controller: PX4's as its simulated airplane orders its outputs, ArduPilot's as its plane does."""


def rows(channels: Channels, controller: str) -> ChannelRows:
    """The standard rows of this controller, with what the scenario changes; ConfigError names what does not fit."""
    standard = STANDARD[controller]
    aileron, elevator, rudder, throttle = (
        _merged(getattr(channels, name), row) for name, row in zip(SURFACES, standard, strict=True)
    )
    taken: dict[int, str] = {}
    for name, row in zip(SURFACES, (aileron, elevator, rudder, throttle), strict=True):
        if row.channel in taken:
            raise ConfigError(
                f"channels.{name}.channel: {row.channel} is the {taken[row.channel]}'s; expected a channel for each"
            )
        taken[row.channel] = name
    return aileron, elevator, rudder, throttle


def _merged(changed: SurfaceChannel, row: ChannelRow) -> ChannelRow:
    given = {key: value for key in ChannelRow._fields if (value := getattr(changed, key)) is not None}
    return row._replace(**given)


def commands(table: ChannelRows, servos: Limits, level: WingCommand) -> Callable[[Sequence[float]], WingCommand]:
    """From the values of all channels to a command; `level` is the command of level flight. A value that is NaN gives
    NaN, which a servo refuses."""
    parts = []
    for index, row in enumerate(table):
        travel = max(servos.high[index], -servos.low[index])
        neutral = row.neutral if row.neutral is not None else level[index]
        least = 0.0 if index == THROTTLE else -1.0
        parts.append((row.channel - 1, row.trim, row.sign / row.span, neutral, travel, least))

    def position(values: Sequence[float], part: tuple[int, float, float, float, float, float]) -> float:
        at, trim, per_value, neutral, travel, least = part
        share = (values[at] - trim) * per_value
        share = least if share < least else 1.0 if share > 1.0 else share  # comparisons keep NaN
        return neutral + share * travel

    aileron, elevator, rudder, throttle = parts
    return lambda values: (
        position(values, aileron),
        position(values, elevator),
        position(values, rudder),
        position(values, throttle),
    )
