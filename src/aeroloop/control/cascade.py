"""The flight law of a multirotor: the thesis' altitude, position and attitude PID in cascade, as one pure function.

    position -> velocity -> acceleration -> roll, pitch and thrust        (or roll, pitch, thrust setpoints)
    attitude -> body rates -> angular acceleration -> torques -> rotor thrusts -> motor commands

Reference: Nguyen 2018, Figure 3.6; the cascade and most gains are PX4's. Differences:

- Errors of attitude are split into tilt and heading, so that a large error of yaw does not disturb the tilt.
- Integrals are kept in a form that cannot wind up. With a the acceleration that thrust and attitude should give in
  still air and v' the measured one, I' = (ki / kp) (a - v' - I), for the velocity as for the body rates. Without
  saturation that is the PID's ki times the error, minus the effect of setpoint changes. It continues to adapt (wind,
  hover thrust) in attitude mode, so that mode changes are smooth.
- The rates' integral is held at low thrust: on the ground.

A memory of zeros is the initial state; keep it zero while disarmed. All inputs must be finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from aeroloop.control.allocation import allocate, allocate_without, effects
from aeroloop.control.flight_gains import DEFAULTS, GAINS, Gain, row
from aeroloop.control.toolkit import clip
from aeroloop.core.frames import GRAVITY_M_S2, Vec3

__all__ = ["DEFAULTS", "GAINS", "INPUTS", "MEMORY", "OUTPUTS", "Frame", "Gain", "law", "row"]

INPUTS = ("nav", "setpoint", "memory", "gains")
OUTPUTS = ("motors", "attitude", "memory_next")
NAV, SETPOINT = 13, 16

COMMAND_LEAST = 0.001
"""Smallest motor command in flight: at 0 a motor stops, just above it idles."""
UPWARD_SHARE = 0.95
"""Fraction of the largest thrust available for height; the rest is reserved for tilt."""
LEARNED_XY, LEARNED_DOWN, LEARNED_UP = 8.0, 3.0, 5.0
"""Bounds of the velocity's integral in m/s2: a gale; thrust a third too strong; thin air or a payload."""
LEARNED_RATE = (30.0, 30.0, 10.0)
"""Bounds of the rates' integral in rad/s2: rotors far above the centre of mass in a gale."""
AWAKE_SHARE, AIRBORNE_SHARE, LIFTED_SHARE = 0.1, 0.5, 0.9
"""Fractions of the weight. Below the first manual thrust the torques fade; below the second the rates' integral is
held; below the third manual thrust the height's is held."""

STARTED, VEL, ACCEL, LEARNED, RATE, RATE_DOT, RATE_LEARNED = (
    slice(0, 1),
    slice(1, 4),
    slice(4, 7),
    slice(7, 10),
    slice(10, 13),
    slice(13, 16),
    slice(16, 19),
)
MEMORY = 19


@dataclass(frozen=True, slots=True)
class Frame:
    """Airframe parameters of the law."""

    mass_kg: float
    inertia_kgm2: Vec3
    rotor_pos_B_m: tuple[Vec3, ...]
    rotor_spin: tuple[int, ...]  # 1 counter-clockwise seen from above, -1 clockwise
    thrust_Ns2: float  # over squared speed
    torque_to_thrust_m: float
    speed_idle_rad_s: float
    speed_max_rad_s: float
    drag_per_s: float = 0.0  # drag of the rotors in hover, over velocity through the air
    rotor_shares: tuple[float, ...] = ()  # thrust of each rotor over that of a free one; empty: 1 for all

    @property
    def thrust_least_N(self) -> float:
        """Of one rotor in flight."""
        span = self.speed_max_rad_s - self.speed_idle_rad_s
        return self.thrust_Ns2 * (self.speed_idle_rad_s + COMMAND_LEAST * span) ** 2

    @property
    def thrust_most_N(self) -> float:
        """Of one rotor in free air."""
        return self.thrust_Ns2 * self.speed_max_rad_s**2

    @property
    def thrust_all_N(self) -> float:
        """Of all rotors at full speed."""
        return sum(self.rotor_shares or (1.0,) * len(self.rotor_spin)) * self.thrust_most_N

    @property
    def hover_ratio(self) -> float:
        """Hover thrust as a fraction of the thrust of all rotors."""
        return self.mass_kg * GRAVITY_M_S2 / self.thrust_all_N


