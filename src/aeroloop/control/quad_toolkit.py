"""Helpers for writing a multirotor law: indices into its rows, errors, and the standard function shape.

state, setpoint, memory = quad_toolkit.inputs(memory=3)
...
return quad_toolkit.function(state, setpoint, memory, command, memory_next)
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.control.toolkit import clip, with_memory

__all__ = ["clip", "error", "function", "inputs"]

POS, VEL, QUAT, RATE = slice(0, 3), slice(3, 6), slice(6, 10), slice(10, 13)
"""Indices into `state`: m and m/s east, north, up; the attitude; rad/s about forward, left, up."""
STATE = 13
WANTED_POS, WANTED_VEL, WANTED_ACCEL, YAW, YAW_RATE = slice(0, 3), slice(3, 6), slice(6, 9), 9, 10
"""Indices into `setpoint`."""
SETPOINT = 11
INPUTS = {"state": STATE, "setpoint": SETPOINT}
ERROR_POS, ERROR_TURN, ERROR_VEL, ERROR_RATE = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12)
"""Indices into `error`."""


def inputs(memory: int = 0) -> tuple[Any, Any, Any]:
    """Symbols for a law's inputs; `memory` is the number of values it keeps from one period to the next."""
    return ca.SX.sym("state", STATE), ca.SX.sym("setpoint", SETPOINT), ca.SX.sym("memory", memory)


def error(state: Any, setpoint: Any) -> Any:
    """(12,) Position, rotation vector, velocity and body rates: the difference of each from level flight at the
    setpoint, in the heading frame. So one gain, designed at yaw 0, flies every heading."""
    cos, sin = ca.cos(setpoint[YAW]), ca.sin(setpoint[YAW])
    half_cos, half_sin = ca.cos(setpoint[YAW] / 2), ca.sin(setpoint[YAW] / 2)
    w, x, y, z = ca.vertsplit(state[QUAT])
    # The attitude relative to the yaw setpoint, along the shorter rotation.
    left = ca.vertcat(half_cos * w + half_sin * z, half_cos * x + half_sin * y, half_cos * y - half_sin * x)
    turned = half_cos * z - half_sin * w
    turn = 2 * ca.if_else(left[0] < 0, -1, 1) * ca.vertcat(left[1], left[2], turned)

    def from_heading(v: Any) -> Any:
        return ca.vertcat(cos * v[0] + sin * v[1], cos * v[1] - sin * v[0], v[2])

    pos, vel = state[POS] - setpoint[WANTED_POS], state[VEL] - setpoint[WANTED_VEL]
    rate = state[RATE] - ca.vertcat(0, 0, setpoint[YAW_RATE])
    return ca.vertcat(from_heading(pos), turn, from_heading(vel), rate)


def function(state: Any, setpoint: Any, memory: Any, command: Any, memory_next: Any = None) -> ca.Function:
    """The law as a CasADi function; `memory_next` becomes the next period's `memory`."""
    return with_memory({**dict(zip(INPUTS, (state, setpoint), strict=True)), "memory": memory}, command, memory_next)
