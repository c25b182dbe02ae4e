"""An aircraft whose aerodynamics and engine are tables, as CasADi expressions.

    f = q S (X, Y, Z) + T e_x,  t = q S (b Cl, c Cm, b Cn) + (r_reference - r_centre) x f,  q = rho V^2 / 2

Values between the points of a table are linear, beyond its ends the last ones hold. The tables stand in the units in
which such aircraft are published (degrees, feet, slugs, pounds of force), in body axes forward, right, down; loads are
in N and N m, in forward, left, up. Arrangement of the coefficients: Garza & Morelli, NASA/TM-2003-212145.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import casadi as ca

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

FT_M = 0.3048
LBF_N = 4.4482216152605
SLUG_KG = LBF_N / FT_M
SLUG_FT2_KGM2 = SLUG_KG * FT_M**2
DEG_RAD = 57.29577951308232
FRD = ca.DM([1.0, -1.0, -1.0])
"""Forward, left, up <-> forward, right, down."""
FULL_ELEVATOR_DEG, FULL_AILERON_DEG, FULL_RUDDER_DEG = 25.0, 20.0, 30.0
"""Deflections for which the effects of surfaces are given."""
MILITARY_PERCENT = 50.0
"""Power with the greatest thrust without afterburner."""
SLOWEST_M_S = 0.03
"""Rates are not divided by less."""

Positive = Annotated[float, meta("-", "positive", gt=0)]
Points = Annotated[tuple[float, ...], meta("-", "points, growing", min_length=2)]
Row = Annotated[tuple[float, ...], meta("-", "a value for each point of alpha_deg", min_length=2)]
Table = Annotated[tuple[Row, ...], note("a row for each point of beta_deg")]
Thrust = Annotated[tuple[Row, ...], meta("lbf", "a row for each point of mach, a value for each of height_ft")]


class Mass(Config, frozen=True):
    """Mass and its distribution; the aircraft is symmetric left and right."""

    mass_slug: Annotated[float, meta("slug", "mass with everything on board", gt=0)]
    inertia_slug_ft2: Annotated[
        tuple[Positive, Positive, Positive], meta("slug ft2", "moments about forward, right and down axes")
    ]
    product_xz_slug_ft2: Annotated[float, meta("slug ft2", "integral of x z dm with z down")]
    centre_percent: Annotated[float, meta("%", "centre of mass, of the chord behind its leading edge")]
    reference_percent: Annotated[float, meta("%", "the point to which moments refer, of the chord")]

    def __post_init__(self) -> None:
        (x, _, z), xz = self.inertia_slug_ft2, self.product_xz_slug_ft2
        if xz * xz >= x * z:
            raise ValueError(f"product_xz_slug_ft2: expected less than the root of Ix Iz, not {xz:g}")


class Wing(Config, frozen=True):
    """Reference dimensions."""

    area_ft2: Annotated[float, meta("ft2", "reference area S", gt=0)]
    span_ft: Annotated[float, meta("ft", "span b", gt=0)]
    chord_ft: Annotated[float, meta("ft", "mean chord c", gt=0)]


class Rates(Config, frozen=True):
    """Derivatives by q c / 2V, p b / 2V and r b / 2V over the angle of attack."""

    x_q: Row
    z_q: Row
    pitch_q: Row
    side_p: Row
    side_r: Row
    roll_p: Row
    roll_r: Row
    yaw_p: Row
    yaw_r: Row


class Surfaces(Config, frozen=True):
    """Moments by 20 deg of aileron and 30 deg of rudder, over sideslip and angle of attack."""

    roll_aileron: Table
    roll_rudder: Table
    yaw_aileron: Table
    yaw_rudder: Table


class Aerodynamics(Config, frozen=True):
    """Coefficients of forces and moments."""

    alpha_deg: Annotated[Points, meta("deg", "angles of attack, growing: columns of all tables")]
    elevator_deg: Annotated[Points, meta("deg", "rows of x and pitch")]
    sideslip_deg: Annotated[Points, meta("deg", "rows of roll and yaw: sideslip without its sign")]
    beta_deg: Annotated[Points, meta("deg", "rows of the surfaces' tables: sideslip, positive with air from the right")]
    x: Annotated[Table, note("force forward, over elevator and angle of attack")]
    z: Annotated[Row, meta("-", "force down, over the angle of attack")]
    pitch: Annotated[Table, note("pitching moment, over elevator and angle of attack; positive: nose up")]
    roll: Annotated[Table, note("rolling moment with sideslip to the right, over sideslip and angle of attack")]
    yaw: Annotated[Table, note("yawing moment with sideslip to the right, over sideslip and angle of attack")]
    side: Annotated[Vec3, meta("-", "force to the right by a degree of sideslip, 20 deg of aileron, 30 of rudder")]
    z_elevator: Annotated[float, meta("-", "force down by 25 deg of elevator")]
    rates: Annotated[Rates, note("effects of the rates")]
    surfaces: Annotated[Surfaces, note("effects of aileron and rudder")]

    def __post_init__(self) -> None:
        columns = len(self.alpha_deg)
        rows = {"x": self.elevator_deg, "pitch": self.elevator_deg, "roll": self.sideslip_deg, "yaw": self.sideslip_deg}
        tables: dict[str, Any] = {name: (getattr(self, name), len(points)) for name, points in rows.items()}
        tables |= {name: (table, len(self.beta_deg)) for name, table in _fields(self.surfaces).items()}
        tables |= {name: ((row,), 1) for name, row in {"z": self.z, **_fields(self.rates)}.items()}
        for name, (table, count) in tables.items():
            _expect(name, table, count, columns)
        for name in ("alpha_deg", "elevator_deg", "sideslip_deg", "beta_deg"):
            _expect_growing(name, getattr(self, name))


class Engine(Config, frozen=True):
    """Thrust over Mach number and height, at 0, 50 and 100 % of power; between them it is linear."""

    mach: Annotated[Points, meta("-", "rows")]
    height_ft: Annotated[Points, meta("ft", "columns")]
    idle_lbf: Annotated[Thrust, meta("lbf", "at 0 % of power")]
    military_lbf: Annotated[Thrust, meta("lbf", "at 50 %")]
    maximum_lbf: Annotated[Thrust, meta("lbf", "at 100 %, with afterburner")]

    def __post_init__(self) -> None:
        for name in ("idle_lbf", "military_lbf", "maximum_lbf"):
            _expect(name, getattr(self, name), len(self.mach), len(self.height_ft))
        for name in ("mach", "height_ft"):
            _expect_growing(name, getattr(self, name))


class Aircraft(Config, frozen=True):
    """One parameter file."""

    mass: Annotated[Mass, note("mass and its distribution")]
    wing: Annotated[Wing, note("reference area, span and chord")]
    aerodynamics: Annotated[Aerodynamics, note("coefficients")]
    engine: Annotated[Engine, note("thrust")]

    @property
    def mass_kg(self) -> float:
        return self.mass.mass_slug * SLUG_KG

    @property
    def inertia_kgm2(self) -> Vec3:
        x, y, z = (SLUG_FT2_KGM2 * moment for moment in self.mass.inertia_slug_ft2)
        return x, y, z

    @property
    def product_xz_kgm2(self) -> float:
        return SLUG_FT2_KGM2 * self.mass.product_xz_slug_ft2


class Controls(Config, frozen=True):
    """Surfaces and power; they keep their values."""

    elevator_deg: Annotated[float, meta("deg", "elevator, positive with its trailing edge down", ge=-90, le=90)] = 0.0
    aileron_deg: Annotated[float, meta("deg", "aileron, positive for a roll to the left", ge=-90, le=90)] = 0.0
    rudder_deg: Annotated[float, meta("deg", "rudder, positive with its trailing edge left", ge=-90, le=90)] = 0.0
    power_percent: Annotated[float, meta("%", "power; from 50 on with afterburner", ge=0, le=100)] = 0.0


class Flow(NamedTuple):
    """How the aircraft moves through the air."""

    speed_m_s: Any
    alpha_deg: Any
    beta_deg: Any
    rate_frd: Any  # rad/s, relative to the air


class Coefficients(NamedTuple):
    x: Any
    side: Any
    z: Any
    roll: Any
    pitch: Any
    yaw: Any


def weights(value: Any, points: Sequence[float]) -> Any:
    """How much the value at each of the points counts: linear between two of them."""
    passed = [ca.fmin(ca.fmax((value - low) / (high - low), 0.0), 1.0) for low, high in pairwise(points)]
    return ca.vertcat(1.0 - passed[0], *(here - further for here, further in pairwise(passed)), passed[-1])


def looked_up(table: Sequence[Sequence[float]], rows: ca.SX, columns: ca.SX) -> Any:
    """The weighted value of a table."""
    return rows.T @ ca.DM([list(row) for row in table]) @ columns


def coefficients(aircraft: Aircraft, flow: Flow, controls: Controls) -> Coefficients:
    """About the point to which the moments refer."""
    aero, wing = aircraft.aerodynamics, aircraft.wing
    alpha = weights(flow.alpha_deg, aero.alpha_deg)
    elevator = weights(controls.elevator_deg, aero.elevator_deg)
    beta = weights(flow.beta_deg, aero.beta_deg)
    sideslip = weights(ca.fabs(flow.beta_deg), aero.sideslip_deg)
    towards = ca.if_else(flow.beta_deg < 0.0, -1.0, 1.0)

    def by_alpha(row: Sequence[float]) -> Any:
        return ca.dot(ca.DM(list(row)), alpha)

    p, q, r = ca.vertsplit(flow.rate_frd)
    twice_m_s = 2.0 * ca.fmax(flow.speed_m_s, SLOWEST_M_S)
    roll_rate, yaw_rate = (wing.span_ft * FT_M * rate / twice_m_s for rate in (p, r))
    pitch_rate = wing.chord_ft * FT_M * q / twice_m_s
    by_rate, by_surface = aero.rates, aero.surfaces
    aileron, rudder = controls.aileron_deg / FULL_AILERON_DEG, controls.rudder_deg / FULL_RUDDER_DEG
    side_beta, side_aileron, side_rudder = aero.side
    return Coefficients(
        x=looked_up(aero.x, elevator, alpha) + by_alpha(by_rate.x_q) * pitch_rate,
        side=side_beta * flow.beta_deg
        + side_aileron * aileron
        + side_rudder * rudder
        + by_alpha(by_rate.side_p) * roll_rate
        + by_alpha(by_rate.side_r) * yaw_rate,
        z=by_alpha(aero.z) * (1.0 - (flow.beta_deg / DEG_RAD) ** 2)
        + aero.z_elevator * controls.elevator_deg / FULL_ELEVATOR_DEG
        + by_alpha(by_rate.z_q) * pitch_rate,
        roll=towards * looked_up(aero.roll, sideslip, alpha)
        + looked_up(by_surface.roll_aileron, beta, alpha) * aileron
        + looked_up(by_surface.roll_rudder, beta, alpha) * rudder
        + by_alpha(by_rate.roll_p) * roll_rate
        + by_alpha(by_rate.roll_r) * yaw_rate,
        pitch=looked_up(aero.pitch, elevator, alpha) + by_alpha(by_rate.pitch_q) * pitch_rate,
        yaw=towards * looked_up(aero.yaw, sideslip, alpha)
        + looked_up(by_surface.yaw_aileron, beta, alpha) * aileron
        + looked_up(by_surface.yaw_rudder, beta, alpha) * rudder
        + by_alpha(by_rate.yaw_p) * roll_rate
        + by_alpha(by_rate.yaw_r) * yaw_rate,
    )


def thrust_N(engine: Engine, mach: Any, height_m: Any, power_percent: Any) -> Any:
    rows, columns = weights(mach, engine.mach), weights(height_m / FT_M, engine.height_ft)
    tables = (engine.idle_lbf, engine.military_lbf, engine.maximum_lbf)
    stages = ca.vertcat(*(looked_up(table, rows, columns) for table in tables))
    return LBF_N * ca.dot(stages, weights(power_percent, (0.0, MILITARY_PERCENT, 100.0)))


class Air(NamedTuple):
    """Where the aircraft is."""

    height_m: Any
    density_kg_m3: Any
    sound_m_s: Any


def loads_B(aircraft: Aircraft, vel_air_B: ca.SX, rate_B: ca.SX, air: Air, controls: Controls) -> tuple[ca.SX, ca.SX]:
    """Force (N) and moment about the centre of mass (N m); velocity and rate are relative to the air."""
    u, v, w = ca.vertsplit(FRD * vel_air_B)
    speed_m_s = ca.norm_2(vel_air_B)
    beta = ca.asin(ca.fmin(ca.fmax(v / ca.fmax(speed_m_s, SLOWEST_M_S), -1.0), 1.0))
    found = coefficients(aircraft, Flow(speed_m_s, DEG_RAD * ca.atan2(w, u), DEG_RAD * beta, FRD * rate_B), controls)
    wing, mass = aircraft.wing, aircraft.mass
    pressure_N = 0.5 * air.density_kg_m3 * speed_m_s**2 * wing.area_ft2 * FT_M**2
    force = pressure_N * ca.vertcat(found.x, found.side, found.z)
    force[0] += thrust_N(aircraft.engine, speed_m_s / air.sound_m_s, air.height_m, controls.power_percent)
    span_m, chord_m = wing.span_ft * FT_M, wing.chord_ft * FT_M
    moment = pressure_N * ca.vertcat(span_m * found.roll, chord_m * found.pitch, span_m * found.yaw)
    forward_m = (mass.centre_percent - mass.reference_percent) / 100.0 * chord_m  # of the reference from the centre
    return FRD * force, FRD * (moment + ca.cross(ca.DM([forward_m, 0.0, 0.0]), force))


def _fields(struct: Config) -> Mapping[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _expect(name: str, table: Sequence[Sequence[float]], rows: int, columns: int) -> None:
    if len(table) != rows or any(len(row) != columns for row in table):
        raise ValueError(f"{name}: expected {rows} rows of {columns} values, as many as their variables have points")


def _expect_growing(name: str, points: Sequence[float]) -> None:
    if any(further <= here for here, further in pairwise(points)):
        raise ValueError(f"{name}: expected each point above the one before")