class _Gains:
    """The gains input by name."""

    def __init__(self, values: Any) -> None:
        self._values = {gain.name: values[i] for i, gain in enumerate(GAINS)}

    def __call__(self, *names: str) -> Any:
        return ca.vertcat(*(self._values[name] for name in names))


def law(frame: Frame, period_s: float, *, survives: bool = False) -> ca.Function:
    """(nav (13,), setpoint (16,), memory, gains) -> (motors (n,), attitude setpoint (4,), memory).

    nav: pos_W, vel_W, quat_WB, rate_B. setpoint: signals.Setpoint.row(). motors: 0..1. attitude: roll, pitch, yaw in
    rad and the fraction of the thrust of all rotors. `survives`: with one more input, the number from 1 of a rotor that
    gives no thrust, 0 for none.
    """
    nav, setpoint = ca.SX.sym("nav", NAV), ca.SX.sym("setpoint", SETPOINT)
    memory, values = ca.SX.sym("memory", MEMORY), ca.SX.sym("gains", len(GAINS))
    gain = _Gains(values)
    pos_W, vel_W, rate_B = nav[0:3], nav[3:6], nav[10:13]
    quat_WB = nav[6:10] / ca.sqrt(ca.sumsqr(nav[6:10]))
    up_W = _up(quat_WB)
    roll_rad, pitch_rad, thrust_ratio = setpoint[10], setpoint[11], setpoint[12]
    yaw_rad, hold_xy, hold_z = setpoint[9], setpoint[13] > 0.5, setpoint[14] > 0.5

    accel_W = _derivative(vel_W, memory[VEL], memory[ACCEL], memory[STARTED], gain("MPC_VELD_LP"), period_s)
    rate_dot_B = _derivative(
        rate_B, memory[RATE], memory[RATE_DOT], memory[STARTED], gain("IMU_DGYRO_CUTOFF"), period_s
    )

    wanted_W = _velocity(setpoint[0:3] - pos_W, setpoint[3:6], gain)
    push_W = _acceleration(wanted_W - vel_W, setpoint, accel_W, memory[LEARNED], frame, gain)
    all_N = frame.thrust_all_N
    least_N = ca.fmin(gain("MPC_THR_MIN"), frame.hover_ratio / 2) * all_N
    most_N = gain("MPC_THR_MAX") * all_N
    upward_N = clip(frame.mass_kg * (GRAVITY_M_S2 + push_W[2]), least_N, UPWARD_SHARE * most_N)
    # On its side or inverted, thrust does not lift: then it fades.
    upright = ca.fmax(up_W[2], 0.5)
    held_N = upward_N / upright * clip(2 * up_W[2], 0, 1)
    thrust_N = clip(ca.if_else(hold_z, held_N, thrust_ratio * all_N), 0, most_N)

    tilt_most = gain("MPC_TILTMAX_AIR") * math.pi / 180
    upward = ca.if_else(hold_z, upward_N / frame.mass_kg, ca.fmax(thrust_N * upright / frame.mass_kg, GRAVITY_M_S2 / 2))
    held_roll, held_pitch = _tilt(push_W[0:2], upward, yaw_rad, tilt_most)
    shorter = ca.fmin(1, tilt_most / ca.sqrt(roll_rad**2 + pitch_rad**2 + 1e-12))
    roll = ca.if_else(hold_xy, held_roll, shorter * roll_rad)
    pitch = ca.if_else(hold_xy, held_pitch, shorter * pitch_rad)

    rate_error = _rates(quat_WB, roll, pitch, yaw_rad, setpoint[15], gain) - rate_B
    inertia = ca.DM(frame.inertia_kgm2)
    p = gain("MC_RRATE_P_ACC", "MC_PRATE_P_ACC", "MC_YRATE_P_ACC")
    i = gain("MC_RRATE_I_ACC", "MC_PRATE_I_ACC", "MC_YRATE_I_ACC")
    d = gain("MC_RRATE_D_ACC", "MC_PRATE_D_ACC", "MC_YRATE_D_ACC")
    asked = p * rate_error + memory[RATE_LEARNED] - d * rate_dot_B
    gyroscopic = ca.cross(rate_B, inertia * rate_B)

    per_rotor = effects(frame.rotor_pos_B_m, frame.rotor_spin, frame.torque_to_thrust_m, frame.rotor_shares)
    # With its stick at the bottom an aircraft is on the ground: the remaining motors idle, and do not tip it over.
    awake = ca.if_else(hold_z, 1, clip(thrust_N / (AWAKE_SHARE * frame.mass_kg * GRAVITY_M_S2), 0, 1))
    wrench = ca.vertcat(thrust_N, awake * (inertia * asked + gyroscopic))
    thrusts_N = allocate(per_rotor, wrench, frame.thrust_least_N, frame.thrust_most_N)
    lost = ca.SX.sym("lost")
    for i in range(len(frame.rotor_spin) if survives else 0):
        without = allocate_without(i, per_rotor, wrench, frame.thrust_least_N, frame.thrust_most_N)
        thrusts_N = ca.if_else(lost == i + 1, without, thrusts_N)
    given = ca.DM(per_rotor) @ thrusts_N
    span = frame.speed_max_rad_s - frame.speed_idle_rad_s
    motors = (ca.sqrt(thrusts_N / frame.thrust_Ns2) - frame.speed_idle_rad_s) / span
    if survives:
        motors = ca.if_else(thrusts_N > 0, motors, 0)

    lost_B = (given[1:4] - gyroscopic) / inertia - rate_dot_B
    airborne = thrust_N > AIRBORNE_SHARE * frame.mass_kg * GRAVITY_M_S2
    rate_learned = memory[RATE_LEARNED] + ca.if_else(airborne, period_s * i / p * (lost_B - memory[RATE_LEARNED]), 0)
    rate_learned = clip(rate_learned, -ca.DM(LEARNED_RATE), ca.DM(LEARNED_RATE))

    braking_W = frame.drag_per_s * ca.vertcat(vel_W[0:2], 0)
    should_W = given[0] / frame.mass_kg * up_W - ca.DM([0, 0, GRAVITY_M_S2]) - braking_W
    lifted = ca.fmax(hold_z, given[0] * up_W[2] > LIFTED_SHARE * frame.mass_kg * GRAVITY_M_S2)
    learned = _learn(memory[LEARNED], should_W - accel_W, lifted, gain, period_s)

    return ca.Function(
        "flight_law",
        [nav, setpoint, memory, values, *([lost] if survives else [])],
        [
            motors,
            ca.vertcat(roll, pitch, yaw_rad, thrust_N / all_N),
            ca.vertcat(1, vel_W, accel_W, learned, rate_B, rate_dot_B, rate_learned),
        ],
        [*INPUTS, *(["lost"] if survives else [])],
        list(OUTPUTS),
    )


