"""The built-in LQR with integral action, written out by hand: start here and change what you like."""

import casadi as ca

from aeroloop.control import toolkit as tk


def law(design):
    sensors, reference, memory = tk.inputs(memory=4)
    error = tk.error(sensors, reference, design.state_eq)
    integral = memory + design.period_s * ca.vertcat(error[tk.X], error[tk.Y], error[tk.Z], error[tk.YAW])
    command = ca.DM(design.u_eq) - ca.DM(design.K) @ ca.vertcat(error, integral)
    return tk.function(sensors, reference, memory, command, integral)
