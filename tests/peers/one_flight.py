"""Whether accelerometer, gyro, GNSS, barometer and magnetometer tell of one flight at one place.

It needs no attitude: over a second, the gyro holds the accelerometer's sum u together in one frame, and so does it the
magnetic field m. GNSS gives the same sum as w = dv - g T in the world, and the World Magnetic Model the field B there;
then |u| = |w| and u.m = w.B, whichever way the aircraft points. Body FRD, world NED, gauss, hPa.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pygeomag import GeoMag

WINDOW_US = 1_000_000
LASTING_FIXES = 3
EARTH_M = 6.371e6

Vec = tuple[float, float, float]
Quat = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Fix:
    t_us: int
    vel_N: Vec
    lat_deg: float
    lon_deg: float
    alt_m: float
    baro_alt_m: float | None


class OneFlight:
    """Takes samples in order; tells `complain(kind, words)` what does not fit."""

    def __init__(self, complain: Callable[[str, str], None], home_deg: tuple[float, float] | None, year: float) -> None:
        self._complain = complain
        self._home_deg = home_deg
        self._year = year
        self._model = GeoMag()
        self._in_a_row: dict[str, int] = {}
        # Attitude, sums and fields are in the frame that the body had at the start.
        self._quat: Quat = (1.0, 0.0, 0.0, 0.0)
        self._sum: Vec = (0.0, 0.0, 0.0)
        self._sums: deque[tuple[int, Vec]] = deque(maxlen=4000)
        self._fields: deque[tuple[int, Vec]] = deque(maxlen=400)
        self._field_count = 0
        self._rest: list[tuple[Vec, Vec]] = []
        self._rest_from_us: int | None = None
        self._baro_alt_m: float | None = None
        self._fixes: deque[_Fix] = deque(maxlen=64)
        self._first_heights_m: tuple[float, float] | None = None  # GNSS altitude, and it less the barometer's
        self._world_field_G: Vec | None = None
        self._turn = [0.0, 0.0]  # predicted . observed, predicted . predicted
        self._turned: Vec = (0.0, 0.0, 0.0)
        self._turn_from: Vec | None = None

    def imu(self, t_us: int, dt_us: int, accel: Vec, rate: Vec, at_rest: bool) -> None:
        dt = dt_us * 1e-6
        self._quat = _turned(self._quat, rate, dt)
        self._sum = _add(self._sum, _scale(_rotate(self._quat, accel), dt))
        self._sums.append((t_us, self._sum))
        self._turned = _add(self._turned, _scale(rate, dt))
        if at_rest:
            self._judge_rest(t_us, accel, rate)

    def _judge_rest(self, t_us: int, accel: Vec, rate: Vec) -> None:
        """Until PX4 arms, the aircraft stands on the ground: gravity is up against it, in FRD."""
        self._rest.append((accel, rate))
        self._rest_from_us = t_us if self._rest_from_us is None else self._rest_from_us
        if t_us - self._rest_from_us < WINDOW_US / 2:
            return
        self._rest_from_us = t_us
        accel, rate = (_mean([row[i] for row in self._rest]) for i in (0, 1))
        self._rest.clear()
        if accel[2] > 5:
            self._complain("frame of accelerometer", f"At rest zacc is {accel[2]:+.2f}: up is negative in FRD (FLU?).")
        if not 9.5 <= norm(accel) <= 10.1:
            self._complain("gravity", f"At rest the accelerometer's norm is {norm(accel):.2f} m/s2, not about 9.81.")
        if norm(rate) > 0.1:
            self._complain("rest", f"At rest the gyro reads {norm(rate):.2f} rad/s.")

    def field(self, t_us: int, field_G: Vec) -> None:
        self._field_count += 1
        self._fields.append((t_us, _rotate(self._quat, field_G)))
        if (before := self._turn_from) is not None:
            # A fixed vector seen from a turning body: dm = -(angle x m).
            predicted = _scale(_cross(self._turned, before), -1.0)
            if norm(self._turned) > 1e-3:
                self._turn[0] += _dot(predicted, _add(field_G, _scale(before, -1.0)))
                self._turn[1] += _dot(predicted, predicted)
        self._turn_from, self._turned = field_G, (0.0, 0.0, 0.0)
        noise_floor = 2e-3  # gauss^2: what noise alone adds to the sums stays well below
        if self._turn[1] > noise_floor and not 0.5 <= self._turn[0] / self._turn[1] <= 1.5:
            self._complain("gyro and magnetometer", "The magnetometer does not turn as the gyro says: other axes?")
        if (world := self._world_field_G) is not None and self._field_count % 50 == 0:
            self._judge_strength(world)

    def _judge_strength(self, world: Vec) -> None:
        mean = norm(_mean([m for _, m in list(self._fields)[-50:]]))
        if abs(mean / norm(world) - 1) > 0.1:
            self._complain(
                "field", f"The magnetometer's norm is {mean:.3f} gauss; at this place it should be {norm(world):.3f}."
            )

    def air(self, pressure_hPa: float, altitude_m: float) -> None:
        self._baro_alt_m = 44330.77 * (1 - (pressure_hPa / 1013.25) ** 0.190263)
        if abs(altitude_m - self._baro_alt_m) > 30:
            self._complain(
                "pressure altitude",
                f"pressure_alt {altitude_m:.1f} m, but {pressure_hPa:.2f} hPa is {self._baro_alt_m:.1f} m.",
            )

    def fix(self, t_us: int, vel_N: Vec, lat_deg: float, lon_deg: float, alt_m: float, at_rest: bool) -> None:
        fix = _Fix(t_us, vel_N, lat_deg, lon_deg, alt_m, self._baro_alt_m)
        if not self._fixes:
            self._settle(fix)
        self._fixes.append(fix)
        if at_rest and norm(vel_N) > 1.5:
            self._complain("GNSS at rest", f"GNSS moves at {norm(vel_N):.1f} m/s while the aircraft is at rest.")
        old = next((f for f in reversed(self._fixes) if t_us - f.t_us >= WINDOW_US - 1000), None)
        if old is not None and t_us - old.t_us < 1.5 * WINDOW_US:
            self._judge_motion(old, fix)
        self._judge_height(fix)

    def _settle(self, fix: _Fix) -> None:
        """What the first fix says about the place."""
        if self._home_deg is not None:
            away = _distance_m(self._home_deg, (fix.lat_deg, fix.lon_deg))
            if norm(away) > 1000:
                self._complain("GNSS scale", f"The first fix is {norm(away) / 1000:.0f} km from home.")
        field_nT = self._model.calculate(fix.lat_deg, fix.lon_deg, max(-1.0, min(100.0, fix.alt_m / 1000)), self._year)
        self._world_field_G = field_nT.x * 1e-5, field_nT.y * 1e-5, field_nT.z * 1e-5
        if fix.baro_alt_m is not None and abs(fix.alt_m - fix.baro_alt_m) > 300:
            self._complain(
                "GNSS scale", f"GNSS altitude {fix.alt_m:.0f} m, barometer {fix.baro_alt_m:.0f} m: alt is not mm?"
            )

    def _judge_motion(self, old: _Fix, new: _Fix) -> None:
        """GNSS against itself, the accelerometer and the magnetometer, over one second."""
        span = (new.t_us - old.t_us) * 1e-6
        between = [f for f in self._fixes if old.t_us <= f.t_us <= new.t_us]
        mean = _mean([f.vel_N for f in between])
        north, east, _ = _distance_m((old.lat_deg, old.lon_deg), (new.lat_deg, new.lon_deg))
        moved = (north, east, old.alt_m - new.alt_m)
        off = norm(_add(moved, _scale(mean, -span)))
        self._complain_if_lasting(
            "GNSS position and velocity",
            off > 2.0 + 0.1 * norm(moved),
            f"GNSS position and velocity disagree by {off:.1f} m over {span:.1f} s.",
        )
        start, end = self._sum_at(old.t_us), self._sum_at(new.t_us)
        if start is None or end is None:
            return
        felt = _scale(_add(end, _scale(start, -1.0)), 1 / span)
        told = _add(_scale(_add(new.vel_N, _scale(old.vel_N, -1.0)), 1 / span), (0.0, 0.0, -9.81))
        self._complain_if_lasting(
            "GNSS and accelerometer",
            abs(norm(felt) - norm(told)) > 1.0,
            f"The accelerometer felt {norm(felt):.2f} m/s2 over {span:.1f} s, GNSS says {norm(told):.2f}.",
        )
        fields = [m for t, m in self._fields if old.t_us <= t <= new.t_us]
        if not fields or self._world_field_G is None:
            return
        seen = _unit(_mean(fields))
        here = _unit(self._world_field_G)
        self._complain_if_lasting(
            "GNSS and magnetometer",
            abs(_dot(felt, seen) - _dot(told, here)) > 2.0,
            f"Along the magnetic field the accelerometer felt {_dot(felt, seen):+.2f} m/s2, GNSS and the place's "
            f"field say {_dot(told, here):+.2f}: inclination or axes are wrong.",
        )

    def _sum_at(self, t_us: int) -> Vec | None:
        return next((total for t, total in reversed(self._sums) if t <= t_us), None)

    def _judge_height(self, fix: _Fix) -> None:
        if fix.baro_alt_m is None:
            return
        offset = fix.alt_m - fix.baro_alt_m
        if self._first_heights_m is None:
            self._first_heights_m = fix.alt_m, offset
        first_alt, first_offset = self._first_heights_m
        self._complain_if_lasting(
            "GNSS and barometer",
            abs(offset - first_offset) > 6.0 + 0.05 * abs(fix.alt_m - first_alt),
            f"GNSS and barometer altitude have drifted apart by {offset - first_offset:+.1f} m.",
        )

    def _complain_if_lasting(self, kind: str, bad: bool, words: str) -> None:
        """Noise may push a single fix over a limit, but not several in a row."""
        self._in_a_row[kind] = self._in_a_row.get(kind, 0) + 1 if bad else 0
        if self._in_a_row[kind] >= LASTING_FIXES:
            self._complain(kind, words)


def norm(v: Vec) -> float:
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


def _add(a: Vec, b: Vec) -> Vec:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _scale(v: Vec, s: float) -> Vec:
    return v[0] * s, v[1] * s, v[2] * s


def _dot(a: Vec, b: Vec) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vec, b: Vec) -> Vec:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(v: Vec) -> Vec:
    return _scale(v, 1 / (norm(v) or 1.0))


def _mean(rows: Sequence[Vec]) -> Vec:
    x, y, z = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return x, y, z


def _distance_m(a_deg: tuple[float, float], b_deg: tuple[float, float]) -> Vec:
    """North, east, 0; flat, so good for short ways."""
    north = math.radians(b_deg[0] - a_deg[0]) * EARTH_M
    east = math.radians(b_deg[1] - a_deg[1]) * EARTH_M * math.cos(math.radians(a_deg[0]))
    return north, east, 0.0


def _turned(q: Quat, rate: Vec, dt: float) -> Quat:
    w, x, y, z = q
    a, b, c = rate[0] * dt / 2, rate[1] * dt / 2, rate[2] * dt / 2
    w, x, y, z = (
        w - a * x - b * y - c * z,
        x + a * w + c * y - b * z,
        y + b * w - c * x + a * z,
        z + c * w + b * x - a * y,
    )
    n = 1 / math.sqrt(w * w + x * x + y * y + z * z)
    return w * n, x * n, y * n, z * n


def _rotate(q: Quat, v: Vec) -> Vec:
    w, u = q[0], (q[1], q[2], q[3])
    t = _scale(_cross(u, v), 2.0)
    return _add(_add(v, _scale(t, w)), _cross(u, t))
