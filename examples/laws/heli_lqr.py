"""A helicopter's hover LQR with integral action, and a governor of the rotor speed. Start here."""

import casadi as ca

from aeroloop.control import values_toolkit as tk

POSITION, VELOCITY, QUATERNION = ("x_m", "y_m", "z_m"), ("vx_m_s", "vy_m_s", "vz_m_s"), ("qw", "qx", "qy", "qz")
RATES = ("rate_x_rad_s", "rate_y_rad_s", "rate_z_rad_s")
STATES = 12  # position, angles, velocity, rates; this law leaves out the LQR's other states, disc and servos,
GAINS = (0.7, 0.5, 0.5, 0.6)  # and their lags permit it less gain: collective, lateral, longitudinal, tail
MOST_M, MOST_M_S, MOST_MS = 1.5, 2.0, 4.0


def law(design):
    heli = design.aircraft
    measured, memory = tk.inputs(design, memory=5)
    setpoint = [f"setpoint_{name}" for name in (*POSITION, *VELOCITY)]
    w, x, y, z = ca.vertsplit(design.picked(measured, *QUATERNION))
    roll = ca.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = ca.asin(tk.clip(2 * (w * y - x * z), -1, 1))
    yaw = ca.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

    cos, sin = ca.cos(yaw), ca.sin(yaw)
    to_heading = ca.vertcat(ca.horzcat(cos, sin, 0), ca.horzcat(-sin, cos, 0), ca.horzcat(0, 0, 1))
    off = design.picked(measured, *POSITION, *VELOCITY) - design.picked(measured, *setpoint)
    position = tk.clip(to_heading @ off[:3], -MOST_M, MOST_M)
    velocity = tk.clip(to_heading @ off[3:], -MOST_M_S, MOST_M_S)
    heading = tk.wrapped(yaw - design.picked(measured, "setpoint_yaw_rad"))
    lean = ca.vertcat(roll, pitch) - ca.DM(heli.state_eq[3:5])
    rates = design.picked(measured, *RATES) - ca.vertcat(0, 0, design.picked(measured, "setpoint_yaw_rate_rad_s"))
    error = ca.vertcat(position, lean, heading, velocity, rates)

    # Integrals in the world, so that they hold the wind at any heading.
    step = design.period_s * ca.vertcat(to_heading.T @ position, heading)
    integrals = tk.clip(memory[:4] + step, -MOST_MS, MOST_MS)
    turned = ca.vertcat(to_heading @ integrals[:3], integrals[3])
    K = ca.diag(ca.DM(GAINS)) @ ca.DM(heli.K)
    pitches = ca.DM(heli.command_eq[:4]) - K[:, :STATES] @ error - K[:, -4:] @ turned

    slow = heli.airframe.head.speed_rad_s - design.picked(measured, "rotor_rad_s")
    governed = tk.clip(memory[4] + design.period_s * slow, -10, 10)
    throttle = heli.command_eq[4] + 0.02 * slow + 0.04 * governed
    command = tk.clip(ca.vertcat(pitches, throttle), ca.DM(heli.low), ca.DM(heli.high))
    return tk.function(measured, memory, command, ca.vertcat(integrals, governed))
