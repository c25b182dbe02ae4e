"""The design model of a helicopter in CasADi: rigid body, two rotors with inflow, flapping, engine, servos.

Each rotor, with tip speed V = W R, speed in its plane U, and speed s of the flow through its disc, downwash n included:

    T = rho a S / 2 (theta (V^2/3 + U^2/2) - s V/2)                      blade elements without twist, S = blades c R
    Q = R (T s / V + rho Cd S (V^2 + 7/3 U^2) / 8)                       induced and profile power over the speed
    8/(3 pi) rho A R n' = T - 2 k rho A n sqrt(U^2 + s^2)                momentum theory; at rest T = 2 k rho A n^2

The disc of the main rotor tilts by b about x and y of the body; thrust along its normal and a stiff hub turn the body:

    tau b_x' = -b_x - tau p + G lat + g v/V,   tau b_y' = -b_y - tau q + G lon - g u/V,   tau = 16 / (gamma W)
    F = T (b_y, -b_x, 1),   M = K b + r_hub x F

with g = 2 K_mu (4/3 theta - s/V). Positive lat tilts the disc to the right, positive lon forward. The engine's torque
turns rotors and body against each other: I W' = Q_engine - Q_main - n_tail Q_tail, and the body gets -spin Q_engine.
Following Gavrilets, Mettler and Feron (2003), with a tail rotor by the same equations instead of derivatives. Not
modelled: coning, lead and lag, cross coupling of flapping, wakes on fin and stabiliser, ground effect, vortex ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.families.helicopter.airframe import Helicopter, Rotor, Surface
from aeroloop.models.rigid_body import drag_B

POS, ANGLES, VEL, RATE, TILT = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), slice(12, 14)
SERVOS, INFLOW, SPEED, POWER = slice(14, 18), slice(18, 20), 20, 21
STATES = 22
"""pos_W, (roll, pitch, yaw), vel_W, rate_B, tilt of the disc; collective, lateral, longitudinal and tail pitch; inflow
of main and tail rotor, rotor speed, engine power over its largest."""
COLLECTIVE, LATERAL, LONGITUDINAL, TAIL, THROTTLE = range(5)
INPUTS = 5
"""Commands of the four servos and of the throttle (0..1)."""
APPARENT = 8.0 / (3.0 * np.pi)
"""Air that a rotor's inflow accelerates, over density, disc area and radius (Carpenter and Fridovich)."""
SEA_LEVEL_KG_M3 = 1.225
RESIDUAL = 1e-8


def thrust_N(rotor: Rotor, density: ca.SX, pitch: ca.SX, tip: ca.SX, plane2: ca.SX, through: ca.SX) -> ca.SX:
    """Of a rotor with this tip speed, squared speed in its plane, and flow through its disc."""
    lift = 0.5 * density * rotor.lift_slope * rotor.blade_m2 * (pitch * (tip**2 / 3 + plane2 / 2) - through * tip / 2)
    most = rotor.thrust_coefficient_max * density * rotor.disc_m2 * tip**2
    return ca.fmin(ca.fmax(lift, -most), most)


def torque_Nm(rotor: Rotor, density: ca.SX, thrust: ca.SX, tip: ca.SX, plane2: ca.SX, through: ca.SX) -> ca.SX:
    profile = density * rotor.drag_coefficient * rotor.blade_m2 * (tip**2 + 7 / 3 * plane2) / 8
    return rotor.radius_m * (thrust * through / ca.fmax(tip, 1.0) + profile)


def inflow_dot(rotor: Rotor, density: ca.SX, thrust: ca.SX, inflow: ca.SX, plane2: ca.SX, through: ca.SX) -> ca.SX:
    wake = 2 * rotor.wake_factor * density * rotor.disc_m2 * inflow * ca.sqrt(plane2 + through**2 + 1e-9)
    return (thrust - wake) / (APPARENT * density * rotor.disc_m2 * rotor.radius_m)


def _at(pos_B: tuple[float, float, float], vel_B: ca.SX, rate_B: ca.SX) -> ca.SX:
    return vel_B + ca.cross(rate_B, ca.DM(pos_B))


def _lift(surface: Surface, density: ca.SX, along: ca.SX, across: ca.SX) -> ca.SX:
    """Across the flow; its second part is the drag of a plate."""
    return -0.5 * density * surface.area_m2 * (surface.lift_slope * ca.fabs(along) + ca.fabs(across)) * across


