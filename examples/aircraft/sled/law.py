"""The sled's control law: position and speed in, push out, with an integral as its memory."""

import casadi as ca
from sled.scenario import SledScenario

from aeroloop.control.board_law import BoardLaw

PERIOD_S = 0.02
STIFFNESS_N_m, DAMPING_Ns_m, INTEGRAL_N_ms = 3.0, 4.0, 0.5


def law(scenario: SledScenario) -> BoardLaw:
    measured, memory = ca.SX.sym("measured", 2), ca.SX.sym("memory", 1)
    error_m = scenario.aircraft.goal.x_m - measured[0]
    integral = ca.fmin(ca.fmax(memory[0] + PERIOD_S * error_m, -2.0), 2.0)
    push_N = STIFFNESS_N_m * error_m - DAMPING_Ns_m * measured[1] + INTEGRAL_N_ms * integral
    return BoardLaw(ca.Function("sled_law", [measured, memory], [push_N, integral]), PERIOD_S)
