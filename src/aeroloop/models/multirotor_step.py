"""One step of a multirotor in free air as CasADi expressions: motors, the loads held over the step, the rigid body.

The same step as that of actuators/motors.py, families/multirotor/airframe.py (`loads`) and world/rigid.py with MuJoCo 4
near the ground; tests/equivalence/test_multirotor_step.py compares them. MuJoCo integrates by Runge, Kutta and
Munthe-Kaas: with u the rotation vector since the start of the step, q = q0 exp(u), the classical tableau is applied to

    u' = w + 1/2 u x w + (1 - |u|/2 cot(|u|/2))/|u|^2 u x (u x w),

which comes to the mean rate plus h/12 w1 x w4 and smaller terms. With the mean rate alone the attitude is off by some
1e-7 rad a step in a fast turn. The rigid body's step is of fourth order in loads that are fixed in the body. Speeds of
the rotors, drag and other loads that depend on the motion are held over the step at their mean or their value in its
middle, so the step as a whole is of second order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from aeroloop.models import rotor_aerodynamics as aerodynamics
from aeroloop.models.rigid_body import rotation

LARGEST = 1.7976931348623157e308
TINY = 1e-40
"""Added to a squared rate: zero rate then needs no special case. In double precision alone, since this is no normal
number in single (`codegen.single`): batches fly `turned_little`."""


class MotorGains(NamedTuple):
    """Fraction of the distance to its setpoint that a motor covers in a step, at the end and on average, up and
    down."""

    up: ca.SX
    up_mean: ca.SX
    down: ca.SX
    down_mean: ca.SX


class Effort(NamedTuple):
    after_rad_s: ca.SX  # (n,) at the end of the step
    mean_rad_s: ca.SX  # (n,)
    spin_up_rad_s2: ca.SX  # (n,)
    saturated: ca.SX  # 1 where a command was outside its range
    not_finite: ca.SX  # 1 where a command was NaN or infinite: that motor is being stopped


class RotorSymbols(NamedTuple):
    """`models.rotors.Rotors` of symbols."""

    pos_B_m: ca.SX  # (3, n)
    spin: ca.SX  # (n,)
    shares: ca.SX  # (n,)
    thrust_Ns2: ca.SX
    torque_to_thrust_m: ca.SX
    inertia_kgm2: ca.SX
    drag_Ns2_m: ca.SX
    density_kg_m3: ca.SX
    blades: aerodynamics.BladeSymbols | None = None  # None: thrust is k w^2 in any flow


class RotorGround(NamedTuple):
    """What the ground effect depends on, in the middle of the step."""

    height_m: ca.SX  # of the centre of mass over the ground
    up_B: ca.SX


class Motion(NamedTuple):
    """A rigid body's state and its mean acceleration over the previous step."""

    pos_W: ca.SX
    quat_WB: ca.SX
    vel_W: ca.SX
    rate_B: ca.SX
    accel_W: ca.SX
    rate_dot_B: ca.SX


def motors(
    speed_rad_s: ca.SX,
    command: ca.SX,
    dt_s: ca.SX,
    gains: MotorGains,
    idle_rad_s: ca.SX,
    top_rad_s: ca.SX,
    largest: float = LARGEST,
) -> Effort:
    """The exact first-order response to commands held over the step; `largest` is the largest finite number."""
    span = top_rad_s - idle_rad_s
    wanted = ca.if_else(command > 0, idle_rad_s + span * command, span * command)
    above = ca.logic_and(wanted > top_rad_s, wanted <= largest)
    below = ca.logic_and(wanted < 0, wanted >= -largest)
    inside = ca.logic_and(wanted >= 0, wanted <= top_rad_s)
    # A comparison with NaN is false, so a NaN command is in none of the three cases and stops its motor.
    target = ca.if_else(inside, wanted, 0) + ca.if_else(above, top_rad_s, 0)
    change = target - speed_rad_s
    rises = change > 0
    after = speed_rad_s + ca.if_else(rises, gains.up, gains.down) * change
    mean = speed_rad_s + ca.if_else(rises, gains.up_mean, gains.down_mean) * change
    outside = ca.logic_or(above, below)
    return Effort(
        after, mean, (after - speed_rad_s) / dt_s, ca.mmax(outside), ca.mmax(1 - ca.logic_or(inside, outside))
    )