@dataclass(frozen=True)
class Loads:
    """Of the air and the engine on the body, and derivatives of the rotors' states."""

    force_B: ca.SX
    torque_B: ca.SX
    tilt_dot: ca.SX
    inflow_dot: ca.SX
    speed_dot: ca.SX
    thrust_N: ca.SX  # main, tail


def loads(h: Helicopter, state: ca.SX, vel_B: ca.SX, density: ca.SX) -> Loads:
    """`vel_B` is the velocity through the air."""
    main, tail, head = h.main_rotor, h.tail_rotor, h.head
    rate_B, tilt, servos, inflow, speed = state[RATE], state[TILT], state[SERVOS], state[INFLOW], state[SPEED]
    tip, tail_tip = speed * main.radius_m, speed * h.drive.tail_gear * tail.radius_m
    hub_B = _at(main.hub_B_m, vel_B, rate_B)
    plane2, through = hub_B[0] ** 2 + hub_B[1] ** 2, inflow[0] + hub_B[2]
    T = thrust_N(main, density, servos[COLLECTIVE], tip, plane2, through)
    Q = torque_Nm(main, density, T, tip, plane2, through)
    tail_B = _at(tail.hub_B_m, vel_B, rate_B)
    tail_plane2, tail_through = tail_B[0] ** 2 + tail_B[2] ** 2, inflow[1] - head.spin * tail_B[1]
    T_tail = thrust_N(tail, density, servos[TAIL], tail_tip, tail_plane2, tail_through)
    Q_tail = torque_Nm(tail, density, T_tail, tail_tip, tail_plane2, tail_through)
    Q_engine = state[POWER] * h.drive.power_max_W / ca.fmax(speed, 1.0)

    safe_tip = ca.fmax(tip, 1.0)
    blow_back = 2 * head.speed_factor * (4 / 3 * servos[COLLECTIVE] - through / safe_tip)
    gain, lag = head.cyclic_gain * (speed / head.speed_rad_s) ** 2, 16 / (head.lock_number * ca.fmax(speed, 1.0))
    aim = gain * servos[LATERAL : LONGITUDINAL + 1] + blow_back * ca.vertcat(hub_B[1], -hub_B[0]) / safe_tip
    disc_B = T * ca.vertcat(tilt[1], -tilt[0], 1)
    side_B = ca.vertcat(0, -head.spin * T_tail, 0)
    fin_B = _at(h.fin.pos_B_m, vel_B, rate_B)
    fin_F = ca.vertcat(0, _lift(h.fin, density, fin_B[0], fin_B[1]), 0)
    plane_B = _at(h.stabiliser.pos_B_m, vel_B, rate_B)
    plane_F = ca.vertcat(0, 0, _lift(h.stabiliser, density, plane_B[0], plane_B[2]))
    drag = drag_B(vel_B + ca.vertcat(0, 0, inflow[0]), density, h.body.drag_area_m2)
    torque_B = ca.vertcat(head.hub_stiffness_Nm * tilt, -head.spin * Q_engine)
    at_points = (
        (main.hub_B_m, disc_B),
        (tail.hub_B_m, side_B),
        (h.fin.pos_B_m, fin_F),
        (h.stabiliser.pos_B_m, plane_F),
    )
    for pos_B, force_B in at_points:
        torque_B += ca.cross(ca.DM(pos_B), force_B)
    return Loads(
        force_B=disc_B + side_B + fin_F + plane_F + drag,
        torque_B=torque_B,
        tilt_dot=(aim - tilt) / lag - rate_B[0:2],
        inflow_dot=ca.vertcat(
            inflow_dot(main, density, T, inflow[0], plane2, through),
            inflow_dot(tail, density, T_tail, inflow[1], tail_plane2, tail_through),
        ),
        speed_dot=(Q_engine - Q - h.drive.tail_gear * Q_tail) / h.drive.inertia_kgm2,
        thrust_N=ca.vertcat(T, T_tail),
    )


