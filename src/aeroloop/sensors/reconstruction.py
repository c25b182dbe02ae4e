"""Sensors rebuilt from poses, on the board: a CasADi function for each class of sensor, from which C is generated.

Each function of `rebuilt` has the same interface:

    (pose (15,), step_s, takeoff (8,), memory (k,)) -> (sample (n,), memory (k,))

It is called once for each complete set of pose packets; `step_s` is the time since the last one, and memory is zero at
the start. `pose` is in the packets' axes (north, east, down; forward, right, down), in the order of POSE; what is not
sent is 0. Samples are in the project's axes (forward, left, up; east, north, up), as the sensors of the bench are.
`place` turns the position's counts from the take-off place into metres and is called before:

    (counts (3,), takeoff (8,)) -> (pos_W (3,))

Counts are exact in single precision up to 185 km; degrees would have steps of 0.65 m. `takeoff` (TAKEOFF) is what one
enters on the board before a flight, as in the Pixhawk paper.

`paper` is the reconstruction as printed: the accelerometer shows the attitude alone, DCM (0, 0, -g), and the field
points north. It is wrong in flight: a multirotor accelerates along its thrust, so that its accelerometer measures
thrust and drag, and not g sin(pitch). `exact` is DCM (a - g e3), with a from what the set has: the specific force as
sent, else velocity differenced, else position differenced twice and filtered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

import casadi as ca

from aeroloop.core.geodesy import A_M, E2
from aeroloop.sensors.barometer import EXPONENT, LAPSE_K_PER_M, SEA_LEVEL_K, SEA_LEVEL_PA

Mode = Literal["paper", "exact"]

POSE = {
    "attitude": slice(0, 3),
    "pos_W": slice(3, 6),
    "rates": slice(6, 9),
    "velocity": slice(9, 12),
    "force": slice(12, 15),
}
"""Roll, pitch, yaw in rad; east, north, up in m from the take-off place; then types 3, 5 and 6 as sent."""
POSE_SIZE = 15
TAKEOFF = ("lat_rad", "height_m", "pressure_Pa", "temperature_K", "north_T", "east_T", "down_T", "gravity_m_s2")
"""Of the take-off place: latitude, height above the ellipsoid, pressure and temperature, magnetic field, gravity."""

PRESSURE_EXPONENT = 0.190259  # ArduPilot's AP_Baro
RAD_PER_COUNT = 1e-7 * 3.141592653589793 / 180
FORCE_CUTOFF_HZ = 3.0
"""Best for positions of 1e-7 deg at any rate."""
VELOCITY_CUTOFF_HZ = 2.0
LONGEST_STEP = 0.45
"""Of a filter, in periods of its cutoff: beyond half of one there is no such filter."""
SHORTEST_STEP_S = 1e-6


@dataclass(frozen=True)
class Rebuilt:
    """The functions of a board, by class of sensor.

    Samples: gyro rate_B in rad/s; accelerometer accel_B in m/s2; magnetometer field_B in T; barometer pressure in Pa
    and its altitude in the standard atmosphere in m; gnss pos_W in m from the take-off place and vel_W in m/s.
    """

    gyro: ca.Function
    accelerometer: ca.Function
    magnetometer: ca.Function
    barometer: ca.Function
    gnss: ca.Function

    def by_class(self) -> dict[str, ca.Function]:
        return {name: getattr(self, name) for name in CLASSES}


CLASSES = ("accelerometer", "gyro", "magnetometer", "barometer", "gnss")


def rebuilt(mode: Mode, sent: Collection[str], force_cutoff_hz: float = FORCE_CUTOFF_HZ) -> Rebuilt:
    """The functions for sets with these packets (`attitude`, `position`, `rates`, `velocity`, `force`)."""
    return Rebuilt(
        gyro=_function("soft_gyro", *((_gyro_sent, 1) if "rates" in sent else (_gyro_from_attitude, 5))),
        accelerometer=_function("soft_accelerometer", *_accelerometer(mode, sent, force_cutoff_hz)),
        magnetometer=_function("soft_magnetometer", _field_north if mode == "paper" else _field, 1),
        barometer=_function("soft_barometer", _pressure, 1),
        gnss=_function("soft_gnss", *((_fix_sent, 1) if "velocity" in sent else (_fix_from_position, 10))),
    )


class _Inputs:
    """Symbols of one call."""

    def __init__(self, memory: int) -> None:
        self.pose, self.step_s = ca.SX.sym("pose", POSE_SIZE), ca.SX.sym("step_s")
        self.takeoff, self.memory = ca.SX.sym("takeoff", len(TAKEOFF)), ca.SX.sym("memory", memory)
        self.dt_s = ca.fmax(self.step_s, SHORTEST_STEP_S)

    def sent(self, name: str) -> Any:
        return self.pose[POSE[name]]

    def place(self, name: str) -> Any:
        return self.takeoff[TAKEOFF.index(name)]

    def to_body(self, vector_NED: Any) -> Any:
        """In the project's body axes."""
        forward, right, down = ca.vertsplit(dcm(self.sent("attitude")) @ vector_NED)
        return ca.vertcat(forward, -right, -down)


