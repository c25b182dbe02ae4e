"""Helpers for writing a tilt-rotor law: indices of the states, and the standard function shape.

sensors, reference, memory = toolkit.inputs(memory=4)
...
return toolkit.function(sensors, reference, memory, command, memory_next)
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.core.frames import Vec
from aeroloop.core.signals import COMMAND_COUNT, REFERENCE_COUNT, SENSOR_COUNT

INPUTS = ("sensors", "reference", "memory")
OUTPUTS = ("command", "memory_next")

X, Y, Z, ROLL, PITCH, YAW, TILT_RIGHT, TILT_LEFT = range(8)
"""Indices into `sensors`: m and rad."""
VX, VY, VZ, ROLL_RATE, PITCH_RATE, YAW_RATE, TILT_RIGHT_RATE, TILT_LEFT_RATE = range(8, SENSOR_COUNT)
"""Indices into `sensors`: m/s and rad/s."""
THRUST_RIGHT, THRUST_LEFT, TORQUE_RIGHT, TORQUE_LEFT = range(COMMAND_COUNT)
"""Indices into `command`: N and N m."""

REFERENCED = (X, Y, Z, YAW, VX, VY, VZ, YAW_RATE)
"""The states that a reference contains, in its order."""


def inputs(memory: int = 0) -> tuple[Any, Any, Any]:
    """Symbols for a law's inputs; `memory` is the number of values it keeps from one cycle to the next."""
    return ca.SX.sym("sensors", SENSOR_COUNT), ca.SX.sym("reference", REFERENCE_COUNT), ca.SX.sym("memory", memory)


def error(sensors: Any, reference: Any, state_eq: Vec) -> Any:
    """(16,) Difference of each state from its setpoint: the reference, and for the rest the equilibrium."""
    target = ca.SX(ca.DM(state_eq))
    target[list(REFERENCED)] = reference
    off = sensors - target
    # Yaw is periodic: without this, a reference just past half a turn would cause a whole turn back.
    off[YAW] = wrapped(off[YAW])
    return off


def wrapped(angle_rad: Any) -> Any:
    """The same angle between -pi and pi, symbolic: the counterpart of `core.angles.wrap_pi`."""
    return ca.atan2(ca.sin(angle_rad), ca.cos(angle_rad))


def clip(value: Any, low: Any, high: Any) -> Any:
    return ca.fmin(ca.fmax(value, low), high)


def function(sensors: Any, reference: Any, memory: Any, command: Any, memory_next: Any = None) -> ca.Function:
    """The law as a CasADi function; `memory_next` becomes the next cycle's `memory`."""
    return with_memory(dict(zip(INPUTS, (sensors, reference, memory), strict=True)), command, memory_next)


def with_memory(inputs: dict[str, Any], command: Any, memory_next: Any) -> ca.Function:
    """A law with these named inputs, `memory` last; without `memory_next` it has none."""
    memory = inputs["memory"]
    if memory_next is None:
        if memory.numel():
            raise ValueError(f"a law with a memory of {memory.numel()} must return its next value: memory_next")
        memory_next = memory
    return ca.Function("law", list(inputs.values()), [command, memory_next], list(inputs), list(OUTPUTS))
