"""The attitude and rate loops of ArduPilot and PX4 as one function, with the gains that a log's parameters tell.

    attitude error ─▶ P ─▶ (+ rate of the setpoint) ─▶ rate error ─▶ PID + FF ─▶ command, -1..1 ─▶ mixer

Both autopilots have this structure. They differ in names and units of the gains, in what the derivative acts on
(ArduPilot: the error; PX4: the measured rate), in the mixer's factors and in whether a motor's output is its thrust
(ArduPilot, MOT_THST_EXPO) or its signal (PX4, THR_MDL_FAC 0). Reference: ArduPilot AC_AttitudeControl_Multi and AC_PID,
PX4 RateControl and ControlAllocationPseudoInverse. Left out: square-root control of large angle errors, throttle
mixing when motors saturate, notch filters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.control.toolkit import clip
from aeroloop.controllers.pixhawk.flight_law import Airframe
from aeroloop.core.frames import Vec

AXES = ("roll", "pitch", "yaw")
STARTED, TARGET, ERROR, SLOPE, INTEGRAL, SETPOINT = (
    0,
    slice(1, 4),
    slice(4, 7),
    slice(7, 10),
    slice(10, 13),
    slice(13, 17),
)
MEMORY = 17
UNFILTERED_HZ = 0.0


@dataclass(frozen=True)
class AxisGains:
    """Of one axis; the output is a command of -1 to 1."""

    angle_p: float  # 1/s
    p: float  # per rad/s
    i: float
    d: float
    ff: float = 0.0
    integral_most: float = 0.5
    target_hz: float = UNFILTERED_HZ  # low-passes; 0: none
    error_hz: float = UNFILTERED_HZ
    slope_hz: float = UNFILTERED_HZ


@dataclass(frozen=True)
class AttitudeLoops:
    source: str  # as a report names them
    axes: tuple[AxisGains, AxisGains, AxisGains]
    mixed: tuple[float, float, float]  # of the largest motor, per unit command
    slope_of_error: bool  # else of the measured rate
    output_is_thrust: bool
    setpoint_rate: bool  # whether the rate of the setpoint is fed forward
    found: int  # how many of the gains the log has

    def row(self) -> tuple[float, ...]:
        axes = (
            (a.angle_p, a.p, a.i, a.d, a.ff, a.integral_most, a.target_hz, a.error_hz, a.slope_hz) for a in self.axes
        )
        return (*(value for axis in axes for value in axis), float(self.setpoint_rate))


@dataclass(frozen=True)
class _Names:
    """Where one autopilot keeps its gains: names with {axis} to fill in, a factor into our units, the default."""

    axis: tuple[str, str, str]
    gains: Mapping[str, tuple[tuple[str, float], ...]]
    defaults: tuple[AxisGains, AxisGains, AxisGains]


# RATE_RLL_P and the like had centidegrees and 4500 per unit command, on a mixer of 0.707 in place of 0.5.
_OLD = math.degrees(100.0) / 4500.0 * math.sqrt(0.5)
_ARDUPILOT = _Names(
    ("RLL", "PIT", "YAW"),
    {
        "angle_p": (("ATC_ANG_{axis}_P", 1.0), ("STB_{axis}_P", 1.0)),
        "p": (("ATC_RAT_{axis}_P", 1.0), ("RATE_{axis}_P", _OLD)),
        "i": (("ATC_RAT_{axis}_I", 1.0), ("RATE_{axis}_I", _OLD)),
        "d": (("ATC_RAT_{axis}_D", 1.0), ("RATE_{axis}_D", _OLD)),
        "ff": (("ATC_RAT_{axis}_FF", 1.0),),
        "integral_most": (("ATC_RAT_{axis}_IMAX", 1.0), ("RATE_{axis}_IMAX", 1.0 / 4500.0)),
        "target_hz": (("ATC_RAT_{axis}_FLTT", 1.0),),
        "error_hz": (("ATC_RAT_{axis}_FLTE", 1.0),),
        "slope_hz": (("ATC_RAT_{axis}_FLTD", 1.0), ("ATC_RAT_{axis}_FILT", 1.0), ("RATE_{axis}_FILT_HZ", 1.0)),
    },
    (
        *(AxisGains(4.5, 0.135, 0.135, 0.0036, target_hz=20.0, slope_hz=20.0),) * 2,
        AxisGains(4.5, 0.18, 0.018, 0.0, target_hz=20.0, error_hz=2.5),
    ),
)
_PX4 = _Names(
    ("ROLL", "PITCH", "YAW"),
    {
        "angle_p": (("MC_{axis}_P", 1.0),),
        "p": (("MC_{axis}RATE_P", 1.0),),
        "i": (("MC_{axis}RATE_I", 1.0),),
        "d": (("MC_{axis}RATE_D", 1.0),),
        "ff": (("MC_{axis}RATE_FF", 1.0),),
        "slope_hz": (("IMU_DGYRO_CUTOFF", 1.0),),
    },
    (
        *(AxisGains(6.5, 0.15, 0.2, 0.003, slope_hz=30.0, integral_most=0.3),) * 2,
        AxisGains(2.8, 0.2, 0.1, 0.0, slope_hz=30.0, integral_most=0.3),
    ),
)


def from_parameters(parameters: Mapping[str, float]) -> AttitudeLoops | None:
    """Those of the log's autopilot; None where its parameters tell no gain of a rate loop."""
    ardupilot, found = _gains(_ARDUPILOT, parameters)
    if found:
        feed = parameters.get("ATC_RATE_FF_ENAB", 1.0) > 0.5
        return AttitudeLoops("ArduPilot", ardupilot, (0.5, 0.5, 0.5), True, True, feed, found)
    px4, found = _gains(_PX4, parameters)
    if found:
        roll, pitch, yaw = (
            _scaled(axis, parameters.get(f"MC_{name}RATE_K", 1.0)) for axis, name in zip(px4, _PX4.axis, strict=True)
        )
        curved = parameters.get("THR_MDL_FAC", 0.0) > 0.5
        half = math.sqrt(0.5)
        return AttitudeLoops("PX4", (roll, pitch, yaw), (half, half, 1.0), False, curved, False, found)
    return None


