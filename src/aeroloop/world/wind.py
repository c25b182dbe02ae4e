"""Wind: the sum of steady wind, a table over time, discrete gusts and turbulence.

Steady wind and table are the mean wind; a profile and the terrain may change it from place to place (wind_shape.py).

A gust is the 1-cosine of MIL-F-8785C, section 3.7: 0 before it, A/2 (1 - cos(pi x / d)) while it rises, A after it,
with x the time since its start or the distance flown through the air since then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Literal

import casadi as ca

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.noise_source import Normals
from aeroloop.core.signals import NS
from aeroloop.world.dryden import Dryden, Turbulence
from aeroloop.world.flight_model import Runner
from aeroloop.world.turbulence import FadedIn, Gusts, SpectralTurbulence
from aeroloop.world.wind_shape import GroundHeight, Profile, Rows, Shape, TerrainFlow, Uniform


class Gust(Config, frozen=True):
    """One discrete 1-cosine gust; give either `rise_s` or `rise_m`."""

    start_s: Annotated[float, meta("s", "start time", ge=0, le=86400)]
    amplitude_W: Annotated[Vec3, meta("m/s", "wind added at its maximum")]
    rise_s: Annotated[float, meta("s", "rise time", ge=0, le=3600)] = 0.0
    rise_m: Annotated[float, meta("m", "distance through the air over which it rises", ge=0, le=10000)] = 0.0
    shape: Annotated[
        Literal["pulse", "ramp"],
        note("`ramp`: it rises and stays, as in MIL-F-8785C; `pulse`: it then falls in the same way"),
    ] = "pulse"

    def __post_init__(self) -> None:
        if (self.rise_s > 0.0) == (self.rise_m > 0.0):
            raise ValueError(
                f"gust at {self.start_s} s: expected either rise_s or rise_m above zero, "
                f"not rise_s = {self.rise_s} and rise_m = {self.rise_m}"
            )


class TableRow(Config, frozen=True):
    """One row of wind over time."""

    t_s: Annotated[float, meta("s", "time", ge=0, le=86400)]
    wind_W: Annotated[Vec3, meta("m/s", "velocity of the air: east, north, up")]


class WindConfig(Config, frozen=True):
    """Wind; the parts add up."""

    steady_W: Annotated[Vec3, meta("m/s", "velocity of the air: east, north, up")] = (0.0, 0.0, 0.0)
    table: Annotated[tuple[TableRow, ...], note("wind over time, linear between its rows and constant outside")] = ()
    gusts: Annotated[tuple[Gust, ...], note("discrete gusts")] = ()
    turbulence: Annotated[Turbulence, note("random gusts")] = Turbulence()
    profile: Annotated[Profile, note("steady wind and table over height; without it the same at every height")] = (
        Uniform()
    )
    terrain: Annotated[TerrainFlow | None, note("the mean wind follows the ground; without it, it does not")] = None

    @property
    def outside_batches(self) -> dict[str, bool]:
        """Keys of this table that no batch has, and whether they are used."""
        turbulence = self.turbulence
        return {
            "world.wind.table": bool(self.table),
            "world.wind.gusts": bool(self.gusts),
            "world.wind.profile": not isinstance(self.profile, Uniform),
            "world.wind.terrain": self.terrain is not None,
            "world.wind.turbulence.model": turbulence.model != "dryden",
            "world.wind.turbulence.altitude": turbulence.altitude != "low",
            "world.wind.turbulence.rates": turbulence.rates,
            "world.wind.turbulence.fade_in_s": turbulence.fade_in_s > 0.0,
        }

    @property
    def is_shaped(self) -> bool:
        return self.terrain is not None or not isinstance(self.profile, Uniform)

    def __post_init__(self) -> None:
        for before, after in pairwise(self.table):
            if not before.t_s < after.t_s:
                raise ValueError(f"table: expected times that increase, not {before.t_s} s and then {after.t_s} s")


class Wind:
    """The wind at one aircraft; call `step` once per tick."""

    def __init__(
        self, config: WindConfig, rng: Normals, run: Callable[[ca.Function], Runner], span_m: float = 0.0
    ) -> None:
        """`rng` belongs to this wind alone. It feeds only the turbulence, by the same number of draws at every step.
        `run` makes the turbulence's step callable, compiled or not. `span_m`: of the wing that feels gust rates."""
        self._steady = config.steady_W
        self._table = _table(config)
        self._shape = Shape(config.profile, config.terrain) if config.is_shaped else None
        self._gusts = [_Gust(gust) for gust in config.gusts]
        self._turbulence = _turbulence(config.turbulence, rng, run, span_m) if config.turbulence.blows else None
        self._floor = config.turbulence.min_airspeed_m_s
        self._constant = self._table is None and self._shape is None and not self._gusts and self._turbulence is None

    def set_steady(self, wind_W: tuple[float, ...]) -> None:
        """Another steady wind from the next call of `step` on; the other parts go on."""
        x, y, z = wind_W
        self._steady = (x, y, z)

    @property
    def rate_W(self) -> Vec3:
        """Angular velocity of the turbulent air as a wing feels it (rad/s), at the last step."""
        return (0.0, 0.0, 0.0) if self._turbulence is None else self._turbulence.rate_W

    def over(self, ground_m: GroundHeight | None) -> GroundHeight | None:
        """The ground in the form in which it is to be asked for its height at the aircraft before each step."""
        return ground_m if self._shape is None else self._shape.over(ground_m)

    def step(self, t_ns: int, dt_ns: int, height_m: float, vel_W: Vec3) -> Vec3:
        """Wind at `t_ns`, `dt_ns` after the previous call, for an aircraft at that height over ground and velocity."""
        if dt_ns < 0:
            raise ValueError(f"Time went backwards: got a wind step of {dt_ns} ns, expected 0 or more.")
        if self._constant:
            return self._steady
        x, y, z = self._steady
        t_s, dt_s = t_ns / NS, dt_ns / NS
        if self._table is not None:
            ax, ay, az = self._table.wind_W(t_s)
            x, y, z = x + ax, y + ay, z + az
        if self._shape is not None:
            x, y, z = self._shape.wind_W((x, y, z), height_m)
        vx, vy, vz = vel_W
        relative_W = (vx - x, vy - y, vz - z)
        if self._turbulence is not None:
            ax, ay, az = self._turbulence.step(dt_s, height_m, relative_W)
            x, y, z = x + ax, y + ay, z + az
        for gust in self._gusts:
            ax, ay, az = gust.step(t_s, dt_s, max(math.hypot(*relative_W), self._floor))
            x, y, z = x + ax, y + ay, z + az
        return x, y, z


