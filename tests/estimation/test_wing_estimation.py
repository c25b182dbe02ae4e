"""The fixed wing's estimators on flights that are known in closed form: straight lines and level turns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import GRAVITY_M_S2, Vec3, euler_from_quat, quat_from_euler
from aeroloop.estimation import wing
from aeroloop.estimation.wing import AIRSPEED, ESTIMATE, GYRO_BIAS, POS, QUAT, VEL, WIND, Lift
from aeroloop.estimation.wing_attitude import esti_atti
from aeroloop.estimation.wing_navigation import NavigationGains, esti_nav
from aeroloop.sensors.scene import body_from_world, times
from aeroloop.world.atmosphere import Atmosphere, Day

PERIOD_S, SPEED_M_S, HEIGHT_M = 0.05, 20.0, 500.0
ALPHA_RAD = 0.1
ATMOSPHERE = Atmosphere(Day())
PRESSURE_PA, _, DENSITY = ATMOSPHERE.at(HEIGHT_M)
DYNAMIC_PA = 0.5 * DENSITY * (SPEED_M_S * math.cos(ALPHA_RAD)) ** 2
LIFT = Lift(ALPHA_RAD, 0.0)
AZIMUTH_RAD, DIP_RAD = math.pi / 2 + 0.1, 1.1
FIELD_W = (
    5e-5 * math.cos(DIP_RAD) * math.cos(AZIMUTH_RAD),
    5e-5 * math.cos(DIP_RAD) * math.sin(AZIMUTH_RAD),
    -5e-5 * math.sin(DIP_RAD),
)
FIX_EVERY = 2
NAMES = [name for name, _ in ESTIMATE]
ATTI, NAV = Evaluator(esti_atti(LIFT, PERIOD_S)), Evaluator(esti_nav(LIFT, PERIOD_S))


@dataclass
class Turn:
    """A level turn with a constant roll in a constant wind; a roll of 0 is a straight line to the east."""

    roll_rad: float = 0.0
    wind_W: Vec3 = (0.0, 0.0, 0.0)
    yaw_rate: float = field(init=False)

    def __post_init__(self) -> None:
        self.yaw_rate = -GRAVITY_M_S2 / SPEED_M_S * math.tan(self.roll_rad)

    def course(self, t: float) -> float:
        """Through the air."""
        return self.yaw_rate * t

    def pos_W(self, t: float) -> Vec3:
        r = self.yaw_rate
        x, y = (SPEED_M_S / r * math.sin(r * t), SPEED_M_S / r * (1 - math.cos(r * t))) if r else (SPEED_M_S * t, 0.0)
        return x + self.wind_W[0] * t, y + self.wind_W[1] * t, HEIGHT_M

    def vel_W(self, t: float) -> Vec3:
        course = self.course(t)
        return SPEED_M_S * math.cos(course) + self.wind_W[0], SPEED_M_S * math.sin(course) + self.wind_W[1], 0.0

    def attitude(self, t: float) -> tuple[float, float, float]:
        """In the plane of lift the nose is above the flight path, which is level."""
        pitch = -math.atan(math.tan(ALPHA_RAD) * math.cos(self.roll_rad))
        aside = math.asin(math.sin(ALPHA_RAD) * math.sin(self.roll_rad))
        return self.roll_rad, pitch, self.course(t) - aside

    def felt(self, t: float) -> tuple[Vec3, Vec3, Vec3]:
        """Gyroscope, accelerometer, magnetometer."""
        R_BW = body_from_world(quat_from_euler(*self.attitude(t)))
        vx, vy, _ = self.vel_W(t)
        ax, ay = -self.yaw_rate * (vy - self.wind_W[1]), self.yaw_rate * (vx - self.wind_W[0])
        return times(R_BW, 0.0, 0.0, self.yaw_rate), times(R_BW, ax, ay, GRAVITY_M_S2), times(R_BW, *FIELD_W)


@dataclass
class Flown:
    estimate: dict[str, float]
    attitude: np.ndarray
    navigation: np.ndarray
    worst_pos_m: float
    """Largest error of position in the second half."""


def fly(
    turn: Turn,
    seconds: float,
    *,
    gyro_bias: Vec3 = (0.0, 0.0, 0.0),
    fixes_until_s: float = math.inf,
    age_s: float = NavigationGains().fix_age_s,
    start: tuple[tuple[float, ...], tuple[float, ...]] | None = None,
) -> Flown:
    if start is None:
        attitude, navigation = wing.initial(turn.pos_W(0), turn.vel_W(0), PRESSURE_PA, airspeed_m_s=SPEED_M_S)
        start = (*quat_from_euler(*turn.attitude(0)), *attitude[4:]), navigation
    ATTI.inputs[0][:], NAV.inputs[0][:] = start
    ATTI.inputs[5][0] = AZIMUTH_RAD
    worst = 0.0
    ticks = round(seconds / PERIOD_S)
    for k in range(1, ticks + 1):
        t = k * PERIOD_S
        gyro, accel, mag = turn.felt(t - PERIOD_S / 2)
        ATTI.inputs[1][:] = NAV.inputs[0]
        ATTI.inputs[2][:] = [rate + bias for rate, bias in zip(gyro, gyro_bias, strict=True)]
        ATTI.inputs[3][:] = NAV.inputs[2][:] = accel
        ATTI.inputs[4][:] = mag
        ATTI()
        ATTI.inputs[0][:] = NAV.inputs[1][:] = ATTI.outputs[0]
        NAV.inputs[3][:] = PRESSURE_PA, DYNAMIC_PA
        fresh = k % FIX_EVERY == 0 and t <= fixes_until_s
        NAV.inputs[4][:] = float(fresh), *turn.pos_W(t - age_s), *turn.vel_W(t - age_s)
        NAV()
        NAV.inputs[0][:] = NAV.outputs[1]
        if k > ticks // 2:
            worst = max(worst, math.dist(NAV.outputs[0][:2], turn.pos_W(t)[:2]))
    estimate = dict(zip(NAMES, NAV.outputs[0].tolist(), strict=True))
    return Flown(estimate, ATTI.outputs[0].copy(), NAV.outputs[1].copy(), worst)


@pytest.mark.parametrize("fixes_until_s", [math.inf, 0.0], ids=["fixes", "no fixes"])
@pytest.mark.parametrize("roll_deg", [25.0, -25.0])
def test_a_long_turn_does_not_level_the_horizon(roll_deg: float, fixes_until_s: float) -> None:
    """What the accelerometer feels in a turn is as if the wings were level."""
    turn = Turn(math.radians(roll_deg))
    found = fly(turn, 120.0, fixes_until_s=fixes_until_s).estimate
    _, pitch, yaw = turn.attitude(120.0)
    assert math.degrees(found["roll"]) == pytest.approx(roll_deg, abs=0.7)
    assert math.degrees(found["pitch"]) == pytest.approx(math.degrees(pitch), abs=0.7)
    assert math.degrees(math.remainder(found["yaw"] - yaw, math.tau)) == pytest.approx(0.0, abs=1.5)


def test_wrong_angles_at_the_start_are_mended() -> None:
    """The flight begins on a circle and the estimators believe that the wings are level and the nose on the course."""
    turn = Turn(math.radians(20.0), wind_W=(0.0, 3.0, 0.0))
    start = wing.initial(turn.pos_W(0), turn.vel_W(0), PRESSURE_PA)
    found = fly(turn, 60.0, start=start).estimate
    assert math.degrees(found["roll"]) == pytest.approx(20.0, abs=1.0)


def test_the_bias_of_the_gyroscope_is_learned() -> None:
    bias = (0.01, -0.008, 0.006)
    found = fly(Turn(), 400.0, gyro_bias=bias)
    assert found.attitude[GYRO_BIAS] == pytest.approx(bias, abs=0.001)
    assert found.estimate["rate_x"] == pytest.approx(0.0, abs=0.001)
    assert math.degrees(found.estimate["roll"]) == pytest.approx(0.0, abs=0.3)


def test_a_fix_is_compared_with_where_the_aircraft_was() -> None:
    turn = Turn(math.radians(25.0))
    on_time, unaware = fly(turn, 40.0), fly(turn, 40.0, age_s=NavigationGains().fix_age_s + 0.1)
    assert on_time.worst_pos_m < 0.2
    assert unaware.worst_pos_m > 1.0
    vel_W = turn.vel_W(40.0)
    assert on_time.estimate["vel_x"] == pytest.approx(vel_W[0], abs=0.1)
    assert on_time.estimate["vel_y"] == pytest.approx(vel_W[1], abs=0.1)
    course = math.atan2(vel_W[1], vel_W[0])
    assert math.remainder(on_time.estimate["course"] - course, math.tau) == pytest.approx(0.0, abs=0.01)
    assert on_time.estimate["ground_speed"] == pytest.approx(SPEED_M_S, abs=0.05)


def test_the_wind_is_found_and_carries_on_without_fixes() -> None:
    turn = Turn(math.radians(15.0), wind_W=(4.0, -3.0, 0.0))
    found = fly(turn, 60.0)
    assert found.navigation[WIND] == pytest.approx(turn.wind_W[:2], abs=0.3)
    lost = fly(turn, 90.0, fixes_until_s=60.0)
    assert math.dist(lost.navigation[POS][:2], turn.pos_W(90.0)[:2]) < 25.0
    assert lost.navigation[VEL][:2] == pytest.approx(turn.vel_W(90.0)[:2], abs=1.0)


def test_without_fixes_the_velocity_leans_on_airspeed_and_wind() -> None:
    attitude, navigation = wing.initial((0, 0, HEIGHT_M), (SPEED_M_S, 0.0, 0.0), PRESSURE_PA)
    wrong = (*navigation[:4], 5.0, *navigation[5:])
    found = fly(Turn(), 20.0, fixes_until_s=0.0, start=((*quat_from_euler(*Turn().attitude(0)), *attitude[4:]), wrong))
    assert found.navigation[VEL][:2] == pytest.approx((SPEED_M_S, 0.0), abs=1.5)


@pytest.mark.parametrize("height_m", [0.0, 500.0, 3000.0])
def test_airspeed_is_true_airspeed_at_any_height(height_m: float) -> None:
    pressure_Pa, _, density = ATMOSPHERE.at(height_m)
    attitude, navigation = wing.initial((0, 0, height_m), (15.0, 0.0, 0.0), pressure_Pa)
    NAV.inputs[0][:], NAV.inputs[1][:] = navigation, attitude
    NAV.inputs[2][:] = 0.0, 0.0, GRAVITY_M_S2
    NAV.inputs[3][:] = pressure_Pa, 0.5 * density * (SPEED_M_S * math.cos(ALPHA_RAD)) ** 2
    NAV.inputs[4][:] = 0.0
    for _ in range(30):
        NAV()
        NAV.inputs[0][AIRSPEED] = NAV.outputs[1][AIRSPEED]
    assert NAV.outputs[0][NAMES.index("airspeed")] == pytest.approx(SPEED_M_S, rel=2e-3)


def test_the_fixes_hold_the_barometer_on_a_day_that_is_not_standard() -> None:
    attitude, navigation = wing.initial((0, 0, HEIGHT_M + 15.0), (SPEED_M_S, 0.0, 0.0), PRESSURE_PA)
    found = fly(Turn(), 60.0, start=(attitude, navigation))
    assert found.estimate["pos_z"] == pytest.approx(HEIGHT_M, abs=0.5)


def test_a_fix_that_jumps_is_cut() -> None:
    attitude, navigation = wing.initial((0, 0, HEIGHT_M), (SPEED_M_S, 0.0, 0.0), PRESSURE_PA)
    NAV.inputs[0][:], NAV.inputs[1][:] = navigation, attitude
    NAV.inputs[2][:], NAV.inputs[3][:] = (0.0, 0.0, GRAVITY_M_S2), (PRESSURE_PA, DYNAMIC_PA)
    NAV.inputs[4][:] = 1.0, 9000.0, 0.0, HEIGHT_M, 300.0, 0.0, 0.0
    NAV()
    gains = NavigationGains()
    assert NAV.outputs[1][0] == pytest.approx(SPEED_M_S * PERIOD_S + gains.fix_position * gains.surprise_m)
    assert NAV.outputs[1][3] == pytest.approx(SPEED_M_S + gains.fix_velocity * gains.surprise_m_s)


def test_the_estimate_speaks_of_angles_as_frames_does() -> None:
    angles = (0.3, -0.2, 2.5)
    _, navigation = wing.initial((0, 0, HEIGHT_M), (SPEED_M_S, 0.0, 0.0), PRESSURE_PA)
    NAV.inputs[0][:] = navigation
    NAV.inputs[1][:] = 0.0
    NAV.inputs[1][QUAT] = quat_from_euler(*angles)
    NAV.inputs[2][:], NAV.inputs[3][:], NAV.inputs[4][:] = 0.0, (PRESSURE_PA, DYNAMIC_PA), 0.0
    NAV()
    found = tuple(NAV.outputs[0][NAMES.index("roll") : NAMES.index("yaw") + 1].tolist())
    assert found == pytest.approx(angles)
    assert found == pytest.approx(euler_from_quat(quat_from_euler(*angles)))
