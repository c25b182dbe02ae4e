"""The numbers of a fixed wing: tables of its parameter file.

Derivatives are dimensionless and per radian, written as the literature does: body axes forward, right, down; rates are
made dimensionless with the wing (q c / 2V, p b / 2V, r b / 2V). Positive aileron rolls right, positive elevator pitches
the nose down (Cm_de < 0), positive rudder yaws left (Cn_dr < 0).
"""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta

Derivative = Annotated[float, meta("-", "derivative, per radian", ge=-1000, le=1000)]
Positive = Annotated[float, meta("-", "positive", gt=0)]


class Body(Config, frozen=True):
    """Mass and its distribution; the body frame sits in the centre of mass, and left mirrors right."""

    mass_kg: Annotated[float, meta("kg", "mass with everything on board", gt=0)]
    inertia_kgm2: Annotated[tuple[Positive, Positive, Positive], meta("kg m2", "moments about x, y and z")]
    product_xz_kgm2: Annotated[float, meta("kg m2", "integral of x z dm with z down; roll and yaw share it")]


class Wing(Config, frozen=True):
    """What forces and moments are made dimensionless with."""

    area_m2: Annotated[float, meta("m2", "reference area S", gt=0)]
    span_m: Annotated[float, meta("m", "reference span b", gt=0)]
    chord_m: Annotated[float, meta("m", "mean chord c", gt=0)]

    @property
    def aspect_ratio(self) -> float:
        return self.span_m**2 / self.area_m2


class Stall(Config, frozen=True):
    """Where the linear lift gives way to that of a flat plate."""

    sharpness: Annotated[float, meta("1/rad", "M: how suddenly", gt=0, le=10000)]
    angle_rad: Annotated[float, meta("rad", "alpha0: at which angle of attack, either way", gt=0, le=1.5)]


class Symmetric(Config, frozen=True):
    """Lift or pitching moment."""

    zero: Annotated[float, meta("-", "at no angle of attack", ge=-10, le=10)]
    alpha: Derivative
    pitch_rate: Derivative
    elevator: Derivative


class PolarDrag(Config, frozen=True, tag="polar", tag_field="kind"):
    """CD = parasitic + (CL0 + CLa alpha)^2 / (pi oswald AR)."""

    parasitic: Annotated[float, meta("-", "without lift", ge=0, le=10)]
    oswald: Annotated[float, meta("-", "span efficiency e", gt=0, le=2)]
    pitch_rate: Derivative
    elevator: Annotated[float, meta("-", "times the elevator's deflection, either way", ge=0, le=10)]


class LinearDrag(Config, frozen=True, tag="linear", tag_field="kind"):
    """CD = zero + alpha * alpha."""

    zero: Annotated[float, meta("-", "at no angle of attack", ge=0, le=10)]
    alpha: Derivative
    pitch_rate: Derivative
    elevator: Annotated[float, meta("-", "times the elevator's deflection, either way", ge=0, le=10)]


class Lateral(Config, frozen=True):
    """Side force, rolling or yawing moment."""

    zero: Annotated[float, meta("-", "in straight symmetric flight", ge=-10, le=10)]
    sideslip: Derivative
    roll_rate: Derivative
    yaw_rate: Derivative
    aileron: Derivative
    rudder: Derivative


class Propulsion(Config, frozen=True):
    """An electric motor with a propeller that pulls or pushes along x through the centre of mass."""

    diameter_m: Annotated[float, meta("m", "diameter of the propeller", gt=0)]
    thrust_fit: Annotated[tuple[float, float, float], meta("-", "CT = f0 + f1 J + f2 J^2, J = V/(n D)")]
    torque_fit: Annotated[tuple[float, float, float], meta("-", "CQ = f0 + f1 J + f2 J^2; f0 positive")]
    speed_constant_rpm_V: Annotated[float, meta("rpm/V", "KV of the motor", gt=0)]
    resistance_ohm: Annotated[float, meta("ohm", "resistance of the motor", gt=0)]
    idle_A: Annotated[float, meta("A", "current without load", ge=0)]
    voltage_V: Annotated[float, meta("V", "at full throttle", gt=0)]
    spin: Annotated[Literal[-1, 0, 1], meta("-", "1: clockwise seen from behind; 0: a pair whose torques cancel")]


class Parameters(Config, frozen=True):
    """What the design model needs of an airframe."""

    body: Body
    wing: Wing
    stall: Stall
    lift: Symmetric
    drag: PolarDrag | LinearDrag
    pitch: Symmetric
    side: Lateral
    roll: Lateral
    yaw: Lateral
    propulsion: Propulsion
