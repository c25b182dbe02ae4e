"""The axis map (TOML): which axis of a stick commands which quantity, with scale, expo and limits."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from aeroloop.core import config
from aeroloop.core.errors import ConfigError
from aeroloop.ground.axes import AxisName
from aeroloop.ground.files import read_text

DEFAULT = Path(__file__).with_name("joystick.toml")
MAX_BYTES = 64 * 1024


class Channel(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One commanded quantity and its axis."""

    axis: AxisName
    scale: Annotated[float, Meta(gt=0, le=100)]  # m/s, or rad/s for yaw, at full deflection
    invert: bool = False
    dead_zone: Annotated[float, Meta(ge=0, le=0.9)] = 0.05  # fraction of the travel from the centre to an end
    expo: Annotated[float, Meta(ge=0, le=1)] = 0.0  # 0 linear, 1 cubic


class Limits(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Height range of the reference under stick control."""

    floor_m: Annotated[float, Meta(ge=-1e4, le=1e4)] = 0.3
    ceiling_m: Annotated[float, Meta(ge=-1e4, le=1e4)] = 30.0

    def __post_init__(self) -> None:
        if self.floor_m >= self.ceiling_m:
            raise ValueError(f"expected floor_m below ceiling_m ({self.ceiling_m}), not {self.floor_m}")


class AxisMap(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole file. Forward and left follow the heading of the reference."""

    forward: Channel
    left: Channel
    up: Channel
    yaw: Channel
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        users: dict[str, str] = {}
        for name, channel in self.channels().items():
            if channel.axis in users:
                raise ValueError(f"{name}.axis: {channel.axis} already commands {users[channel.axis]}")
            users[channel.axis] = name

    def channels(self) -> dict[str, Channel]:
        return {"forward": self.forward, "left": self.left, "up": self.up, "yaw": self.yaw}


def load(file: str = "") -> AxisMap:
    """The map in a file, or the default map of Aeroloop."""
    path = Path(file) if file else DEFAULT
    try:
        table = tomllib.loads(read_text(path, max_bytes=MAX_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    return config.convert(table, AxisMap, str(path))
