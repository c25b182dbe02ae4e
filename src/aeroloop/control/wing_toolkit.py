"""Helpers for writing a fixed wing's inner loops; as `toolkit` for the tilt-rotor.

estimate, setpoint, memory = wing_toolkit.inputs(memory=2)
...
return wing_toolkit.function(estimate, setpoint, memory, command, memory_next)
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.control.custom import Shape
from aeroloop.control.toolkit import clip as clip
from aeroloop.control.toolkit import with_memory
from aeroloop.control.wing import COMMAND, ESTIMATE, SETPOINT

X, Y, HEIGHT, VX, VY, CLIMB = range(6)
"""Indices into `estimate`: east, north and up, m and m/s."""
ROLL, PITCH, YAW, ROLL_RATE, PITCH_RATE, YAW_RATE = range(6, 12)
"""Indices into `estimate`: rad and rad/s; axes forward, left, up, so that roll is positive to the right, pitch with the
nose down and yaw to the left."""
AIRSPEED, COURSE, GROUND_SPEED = range(12, ESTIMATE)
"""Indices into `estimate`: m/s, rad from east to the left, m/s."""
ROLL_SETPOINT, HEIGHT_SETPOINT, AIRSPEED_SETPOINT = range(len(SETPOINT))
"""Indices into `setpoint`: rad, m, m/s."""
AILERON, ELEVATOR, RUDDER, THROTTLE = range(len(COMMAND))
"""Indices into `command`: rad; positive rolls right, pitches the nose down, yaws left. The throttle is 0 to 1."""

SHAPE = Shape({"estimate": ESTIMATE, "setpoint": len(SETPOINT)}, len(COMMAND), "cntr")


def inputs(memory: int = 0) -> tuple[Any, Any, Any]:
    """Symbols for a law's inputs; `memory` is the number of values it keeps from one period to the next."""
    return ca.SX.sym("estimate", ESTIMATE), ca.SX.sym("setpoint", len(SETPOINT)), ca.SX.sym("memory", memory)


def function(estimate: Any, setpoint: Any, memory: Any, command: Any, memory_next: Any = None) -> ca.Function:
    """The law as a CasADi function; `memory_next` becomes the next period's `memory`."""
    return with_memory(dict(zip(SHAPE.names, (estimate, setpoint, memory), strict=True)), command, memory_next)
