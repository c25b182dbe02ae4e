"""Whether a flight obeyed mechanics, from its log alone: the stream `balance` of a flight with `log.balance`.

Forces in the log are those of the force models at the start, middle and end of each step; motion is the integrator's.
Here forces are integrated by Simpson's rule and compared with the motion (h: the step, v, L: velocity of the centre of
mass and angular momentum about it, f, M: force without gravity and moment, W: the earth's rate):

    (v1 - v0)/h = mean(R f)/m + g - 2 W x (x1 - x0)/h          force
    (L1 - L0)/h = mean(R M) - W x L                            moment
    (x1 - x0)/h = v0 + h (a_start + 2 a_middle)/6              position
    log(q0^-1 q1)/h = mean(w) + h/12 w0 x w1                   attitude
    (T1 - T0)/h = P + m g (x1 - x0)/h                          energy
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.balance_streams import AT, AXES, NAME
from aeroloop.core.frames import Vec, rotation_rows
from aeroloop.core.stream import ACCEL, QUATERNION, WIND
from aeroloop.recording.log import Log

RELATIVE, TURNING, MECHANISM = 1e-6, 2e-5, 1e-4
"""Limits of the balances, of the largest term in the flight: of forces, of what turns the aircraft, and of a mechanism,
whose motors lag by a few steps. What remains is the integrator's error, which falls by 16 with half the step: the
rolling of the Aerosonde leaves 9e-6 at its steps of 10 ms, and 5e-7 at 5 ms."""
UNIT_NORM = 1e-9
POSITION_M = 1e-9
"""Rounding of positions around the earth."""
ROUNDING = {"m/s2": 1e-9, "N m": 1e-12, "m/s": 1e-6, "rad/s": 1e-9, "W": 1e-6}
"""What a sum of large numbers leaves, in absolute terms; of a power also what `POSITION_M` is in that of the weight."""
EQUAL = 1e-12
"""Limit where two streams have the same numbers."""
SIGMAS, LEAST_BIAS_M_S2, FEWEST_SAMPLES = 5.0, 0.1, 20

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Finding:
    """One line of the table, in `unit`."""

    name: str
    unit: str
    rms: float
    largest: float
    at_s: float  # time of the largest
    limit: float  # of the largest
    of: float | None = None  # the largest of the terms that balance; the limit is relative to it

    @property
    def ok(self) -> bool:
        return self.largest <= self.limit  # False for NaN

    @property
    def relative(self) -> float | None:
        return self.largest / self.of if self.of else None


@dataclass(frozen=True)
class Examined:
    """One aircraft."""

    vehicle: int
    steps: int
    supported: int  # of these: held by ground, stand or catapult, so that they are not judged
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return bool(self.findings) and all(finding.ok for finding in self.findings)


class Steps:
    """The judged steps of one aircraft, as arrays with a row for each."""

    def __init__(self, log: Log, vehicle: int, within: float | None = None) -> None:
        self.within = within
        self._rows = log.rows[NAME][log.column(NAME, "vehicle") == vehicle]
        self._names = log.columns[NAME]
        step_s, supported = self._all("step_s"), self._all("supported")
        self.count, self.supported = int(np.sum(step_s > 0.0)), int(np.sum((step_s > 0.0) & (supported != 0.0)))
        self._now = np.flatnonzero((step_s > 0.0) & (supported == 0.0))
        self._now = self._now[self._now > 0]
        self.h_s, self.t_s = self.at("step_s"), self.at("t_s")

    @property
    def judged(self) -> int:
        return len(self._now)

    def has(self, column: str) -> bool:
        return column in self._names

    def _all(self, column: str) -> Vec:
        found: Vec = self._rows[:, self._names.index(column)]
        return found

    def at(self, column: str) -> Vec:
        """At the end of each step."""
        return self._all(column)[self._now]

    def before(self, column: str) -> Vec:
        """At its start: a row always precedes, if need be one of length 0."""
        return self._all(column)[self._now - 1]

    def axes(self, name: str, unit: str) -> Vec:
        return np.stack([self.at(f"{name}_{axis}_{unit}") for axis in AXES], axis=-1)

    def both(self, *columns: str) -> tuple[Vec, Vec]:
        """Vectors of these columns at start and end."""
        ends = tuple(np.stack([take(column) for column in columns], axis=-1) for take in (self.before, self.at))
        return ends[0], ends[1]


def has_balance(log: Log) -> bool:
    return NAME in log.rows and len(log.rows[NAME]) > 0


def examined(log: Log, within: float | None = None) -> list[Examined]:
    """Every aircraft of a log that `has_balance`. `within`: another relative limit of the balances."""
    return [_examined(log, int(number), within) for number in np.unique(log.column(NAME, "vehicle"))]


def _examined(log: Log, vehicle: int, within: float | None) -> Examined:
    steps = Steps(log, vehicle, within)
    found: list[Finding] = []
    if steps.judged and steps.has("mass_kg"):
        found = [*_rigid(steps), _energy(steps), *_other_streams(log, steps, vehicle)]
    elif steps.judged:
        found = [_energy(steps)]
    return Examined(vehicle, steps.count, steps.supported, tuple(found))


def _finding(
    name: str, unit: str, steps: Steps, residual: Vec, limit: float, of: Vec | None = None, rounding: float = 0.0
) -> Finding:
    """With terms `of` the balance the limit is relative to their largest. `rounding`: in addition to the unit's, unless
    another relative limit is given."""
    size = np.linalg.norm(residual, axis=-1) if residual.ndim > 1 else np.abs(residual)
    worst = int(np.argmax(size))
    rms, largest, at_s = float(np.sqrt(np.mean(size**2))), float(size[worst]), float(steps.t_s[worst])
    if of is None:
        return Finding(name, unit, rms, largest, at_s, limit)
    most = float(np.max(np.linalg.norm(of, axis=-1) if of.ndim > 1 else np.abs(of)))
    allowed = limit * most + rounding if steps.within is None else steps.within * most
    return Finding(name, unit, rms, largest, at_s, allowed + ROUNDING[unit], most)


def _rigid(steps: Steps) -> list[Finding]:
    h, mass = steps.h_s[:, None], steps.at("mass_kg")[:, None]
    x0, x1 = steps.both("x_m", "y_m", "z_m")
    v0, v1 = steps.both("vx_m_s", "vy_m_s", "vz_m_s")
    q0, q1 = steps.both("qw", "qx", "qy", "qz")
    w0, w1 = steps.both(*(f"rate_{axis}_rad_s" for axis in AXES))
    L0, L1 = steps.both(*(f"spin_{axis}_Nms" for axis in AXES))
    wd0, wd1 = steps.axes("rate_dot_start", "rad_s2"), steps.axes("rate_dot_end", "rad_s2")
    gravity, turn = steps.axes("gravity", "m_s2"), steps.axes("turn", "rad_s")
    attitudes = _attitudes(steps)
    forces, moments = (_in_world(steps, attitudes, *what) for what in (("force", "N"), ("moment", "Nm")))
    coriolis = -2.0 * np.cross(turn, (x1 - x0) / h)
    dv, felt = (v1 - v0) / h, _simpson(forces) / mass
    start, middle, _ = (force / mass + gravity + coriolis for force in forces)
    dL, moment = (L1 - L0) / h, _simpson(moments)
    wm = 0.5 * (w0 + w1) + h / 8.0 * (wd0 - wd1)
    turned = _rotation_vector(q0, attitudes[-1]) / h
    force = dv - felt - gravity - coriolis
    torque = dL - moment + np.cross(turn, 0.5 * (L0 + L1))
    way = (x1 - x0) / h - v0 - h * (start + 2.0 * middle) / 6.0
    angle = turned - _simpson([w0, wm, w1]) - h / 12.0 * np.cross(w0, w1)
    return [
        _finding("force", "m/s2", steps, force, RELATIVE, np.concatenate([felt, gravity, dv])),
        _finding("moment", "N m", steps, torque, TURNING, np.concatenate([dL, *moments])),
        _finding("position", "m/s", steps, way, RELATIVE, np.concatenate([v0, v1])),
        _finding("attitude", "rad/s", steps, angle, TURNING, np.concatenate([w0, w1])),
        _finding("quaternion", "-", steps, np.linalg.norm(q1, axis=-1) - 1.0, UNIT_NORM),
    ]


def _energy(steps: Steps) -> Finding:
    T0, T1 = steps.before("kinetic_J"), steps.at("kinetic_J")
    change, power = (T1 - T0) / steps.h_s, steps.at("power_W")
    weight, limit, rounding = np.zeros_like(power), MECHANISM, 0.0
    if steps.has("mass_kg"):
        limit, rounding = RELATIVE, _weight_rounding_W(steps)
        x0, x1 = steps.both("x_m", "y_m", "z_m")
        pulled = np.sum(steps.axes("gravity", "m_s2") * (x1 - x0), axis=-1)
        weight = steps.at("mass_kg") * pulled / steps.h_s
    terms = np.concatenate([change, power, weight])
    return _finding("energy", "W", steps, change - power - weight, limit, terms, rounding)


def _weight_rounding_W(steps: Steps) -> float:
    """Power of the weight over a step's way of `POSITION_M`."""
    weight_N = steps.at("mass_kg") * np.linalg.norm(steps.axes("gravity", "m_s2"), axis=-1)
    return float(np.max(weight_N * POSITION_M / steps.h_s))


