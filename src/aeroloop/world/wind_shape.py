"""The mean wind over height and terrain.

Over height z above ground, for the wind at the reference height h:

    power law         (z/h)^a
    logarithmic law   ln(z/z0) / ln(h/z0), 0 up to the roughness length z0 (wind shear of MIL-F-8785C: h = 20 ft)

both constant above the boundary layer; or a table of winds, which are added.

Over terrain g(x, y) the air follows the ground, less so with height:

    u  <-  u (1 + B e(z) (g - (g(+L) + g(-L))/2) 2/L),     w  <-  w + u . grad g e(z),     e(z) = exp(-z/H)

with g(+-L) the ground at the distance L along the wind. On the ground the wind is tangent to it: w = u . grad g. The
speed-up is that of linear theory as Taylor & Lee state it (Simple guidelines for estimating wind speed variations due
to small-scale topographic features, Climatological Bulletin 18, 1984): B h/L on the crest of a hill of height h that is
half as high at the distance L, with B = 2 for ridges and 1.6 for round hills; there h = 2 (g - (g(+L) + g(-L))/2).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

GroundHeight = Callable[[float, float], float]
"""(east, north) in m -> height of the ground in m."""
_CALM = 1e-9
"""A share e(z) below it is none, and the ground is not looked up."""


class Uniform(Config, frozen=True, tag_field="kind", tag="uniform"):
    """The same wind at every height."""


class PowerLaw(Config, frozen=True, tag_field="kind", tag="power"):
    """Wind that grows with a power of the height."""

    exponent: Annotated[float, meta("-", "exponent; 1/7 over open land in a neutral atmosphere", ge=0, le=1)] = 1 / 7
    reference_m: Annotated[
        float, meta("m", "height above ground at which the wind is the given one", gt=0, le=1000)
    ] = 10.0
    top_m: Annotated[float, meta("m", "height above which it is constant", gt=0, le=10000)] = 300.0

    def factor(self, height_m: float) -> float:
        return float((min(height_m, self.top_m) / self.reference_m) ** self.exponent)


class LogLaw(Config, frozen=True, tag_field="kind", tag="log"):
    """The logarithmic law of the surface layer."""

    roughness_m: Annotated[
        float, meta("m", "roughness length: grass 0.03; MIL-F-8785C 0.0457 near an airfield, else 0.61", gt=0, le=10)
    ] = 0.03
    reference_m: Annotated[
        float, meta("m", "height above ground at which the wind is the given one", gt=0, le=1000)
    ] = 10.0
    top_m: Annotated[float, meta("m", "height above which it is constant", gt=0, le=10000)] = 300.0

    def __post_init__(self) -> None:
        if not self.roughness_m < min(self.reference_m, self.top_m):
            raise ValueError(
                f"roughness_m: expected less than reference_m = {self.reference_m:g} and top_m = {self.top_m:g}, not "
                f"{self.roughness_m:g}"
            )

    def factor(self, height_m: float) -> float:
        over = min(height_m, self.top_m) / self.roughness_m
        return math.log(over) / math.log(self.reference_m / self.roughness_m) if over > 1.0 else 0.0


class HeightRow(Config, frozen=True):
    """One row of wind over height."""

    height_m: Annotated[float, meta("m", "height", ge=-1000, le=30000)]
    wind_W: Annotated[Vec3, meta("m/s", "velocity of the air: east, north, up")]


class HeightTable(Config, frozen=True, tag_field="kind", tag="table"):
    """Winds that are added, linear between heights and constant beyond them."""

    rows: Annotated[tuple[HeightRow, ...], note("wind over height")]
    above: Annotated[
        Literal["ground", "home"],
        note("heights above the ground below the aircraft, or above home, which is `world.home.alt_m` above sea level"),
    ] = "ground"

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError("rows: expected at least one height")
        for below, above in pairwise(self.rows):
            if not below.height_m < above.height_m:
                raise ValueError(
                    f"rows: expected heights that increase, not {below.height_m} m and then {above.height_m} m"
                )


Profile = Uniform | PowerLaw | LogLaw | HeightTable


class TerrainFlow(Config, frozen=True):
    """The mean wind follows the ground."""

    decay_m: Annotated[float, meta("m", "height H over which this falls to 1/e", gt=0, le=5000)] = 50.0
    slope_over_m: Annotated[
        float, meta("m", "the slope is taken between points this far to each side of the aircraft", gt=0, le=1000)
    ] = 5.0
    speed_up: Annotated[
        float, meta("-", "speed-up B on crests, B h/L; 2 for ridges, 1.6 for round hills; 0 for none", ge=0, le=4)
    ] = 0.0
    half_length_m: Annotated[
        float, meta("m", "distance L from a crest to half its height, along the wind", gt=0, le=5000)
    ] = 100.0


class Rows:
    """Winds at increasing values of a quantity, linear between them and constant beyond."""

    def __init__(self, at: list[float], winds_W: list[Vec3]) -> None:
        self._at, self._winds_W = at, winds_W

    def wind_W(self, value: float) -> Vec3:
        i = bisect_right(self._at, value)
        if i == 0:
            return self._winds_W[0]
        if i == len(self._at):
            return self._winds_W[-1]
        part = (value - self._at[i - 1]) / (self._at[i] - self._at[i - 1])
        (ax, ay, az), (bx, by, bz) = self._winds_W[i - 1], self._winds_W[i]
        return ax + part * (bx - ax), ay + part * (by - ay), az + part * (bz - az)


class Shape:
    """Makes the wind at a place from the wind at the reference height."""

    def __init__(self, profile: Profile, terrain: TerrainFlow | None) -> None:
        self._factor = profile.factor if isinstance(profile, PowerLaw | LogLaw) else None
        table = profile if isinstance(profile, HeightTable) else None
        rows = () if table is None else table.rows
        self._rows = Rows([row.height_m for row in rows], [row.wind_W for row in rows]) if rows else None
        self._above_home = table is not None and table.above == "home"
        self._terrain = terrain
        self._surface: GroundHeight | None = None
        self._east_m = self._north_m = self._ground_m = 0.0

    def over(self, ground_m: GroundHeight | None) -> GroundHeight | None:
        """The ground, to be asked for its height at the aircraft before each step: so this wind learns the place."""
        if ground_m is None or (self._terrain is None and not self._above_home):
            return ground_m
        self._surface = ground_m

        def noted(east_m: float, north_m: float) -> float:
            self._east_m, self._north_m = east_m, north_m
            self._ground_m = height_m = ground_m(east_m, north_m)
            return height_m

        return noted

    def wind_W(self, wind_W: Vec3, height_m: float) -> Vec3:
        """At that height above the ground, from the wind at the reference height."""
        x, y, z = wind_W
        if self._factor is not None:
            factor = self._factor(height_m)
            x, y, z = factor * x, factor * y, factor * z
        if self._rows is not None:
            ax, ay, az = self._rows.wind_W(height_m + self._ground_m if self._above_home else height_m)
            x, y, z = x + ax, y + ay, z + az
        if self._terrain is not None and self._surface is not None:
            return self._along(self._terrain, self._surface, (x, y, z), math.exp(-height_m / self._terrain.decay_m))
        return x, y, z

    def _along(self, flow: TerrainFlow, ground_m: GroundHeight, wind_W: Vec3, share: float) -> Vec3:
        x, y, z = wind_W
        speed = math.hypot(x, y)
        if share < _CALM or speed == 0.0:
            return wind_W
        east_m, north_m, d = self._east_m, self._north_m, flow.slope_over_m
        if flow.speed_up > 0.0:
            dx, dy = flow.half_length_m * x / speed, flow.half_length_m * y / speed
            around_m = 0.5 * (ground_m(east_m + dx, north_m + dy) + ground_m(east_m - dx, north_m - dy))
            faster = 1.0 + flow.speed_up * share * (self._ground_m - around_m) * 2.0 / flow.half_length_m
            x, y = max(faster, 0.0) * x, max(faster, 0.0) * y
        slope_east = (ground_m(east_m + d, north_m) - ground_m(east_m - d, north_m)) / (2.0 * d)
        slope_north = (ground_m(east_m, north_m + d) - ground_m(east_m, north_m - d)) / (2.0 * d)
        return x, y, z + share * (x * slope_east + y * slope_north)