_Rule = Callable[[_Inputs], tuple[Any, Any]]  # sample, memory


def _function(name: str, rule: _Rule, memory: int) -> ca.Function:
    inputs = _Inputs(memory)
    sample, after = rule(inputs)
    return ca.Function(
        name,
        [inputs.pose, inputs.step_s, inputs.takeoff, inputs.memory],
        [ca.densify(sample), ca.densify(after)],
        ["pose", "step_s", "takeoff", "memory"],
        ["sample", "memory_next"],
    )


def dcm(attitude: Any) -> Any:
    """From north, east, down to forward, right, down, by the ZYX angles."""
    (cr, cp, cy), (sr, sp, sy) = (ca.vertsplit(f(attitude)) for f in (ca.cos, ca.sin))
    return ca.vertcat(
        ca.horzcat(cp * cy, cp * sy, -sp),
        ca.horzcat(sr * sp * cy - cr * sy, sr * sp * sy + cr * cy, sr * cp),
        ca.horzcat(cr * sp * cy + sr * sy, cr * sp * sy - sr * cy, cr * cp),
    )


def _gyro_sent(inputs: _Inputs) -> tuple[Any, Any]:
    roll, pitch, yaw = ca.vertsplit(inputs.sent("rates"))
    return ca.vertcat(roll, -pitch, -yaw), inputs.memory


def _gyro_from_attitude(inputs: _Inputs) -> tuple[Any, Any]:
    """The rotation since the last set over its time; memory: the last quaternion, and whether there was one."""
    now, last = _quat(inputs.sent("attitude")), inputs.memory[:4]
    w = ca.dot(last, now)
    turned = last[0] * now[1:] - now[0] * last[1:] - ca.cross(last[1:], now[1:])
    sine = ca.sqrt(ca.sumsqr(turned) + 1e-24)
    angles = ca.if_else(w < 0, -2, 2) * turned * ca.atan2(sine, ca.fabs(w)) / sine
    roll, pitch, yaw = ca.vertsplit(inputs.memory[4] * angles / inputs.dt_s)
    return ca.vertcat(roll, -pitch, -yaw), ca.vertcat(now, 1)