def mid_step_air_B(before: Motion, wind_W: ca.SX, dt_s: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Velocity through the air and body rates in the middle of the step, extrapolated from the previous step."""
    half_s = 0.5 * dt_s
    rate_B = before.rate_B + half_s * before.rate_dot_B
    vel_B = rotation(before.quat_WB).T @ (before.vel_W + (half_s * before.accel_W - wind_W))
    return vel_B - half_s * ca.cross(rate_B, vel_B), rate_B


def mid_step_ground(before: Motion, ground_m: ca.SX, dt_s: ca.SX) -> RotorGround:
    half_s = 0.5 * dt_s
    up_B = rotation(before.quat_WB)[2, :].T
    up_B -= half_s * ca.cross(before.rate_B + half_s * before.rate_dot_B, up_B)
    return RotorGround(before.pos_W[2] + half_s * (before.vel_W[2] + 0.5 * half_s * before.accel_W[2]) - ground_m, up_B)


def blade_loads_B(
    vel_air_B: ca.SX, rate_B: ca.SX, effort: Effort, density_kg_m3: ca.SX, ground: RotorGround, rotors: RotorSymbols
) -> tuple[ca.SX, ca.SX]:
    """Force and torque of rotors with `blades`, without their drag and the momentum of their rotation."""
    assert rotors.blades is not None
    file = aerodynamics.Static(rotors.thrust_Ns2, rotors.torque_to_thrust_m, rotors.density_kg_m3)
    force, torque = ca.SX.zeros(3), ca.SX.zeros(3)
    for i in range(rotors.spin.size1()):
        lever, spin = rotors.pos_B_m[:, i], rotors.spin[i]
        hub_B, height_m = vel_air_B + ca.cross(rate_B, lever), ground.height_m + ca.dot(ground.up_B, lever)
        flow = aerodynamics.Flow(hub_B, rate_B, height_m, ground.up_B, density_kg_m3)
        load = aerodynamics.load(rotors.blades, flow, effort.mean_rad_s[i], spin, file)
        push = rotors.shares[i] * load.force_B
        force += push
        torque += ca.cross(lever, push) + ca.vertcat(load.hub_Nm, -spin * load.torque_Nm)
    return force, torque


def held_loads_B(
    vel_air_B: ca.SX,
    rate_B: ca.SX,
    effort: Effort,
    density_kg_m3: ca.SX,
    drag_area_m2: ca.SX,
    rotors: RotorSymbols,
    ground: RotorGround | None = None,
) -> tuple[ca.SX, ca.SX]:
    """Force and torque of rotors and air about the centre of mass, which are fixed in the body over the step. Rotors
    with `blades` need the ground."""
    ratio = density_kg_m3 / rotors.density_kg_m3
    force = -0.5 * density_kg_m3 * ca.sqrt(ca.sumsqr(vel_air_B)) * drag_area_m2 * vel_air_B
    torque, momentum = ca.SX.zeros(3), ca.SX(0)
    for i in range(rotors.spin.size1()):
        lever, spin, speed = rotors.pos_B_m[:, i], rotors.spin[i], effort.mean_rad_s[i]
        # The thrust of rotors with blades is added below.
        thrust = ratio * rotors.thrust_Ns2 * speed * speed if rotors.blades is None else ca.SX(0)
        hub = vel_air_B + ca.cross(rate_B, lever)
        brake = -ratio * rotors.drag_Ns2_m * speed
        push = ca.vertcat(brake * hub[0], brake * hub[1], rotors.shares[i] * thrust)
        reaction = rotors.torque_to_thrust_m * thrust + rotors.inertia_kgm2 * effort.spin_up_rad_s2[i]
        force += push
        torque += ca.cross(lever, push) - ca.vertcat(0, 0, spin * reaction)
        momentum += spin * rotors.inertia_kgm2 * speed
    if ground is not None:
        force_of_blades, torque_of_blades = blade_loads_B(vel_air_B, rate_B, effort, density_kg_m3, ground, rotors)
        force, torque = force + force_of_blades, torque + torque_of_blades
    return force, torque + momentum * ca.vertcat(-rate_B[1], rate_B[0], 0)


def rigid_step(
    before: Motion,
    force_B: ca.SX,
    torque_B: ca.SX,
    gravity_m_s2: ca.SX,
    mass_kg: ca.SX,
    inertia_kgm2: ca.SX,
    dt_s: ca.SX,
    turn_by: Callable[[ca.SX, ca.SX], ca.SX] | None = None,
) -> Motion:
    """`turn_by` is another function for `turned`."""
    turned_by = turn_by or turned
    pos, quat, vel, rate = before.pos_W, before.quat_WB, before.vel_W, before.rate_B
    down = ca.vertcat(0, 0, gravity_m_s2)

    def accel(at: ca.SX) -> ca.SX:
        return rotation(at) @ (force_B / mass_kg) - down

    def turn(w: ca.SX) -> ca.SX:
        return (torque_B - ca.cross(w, inertia_kgm2 * w)) / inertia_kgm2

    half_s = dt_s / 2
    a1, k1, d1 = accel(quat), turn(rate), rate
    u2, w2 = half_s * d1, rate + half_s * k1
    a2, k2, d2 = accel(turned_by(quat, u2)), turn(w2), _vector_rate(u2, w2)
    u3, w3 = half_s * d2, rate + half_s * k2
    a3, k3, d3 = accel(turned_by(quat, u3)), turn(w3), _vector_rate(u3, w3)
    u4, w4 = dt_s * d3, rate + dt_s * k3
    a4, k4, d4 = accel(turned_by(quat, u4)), turn(w4), _vector_rate(u4, w4)
    accel_W, rate_dot_B = (a1 + 2 * (a2 + a3) + a4) / 6, (k1 + 2 * (k2 + k3) + k4) / 6
    # With v2 = v + h/2 a1, v3 = v + h/2 a2 and v4 = v + h a3 the mean velocity is:
    mean_vel_W = vel + dt_s * (a1 + a2 + a3) / 6
    after = turned_by(quat, dt_s * (d1 + 2 * (d2 + d3) + d4) / 6)
    return Motion(
        pos + dt_s * mean_vel_W,
        after / ca.norm_2(after),
        vel + dt_s * accel_W,
        rate + dt_s * rate_dot_B,
        accel_W,
        rate_dot_B,
    )


def _vector_rate(u: ca.SX, rate_B: ca.SX) -> ca.SX:
    """u' of the module's equation; the series is accurate to 1e-15 up to |u| = 0.3 and avoids a division by zero."""
    square, once = ca.sumsqr(u), ca.cross(u, rate_B)
    factor = 1 / 12 + square * (1 / 720 + square * (1 / 30240 + square * (1 / 1209600 + square / 47900160)))
    return rate_B + once / 2 + factor * ca.cross(u, once)


def turned(quat: ca.SX, angle_B: ca.SX) -> ca.SX:
    """The attitude after a rotation by a vector in body axes."""
    angle = ca.sqrt(ca.sumsqr(angle_B) + TINY)
    return _rotated(quat, ca.cos(angle / 2), ca.sin(angle / 2) / angle * angle_B)


def turned_little(quat: ca.SX, angle_B: ca.SX) -> ca.SX:
    """The same by series, without a root or a quotient; accurate to 1e-9 up to 0.5 rad."""
    square = ca.sumsqr(angle_B)
    cosine = 1 + square * (-1 / 8 + square * (1 / 384 - square / 46080))
    return _rotated(quat, cosine, (1 / 2 + square * (-1 / 48 + square * (1 / 3840 - square / 645120))) * angle_B)


def _rotated(quat: ca.SX, cosine: ca.SX, v: ca.SX) -> ca.SX:
    w, xyz = quat[0], quat[1:4]
    return ca.vertcat(w * cosine - ca.dot(xyz, v), w * v + cosine * xyz + ca.cross(xyz, v))
