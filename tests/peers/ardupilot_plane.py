"""How the ArduPilot of the tests flies a plane: it climbs straight ahead, then circles, by pulses of four channels.

Above 1500 us channel 1 rolls right, 2 pitches up, 4 yaws right; channel 3 is the throttle from 1000 to 2000 us. North,
east, down; forward, right, down. Enough for a take-off from a catapult and a loiter; no more is needed of it.
"""

from __future__ import annotations

import math

from peers.ardupilot_copter import Motion, euler, limited

MANUAL, LOITER, TAKEOFF, GUIDED = 0, 12, 13, 15
AIRSPEED_M_S = 20.0
CLIMB_RAD, BANK_RAD = math.radians(12.0), math.radians(20.0)
NEUTRAL = (1500, 1500, 1000, 1500)


class Plane:
    """arduplane: what it does armed and disarmed, in the few modes that a test needs."""

    mav_type = 1  # MAV_TYPE_FIXED_WING

    def __init__(self, loop_hz: float = 50.0) -> None:
        self.loop_hz = loop_hz
        self.mode = MANUAL
        self.armed = self.flying = False
        self.height_m = 50.0  # TKOFF_ALT
        self._home_down = self._heading = 0.0
        self._lift = 0.0  # pitch that holds the height

    def disarmed(self) -> list[int]:
        return list(NEUTRAL)

    def arm(self, motion: Motion, t_s: float) -> str:
        self.armed = True
        self._home_down, self._heading = motion.pos[2], euler(motion.quat)[2]
        self._lift = 0.0
        return ""

    def disarm(self) -> str:
        self.armed = False
        return ""

    def set_mode(self, mode: int, motion: Motion) -> str:
        if mode not in (MANUAL, LOITER, TAKEOFF, GUIDED):
            return "Mode change failed: no such mode in this test"
        self.mode = mode
        return ""

    def command(self, number: int, params: tuple[float, ...], motion: Motion) -> str | None:
        return None

    def parameter(self, name: str, value: float) -> None:
        if name == "TKOFF_ALT":
            self.height_m = value

    def step(self, motion: Motion, t_s: float, dt_s: float) -> list[int]:
        if self.mode == MANUAL:
            return self.disarmed()
        roll, pitch, yaw = euler(motion.quat)
        p, q, r = motion.rate
        height_m, climb_m_s = self._home_down - motion.pos[2], -motion.vel[2]
        lacking_m = self.height_m - height_m
        circles = self.mode != TAKEOFF or lacking_m < 5.0
        wish_roll = BANK_RAD if circles else limited(math.remainder(self._heading - yaw, 2 * math.pi), -0.3, 0.3)
        wish_climb = limited(0.3 * lacking_m, -2.0, 4.0)
        self._lift = limited(self._lift + 0.02 * (wish_climb - climb_m_s) * dt_s, -0.2, 0.2)
        wish_pitch = limited(self._lift + 0.06 * (wish_climb - climb_m_s), -0.2, CLIMB_RAD)
        speed_m_s = math.hypot(*motion.vel)
        throttle = limited(0.55 + 0.08 * (AIRSPEED_M_S - speed_m_s) + 0.08 * wish_climb, 0.0, 1.0)
        aileron = limited(0.5 * (wish_roll - roll) - 0.08 * p, -1, 1)
        elevator = limited(0.8 * (wish_pitch - pitch) - 0.15 * q, -1, 1)
        rudder = limited(-0.1 * r, -0.3, 0.3)
        surfaces = [round(1500 + 500 * share) for share in (aileron, elevator, rudder)]
        return [surfaces[0], surfaces[1], round(1000 + 1000 * throttle), surfaces[2]]