def _quat(attitude: Any) -> Any:
    (cr, cp, cy), (sr, sp, sy) = (ca.vertsplit(f(attitude / 2)) for f in (ca.cos, ca.sin))
    return ca.vertcat(
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def _accelerometer(mode: Mode, sent: Collection[str], cutoff_hz: float) -> tuple[_Rule, int]:
    if mode == "paper":
        return _tilt, 1
    if "force" in sent:
        return _force_sent, 1
    if "velocity" in sent:
        return _force_from_velocity, 4
    return lambda inputs: _force_from_position(inputs, cutoff_hz), 13


def _force(inputs: _Inputs, accel_NED: Any) -> Any:
    return inputs.to_body(accel_NED - ca.vertcat(0, 0, inputs.place("gravity_m_s2")))


def _tilt(inputs: _Inputs) -> tuple[Any, Any]:
    return _force(inputs, ca.SX.zeros(3)), inputs.memory


def _force_sent(inputs: _Inputs) -> tuple[Any, Any]:
    forward, right, down = ca.vertsplit(inputs.sent("force"))
    return ca.vertcat(forward, -right, -down), inputs.memory


def _force_from_velocity(inputs: _Inputs) -> tuple[Any, Any]:
    """Memory: the last velocity, and whether there was one."""
    now, last, known = inputs.sent("velocity"), inputs.memory[:3], inputs.memory[3]
    return _force(inputs, known * (now - last) / inputs.dt_s), ca.vertcat(now, 1)


def _force_from_position(inputs: _Inputs, cutoff_hz: float) -> tuple[Any, Any]:
    """Memory: last position, last velocity, the filter's, and how many sets there were, up to 2."""
    now, (last, vel_last, filtered, sets) = inputs.sent("pos_W"), ca.vertsplit(inputs.memory, [0, 3, 6, 12, 13])
    vel = (now - last) / inputs.dt_s
    accel = ca.if_else(sets > 1.5, (vel - vel_last) / inputs.dt_s, ca.SX.zeros(3))
    smooth, filtered = _low_pass(accel, filtered, inputs.dt_s, cutoff_hz)
    after = ca.vertcat(now, vel, filtered, ca.fmin(sets + 1, 2))
    return _force(inputs, _ned(smooth)), after


def _ned(vector_W: Any) -> Any:
    return ca.vertcat(vector_W[1], vector_W[0], -vector_W[2])


def _low_pass(value: Any, state: Any, dt_s: Any, cutoff_hz: float) -> tuple[Any, Any]:
    """Second-order Butterworth of three values, by the bilinear transform; the two integrators are the state.

    In this form (a state-variable filter with trapezoidal integrators) single precision is enough for a cutoff far
    below the rate, where the coefficients of a direct form would lose their digits.
    """
    first, second = state[:3], state[3:]
    g = ca.tan(ca.pi * ca.fmin(cutoff_hz * dt_s, LONGEST_STEP))
    a1 = 1 / (1 + g * (g + 2**0.5))
    a2 = g * a1
    rest = value - second
    band = a1 * first + a2 * rest
    low = second + a2 * first + g * a2 * rest
    return low, ca.vertcat(2 * band - first, 2 * low - second)


def _field_north(inputs: _Inputs) -> tuple[Any, Any]:
    field = ca.vertcat(*map(inputs.place, ("north_T", "east_T", "down_T")))
    return inputs.to_body(ca.vertcat(ca.norm_2(field), 0, 0)), inputs.memory


def _field(inputs: _Inputs) -> tuple[Any, Any]:
    return inputs.to_body(ca.vertcat(*map(inputs.place, ("north_T", "east_T", "down_T")))), inputs.memory


def _pressure(inputs: _Inputs) -> tuple[Any, Any]:
    """P = P0 exp(ln(1 - h L / T) / 0.190259), of the height above the take-off place: the inverse of ArduPilot's."""
    height, ground_K = inputs.sent("pos_W")[2], inputs.place("temperature_K")
    # log1p: in single precision 1 - x would round heights to 3 mm.
    pressure = inputs.place("pressure_Pa") * ca.exp(ca.log1p(-height * LAPSE_K_PER_M / ground_K) / PRESSURE_EXPONENT)
    altitude = SEA_LEVEL_K / LAPSE_K_PER_M * (1 - (pressure / SEA_LEVEL_PA) ** EXPONENT)
    return ca.vertcat(pressure, altitude), inputs.memory


def _fix_sent(inputs: _Inputs) -> tuple[Any, Any]:
    north, east, down = ca.vertsplit(inputs.sent("velocity"))
    return ca.vertcat(inputs.sent("pos_W"), east, north, -down), inputs.memory


def _fix_from_position(inputs: _Inputs) -> tuple[Any, Any]:
    """Velocity differenced and filtered; memory: last position, the filter's, and whether there was a set."""
    now, (last, filtered, known) = inputs.sent("pos_W"), ca.vertsplit(inputs.memory, [0, 3, 9, 10])
    vel, filtered = _low_pass(known * (now - last) / inputs.dt_s, filtered, inputs.dt_s, VELOCITY_CUTOFF_HZ)
    return ca.vertcat(now, vel), ca.vertcat(now, filtered, 1)


def place() -> ca.Function:
    """(counts (3,), takeoff) -> (pos_W,): to the second order in the angles, 0.03 mm at 1 km."""
    counts, takeoff = ca.SX.sym("counts", 3), ca.SX.sym("takeoff", len(TAKEOFF))
    lat, height = takeoff[0], takeoff[1]
    sin, cos = ca.sin(lat), ca.cos(lat)
    w2 = 1 - E2 * sin**2
    prime = A_M / ca.sqrt(w2)
    meridian = prime * (1 - E2) / w2
    flatter = 1.5 * E2 * sin * cos / w2 * meridian  # half of how the meridian's radius grows towards the pole
    away, north, up = RAD_PER_COUNT * counts[0], RAD_PER_COUNT * counts[1], 1e-3 * counts[2]
    prime_h, meridian_h = prime + height, meridian + height
    pos_W = ca.vertcat(
        away * ((prime_h + up) * cos - meridian_h * sin * north),
        (meridian_h + up + flatter * north) * north + prime_h * sin * cos * away**2 / 2,
        up - (prime_h * cos**2 * away**2 + meridian_h * north**2) / 2,
    )
    return ca.Function("soft_place", [counts, takeoff], [pos_W], ["counts", "takeoff"], ["pos_W"])
