"""What the image of a scenario has: its parameters before the flight, the format of its line, its soft drivers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from aeroloop.actuators.motors import Motor
from aeroloop.controllers.pose.driver_table import DRIVERS, mask_of
from aeroloop.controllers.pose.parameters import DEGREE
from aeroloop.controllers.pose.tables import PoseScenario
from aeroloop.core.frames import ned_from_enu
from aeroloop.core.tables import offered
from aeroloop.protocols.pose import PoseFormat
from aeroloop.sensors.reconstruction import place, rebuilt
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth

RPM_PER_RAD_S = 60 / math.tau


@dataclass(frozen=True)
class BoardSettings:
    """All that the drivers of a board are built from, in Python and in C."""

    layout: PoseFormat
    baud: int
    kinds: frozenset[int]  # types of a set
    parameters: dict[str, float]
    rebuild: dict[str, ca.Function]  # `place`, then each class
    periods_us: tuple[int, ...]  # of the soft drivers, 0: every control period
    idle_rpm: float
    top_rpm: float

    @cached_property
    def rpm_per_us(self) -> float:
        """Of a pulse above 1000 us."""
        return (self.top_rpm - self.idle_rpm) / 1000


def settings_of(scenario: PoseScenario) -> BoardSettings:
    pose, aboard = scenario.controller.pose, scenario.aircraft.aboard
    functions = rebuilt(pose.reconstruction, pose.packets)
    slow = {"magnetometer": aboard.magnetometer, "barometer": aboard.barometer, "gnss": aboard.gnss}
    motor = motor_of(scenario)
    return BoardSettings(
        layout=replace(pose.layout, types=pose.board),
        baud=pose.baud,
        kinds=pose.kinds,
        parameters=initial_parameters(scenario),
        rebuild={"place": place(), **functions.by_class()},
        periods_us=tuple(
            round(1e6 / sensor.rate_hz) if (sensor := slow.get(driver.name)) is not None else 0 for driver in DRIVERS
        ),
        idle_rpm=motor.speed_idle_rad_s * RPM_PER_RAD_S,
        top_rpm=motor.speed_max_rad_s * RPM_PER_RAD_S,
    )


def motor_of(scenario: PoseScenario) -> Motor:
    motors: Motor = offered(scenario.kind, "airframe", scenario).motors
    return motors


def initial_parameters(scenario: PoseScenario) -> dict[str, float]:
    """What the image of a scenario starts with."""
    pose, home = scenario.controller.pose, scenario.aircraft.home
    earth = Earth(home)
    north_T, east_T, down_T = ned_from_enu(earth.field_W_T((0.0, 0.0, 0.0)))
    pressure_Pa, temperature_K, _ = Atmosphere(scenario.aircraft.world.day).at(home.alt_m)
    gnss = scenario.aircraft.aboard.gnss
    lat, lat_e7 = split(home.lat_deg)
    lon, lon_e7 = split(home.lon_deg)
    noise = pose.noise_std
    return {
        "SENS_SOFT": mask_of(pose.soft),
        "SENS_SOFT_NOISE": float(pose.noise == "board"),
        "SENS_SHADOW": float(pose.shadow),
        "SENS_STALE": pose.stale_s,
        "SENS_FAIL": pose.fail_s,
        "SENS_SEED": 1 + scenario.seed % 16_777_215,
        "HOME_LAT": lat,
        "HOME_LAT_E7": lat_e7,
        "HOME_LON": lon,
        "HOME_LON_E7": lon_e7,
        "HOME_ALT": home.alt_m,
        "HOME_HEIGHT": earth.ellipsoid_height_m(home.alt_m),
        "HOME_PRES": pressure_Pa,
        "HOME_TEMP": temperature_K,
        "HOME_GRAV": earth.place((0.0, 0.0, 0.0)).gravity_m_s2,
        "FIELD_NORTH": north_T,
        "FIELD_EAST": east_T,
        "FIELD_DOWN": down_T,
        "GNSS_EPH": gnss.eph_m if gnss is not None else 1.0,
        "GNSS_EPV": gnss.epv_m if gnss is not None else 1.5,
        "NOISE_ACCELEROMETER": noise.accelerometer_m_s2,
        "NOISE_GYRO": noise.gyro_rad_s,
        "NOISE_MAGNETOMETER": noise.magnetometer_T,
        "NOISE_BAROMETER": noise.barometer_m,
        "NOISE_GNSS": noise.position_m,
        "NOISE_VELOCITY": noise.velocity_m_s,
    }


def split(degrees: float) -> tuple[int, int]:
    """Whole degrees and the rest in 1e-7 deg."""
    counts = round(degrees * DEGREE)
    whole = math.trunc(counts / DEGREE)
    return whole, counts - whole * DEGREE