def shaped_at(config: WindConfig, pos_W: Vec3, ground_m: GroundHeight) -> Vec3:
    """The steady wind at a place; what starts in the air moves with it."""
    shape = Shape(config.profile, config.terrain)
    east_m, north_m, up_m = pos_W
    asked = shape.over(ground_m) or ground_m
    return shape.wind_W(config.steady_W, max(up_m - asked(east_m, north_m), 0.0))


def _table(config: WindConfig) -> Rows | None:
    rows = config.table
    return Rows([row.t_s for row in rows], [row.wind_W for row in rows]) if rows else None


def _turbulence(config: Turbulence, rng: Normals, run: Callable[[ca.Function], Runner], span_m: float) -> Gusts:
    made = Dryden(config, rng, run) if config.near_ground else SpectralTurbulence(config, rng, run, span_m)
    return FadedIn(made, config.fade_in_s) if config.fade_in_s > 0.0 else made


class _Gust:
    def __init__(self, config: Gust) -> None:
        self._start_s, self._amplitude_W = config.start_s, config.amplitude_W
        self._by_way = config.rise_m > 0.0
        self._rise = config.rise_m if self._by_way else config.rise_s
        self._pulse = config.shape == "pulse"
        self._flown_m = 0.0

    def step(self, t_s: float, dt_s: float, airspeed_m_s: float) -> Vec3:
        since_s = t_s - self._start_s
        if since_s <= 0.0:
            return 0.0, 0.0, 0.0
        if self._by_way:
            self._flown_m += airspeed_m_s * min(dt_s, since_s)
        into = (self._flown_m if self._by_way else since_s) / self._rise
        if into >= 2.0 and self._pulse:
            return 0.0, 0.0, 0.0
        part = 1.0 if into >= 1.0 and not self._pulse else 0.5 * (1.0 - math.cos(math.pi * into))
        x, y, z = self._amplitude_W
        return part * x, part * y, part * z