def _velocity(off_W: Any, forward_W: Any, gain: _Gains) -> Any:
    """Velocity setpoint: proportional to a small error; far away, limited so that the aircraft can still brake."""
    p, brake, fastest = gain("MPC_XY_P"), gain("MPC_ACC_HOR"), gain("MPC_XY_VEL_MAX")
    away = ca.sqrt(ca.sumsqr(off_W[0:2]) + 1e-12)
    bend = brake / p**2
    braked = ca.sqrt(ca.fmax(brake * (2 * away - bend), 1e-12)) / away
    xy = off_W[0:2] * ca.if_else(away < bend, p, braked) + forward_W[0:2]
    xy = xy * ca.fmin(1, fastest / ca.sqrt(ca.sumsqr(xy) + 1e-12))
    z = clip(gain("MPC_Z_P") * off_W[2] + forward_W[2], -gain("MPC_Z_VEL_MAX_DN"), gain("MPC_Z_VEL_MAX_UP"))
    return ca.vertcat(xy, z)


def _acceleration(error_W: Any, setpoint: Any, accel_W: Any, learned_W: Any, frame: Frame, gain: _Gains) -> Any:
    """Acceleration setpoint; rotor drag at the velocity setpoint is fed forward."""
    p = gain("MPC_XY_VEL_P_ACC", "MPC_XY_VEL_P_ACC", "MPC_Z_VEL_P_ACC")
    d = gain("MPC_XY_VEL_D_ACC", "MPC_XY_VEL_D_ACC", "MPC_Z_VEL_D_ACC")
    braking = frame.drag_per_s * ca.vertcat(setpoint[3:5], 0)
    return p * error_W - d * (accel_W - setpoint[6:9]) + setpoint[6:9] + braking + learned_W