def _other_streams(log: Log, steps: Steps, vehicle: int) -> list[Finding]:
    """Wind and attitude as other streams have them, and what the accelerometer measured."""
    found = []
    begins_s = steps.before("t_s")
    rows, step = _matched(log, "air", vehicle, begins_s)
    if len(step):
        wind = np.stack([steps.at(name)[step] - log.column("air", name)[rows] for name, *_ in WIND], axis=-1)
        found.append(_compared("wind", "m/s", wind, begins_s[step], EQUAL))
    rows, step = _matched(log, "truth", vehicle, steps.t_s)
    if len(step):
        names = [name for name, *_ in QUATERNION]
        attitude = np.stack([steps.at(name)[step] - log.column("truth", name)[rows] for name in names], axis=-1)
        found.append(_compared("truth", "-", attitude, steps.t_s[step], EQUAL))
    rows, step = _matched(log, "imu", vehicle, steps.t_s)
    if len(step) >= FEWEST_SAMPLES:
        found.append(_accelerometer(log, steps, rows, step))
    return found


def _matched(log: Log, stream: str, vehicle: int, times_s: Vec) -> tuple[Indices, Indices]:
    """Rows of a stream at these times, and which of them."""
    if not len(log.rows.get(stream, ())):
        return np.empty(0, int), np.empty(0, int)
    own = np.flatnonzero(log.column(stream, "vehicle") == vehicle)
    _, rows, step = np.intersect1d(log.column(stream, "t_s")[own], times_s, return_indices=True)
    return own[rows], step


