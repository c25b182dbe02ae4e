"""Inner loops of a fixed wing in a dozen lines: roll, height and airspeed, each with an integral. Start here."""

import casadi as ca

from aeroloop.control import wing_toolkit as tk


def law(design):
    estimate, setpoint, memory = tk.inputs(memory=3)
    d, g, T = design.dynamics, design.gains, design.period_s
    roll_integral, height_integral, speed_integral = ca.vertsplit(memory)

    roll_error = setpoint[tk.ROLL_SETPOINT] - estimate[tk.ROLL]
    aileron = g.roll_p * roll_error - g.roll_d_s * estimate[tk.ROLL_RATE] + roll_integral

    height_error = tk.clip(setpoint[tk.HEIGHT_SETPOINT] - estimate[tk.HEIGHT], -10, 10)
    climb_error = 0.3 * height_error - estimate[tk.CLIMB]
    roll = tk.clip(estimate[tk.ROLL], -1, 1)
    load = 1 / ca.cos(roll)  # a turn needs more lift
    nose_up = d.alpha_rad * load + tk.clip(1.5 * climb_error / d.airspeed_m_s + height_integral, -0.25, 0.25)
    elevator = (
        d.elevator_rad
        + g.turn_elevator * d.alpha_rad * (load - 1)
        + g.pitch_p * (nose_up + estimate[tk.PITCH])
        + g.pitch_d_s * estimate[tk.PITCH_RATE]
    )

    speed_error = setpoint[tk.AIRSPEED_SETPOINT] - estimate[tk.AIRSPEED]
    throttle = d.throttle + g.speed_p_s_m * speed_error + speed_integral

    turning = -9.81 / d.airspeed_m_s * ca.tan(roll)  # to the left
    rudder = -0.5 * g.yaw_d_s * (estimate[tk.YAW_RATE] - turning)
    command = tk.clip(ca.vertcat(aileron, elevator, rudder, throttle), design.low, design.high)
    kept = memory + T * ca.vertcat(
        0.3 * g.roll_p * roll_error, 0.1 * climb_error / d.airspeed_m_s, g.speed_i_per_m * speed_error
    )
    return tk.function(estimate, setpoint, memory, command, tk.clip(kept, -0.2, 0.2))
