"""The rocket's equations of motion: a rigid body whose mass decreases, a gimballed thrust, and drag.

    m v' = R_WB (T u + D) - m g e_z,   I w' + w x I w = r_T x T u + r_D x D,   m' = -T / c
    u = (-sin b cos a, sin a, cos b cos a)

a and b are the gimbal's angles about x and y: a positive one turns the body about its own positive axis. D is the drag
of the velocity through the air, by axis; the moments of inertia shrink with the mass.
"""

import casadi as ca
from rocket.airframe import Rocket

from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.models import integrate
from aeroloop.models.rigid_body import QUAT, RATE, STATES, VEL, quat_dot, rotation

MASS = STATES
"""Its index in the state, behind those of every rigid body."""
INPUTS = 7
"""Thrust (N), gimbal about x and y (rad), wind_W (m/s), density (kg/m3)."""


def dynamics(rocket: Rocket) -> ca.Function:
    """(state (14,), input (7,)) -> derivative of the state."""
    body, motor = rocket.body, rocket.motor
    state, u = ca.SX.sym("state", STATES + 1), ca.SX.sym("u", INPUTS)
    quat, vel_W, rate_B, mass = state[QUAT], state[VEL], state[RATE], state[MASS]
    R_WB = rotation(quat)
    thrust_N = ca.if_else(mass > body.dry_kg, u[0], 0)
    a, b = u[1], u[2]
    thrust_B = thrust_N * ca.vertcat(-ca.sin(b) * ca.cos(a), ca.sin(a), ca.cos(b) * ca.cos(a))
    air_B = R_WB.T @ (vel_W - u[3:6])
    drag_B = -0.5 * u[6] * ca.DM(body.drag_area_m2) * ca.fabs(air_B) * air_B
    torque_B = ca.cross(ca.vertcat(0, 0, -motor.arm_m), thrust_B)
    torque_B += ca.cross(ca.vertcat(0, 0, body.pressure_centre_m), drag_B)
    inertia = ca.DM(body.inertia_kgm2) * mass / rocket.full_kg
    accel_W = R_WB @ (thrust_B + drag_B) / mass - ca.vertcat(0, 0, GRAVITY_M_S2)
    rate_dot_B = (torque_B - ca.cross(rate_B, inertia * rate_B)) / inertia
    dot = ca.vertcat(vel_W, quat_dot(quat, rate_B), accel_W, rate_dot_B, -thrust_N / motor.exhaust_m_s)
    return ca.Function("rocket", [state, u], [dot])


def step(rocket: Rocket) -> ca.Function:
    """(state, input, dt) -> state after dt."""
    return integrate.rk4(dynamics(rocket))
