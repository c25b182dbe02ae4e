"""CNTR: the inner loops of a fixed wing, as one pure function.

    roll -> aileron                    PID; the integral follows the deviation from a first-order lag
    yaw rate, washed out -> rudder     damps the Dutch roll, not a steady turn
    height -> climb -> pitch -> elevator
    airspeed -> throttle, for large errors also pitch: height is traded for speed

A turn is fed forward from the roll: lift grows by the load factor n = 1/cos(roll), so do the angle of attack and the
elevator that holds it, and the induced drag by n^2; the yaw rate increases the roll, which the aileron counters. The
integrals take the rest; each stops at its actuator's limit, so that none winds up. A memory of zeros is the initial
state in trim.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.control.toolkit import clip
from aeroloop.control.wing_gains import WingGains
from aeroloop.core.frames import GRAVITY_M_S2

ESTIMATE = 15
"""pos_W 3, vel_W 3, roll, pitch, yaw, rate_B 3, airspeed, course, ground speed: as the estimation gives it."""
SETPOINT = (("roll", "rad"), ("height", "m"), ("airspeed", "m/s"))
COMMAND = (("aileron", "rad"), ("elevator", "rad"), ("rudder", "rad"), ("throttle", "-"))
MEMORY = (
    ("started", "-"),
    ("roll_model", "rad"),
    ("roll_integral", "rad"),
    ("yaw_rate_slow", "rad/s"),
    ("climb_integral", "rad"),
    ("pitch_integral", "rad"),
    ("speed_integral", "-"),
    ("aileron", "rad"),
    ("elevator", "rad"),
    ("rudder", "rad"),
    ("throttle", "-"),
    ("airspeed", "m/s"),
)

_STEEPEST = 0.5  # smallest cosine of the roll used by the feed-forward


def cntr(gains: WingGains, period_s: float) -> ca.Function:
    """(estimate, setpoint, memory) -> (command, memory); layouts SETPOINT, COMMAND, MEMORY."""
    estimate, setpoint = ca.SX.sym("estimate", ESTIMATE), ca.SX.sym("setpoint", len(SETPOINT))
    memory = ca.SX.sym("memory", len(MEMORY))
    started, roll_model, roll_i, yaw_slow, climb_i, pitch_i, speed_i = ca.vertsplit(memory[:7])
    fresh = started < 0.5
    d, b = gains.dynamics, gains.bandwidths
    height, climb, roll = estimate[2], estimate[5], estimate[6]
    pitch, p, q, r = -estimate[7], estimate[9], -estimate[10], estimate[11]
    airspeed = ca.fmax(estimate[12], 5)
    load = 1 / ca.fmax(ca.cos(roll), _STEEPEST)

    roll_error = setpoint[0] - roll
    roll_model = ca.if_else(fresh, roll, roll_model)
    model_next = roll_model + period_s / b.roll_lag_s * (setpoint[0] - roll_model)
    aileron = gains.roll_p * roll_error - gains.roll_d_s * p + gains.roll_yaw_s * r + roll_i

    yaw_slow = ca.if_else(fresh, r, yaw_slow + period_s / b.yaw_washout_s * (r - yaw_slow))
    rudder = -gains.yaw_d_s * (r - yaw_slow)

    extra_alpha = gains.turn_alpha_rad * (load - 1)
    speed_error = setpoint[2] - airspeed
    beyond = speed_error - clip(speed_error, -b.trade_from_m_s, b.trade_from_m_s)
    climb_wanted = b.height_per_s * (setpoint[1] - height) - b.trade * beyond
    climb_wanted = clip(climb_wanted, -b.climb_most_m_s, b.climb_most_m_s)
    path_error = (climb_wanted - climb) / airspeed
    away = climb_wanted / airspeed + b.climb_gain * path_error + climb_i
    away_cut = clip(away, -b.pitch_most_rad, b.pitch_most_rad)
    pitch_wanted = (d.alpha_rad + extra_alpha) / load + away_cut  # in a bank, the angle of attack is not vertical
    pitch_error = pitch_wanted - pitch
    turning = GRAVITY_M_S2 / airspeed * (load - 1 / load)  # pitch rate of a level turn
    elevator = (
        d.elevator_rad
        + gains.turn_elevator * extra_alpha
        + gains.rate_elevator_s * turning
        + gains.pitch_p * pitch_error
        - gains.pitch_d_s * (q - turning)
        + pitch_i
    )

    rising = climb_wanted + b.lift_share * (climb_wanted - climb)
    drag = d.induced_m_s2 * (load**2 - 1) + GRAVITY_M_S2 * rising / airspeed
    speed_dot = ca.if_else(fresh, 0, (airspeed - memory[11]) / period_s)
    ahead = speed_error - b.speed_lead_s * speed_dot
    throttle = d.throttle + gains.speed_p_s_m * ahead + gains.throttle_per_m_s2 * drag + speed_i

    asked = ca.vertcat(aileron, elevator, rudder, throttle)
    trim = ca.DM([0.0, d.elevator_rad, 0.0, d.throttle])
    before = ca.if_else(fresh, trim, memory[7:11])
    step = period_s * ca.DM([b.surface_rate_rad_s] * 3 + [b.throttle_rate_per_s])
    command = clip(clip(asked, before - step, before + step), ca.DM(gains.dynamics.low), ca.DM(gains.dynamics.high))
    cut = command - asked

    after = ca.vertcat(
        1,
        model_next,
        _learned(roll_i, period_s * gains.roll_i_per_s * (roll_model - roll), cut[0]),
        yaw_slow,
        _learned(climb_i, period_s * b.climb_integral_per_s * path_error, away_cut - away),
        _learned(pitch_i, period_s * gains.pitch_i_per_s * pitch_error, cut[1]),
        _learned(speed_i, period_s * gains.speed_i_per_m * speed_error, cut[3]),
        command,
        airspeed,
    )
    return ca.Function(
        "cntr",
        [estimate, setpoint, memory],
        [command, after],
        ["estimate", "setpoint", "memory"],
        ["command", "memory_next"],
    )


def _learned(integral: Any, step: Any, cut: Any) -> Any:
    """The integral's next value, unless a limit is reached on that side."""
    return integral + ca.if_else(step * cut < 0, 0, step)