def _scaled(axis: AxisGains, k: float) -> AxisGains:
    return replace(axis, p=k * axis.p, i=k * axis.i, d=k * axis.d)


def _gains(names: _Names, parameters: Mapping[str, float]) -> tuple[tuple[AxisGains, AxisGains, AxisGains], int]:
    found, rates = 0, 0
    axes = []
    for axis, default in zip(names.axis, names.defaults, strict=True):
        values: dict[str, float] = {}
        for gain, sources in names.gains.items():
            for text, factor in sources:
                name = text.format(axis=axis)
                if name in parameters and math.isfinite(parameters[name]):
                    values[gain] = factor * parameters[name]
                    found += 1
                    rates += gain == "p"
                    break
        axes.append(replace(default, **values))
    return (axes[0], axes[1], axes[2]), found if rates else 0


def mix(airframe: Airframe, mixed: tuple[float, float, float]) -> Vec:
    """(n, 3) Output of each motor per unit command about x, y and z of the body (FLU)."""
    rotors = airframe.rotors
    pos = np.array(rotors.pos_B_m)
    columns = (pos[:, 1], -pos[:, 0], -np.array(rotors.spin, dtype=float))
    return np.stack([m * c / np.max(np.abs(c)) for m, c in zip(mixed, columns, strict=True)], axis=1)


def acceleration_per_command(
    airframe: Airframe, inertia_kgm2: tuple[float, float, float], mixed: tuple[float, float, float] = (0.5, 0.5, 0.5)
) -> tuple[float, float, float]:
    """Angular acceleration (rad/s2) per unit command about x, y and z, with outputs that are thrusts."""
    rotors, motor = airframe.rotors, airframe.motors
    most_N = rotors.thrust_Ns2 * motor.speed_max_rad_s**2 * np.array(rotors.shares)
    pos, spin = np.array(rotors.pos_B_m), np.array(rotors.spin, dtype=float)
    torques = np.stack([pos[:, 1], -pos[:, 0], -spin * rotors.torque_to_thrust_m])
    per_axis = np.diag(torques @ (most_N[:, None] * mix(airframe, mixed))) / np.array(inertia_kgm2)
    return float(per_axis[0]), float(per_axis[1]), float(per_axis[2])


