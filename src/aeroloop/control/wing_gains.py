"""Gains of a fixed wing's inner loops, from its linear model in level trim.

Bandwidths are chosen once, for all airframes; the effectiveness of the surfaces and the propeller is divided out.
"""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.core.frames import GRAVITY_M_S2


@dataclass(frozen=True, slots=True)
class WingDynamics:
    """Airframe data of the loops: its trim and a few derivatives there; nose up and left are positive."""

    airspeed_m_s: float
    alpha_rad: float
    elevator_rad: float
    throttle: float
    roll_damping_per_s: float  # a1: p' = -a1 p + a2 aileron, p to the right
    roll_aileron_per_s2: float  # a2
    roll_yaw_per_s: float  # p' by r, to the right by to the left; negative
    pitch_alpha_per_s2: float  # q' = pitch_alpha alpha + pitch_rate q + pitch_elevator elevator
    pitch_rate_per_s: float
    pitch_elevator_per_s2: float  # negative
    yaw_rudder_per_s2: float  # r' by rudder
    yaw_damping_per_s: float  # of the airframe itself
    lift_alpha_m_s2: float  # specific force upwards by angle of attack
    thrust_m_s2: float  # acceleration by throttle
    induced_m_s2: float  # deceleration by lift in level flight; in a turn it grows with the load factor squared
    low: tuple[float, float, float, float]  # aileron, elevator, rudder (rad), throttle
    high: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """Requirements of the loops; the same for every airframe."""

    roll_lag_s: float = 0.2
    roll_damping_per_s: float = 28.0  # minimum, together with the airframe's own
    roll_integral_per_s: float = 0.5
    yaw_damping_per_s: float = 1.5  # added to the airframe's own
    yaw_washout_s: float = 1.5
    pitch_per_s2: float = 40.0  # pitch acceleration by an error of pitch
    pitch_damping_per_s: float = 6.0
    pitch_integral_per_s3: float = 10.0
    height_per_s: float = 0.35
    climb_gain: float = 1.2  # pitch by an error of the flight path's angle
    climb_integral_per_s: float = 0.2
    climb_most_m_s: float = 3.0
    pitch_most_rad: float = 0.25  # away from the trim's
    trade_from_m_s: float = 0.6  # an error of airspeed beyond this
    trade: float = 1.6  # is corrected by this much climb or descent, in m/s per m/s
    speed_per_s: float = 3.0
    lift_share: float = 1.0  # fraction of the energy of rising air that the throttle compensates in advance
    speed_lead_s: float = 0.05  # compensates the propeller's lag
    speed_integral_per_s2: float = 0.2
    surface_rate_rad_s: float = 3.0
    throttle_rate_per_s: float = 6.0


@dataclass(frozen=True, slots=True)
class WingGains:
    """The numbers of the law: bandwidths over derivatives."""

    dynamics: WingDynamics
    bandwidths: Bandwidths
    roll_p: float  # aileron by roll error
    roll_d_s: float
    roll_i_per_s: float
    roll_yaw_s: float  # aileron by yaw rate
    yaw_d_s: float
    pitch_p: float  # elevator by pitch error; negative
    pitch_d_s: float
    pitch_i_per_s: float
    turn_alpha_rad: float  # angle of attack by load factor beyond 1
    turn_elevator: float  # elevator by that angle of attack
    rate_elevator_s: float  # elevator by the pitch rate of a turn
    speed_p_s_m: float  # throttle by airspeed error
    speed_i_per_m: float
    throttle_per_m_s2: float


def design(dynamics: WingDynamics, bandwidths: Bandwidths | None = None) -> WingGains:
    """The gains of an airframe."""
    d, b = dynamics, bandwidths or Bandwidths()
    damping = max(b.roll_damping_per_s, d.roll_damping_per_s)
    roll_p = damping / (b.roll_lag_s * d.roll_aileron_per_s2)
    per_elevator = 1 / d.pitch_elevator_per_s2
    return WingGains(
        dynamics=d,
        bandwidths=b,
        roll_p=roll_p,
        roll_d_s=(damping - d.roll_damping_per_s) / d.roll_aileron_per_s2,
        roll_i_per_s=roll_p * b.roll_integral_per_s,
        roll_yaw_s=-d.roll_yaw_per_s / d.roll_aileron_per_s2,
        yaw_d_s=b.yaw_damping_per_s / d.yaw_rudder_per_s2,
        pitch_p=b.pitch_per_s2 * per_elevator,
        pitch_d_s=b.pitch_damping_per_s * per_elevator,
        pitch_i_per_s=b.pitch_integral_per_s3 * per_elevator,
        turn_alpha_rad=GRAVITY_M_S2 / d.lift_alpha_m_s2,
        turn_elevator=-d.pitch_alpha_per_s2 * per_elevator,
        rate_elevator_s=-d.pitch_rate_per_s * per_elevator,
        speed_p_s_m=b.speed_per_s / d.thrust_m_s2,
        speed_i_per_m=b.speed_integral_per_s2 / d.thrust_m_s2,
        throttle_per_m_s2=1 / d.thrust_m_s2,
    )
