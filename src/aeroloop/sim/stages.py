"""What the loops need of the stages that they all have: links, paces, the earth and its air."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Air, Place

Publish = Callable[..., None]


class LinkStage(Protocol):
    url: str

    def send(self, data: bytes) -> None: ...
    def poll(self) -> bytes: ...


class PaceStage(Protocol):
    missed_deadlines: int
    lateness_s: float

    def start(self) -> None: ...
    def wait(self, t_ns: int) -> int: ...


class EarthStage(Protocol):
    def place(self, pos_W: Vec3) -> Place: ...


class AtmosphereStage(Protocol):
    def air(self, alt_m: float, wind_W: Vec3) -> Air: ...


class WindStage(Protocol):
    def step(self, t_ns: int, dt_ns: int, height_m: float, vel_W: Vec3) -> Vec3: ...
