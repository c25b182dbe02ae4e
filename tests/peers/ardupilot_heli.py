"""How the tests' ArduPilot flies a helicopter: rates by the swash plate, position above them, pulses of five channels.

Its mixing is that of ArduPilot's H3_120 plate with its own numbers (0.866025, 0.5, -1, and 0.45 of a servo's travel),
the collective between H_COL_MIN and H_COL_MAX; roll right, nose up and yaw right are positive. The rotor speed is
ramped up within a second to H_RSC_SETPOINT; a test gives the rotor some seconds before it commands the take-off.
"""

from __future__ import annotations

import math

from peers.ardupilot_copter import G_M_S2, LAND_FAST_M_S, LAND_LOW_M, LAND_M_S, Copter, Motion, Vec, euler, limited

ROLL_FACTORS, PITCH_FACTORS = (0.866025, -0.866025, 0.0), (0.5, 0.5, -1.0)
COL_MIN_US, COL_MAX_US, CYC_MAX = 1460.0, 1740.0, 2500.0 / 4500.0
RSC_SETPOINT, RAMP_S = 0.66, 1.0
RATE_FEED = (0.165, 0.165)
"""Output of roll and pitch for a rate of 1 rad/s; a rotor answers cyclic pitch with a rate."""
HOVER_ROLL_RAD = math.radians(5.0)
"""ATC_HOVR_ROL_TRM: in hover it leans against the tail rotor's push."""
MOST_LEAN_RAD, SPEED_M_S, CLIMB_M_S = math.radians(12.0), 2.0, 1.5


def servo_pulses(roll: float, pitch: float, collective: float, yaw: float, rsc: float) -> list[int]:
    """`collective` and `rsc` from 0 to 1, the others from -1 to 1."""
    size = math.hypot(roll, pitch)
    if size > CYC_MAX:
        roll, pitch = roll * CYC_MAX / size, pitch * CYC_MAX / size
    level = (COL_MIN_US - 1000.0 + limited(collective, 0.0, 1.0) * (COL_MAX_US - COL_MIN_US)) / 1000.0
    plate = [0.45 * (a * roll + b * pitch) + level for a, b in zip(ROLL_FACTORS, PITCH_FACTORS, strict=True)]
    shares = [*plate, (limited(yaw, -1.0, 1.0) + 1.0) / 2.0, 0.0, 0.0, 0.0, rsc]
    return [
        0 if 4 <= index < 7 else round(1000.0 + 1000.0 * limited(share, 0.0, 1.0)) for index, share in enumerate(shares)
    ]


class HeliCascade:
    """From position to outputs; as `Cascade` for the quadrotor."""

    def __init__(self) -> None:
        self.target: Vec = (0.0, 0.0, 0.0)
        self.yaw = 0.0
        self.landing = False
        self._lean, self._trim = [0.0, 0.0], [0.0, 0.0]
        self._hover, self._tail = 0.5, 0.0

    def outputs(self, motion: Motion, dt_s: float) -> tuple[float, float, float, float]:
        (north, east, down), (vn, ve, vd) = motion.pos, motion.vel
        roll, pitch, yaw = euler(motion.quat)
        p, q, r = motion.rate
        wish_n, wish_e = 0.6 * (self.target[0] - north), 0.6 * (self.target[1] - east)
        length = math.hypot(wish_n, wish_e)
        slower = min(1.0, SPEED_M_S / length) if length > 0 else 1.0
        off_n, off_e = wish_n * slower - vn, wish_e * slower - ve
        self._lean = [limited(a + 0.2 * b * dt_s, -2.0, 2.0) for a, b in zip(self._lean, (off_n, off_e), strict=True)]
        an, ae = 1.2 * off_n + self._lean[0], 1.2 * off_e + self._lean[1]
        forward, right = math.cos(yaw) * an + math.sin(yaw) * ae, math.cos(yaw) * ae - math.sin(yaw) * an
        wished = (
            limited(math.atan(right / G_M_S2) + HOVER_ROLL_RAD, -MOST_LEAN_RAD, MOST_LEAN_RAD),
            limited(-math.atan(forward / G_M_S2), -MOST_LEAN_RAD, MOST_LEAN_RAD),
        )
        rates = [2.0 * (wish - at) for wish, at in zip(wished, (roll, pitch), strict=True)]
        self._trim = [
            limited(trim + 0.1 * (wish - rate) * dt_s, -0.3, 0.3)
            for trim, wish, rate in zip(self._trim, rates, (p, q), strict=True)
        ]
        cyclic = [feed * rate + trim for feed, rate, trim in zip(RATE_FEED, rates, self._trim, strict=True)]
        if self.landing:
            wish_d = LAND_FAST_M_S if -down > LAND_LOW_M else LAND_M_S
        else:
            wish_d = limited(self.target[2] - down, -CLIMB_M_S, CLIMB_M_S)
        self._hover = limited(self._hover + 0.06 * (vd - wish_d) * dt_s, 0.2, 0.8)
        collective = self._hover + 0.12 * (vd - wish_d)
        turn = limited(2.0 * math.remainder(self.yaw - yaw, 2 * math.pi), -1.0, 1.0) - r
        self._tail = limited(self._tail + 0.2 * turn * dt_s, -0.5, 0.5)
        return cyclic[0], cyclic[1], collective, 0.12 * turn + self._tail

    def step(self, motion: Motion, dt_s: float) -> list[int]:
        return servo_pulses(*self.outputs(motion, dt_s), RSC_SETPOINT)


class Heli(Copter):
    """arducopter-heli: armed it runs its rotor up."""

    mav_type = 4  # MAV_TYPE_HELICOPTER
    cascade = HeliCascade

    def disarmed(self) -> list[int]:
        return servo_pulses(0.0, 0.0, 0.0, 0.0, 0.0)

    def idle(self, armed_for_s: float) -> list[int]:
        return servo_pulses(0.0, 0.0, 0.0, 0.0, RSC_SETPOINT * min(armed_for_s / RAMP_S, 1.0))