def rotation(angles: ca.SX) -> ca.SX:
    """R_WB of roll, pitch and yaw (ZYX)."""
    cr, cp, cy = ca.cos(angles[0]), ca.cos(angles[1]), ca.cos(angles[2])
    sr, sp, sy = ca.sin(angles[0]), ca.sin(angles[1]), ca.sin(angles[2])
    return ca.vertcat(
        ca.horzcat(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        ca.horzcat(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        ca.horzcat(-sp, cp * sr, cp * cr),
    )


def euler_dot(angles: ca.SX, rate_B: ca.SX) -> ca.SX:
    sr, cr = ca.sin(angles[0]), ca.cos(angles[0])
    turning = (sr * rate_B[1] + cr * rate_B[2]) / ca.cos(angles[1])
    return ca.vertcat(rate_B[0] + ca.sin(angles[1]) * turning, cr * rate_B[1] - sr * rate_B[2], turning)


def in_air(h: Helicopter) -> ca.Function:
    """(state (22,), command (5,), wind_W (3,), density) -> (derivative of the state, thrusts of main and tail rotor);
    commands within their limits, gravity the standard one."""
    state, command = ca.SX.sym("state", STATES), ca.SX.sym("command", INPUTS)
    wind_W, density = ca.SX.sym("wind_W", 3), ca.SX.sym("density")
    R_WB, rate_B = rotation(state[ANGLES]), state[RATE]
    found = loads(h, state, R_WB.T @ (state[VEL] - wind_W), density)
    inertia = ca.DM(h.body.inertia_kgm2)
    dot = ca.vertcat(
        state[VEL],
        euler_dot(state[ANGLES], rate_B),
        R_WB @ found.force_B / h.body.mass_kg - ca.vertcat(0, 0, GRAVITY_M_S2),
        (found.torque_B - ca.cross(rate_B, inertia * rate_B)) / inertia,
        found.tilt_dot,
        (command[0:4] - state[SERVOS]) / h.swashplate.lag_s,
        found.inflow_dot,
        found.speed_dot,
        (command[THROTTLE] - state[POWER]) / h.drive.engine_lag_s,
    )
    return ca.Function("helicopter", [state, command, wind_W, density], [dot, found.thrust_N])


def dynamics(h: Helicopter) -> ca.Function:
    """(state, command) -> derivative of the state, in still air at sea level."""
    state, command = ca.SX.sym("state", STATES), ca.SX.sym("command", INPUTS)
    dot, _ = in_air(h)(state, command, ca.DM.zeros(3), SEA_LEVEL_KG_M3)
    return ca.Function("helicopter_still", [state, command], [dot])


@lru_cache(maxsize=8)
def hover(h: Helicopter) -> tuple[Vec, Vec]:
    """State and command of the hover at the origin, heading east; ConfigError if the limits do not permit one."""
    main = h.main_rotor
    # roll, pitch, tilt (2), servos (4), inflow (2), power
    unknown = ca.SX.sym("unknown", 11)
    state = ca.SX.zeros(STATES)
    state[ANGLES] = ca.vertcat(unknown[0:2], 0)
    state[TILT], state[SERVOS], state[INFLOW] = unknown[2:4], unknown[4:8], unknown[8:10]
    state[SPEED], state[POWER] = h.head.speed_rad_s, unknown[10]
    command = ca.vertcat(unknown[4:8], unknown[10])
    dot = dynamics(h)(state, command)
    rest = ca.vertcat(dot[VEL], dot[RATE], dot[TILT], dot[INFLOW], dot[SPEED])
    weight_N = h.body.mass_kg * GRAVITY_M_S2
    inflow = np.sqrt(weight_N / (2 * main.wake_factor * SEA_LEVEL_KG_M3 * main.disc_m2))
    guess = np.array([0, 0, 0, 0, 0.1, 0, 0, 0.1, inflow, 5.0, 0.5])
    solve = ca.rootfinder("hover", "newton", {"x": unknown, "g": rest}, {"error_on_fail": False})
    found = solve(guess, 0)
    whole = ca.Function("whole", [unknown], [state, command, rest])
    state_eq, command_eq, residual = (np.array(value).ravel() for value in whole(found))
    if not np.max(np.abs(residual)) < RESIDUAL:
        raise ConfigError("vehicle.airframe: this helicopter has no hover: expected thrust above its weight")
    _check_limits(h, command_eq)
    return state_eq, command_eq


def _check_limits(h: Helicopter, command: Vec) -> None:
    plate = h.swashplate
    cyclic = (-plate.cyclic_max_rad, plate.cyclic_max_rad)
    for name, value, (low, high) in (
        ("collective_rad", command[COLLECTIVE], plate.collective_rad),
        ("cyclic_max_rad", command[LATERAL], cyclic),
        ("cyclic_max_rad", command[LONGITUDINAL], cyclic),
        ("tail_rad", command[TAIL], plate.tail_rad),
    ):
        if not low < value < high:
            raise ConfigError(f"vehicle.airframe: swashplate.{name}: hover needs {value:.3f} rad, beyond its limits")
    if not command[THROTTLE] < 1.0:
        needed_W = command[THROTTLE] * h.drive.power_max_W
        raise ConfigError(f"vehicle.airframe: drive.power_max_W: hover needs {needed_W:.0f} W")
