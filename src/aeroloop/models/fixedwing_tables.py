"""Parameters of a fixed wing: tables of its parameter file.

Derivatives are dimensionless and per radian, written as the literature does: body axes forward, right, down; rates are
made dimensionless with the wing (q c / 2V, p b / 2V, r b / 2V). Positive aileron rolls right, positive elevator pitches
the nose down (Cm_de < 0), positive rudder yaws left (Cn_dr < 0).
"""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.models.landing_gear import Wheel

Positive = Annotated[float, meta("-", "positive", gt=0)]
Alpha = Annotated[float, meta("1/rad", "derivative by angle of attack", ge=-1000, le=1000)]
Sideslip = Annotated[float, meta("1/rad", "derivative by angle of sideslip", ge=-1000, le=1000)]
PitchRate = Annotated[float, meta("1/rad", "derivative by dimensionless pitch rate, q c / 2V", ge=-1000, le=1000)]
RollRate = Annotated[float, meta("1/rad", "derivative by dimensionless roll rate, p b / 2V", ge=-1000, le=1000)]
YawRate = Annotated[float, meta("1/rad", "derivative by dimensionless yaw rate, r b / 2V", ge=-1000, le=1000)]
Aileron = Annotated[float, meta("1/rad", "derivative by aileron deflection", ge=-1000, le=1000)]
Elevator = Annotated[float, meta("1/rad", "derivative by elevator deflection", ge=-1000, le=1000)]
SIGNED = (
    "times the signed elevator deflection, as Beard & McLain have it: an elevator that is up (negative) then reduces "
    "the drag"
)
Rudder = Annotated[float, meta("1/rad", "derivative by rudder deflection", ge=-1000, le=1000)]

AdvanceRatio = Annotated[float, meta("-", "V/(n D)", ge=0, le=10)]


class Body(Config, frozen=True):
    """Mass and inertia; the body frame is at the centre of mass, and the aircraft is symmetric left and right."""

    mass_kg: Annotated[float, meta("kg", "mass with everything on board", gt=0)]
    inertia_kgm2: Annotated[tuple[Positive, Positive, Positive], meta("kg m2", "moments about x, y and z")]
    product_xz_kgm2: Annotated[float, meta("kg m2", "integral of x z dm with z down; couples roll and yaw")]

    @property
    def inertia_rows_kgm2(self) -> tuple[Vec3, Vec3, Vec3]:
        x, y, z = self.inertia_kgm2
        xz = self.product_xz_kgm2  # the tensor has -xz in axes with z down, and so +xz in ours
        return (x, 0.0, xz), (0.0, y, 0.0), (xz, 0.0, z)


class Wing(Config, frozen=True):
    """Reference dimensions of forces and moments."""

    area_m2: Annotated[float, meta("m2", "reference area S", gt=0)]
    span_m: Annotated[float, meta("m", "reference span b", gt=0)]
    chord_m: Annotated[float, meta("m", "mean chord c", gt=0)]

    @property
    def aspect_ratio(self) -> float:
        return self.span_m**2 / self.area_m2


class Stall(Config, frozen=True):
    """Transition from linear lift to that of a flat plate."""

    sharpness: Annotated[float, meta("1/rad", "M: how suddenly", gt=0, le=10000)]
    angle_rad: Annotated[
        float, meta("rad", "alpha0: angle of attack of the stall, positive and negative", gt=0, le=1.5)
    ]


class Symmetric(Config, frozen=True):
    """Lift or pitching moment."""

    zero: Annotated[float, meta("-", "at zero angle of attack", ge=-10, le=10)]
    alpha: Alpha
    pitch_rate: PitchRate
    elevator: Elevator


class PolarDrag(Config, frozen=True, tag="polar", tag_field="kind"):
    """CD = parasitic + (CL0 + CLa alpha)^2 / (pi oswald AR)."""

    parasitic: Annotated[float, meta("-", "without lift", ge=0, le=10)]
    oswald: Annotated[float, meta("-", "span efficiency e", gt=0, le=2)]
    pitch_rate: PitchRate
    elevator: Annotated[float, meta("1/rad", "times the absolute elevator deflection", ge=0, le=10)]
    elevator_signed: Annotated[bool, note(SIGNED)] = False


class LinearDrag(Config, frozen=True, tag="linear", tag_field="kind"):
    """CD = zero + alpha * alpha."""

    zero: Annotated[float, meta("-", "at zero angle of attack", ge=0, le=10)]
    alpha: Alpha
    pitch_rate: PitchRate
    elevator: Annotated[float, meta("1/rad", "times the absolute elevator deflection", ge=0, le=10)]
    elevator_signed: Annotated[bool, note(SIGNED)] = False


class Lateral(Config, frozen=True):
    """Side force, rolling or yawing moment."""

    zero: Annotated[float, meta("-", "in straight symmetric flight", ge=-10, le=10)]
    sideslip: Sideslip
    roll_rate: RollRate
    yaw_rate: YawRate
    aileron: Aileron
    rudder: Rudder


class Propulsion(Config, frozen=True):
    """An electric motor with a propeller that pulls or pushes along x through the centre of mass."""

    diameter_m: Annotated[float, meta("m", "diameter of the propeller", gt=0)]
    thrust_fit: Annotated[tuple[float, float, float], meta("-", "CT = f0 + f1 J + f2 J^2, J = V/(n D)")]
    torque_fit: Annotated[tuple[float, float, float], meta("-", "CQ = f0 + f1 J + f2 J^2; f0 positive")]
    speed_constant_rpm_V: Annotated[float, meta("rpm/V", "KV of the motor", gt=0)]
    resistance_ohm: Annotated[float, meta("ohm", "resistance of the motor", gt=0)]
    idle_A: Annotated[float, meta("A", "current without load", ge=0)]
    voltage_V: Annotated[float, meta("V", "voltage at full throttle", gt=0)]
    spin: Annotated[Literal[-1, 0, 1], meta("-", "1: clockwise seen from behind; 0: a pair whose torques cancel")]
    advance_range: Annotated[
        tuple[AdvanceRatio, AdvanceRatio] | None,
        meta(
            "-",
            "range of the advance ratio J in which both fits hold; outside it thrust and torque are those of its ends "
            "(docs/fixedwing.md); left out: the fits hold for every J",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.advance_range is not None and not self.advance_range[0] < self.advance_range[1]:
            raise ValueError("advance_range: expected its first number to be less than its second")


class Parameters(Config, frozen=True, kw_only=True):
    """Airframe parameters of the design model."""

    body: Annotated[Body, note("mass and its distribution")]
    wing: Annotated[Wing, note("reference area, span and chord")]
    stall: Annotated[Stall, note("stall angle and transition")]
    lift: Annotated[Symmetric, note("lift coefficient CL")]
    drag: Annotated[PolarDrag | LinearDrag, note("drag coefficient CD")]
    pitch: Annotated[Symmetric, note("pitching moment coefficient Cm; positive: nose up")]
    side: Annotated[Lateral, note("side force coefficient CY; positive: to the right")]
    roll: Annotated[Lateral, note("rolling moment coefficient Cl; positive: right wing down")]
    yaw: Annotated[Lateral, note("yawing moment coefficient Cn; positive: nose to the right")]
    propulsion: Annotated[Propulsion, note("motor and propeller")]
    gear: Annotated[
        tuple[Wheel, ...], note("wheels and skids; without them a flight that touches the ground ends as crashed")
    ] = ()
