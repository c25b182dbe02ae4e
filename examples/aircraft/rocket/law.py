"""The rocket's control law: position, velocity, attitude and rates in; throttle and gimbal out.

Position -> velocity -> force in the world; the body's axis is turned to that force, and the motor's gimbal turns it.
It computes the burnt propellant from its thrust commands. After touchdown it shuts the motor off permanently.
"""

import casadi as ca
from rocket.airframe import flown
from rocket.guidance import reference, times
from rocket.scenario import RocketScenario

from aeroloop.control.board_law import BoardLaw
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.models.rigid_body import rotation

PERIOD_S = 0.02
MEASURED = 13
"""pos_W, vel_W, quat_WB, rate_B."""
PERIODS, BURNT_KG, LEARNED, OFF, MEMORY = 0, 1, slice(2, 5), 5, 6
POSITION_PER_S, VELOCITY_PER_S, LEARNING_PER_S2 = 0.6, 1.5, 0.2
ATTITUDE_PER_S, RATE_PER_S = 3.0, 6.0
TILT_MOST = 0.25
"""Horizontal over vertical force."""
LEARNED_MOST_M_S2 = 2.0
DOWN_M = 0.04
"""Below this height of the legs above ground the motor is shut off."""


def law(scenario: RocketScenario) -> BoardLaw:
    rocket, at = flown(scenario), times(scenario)
    body, motor = rocket.body, rocket.motor
    measured, memory = ca.SX.sym("measured", MEASURED), ca.SX.sym("memory", MEMORY)
    pos_W, vel_W, rate_B = measured[0:3], measured[3:6], measured[10:13]
    quat_WB = measured[6:10] / ca.sqrt(ca.sumsqr(measured[6:10]))
    t_s = memory[PERIODS] * PERIOD_S  # a count of periods is exact in single precision too
    wanted_pos, wanted_vel, wanted_accel = reference(scenario, t_s)
    flying = ca.logic_and(t_s >= at.climb, memory[OFF] < 0.5)

    error_m_s = wanted_vel + POSITION_PER_S * (wanted_pos - pos_W) - vel_W
    learned = memory[LEARNED] + PERIOD_S * LEARNING_PER_S2 * error_m_s
    learned = ca.if_else(flying, ca.fmin(ca.fmax(learned, -LEARNED_MOST_M_S2), LEARNED_MOST_M_S2), 0)
    push = wanted_accel + VELOCITY_PER_S * error_m_s + learned
    mass_kg = rocket.full_kg - memory[BURNT_KG]
    upward = ca.fmax(GRAVITY_M_S2 + push[2], 0.3 * GRAVITY_M_S2)
    sideways = push[0:2] * ca.fmin(1, TILT_MOST * upward / ca.sqrt(ca.sumsqr(push[0:2]) + 1e-6))
    force_W = mass_kg * ca.vertcat(sideways, upward)

    force_B = rotation(quat_WB).T @ force_W
    along = force_B / ca.sqrt(ca.sumsqr(force_B))
    lean = ca.vertcat(-along[1], along[0])  # the body's axis is turned to the force about these
    throttle = ca.fmin(ca.fmax(force_B[2] / motor.thrust_max_N, motor.throttle_min), 1)
    thrust_N = throttle * motor.thrust_max_N
    inertia = ca.DM(body.inertia_kgm2[:2]) * mass_kg / rocket.full_kg
    torque_Nm = inertia * RATE_PER_S * (ATTITUDE_PER_S * lean - rate_B[0:2])
    gimbal = torque_Nm / (motor.arm_m * thrust_N)
    gimbal = ca.fmin(ca.fmax(gimbal, -motor.gimbal_max_rad), motor.gimbal_max_rad)

    burnt_kg = memory[BURNT_KG] + ca.if_else(flying, PERIOD_S * thrust_N / motor.exhaust_m_s, 0)
    down = ca.logic_and(t_s > at.touchdown, pos_W[2] < body.legs_m + DOWN_M)
    command = ca.if_else(flying, ca.vertcat(throttle, gimbal), 0)
    kept = ca.vertcat(memory[PERIODS] + 1, burnt_kg, learned, ca.fmax(memory[OFF], down))
    return BoardLaw(ca.Function("rocket_law", [measured, memory], [command, kept]), PERIOD_S)
