"""GNSS receiver: position with a slowly varying error of a metre or two, and latency.

The error is drawn in metres east, north and up, and turned into degrees with the radii of curvature of WGS-84.
Without a fix the receiver still reports: the last position it had, no velocity, no satellites.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from aeroloop.core.config import meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.geodesy import moved
from aeroloop.core.signals import NS, Place
from aeroloop.sensors.gnss_errors import (
    Constellation,
    Multipath,
    Satellites,
    ScaledChannel,
    Wander,
    without_drift,
    without_noise,
)
from aeroloop.sensors.noise import Channel, Errors, Streams, quantised
from aeroloop.sensors.scene import Scene
from aeroloop.sensors.schedule import Sensor

NO_FIX_ACCURACY_M = 100.0


class GnssSample(NamedTuple):
    t_ns: int  # taken
    ready_ns: int  # delivered
    fix: bool  # three-dimensional
    lat_deg: float
    lon_deg: float
    alt_m: float  # above mean sea level
    vel_W: Vec3  # m/s
    eph_m: float  # reported horizontal accuracy
    epv_m: float
    satellites: int


class GnssConfig(Sensor, frozen=True):
    """Satellite navigation receiver."""

    position: Annotated[Errors, note("metres east, north, up")] = Errors()
    velocity: Annotated[Errors, note("m/s east, north, up")] = Errors()
    lat_lon_quantum_deg: Annotated[float, meta("deg", "resolution of latitude and longitude; 0 for none", ge=0)] = 0.0
    alt_quantum_m: Annotated[float, meta("m", "resolution of altitude; 0 for none", ge=0)] = 0.0
    eph_m: Annotated[float, meta("m", "reported horizontal accuracy", ge=0, le=1000)] = 1.0
    epv_m: Annotated[float, meta("m", "reported vertical accuracy", ge=0, le=1000)] = 1.5
    satellites: Annotated[int, meta("-", "satellites in use", ge=4, le=60)] = 10
    max_speed_m_s: Annotated[float, meta("m/s", "no fix when faster than this", gt=0)] = 500.0
    max_alt_m: Annotated[float, meta("m", "no fix when higher than this", gt=0)] = 50_000.0
    lost_s: Annotated[
        tuple[tuple[float, float], ...],
        meta("s", "intervals without a fix, as [from, to]; the same as `[[faults]]` of kind `no_fix`"),
    ] = ()
    consistent: Annotated[
        bool, note("velocity errors are the change of the wandering position error (docs/sensors.md#gnss)")
    ] = False
    multipath: Annotated[Multipath | None, note("error by reflections near the ground; left out: none")] = None
    constellation: Annotated[Constellation | None, note("changing satellites; left out: always the same")] = None

    def __post_init__(self) -> None:
        if self.position.quantum or self.position.range is not None:
            raise ValueError("position: its resolution is lat_lon_quantum_deg and alt_quantum_m, its range max_alt_m")
        for start_s, end_s in self.lost_s:
            if not 0 <= start_s < end_s:
                raise ValueError(f"lost_s: expected [from, to] with from before to, not [{start_s}, {end_s}]")

    @property
    def is_detailed(self) -> bool:
        """Whether `DetailedGnss` measures."""
        return self.consistent or self.multipath is not None or self.constellation is not None


class Gnss:
    def __init__(self, config: GnssConfig, streams: Streams) -> None:
        self._config = config
        self._delay_ns = round(config.delay_s * NS)
        self.lost = False  # by a fault
        self._position = Channel(config.position, config.period_s, 3, streams.child("position"))
        self._velocity = Channel(config.velocity, config.period_s, 3, streams.child("velocity"))
        self.channels = {"position": self._position, "velocity": self._velocity}
        self._last = (0.0, 0.0, 0.0)

    def measure(self, scene: Scene, steps: int) -> GnssSample:
        config, state, place = self._config, scene.state, scene.place
        t_ns, ready_ns = state.t_ns, state.t_ns + self._delay_ns
        east_m, north_m, up_m = self._position.measure3(0.0, 0.0, 0.0, steps)
        vel_W = self._velocity.measure3(*state.vel_W, steps)
        if self.lost or not self._sees(state.vel_W, place.alt_m):
            return self._without_fix(t_ns, ready_ns)
        self._place(place, (east_m, north_m, up_m))
        return GnssSample(t_ns, ready_ns, True, *self._last, vel_W, config.eph_m, config.epv_m, config.satellites)

    def _place(self, place: Place, error_W: Vec3) -> None:
        """Keep the position to report, with its error (m)."""
        east_m, north_m, up_m = error_W
        lat_deg, lon_deg = moved(place.lat_deg, place.lon_deg, place.alt_m, east_m, north_m)
        quantum_deg = self._config.lat_lon_quantum_deg
        alt_m = quantised(place.alt_m + up_m, self._config.alt_quantum_m)
        self._last = quantised(lat_deg, quantum_deg), quantised(lon_deg, quantum_deg), alt_m

    def _without_fix(self, t_ns: int, ready_ns: int) -> GnssSample:
        worst = NO_FIX_ACCURACY_M
        return GnssSample(t_ns, ready_ns, False, *self._last, (0.0, 0.0, 0.0), worst, worst, 0)

    def _sees(self, vel_W: Vec3, alt_m: float) -> bool:
        return math.hypot(*vel_W) <= self._config.max_speed_m_s and alt_m <= self._config.max_alt_m


class DetailedGnss(Gnss):
    """With errors of `sensors.gnss_errors`; chosen where the table asks for one of them."""

    def __init__(self, config: GnssConfig, streams: Streams) -> None:
        super().__init__(config, streams)
        period_s, consistent = config.period_s, config.consistent
        position = without_drift(config.position) if consistent else config.position
        velocity = without_noise(config.velocity) if consistent else config.velocity
        self._scaled = (
            ScaledChannel(position, period_s, 3, streams.child("position")),
            ScaledChannel(velocity, period_s, 3, streams.child("velocity")),
        )
        self._position, self._velocity = self._scaled
        self.channels = {"position": self._position, "velocity": self._velocity}
        self._wander = Wander(
            config.position, config.velocity, config.multipath, period_s, streams, consistent=consistent
        )
        self._satellites = None
        if config.constellation is not None:
            self._satellites = Satellites(config.constellation, config.satellites, period_s, streams)

    def measure(self, scene: Scene, steps: int) -> GnssSample:
        config, state, place = self._config, scene.state, scene.place
        t_ns, ready_ns = state.t_ns, state.t_ns + self._delay_ns
        count, reported, true = config.satellites, 1.0, 1.0
        if self._satellites is not None:
            self._satellites.advance(steps)
            count, reported, true = self._satellites.count, self._satellites.reported, self._satellites.true
        for channel in self._scaled:
            channel.scale = true
        error_W, change_W = self._wander.advance(steps, state.pos_W[2] - scene.ground_m, true)
        error_W = self._position.measure3(*error_W, steps)
        vx, vy, vz = state.vel_W
        if config.consistent:
            vx, vy, vz = vx + change_W[0], vy + change_W[1], vz + change_W[2]
        vel_W = self._velocity.measure3(vx, vy, vz, steps)
        if self.lost or not self._sees(state.vel_W, place.alt_m):
            return self._without_fix(t_ns, ready_ns)
        self._place(place, error_W)
        accuracy = config.eph_m * reported, config.epv_m * reported
        return GnssSample(t_ns, ready_ns, True, *self._last, vel_W, *accuracy, count)