def law(airframe: Airframe, loops: AttitudeLoops, period_s: float) -> ca.Function:
    """(nav (13,), setpoint (16,), memory, gains) -> (motors (n,), memory), as `control.cascade.law`."""
    nav, setpoint = ca.SX.sym("nav", 13), ca.SX.sym("setpoint", 16)
    memory, values = ca.SX.sym("memory", MEMORY), ca.SX.sym("gains", len(loops.row()))
    table = ca.reshape(values[:27], 9, 3)
    angle_p, p, i, d, ff, integral_most, target_hz, error_hz, slope_hz = (table[k, :].T for k in range(9))
    started = memory[STARTED] > 0.5
    wanted = _quaternion(setpoint[10], setpoint[11], setpoint[9])
    before = ca.if_else(started, memory[SETPOINT], wanted)
    fed = values[27] * _between(before, wanted) / period_s  # in the axes of the setpoint, which are nearly the body's
    rate_B = nav[10:13]
    target = angle_p * _between(nav[6:10], wanted) + fed
    target = _low_passed(target, memory[TARGET], target_hz, started, period_s)
    error = _low_passed(target - rate_B, memory[ERROR], error_hz, started, period_s)
    # Derivative of the error, or of the measured rate alone: memory[ERROR] then holds minus the rate.
    moving = error if loops.slope_of_error else -rate_B
    slope = ca.if_else(started, (moving - memory[ERROR]) / period_s, 0)
    slope = _low_passed(slope, memory[SLOPE], slope_hz, started, period_s)
    integral = clip(memory[INTEGRAL] + period_s * i * error, -integral_most, integral_most)
    command = clip(p * error + integral + d * slope + ff * target, -1, 1)
    output = clip(setpoint[12] + ca.DM(mix(airframe, loops.mixed)) @ command, 0, 1)
    motors = _motor_command(airframe, output) if loops.output_is_thrust else output
    after = ca.vertcat(1, target, moving, slope, integral, wanted)
    return ca.Function(
        "attitude_loops",
        [nav, setpoint, memory, values],
        [motors, after],
        ["nav", "setpoint", "memory", "gains"],
        ["motors", "memory_next"],
    )


def _motor_command(airframe: Airframe, thrust_ratio: Any) -> Any:
    """The command that gives this fraction of the greatest thrust."""
    motor = airframe.motors
    span = motor.speed_max_rad_s - motor.speed_idle_rad_s
    return ca.fmax((ca.sqrt(thrust_ratio) * motor.speed_max_rad_s - motor.speed_idle_rad_s) / span, 1e-3)


def _low_passed(now: Any, before: Any, cutoff_hz: Any, started: Any, period_s: float) -> Any:
    share = ca.if_else(cutoff_hz > 0, 1 - ca.exp(-2 * math.pi * cutoff_hz * period_s), 1)
    return ca.if_else(started, before + share * (now - before), now)


def _between(quat: Any, to: Any) -> Any:
    """Rotation vector from one attitude to another, in the axes of the first; of less than half a turn."""
    w = quat[0] * to[0] + ca.dot(quat[1:4], to[1:4])
    v = quat[0] * to[1:4] - to[0] * quat[1:4] - ca.cross(quat[1:4], to[1:4])
    sign = ca.if_else(w < 0, -1, 1)
    length = ca.sqrt(ca.sumsqr(v) + 1e-24)
    return 2 * sign * ca.atan2(length, sign * w) * v / length


def _quaternion(roll: Any, pitch: Any, yaw: Any) -> Any:
    cr, sr, cp, sp, cy, sy = (f(x / 2) for x in (roll, pitch, yaw) for f in (ca.cos, ca.sin))
    return ca.vertcat(
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
