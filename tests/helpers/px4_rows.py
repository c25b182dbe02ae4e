"""A state and a setpoint as PX4 has them, and as a law gets them back: NED and FRD in single precision, and ENU and
FLU again by `core.frames` alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from px4_bus import Bus

from aeroloop.core.frames import frd_from_flu, ned_from_enu, quat_ned_frd_from_enu_flu

Floats = NDArray[np.float32]
F = np.float32
POSITION_MODE = {
    "flag_control_position_enabled": True,
    "flag_control_velocity_enabled": True,
    "flag_control_altitude_enabled": True,
    "flag_control_climb_rate_enabled": True,
    "flag_control_acceleration_enabled": True,
    "flag_control_attitude_enabled": True,
}
VALID = {"xy_valid": True, "z_valid": True, "v_xy_valid": True, "v_z_valid": True}
PERIOD_US = 4000


def single(values: Sequence[float]) -> list[float]:
    return [float(F(value)) for value in values]


def attitude(nav: Sequence[float]) -> dict[str, Any]:
    w, x, y, z = nav[6:10]
    return {"q": single(quat_ned_frd_from_enu_flu((w, x, y, z)))}


def estimate(nav: Sequence[float]) -> dict[str, Any]:
    position, velocity = (single(ned_from_enu((a, b, c))) for a, b, c in (nav[0:3], nav[3:6]))
    named = dict(zip(("x", "y", "z", "vx", "vy", "vz"), (*position, *velocity), strict=True))
    return {**VALID, **named}


def rates(nav: Sequence[float]) -> list[float]:
    x, y, z = nav[10:13]
    return single(frd_from_flu((x, y, z)))


def trajectory(setpoint: Sequence[float]) -> dict[str, Any]:
    moves = {
        name: single(ned_from_enu((a, b, c)))
        for name, (a, b, c) in zip(
            ("position", "velocity", "acceleration"), (setpoint[0:3], setpoint[3:6], setpoint[6:9]), strict=True
        )
    }
    return {**moves, "yaw": float(F(math.pi / 2 - setpoint[9])), "yawspeed": float(F(-setpoint[15]))}


def as_received(nav: Sequence[float], setpoint: Sequence[float]) -> tuple[list[float], list[float]]:
    """The rows after their way through PX4's messages, each operation in single precision. A trajectory has no angles,
    and holds position and height."""
    w, x, y, z = (F(value) for value in attitude(nav)["q"])
    half = F(math.sqrt(0.5))
    quat = (half * (w + z), half * (x + y), half * (x - y), half * (w - z))
    yaw = F(math.pi / 2) - F(math.pi / 2 - setpoint[9])
    row = [*setpoint[0:9], float(yaw), 0.0, 0.0, 0.0, 1.0, 1.0, setpoint[15]]
    return single([*nav[0:6], *quat, *nav[10:13]]), single(row)


def fly_on(bus: Bus, *, armed: bool = True, takeoff_state: int = 5, **mode: bool) -> None:
    """A mode, by default one that holds a position."""
    bus.put("vehicle_control_mode", flag_armed=armed, **(mode or POSITION_MODE))
    bus.put("takeoff_status", takeoff_state=takeoff_state)
    bus.put("vehicle_land_detected", ground_contact=False)


def sample(bus: Bus, nav: Sequence[float], period_us: int = PERIOD_US, **changes: Any) -> list[float]:
    """PX4's estimate at the next sample of the gyroscope -> motor commands. `changes` replace fields of the estimate,
    or `q` and `xyz`."""
    bus.time_us += period_us
    bus.put("vehicle_attitude", q=changes.pop("q", attitude(nav)["q"]))
    xyz = changes.pop("xyz", rates(nav))
    bus.put("vehicle_local_position", **{**estimate(nav), **changes})
    bus.put("vehicle_angular_velocity", timestamp_sample=bus.time_us, xyz=xyz)
    return list(bus.get("actuator_motors").control)


def step(bus: Bus, nav: Sequence[float], setpoint: Sequence[float], **changes: Any) -> list[float]:
    """The same with a new setpoint."""
    bus.put("trajectory_setpoint", **trajectory(setpoint))
    return sample(bus, nav, **changes)
