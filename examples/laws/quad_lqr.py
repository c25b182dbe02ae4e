"""A quadrotor's hover LQR with integral action: position, attitude, velocity and rates to rotor speeds in one gain."""

import casadi as ca

from aeroloop.control import quad_toolkit as tk

MOST_M, MOST_MS = 1.5, 4.0


def law(design):
    state, setpoint, memory = tk.inputs(memory=3)
    error = tk.error(state, setpoint)
    error[tk.ERROR_POS] = tk.clip(error[tk.ERROR_POS], -MOST_M, MOST_M)  # far away, no more than it can tilt for
    integral = tk.clip(memory + design.period_s * error[tk.ERROR_POS], -MOST_MS, MOST_MS)
    speeds = ca.DM(design.hover_speeds_rad_s) - ca.DM(design.K) @ ca.vertcat(error, integral)
    command = tk.clip(design.command(speeds), 0.001, 1)  # at 0 a motor stops
    return tk.function(state, setpoint, memory, command, integral)