def _compared(name: str, unit: str, difference: Vec, t_s: Vec, limit: float) -> Finding:
    size = np.linalg.norm(difference, axis=-1)
    worst = int(np.argmax(size))
    return Finding(name, unit, float(np.sqrt(np.mean(size**2))), float(size[worst]), float(t_s[worst]), limit)


def _accelerometer(log: Log, steps: Steps, rows: Indices, step: Indices) -> Finding:
    """The mean of measured minus ideal specific force is its bias; the limit is the noise of a sample, by the
    differences of successive ones. Ideal is the mean over the step in the body axes at its end."""
    felt_W, attitude = _felt_W(steps)
    felt_B = _turned(attitude * (1.0, -1.0, -1.0, -1.0), felt_W)
    measured = np.stack([log.column("imu", name)[rows] for name, *_ in ACCEL], axis=-1)
    difference = measured - felt_B[step]
    noise = float(np.sqrt(np.mean(np.sum(np.diff(difference, axis=0) ** 2, axis=-1)) / 2.0))
    bias = float(np.linalg.norm(np.mean(difference, axis=0)))
    rms = float(np.sqrt(np.mean(np.sum(difference**2, axis=-1))))
    return Finding("accelerometer", "m/s2", rms, bias, float(steps.t_s[step[-1]]), max(SIGMAS * noise, LEAST_BIAS_M_S2))


def _attitudes(steps: Steps) -> list[Vec]:
    """Quaternions at start, middle and end; the middle is that of the cubic through both ends and their rates."""
    q0, q1 = steps.both("qw", "qx", "qy", "qz")
    w0, w1 = steps.both(*(f"rate_{axis}_rad_s" for axis in AXES))
    q1 = np.where(np.sum(q0 * q1, axis=-1, keepdims=True) < 0.0, -q1, q1)
    qm = 0.5 * (q0 + q1) + steps.h_s[:, None] / 8.0 * (_quat_dot(q0, w0) - _quat_dot(q1, w1))
    return [q0, qm / np.linalg.norm(qm, axis=-1, keepdims=True), q1]


def _in_world(steps: Steps, attitudes: list[Vec], name: str, unit: str) -> list[Vec]:
    """A vector of body axes at start, middle and end."""
    return [_turned(q, steps.axes(f"{name}_{at}", unit)) for q, at in zip(attitudes, AT, strict=True)]


def _felt_W(steps: Steps) -> tuple[Vec, Vec]:
    """Mean specific force over each step, and the attitude at its end."""
    attitudes = _attitudes(steps)
    return _simpson(_in_world(steps, attitudes, "force", "N")) / steps.at("mass_kg")[:, None], attitudes[-1]


def _simpson(values: list[Vec]) -> Vec:
    start, middle, end = values
    return (start + 4.0 * middle + end) / 6.0


def _turned(quat: Vec, vectors: Vec) -> Vec:
    rows = np.array(rotation_rows(quat.T))  # (3, 3, n)
    turned: Vec = np.einsum("ijn,nj->ni", rows, vectors)
    return turned


def _quat_dot(quat: Vec, rate_B: Vec) -> Vec:
    w, v = quat[:, :1], quat[:, 1:]
    return 0.5 * np.concatenate(
        [-np.sum(v * rate_B, axis=-1, keepdims=True), w * rate_B + np.cross(v, rate_B)], axis=-1
    )


def _rotation_vector(first: Vec, second: Vec) -> Vec:
    """From the first attitude to the second, in the axes of the body."""
    (w, v), (s, u) = ((quat[:, :1], quat[:, 1:]) for quat in (first, second))
    cosine = w * s + np.sum(v * u, axis=-1, keepdims=True)
    sine = w * u - s * v - np.cross(v, u)
    size = np.linalg.norm(sine, axis=-1, keepdims=True)
    half = np.arctan2(size, cosine)
    return 2.0 * sine * np.where(size > 1e-12, half / np.maximum(size, 1e-300), 1.0)
