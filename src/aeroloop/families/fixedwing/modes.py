"""The linear modes of a fixed wing about straight and level flight: its response without control.

Along its plane of symmetry a fixed wing has the short period (fast: angle of attack) and the phugoid (slow: speed
against height); across it the Dutch roll, the roll and the spiral. They are the eigenvalues of the two blocks of the
model in body axes forward, right, down: (u, w, q, theta) and (v, p, r, phi). Reference: Beard & McLain, section 5.5 on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.families.fixedwing.trim import Trim, quat_from_angles, trim
from aeroloop.models import fixedwing, linear, rigid_body

LONGITUDINAL = (0, 2, 4, 7)
"""u, w (m/s), q (rad/s), theta (rad) among the eight states of `reduced`."""
LATERAL = (1, 3, 5, 6)
"""v (m/s), p, r (rad/s), phi (rad)."""


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    eigenvalue: complex  # 1/s; of a pair the one above the real axis

    @property
    def frequency_rad_s(self) -> float:
        return abs(self.eigenvalue)

    @property
    def damping(self) -> float:
        return -self.eigenvalue.real / abs(self.eigenvalue)

    @property
    def time_constant_s(self) -> float:
        """Time to decay to 1/e; negative: time to grow by e."""
        return -1.0 / self.eigenvalue.real

    @property
    def period_s(self) -> float | None:
        """None if it does not oscillate."""
        return 2.0 * math.pi / self.eigenvalue.imag if self.eigenvalue.imag else None


@dataclass(frozen=True, slots=True)
class LinearModel:
    """x' = A x + B u about a trim, in axes forward, right, down."""

    trim: Trim
    A: Vec  # (8, 8) of (u, v, w, p, q, r, phi, theta)
    B: Vec  # (8, 4) of (aileron, elevator, rudder, throttle)

    def block(self, states: tuple[int, ...]) -> Vec:
        return self.A[np.ix_(states, states)]


def reduced(airframe: Airframe, density_kg_m3: float, gravity_m_s2: float = GRAVITY_M_S2) -> ca.Function:
    """(x (8,), controls (4,)) -> x', in still air: the full model without position and heading."""
    x, controls = ca.SX.sym("x", 8), ca.SX.sym("controls", fixedwing.CONTROLS)
    flip = ca.DM(fixedwing.FLIP)
    vel_B, rate, phi, theta = flip * x[0:3], x[3:6], x[6], x[7]
    quat = quat_from_angles(phi, -theta)
    R_WB = rigid_body.rotation(quat)
    state = ca.vertcat(0, 0, 0, quat, R_WB @ vel_B, flip * rate)
    dot = fixedwing.state_dot(airframe)(state, controls, ca.DM.zeros(3), density_kg_m3, gravity_m_s2)
    vel_dot_B = R_WB.T @ dot[7:10] - ca.cross(flip * rate, vel_B)
    turning = ca.sin(phi) * rate[1] + ca.cos(phi) * rate[2]
    angles_dot = (rate[0] + ca.tan(theta) * turning, ca.cos(phi) * rate[1] - ca.sin(phi) * rate[2])
    return ca.Function("reduced", [x, controls], [ca.vertcat(flip * vel_dot_B, flip * dot[10:13], *angles_dot)])


def linear_model(
    airframe: Airframe, airspeed_m_s: float | None = None, density_kg_m3: float | None = None
) -> LinearModel:
    """About straight and level flight; by default at the airframe's cruise speed and density."""
    density = airframe.cruise.density_kg_m3 if density_kg_m3 is None else density_kg_m3
    at = trim(airframe, airspeed_m_s, density_kg_m3=density)
    speed, (p, q, r) = at.airspeed_m_s, at.rate_B
    x = [speed * math.cos(at.alpha_rad), 0.0, speed * math.sin(at.alpha_rad), p, -q, -r, at.roll_rad, -at.pitch_rad]
    A, B = linear.linearise(reduced(airframe, density), np.array(x), np.array(at.controls))
    return LinearModel(at, A, B)


def modes(airframe: Airframe, airspeed_m_s: float | None = None) -> tuple[Mode, ...]:
    """Short period, phugoid, Dutch roll, roll, spiral; a pair that does not oscillate appears as two modes of that
    name."""
    return _modes(linear_model(airframe, airspeed_m_s))


def _modes(model: LinearModel) -> tuple[Mode, ...]:
    along, across = (_upper(np.linalg.eigvals(model.block(states))) for states in (LONGITUDINAL, LATERAL))
    return (*_named_along(along), *_named_across(across))


def _named_along(values: list[complex]) -> list[Mode]:
    """Slowest first: the phugoid is the first pair, or the first two."""
    slow = 1 if values[0].imag else 2
    return [Mode("short period", value) for value in values[slow:]] + [
        Mode("phugoid", value) for value in values[:slow]
    ]


def _named_across(values: list[complex]) -> list[Mode]:
    pairs, alone = [v for v in values if v.imag], [v for v in values if not v.imag]
    if len(pairs) == 1:
        return [Mode("Dutch roll", pairs[0]), Mode("roll", alone[1]), Mode("spiral", alone[0])]
    if len(pairs) == 2:
        return [Mode("Dutch roll", pairs[1]), Mode("roll and spiral", pairs[0])]
    return [
        Mode("Dutch roll", alone[1]),
        Mode("Dutch roll", alone[2]),
        Mode("roll", alone[3]),
        Mode("spiral", alone[0]),
    ]


def _upper(values: Any) -> list[complex]:
    """One of each pair, slowest first."""
    return sorted((complex(v) for v in values if v.imag >= 0.0), key=abs)


def table(airframe: Airframe, airspeed_m_s: float | None = None) -> str:
    """Trim and modes as text."""
    model = linear_model(airframe, airspeed_m_s)
    at = model.trim
    aileron, elevator, rudder = (math.degrees(value) for value in at.controls[:3])
    lines = [
        f"trim at {at.airspeed_m_s:g} m/s: angle of attack {math.degrees(at.alpha_rad):.1f} deg, "
        f"elevator {elevator:.1f} deg, throttle {at.controls[3]:.2f},",
        f"  roll {math.degrees(at.roll_rad):.2f} deg, aileron {aileron:.2f} deg, rudder {rudder:.2f} deg",
        f"{'mode':<16}{'eigenvalue 1/s':>20}{'frequency rad/s':>17}{'damping':>9}"
        f"{'time constant s':>17}{'period s':>10}",
    ]
    for mode in _modes(model):
        value, period = mode.eigenvalue, mode.period_s
        shown = f"{value.real:.3f} +- {value.imag:.3f}i" if value.imag else f"{value.real:.4f}"
        lines.append(
            f"{mode.name:<16}{shown:>20}{mode.frequency_rad_s:>17.3f}{mode.damping:>9.3f}{mode.time_constant_s:>17.2f}"
            + (f"{period:>10.2f}" if period is not None else f"{'-':>10}")
        )
    return "\n".join(lines)
