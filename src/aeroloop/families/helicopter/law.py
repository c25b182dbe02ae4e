"""The helicopter's law on its board: full state feedback with integral action, and the governor of the rotor speed.

    u = u_hover - K (errors of position, angles, velocity, rates; tilt, servos; integrals of position and heading)

Errors of place and velocity are turned into the heading frame, so that one gain flies any heading. Errors of place are
limited, and so is the lean that they and those of velocity ask for: far from its setpoint the helicopter flies at a
limited speed. Roll and pitch have the setpoint's acceleration
fed forward. Tilt of the disc and servos are not measured: the law computes them by their equations from its own
commands and the measured rates. Throttle = hover + proportional and integral part of the error of the rotor speed.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from aeroloop.control.board_law import BoardLaw
from aeroloop.control.clipping import nan_shown
from aeroloop.control.toolkit import wrapped
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.families.helicopter import model
from aeroloop.families.helicopter.airframe import Helicopter
from aeroloop.families.helicopter.design import KNOWN, Design, of_scenario
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.models.rigid_body import rotation

MEASURED = 24
"""pos_W, vel_W, quat_WB, rate_B, rotor speed; setpoint: pos_W, vel_W, horizontal acceleration, yaw, yaw rate."""
INTEGRALS, TILT, SERVOS, GOVERNOR, MEMORY = slice(0, 4), slice(4, 6), slice(6, 10), 10, 11
"""Integrals are those of the errors in W and of the heading; tilt and servos are deviations from hover."""
REACH_M = (3.0, 3.0, 2.0)
"""Errors of place beyond this count as this: forward, left, up."""
LEAN_MOST_RAD = 0.3
"""Largest lean that errors of position and velocity ask for."""
INTEGRAL_MOST = (12.0, 12.0, 6.0, 3.0)
GOVERNED_MOST = 0.5
"""Largest throttle of the governor's integral."""


def within(value: Any, low: Any, high: Any) -> Any:
    return ca.fmin(ca.fmax(value, low), high)


def limits(h: Helicopter) -> tuple[ca.DM, ca.DM]:
    """Of the pitches."""
    pairs = h.command_limits[: model.THROTTLE]
    return ca.DM([low for low, _ in pairs]), ca.DM([high for _, high in pairs])


def _pitches(K: ca.DM, errors: ca.SX) -> ca.SX:
    """K times the errors; the part of position, velocity and integrals asks at most for a lean of LEAN_MOST_RAD."""
    outer = ca.vertcat(errors[model.POS], errors[model.VEL], errors[KNOWN:])
    K_outer = ca.horzcat(K[:, model.POS], K[:, model.VEL], K[:, KNOWN:])
    inner = ca.vertcat(errors[model.ANGLES], errors[model.VEL.stop : KNOWN])
    K_inner = ca.horzcat(K[:, model.ANGLES], K[:, model.VEL.stop : KNOWN])
    asked = K_outer @ outer
    for row, angle in ((model.LATERAL, model.ANGLES.start), (model.LONGITUDINAL, model.ANGLES.start + 1)):
        most = abs(float(K[row, angle])) * LEAN_MOST_RAD
        asked[row] = within(asked[row], -most, most)
    return K_inner @ inner + asked


def law(h: Helicopter, plan: Design) -> ca.Function:
    """(measured (24,), memory (11,)) -> (command (5,), memory (11,))."""
    measured, memory = ca.SX.sym("measured", MEASURED), ca.SX.sym("memory", MEMORY)
    T_s = plan.period_s
    pos_W, vel_W, rate_B, speed = measured[0:3], measured[3:6], measured[10:13], measured[13]
    R_WB = rotation(measured[6:10] / ca.sqrt(ca.sumsqr(measured[6:10])))
    roll, pitch = ca.atan2(R_WB[2, 1], R_WB[2, 2]), -ca.asin(within(R_WB[2, 0], -1, 1))
    yaw = ca.atan2(R_WB[1, 0], R_WB[0, 0])
    R_HW = ca.vertcat(
        ca.horzcat(ca.cos(yaw), ca.sin(yaw), 0), ca.horzcat(-ca.sin(yaw), ca.cos(yaw), 0), ca.horzcat(0, 0, 1)
    )
    hover, servos_eq = plan.state_eq, plan.state_eq[model.SERVOS]

    off_W, yaw_off = pos_W - measured[14:17], wrapped(yaw - measured[22])
    off_H = within(R_HW @ off_W, -ca.DM(REACH_M), ca.DM(REACH_M))
    # Far away the integral waits, so that it does not wind up on the way.
    near = ca.if_else(ca.sumsqr(off_W) < min(REACH_M) ** 2, 1, 0)
    most = ca.DM(INTEGRAL_MOST)
    integrals = within(memory[INTEGRALS] + T_s * ca.vertcat(near * off_W, yaw_off), -most, most)
    accel_H = R_HW @ ca.vertcat(measured[20:22], 0)
    lean = ca.vertcat(-accel_H[1], accel_H[0]) / GRAVITY_M_S2
    errors = ca.vertcat(
        off_H,
        ca.vertcat(roll, pitch) - hover[model.ANGLES][:2] - lean,
        yaw_off,
        R_HW @ (vel_W - measured[17:20]),
        rate_B - ca.vertcat(0, 0, measured[23]),
        memory[TILT],
        memory[SERVOS],
        R_HW @ integrals[0:3],
        integrals[3],
    )
    pitches = within(servos_eq - _pitches(ca.DM(plan.K), errors), *limits(h))

    # The equations of servos and disc over one period, with the command and the rates held.
    slow, flap_s = math.exp(-T_s / h.swashplate.lag_s), h.head.flap_lag_s
    fade = math.exp(-T_s / flap_s)
    servos = pitches - servos_eq + slow * (memory[SERVOS] - (pitches - servos_eq))
    cyclic = (memory[SERVOS] + servos)[1:3] / 2
    tilt = fade * memory[TILT] + (1 - fade) * (h.head.cyclic_gain * cyclic - flap_s * rate_B[0:2])

    slack = h.head.speed_rad_s - speed
    bound = GOVERNED_MOST / max(h.law.governor_per_rad, 1e-9)
    governed = within(memory[GOVERNOR] + T_s * slack, -bound, bound)
    throttle = plan.command_eq[model.THROTTLE] + h.law.governor_per_rad_s * slack + h.law.governor_per_rad * governed
    command = ca.vertcat(pitches, within(throttle, 0, 1))
    return ca.Function("helicopter_law", [measured, memory], [command, ca.vertcat(integrals, tilt, servos, governed)])


def of_state(own: ca.Function) -> ca.Function:
    """A law (measured, memory) at rest over the origin, by the state of the design model: for its margins."""
    state, memory = ca.MX.sym("state", model.STATES), ca.MX.sym("memory", own.size1_in(1))
    half = state[model.ANGLES] / 2
    cr, cp, cy = ca.cos(half[0]), ca.cos(half[1]), ca.cos(half[2])
    sr, sp, sy = ca.sin(half[0]), ca.sin(half[1]), ca.sin(half[2])
    quat = ca.vertcat(
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
    measured = ca.vertcat(
        state[model.POS], state[model.VEL], quat, state[model.RATE], state[model.SPEED], ca.MX.zeros(10)
    )
    return ca.Function("helicopter_law_of_state", [state, memory], own.call([measured, memory]))


def board_law(scenario: HelicopterScenario) -> BoardLaw:
    h, plan = of_scenario(scenario)
    return BoardLaw(nan_shown(law(h, plan)), plan.period_s)