def _tilt(push_W: Any, upward: Any, yaw_rad: Any, most_rad: Any) -> tuple[Any, Any]:
    """Roll and pitch about the yaw setpoint that give a horizontal acceleration while `upward` is kept."""
    push_W = push_W * ca.fmin(1, upward * ca.tan(most_rad) / ca.sqrt(ca.sumsqr(push_W) + 1e-12))
    cos, sin = ca.cos(yaw_rad), ca.sin(yaw_rad)
    ahead, left = cos * push_W[0] + sin * push_W[1], cos * push_W[1] - sin * push_W[0]
    return ca.atan2(-left, ca.sqrt(ahead**2 + upward**2)), ca.atan2(ahead, upward)


def _rates(quat_WB: Any, roll: Any, pitch: Any, yaw: Any, yaw_rate: Any, gain: _Gains) -> Any:
    """Body rate setpoint. The error is a tilt (about a horizontal axis of the body) after a rotation about z."""
    w, x, y, z = ca.vertsplit(_product(_inverse(quat_WB), _quaternion(roll, pitch, yaw)))
    upright = ca.sqrt(w**2 + z**2 + 1e-12)
    cos, sin = w / upright, z / upright
    turn = 2 * ca.atan(sin / ca.fmax(ca.fabs(cos), 1e-9)) * ca.if_else(cos < 0, -1, 1)
    error = ca.vertcat(2 * (x * cos - y * sin), 2 * (y * cos + x * sin), turn)
    fastest = gain("MC_ROLLRATE_MAX", "MC_PITCHRATE_MAX", "MC_YAWRATE_MAX") * math.pi / 180
    turning = yaw_rate * _up(_inverse(quat_WB))  # the world's z axis in the body
    return clip(gain("MC_ROLL_P", "MC_PITCH_P", "MC_YAW_P") * error + turning, -fastest, fastest)


def _learn(learned_W: Any, lost_W: Any, lifted: Any, gain: _Gains, period_s: float) -> Any:
    """The velocity's integral; `lost_W` is the expected acceleration minus the measured one."""
    xy = gain("MPC_XY_VEL_I_ACC") / gain("MPC_XY_VEL_P_ACC")
    z = ca.if_else(lifted, gain("MPC_Z_VEL_I_ACC") / gain("MPC_Z_VEL_P_ACC"), 0)
    learned_W = learned_W + period_s * ca.vertcat(xy, xy, z) * (lost_W - learned_W)
    return clip(
        learned_W, ca.DM([-LEARNED_XY, -LEARNED_XY, -LEARNED_DOWN]), ca.DM([LEARNED_XY, LEARNED_XY, LEARNED_UP])
    )


def _derivative(now: Any, before: Any, filtered: Any, started: Any, cutoff_hz: Any, period_s: float) -> Any:
    """Low-passed rate of change; zero at the start."""
    share = 1 - ca.exp(-2 * math.pi * cutoff_hz * period_s)
    return ca.if_else(started > 0.5, filtered + share * ((now - before) / period_s - filtered), 0)


def _up(quat_WB: Any) -> Any:
    """The body's z axis in the world."""
    w, x, y, z = ca.vertsplit(quat_WB)
    return ca.vertcat(2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y))


def _quaternion(roll: Any, pitch: Any, yaw: Any) -> Any:
    about_z = ca.vertcat(ca.cos(yaw / 2), 0, 0, ca.sin(yaw / 2))
    about_y = ca.vertcat(ca.cos(pitch / 2), 0, ca.sin(pitch / 2), 0)
    about_x = ca.vertcat(ca.cos(roll / 2), ca.sin(roll / 2), 0, 0)
    return _product(_product(about_z, about_y), about_x)


def _inverse(quat: Any) -> Any:
    return ca.vertcat(quat[0], -quat[1:4])


def _product(a: Any, b: Any) -> Any:
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:4], b[1:4]), a[0] * b[1:4] + b[0] * a[1:4] + ca.cross(a[1:4], b[1:4]))
