"""An inertial unit that is a part of the aircraft: the navigation filter on the samples of a set of sensors.

Families whose board gets a state instead of samples use it in place of sensors of the state.
"""

from __future__ import annotations

from typing import Protocol

from aeroloop.codegen.host import fastest
from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.signals import NS, NavEstimate, Origin
from aeroloop.estimation.config import NavigationConfig
from aeroloop.estimation.navigation import Navigation
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.suite import Sample
from aeroloop.world.earth import Home
from aeroloop.world.magnetic import MagneticModel

STALE_NS = NS // 20
"""An estimate without an IMU sample for longer than this is not sent."""


class Flying(Protocol):
    @property
    def pos_W(self) -> Vec3: ...
    @property
    def vel_W(self) -> Vec3: ...
    @property
    def quat_WB(self) -> Quat: ...


class NavigationUnit:
    """Started in the air at the start of the flight."""

    def __init__(self, home: Home, start: Flying) -> None:
        self._navigation = Navigation(NavigationConfig(), fastest, MagneticModel(home.date).field_T)
        origin = Origin(home.lat_deg, home.lon_deg, home.alt_m)
        self._navigation.begin_in_air(origin, start.pos_W, start.vel_W, start.quat_WB)

    @property
    def estimate(self) -> NavEstimate | None:
        """The newest, however old."""
        return self._navigation.estimate

    def usable(self, t_ns: int) -> NavEstimate | None:
        """The newest, unless it is stale."""
        now = self.estimate
        return None if now is None or t_ns - now.t_ns > STALE_NS else now

    def take(self, sample: Sample) -> None:
        match sample:
            case ImuSample():
                self._navigation.imu(sample.t_ns, sample.rate_B, sample.accel_B)
            case MagnetometerSample():
                self._navigation.magnetometer(sample.t_ns, sample.field_B_T)
            case BarometerSample():
                self._navigation.barometer(sample.t_ns, sample.pressure_altitude_m)
            case GnssSample():
                place = sample.lat_deg, sample.lon_deg, sample.alt_m
                self._navigation.gnss(sample.t_ns, *place, sample.vel_W, sample.eph_m, sample.epv_m, sample.fix)
