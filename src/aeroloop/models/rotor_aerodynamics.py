"""Thrust, torque and tilt of a rotor with fixed pitch in any flow: blade elements, momentum theory, vortex ring state,
ground effect, flapping.

With tip speed V = w R, speed of the hub through the air U in the rotor plane and c along the thrust (climb positive),
induced velocity n (down), area A, solidity s, lift slope a, pitch theta:

    T = rho a s A V / 2 (theta (V^2/3 + U^2/2) / V - (c + n) / 2)          blade elements
    T = 2 rho A h |h|,   n = h G(c/h, U/h)                                 momentum theory
    Q = R (T (c + kappa n) + P0 (1 + U^2/V^2)) / V                         induced and profile power over the speed

G is Glauert's in hover, climb and the windmill state, G^2 (U^2 + (c + n)^2) / h^2 = 1. In axial descent at up to 2 h
momentum theory has no solution that is met in experiments, and G is a curve (`axial`): Leishman's quartic through
measurements (Principles of Helicopter Aerodynamics), or, without `vortex_ring`, Johnson's cubic between the two
branches (Helicopter Theory), whose constants here meet both exactly. Speed in the plane adds to the mass flow of the
axial curve. Theta and P0 are those with which static thrust and torque are those of the file, k w^2 and b k w^2.

Ground effect: T / T_free = 1 / (1 - (R/4z)^2 / (1 + U^2/n^2)) at the same power (Cheeseman and Bennett, ARC R&M 3021,
1955), z the distance of the hub from the ground along its wash, at least R/2.

Blades flap to a tilt t = (t_x, t_y) of the disc's normal, in first order of m = (u, v)/V and in equilibrium, with Lock
number g, flap frequency f (per revolution) and S = 8 (f^2 - 1)/g, from the flapping equation of a rigid blade with a
spring at the centre of the hub, for both directions of rotation:

    b0 = g (theta/8 - (c + n)/6V) / f^2                                    coning
    a = -4/3 b0 m + spin (8/3 theta - 2 (c + n)/V) z x m + (z x W + 16/g spin W) / w
    t = (S a + spin z x a) / (1 + S^2)                                     tilt
    force T t,   moment K z x t,   K = rho0 a s A R^3 w^2 (f^2 - 1) / 2 g

with W the body's rate about x and y. This force adds to that of `drag_Ns2_m`, which is that of discs without tilt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import casadi as ca

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError

if TYPE_CHECKING:
    from aeroloop.models.rotors import Rotors

MOST_RATIO = 0.5
"""Speeds in the plane and along the axis count up to this share of the tip speed: beyond it blades are stalled."""
LEAST_TIP_M_S = 1e-3
LEAST_SQUARE = 1e-12
"""Added to squares of velocities that divide (m2/s2)."""
ITERATIONS = 12
"""Of Anderson and Bjorck's regula falsi: the induced velocity is found to 4e-5 at the edge of the windmill state, where
the curve has a vertical tangent, to 1e-13 elsewhere."""
LEAST_HEIGHT_M = 1e-9
LARGEST_INDUCED = 2.1
"""Above the largest value of G."""
QUARTIC = (1.0, -1.125, -1.372, -1.718, -0.656625)
"""Leishman's has -0.655 as its last number, and leaves a step of 0.026 at the windmill state."""
CUBIC = 5**0.5 / 6
"""0.373 with Johnson."""
WHOLE_AT = -0.5
"""Climb over h from which downwards the quartic holds; up to hover it goes over into momentum theory."""

LockNumber = Annotated[float, meta("-", "aerodynamic over inertial forces of a blade", ge=0.1, le=20)]


class RotorAerodynamics(Config, frozen=True):
    """Blades and the effects of the air that are simulated; without this table thrust is k w^2 in any flow."""

    radius_m: Annotated[float, meta("m", "radius of a rotor", gt=0)]
    solidity: Annotated[float, meta("-", "blade area over disc area", gt=0, lt=1)]
    lift_slope: Annotated[float, meta("1/rad", "lift coefficient over angle of attack", gt=0, le=7)]
    induced_power_factor: Annotated[float, meta("-", "induced power over that of momentum theory", ge=1, le=2)] = 1.15
    lock_number: Annotated[LockNumber | None, note("aerodynamic over inertial forces of a blade, 0.1 to 20")] = None
    flap_frequency: Annotated[
        float,
        meta("-", "flap frequency over speed: 1 with a hinge in the centre, more with a stiff blade", ge=1, le=10),
    ] = 1.0
    inflow: Annotated[bool, meta("-", "thrust and torque depend on the flow through and along the rotor")] = False
    vortex_ring: Annotated[bool, meta("-", "measured induced velocity in descent; needs inflow")] = False
    ground_effect: Annotated[bool, meta("-", "more thrust near the ground")] = False
    flapping: Annotated[bool, meta("-", "blades flap: the disc tilts; needs lock_number")] = False


class BladeSymbols(NamedTuple):
    """Numbers of `coefficients`, or symbols for them."""

    radius_m: ca.SX
    pitch_rad: ca.SX
    lift: ca.SX  # solidity times lift slope
    induced_power_factor: ca.SX
    profile: ca.SX  # coefficient of profile torque
    lock_number: ca.SX
    spring: ca.SX  # flap frequency squared, less 1
    hover_inflow: ca.SX  # over the tip speed
    inflow: ca.SX  # 1 or 0, as the next
    vortex_ring: ca.SX
    ground_effect: ca.SX
    flapping: ca.SX


class Flow(NamedTuple):
    """At the hub of one rotor."""

    vel_B: ca.SX  # through the air
    rate_B: ca.SX
    height_m: ca.SX  # of the hub over the ground
    up_B: ca.SX
    density_kg_m3: ca.SX


class Load(NamedTuple):
    """Of one rotor."""

    force_B: ca.SX
    torque_Nm: ca.SX  # that turns it needs at this speed; the body feels it against the direction of rotation
    hub_Nm: ca.SX  # (2,) about x and y


def coefficients(rotors: Rotors) -> tuple[float, ...]:
    """The numbers of `BladeSymbols`."""
    table = rotors.aerodynamics
    assert table is not None
    area, lift = 3.141592653589793 * table.radius_m**2, table.solidity * table.lift_slope
    thrust = rotors.thrust_Ns2 / (rotors.density_kg_m3 * area * table.radius_m**2)
    inflow = (thrust / 2) ** 0.5
    profile = thrust * (rotors.torque_to_thrust_m / table.radius_m - table.induced_power_factor * inflow)
    return (
        table.radius_m,
        6 * thrust / lift + 1.5 * inflow,
        lift,
        table.induced_power_factor,
        profile,
        table.lock_number or 1.0,
        table.flap_frequency**2 - 1,
        inflow,
        *(float(on) for on in (table.inflow, table.vortex_ring, table.ground_effect, table.flapping)),
    )


def check(rotors: Rotors, source: str) -> None:
    """ConfigError for numbers that do not fit together."""
    table = rotors.aerodynamics
    if table is None:
        return
    name = f"{source}: rotors.aerodynamics"
    if table.vortex_ring and not table.inflow:
        raise ConfigError(f"{name}.vortex_ring: expected inflow = true with it")
    if table.flapping and table.lock_number is None:
        raise ConfigError(f"{name}.lock_number: missing; flapping needs it")
    induced, profile = table.induced_power_factor * coefficients(rotors)[7], coefficients(rotors)[4]
    if table.inflow and profile <= 0.0:
        raise ConfigError(
            f"{name}.radius_m: in hover the induced power alone needs a torque of {induced * table.radius_m:.3g} m "
            f"times the thrust, expected less than rotors.torque_to_thrust_m, which is {rotors.torque_to_thrust_m:g} m"
        )


def axial(climb: ca.SX, vortex_ring: ca.SX) -> ca.SX:
    """Induced velocity over h in axial flow, of the climb over h; continuous."""
    momentum = 1 / (ca.fmax(climb, -1) / 2 + ca.sqrt(ca.fmax(climb, -1) ** 2 / 4 + 1))
    windmill = 1 / (-ca.fmin(climb, -2) / 2 + ca.sqrt(ca.fmax(ca.fmin(climb, -2) ** 2 / 4 - 1, 0)))
    cubic = climb * (CUBIC * (climb * climb - 4) - 0.5)
    smooth = ca.if_else(climb >= -1, momentum, ca.if_else(climb > -2, cubic, windmill))
    within = ca.fmin(ca.fmax(climb, -2), 0)
    k0, k1, k2, k3, k4 = QUARTIC
    measured = k0 + within * (k1 + within * (k2 + within * (k3 + within * k4)))
    share = ca.fmin(within / WHOLE_AT, 1)
    share = vortex_ring * (climb > -2) * share * share * (3 - 2 * share)
    return smooth + share * (measured - smooth)


def mass_flow(climb: ca.SX, in_plane: ca.SX, induced: ca.SX, vortex_ring: ca.SX) -> ca.SX:
    """Velocity over h of the air that the rotor accelerates; all velocities over h. The induced velocity is 1 over it.

    Where it is less than in axial flow, the flow along the axis changes with it: by as much in hover, in climb and
    below -3, as with Glauert, by less in between, and not from -1 to -2."""
    found = axial(climb, vortex_ring)
    share = ca.fmin(ca.fmax(1 + climb, 0), 1) - ca.fmin(ca.fmax(-2 - climb, 0), 1)
    through = 1 / found - share * (found - induced)
    return ca.sqrt(in_plane * in_plane + through * through)


def induced_m_s(b: BladeSymbols, tip: ca.SX, climb: ca.SX, in_plane: ca.SX) -> tuple[ca.SX, ca.SX]:
    """h and the induced velocity, both with the sign of the thrust."""
    lag = b.lift / 8 * tip
    driving = b.lift * b.pitch_rad / 4 * (tip * tip / 3 + in_plane * in_plane / 2) - lag * climb
    sign = ca.if_else(driving >= 0, 1, -1)
    square, along = sign * driving + LEAST_SQUARE, sign * climb

    def induced(h: ca.SX) -> ca.SX:
        return (square - h * h) / (lag * h)

    def excess(h: ca.SX) -> ca.SX:
        over = induced(h)
        return over * mass_flow(along / h, in_plane / h, over, b.vortex_ring) - 1

    least = LARGEST_INDUCED / 2 * lag
    other, last = square / (least + ca.sqrt(least * least + square)), ca.sqrt(square)
    f_other, f_last = excess(other), excess(last)
    for _ in range(ITERATIONS):
        slope = f_last - f_other
        new = last - f_last * (last - other) / ca.if_else(slope == 0, 1, slope)
        f_new = excess(new)
        crosses = f_new * f_last < 0
        factor = 1 - f_new / ca.if_else(f_last == 0, 1, f_last)
        other = ca.if_else(crosses, last, other)
        f_other = ca.if_else(crosses, f_last, f_other * ca.if_else(factor > 0, factor, 0.5))
        last, f_last = new, f_new
    return sign * last, sign * last * induced(last)


def load(b: BladeSymbols, flow: Flow, speed_rad_s: ca.SX, spin: ca.SX, file: Static) -> Load:
    """Force along and across the axis, without the drag in the plane."""
    tip = ca.fmax(speed_rad_s * b.radius_m, LEAST_TIP_M_S)
    most = MOST_RATIO * tip
    u, v = flow.vel_B[0], flow.vel_B[1]
    real = ca.sqrt(u * u + v * v + LEAST_SQUARE)
    in_plane, climb = ca.fmin(real, most), ca.fmin(ca.fmax(flow.vel_B[2], -most), most)
    area = ca.pi * b.radius_m * b.radius_m
    density = flow.density_kg_m3
    static_N = density / file.density_kg_m3 * file.thrust_Ns2 * speed_rad_s * speed_rad_s

    h, moving = induced_m_s(b, tip, climb, in_plane)
    inflow_N = 2 * density * area * h * ca.fabs(h)
    profile_W = density * area * tip * b.profile * (tip * tip + in_plane * in_plane)
    inflow_Nm = b.radius_m * (inflow_N * (climb + b.induced_power_factor * moving) + profile_W) / tip
    thrust = ca.if_else(b.inflow, inflow_N, static_N)
    torque = ca.if_else(b.inflow, inflow_Nm, file.torque_to_thrust_m * static_N)
    induced = ca.if_else(b.inflow, moving, b.hover_inflow * tip)

    cosine = ca.fmax(flow.up_B[2], 0)  # the wash of an inverted rotor does not meet the ground
    radii = b.radius_m * cosine / (4 * ca.fmax(flow.height_m, ca.fmax(b.radius_m / 2 * cosine, LEAST_HEIGHT_M)))
    mirrored = radii * radii / (1 + in_plane * in_plane / (induced * induced + LEAST_SQUARE))
    thrust *= 1 + b.ground_effect * (thrust > 0) * mirrored / (1 - mirrored)

    lock = b.lock_number * density / file.density_kg_m3
    through = (climb + induced) / tip
    slowed = in_plane / (real * tip)
    m, around = slowed * ca.vertcat(u, v), flow.rate_B[0:2] / (tip / b.radius_m)
    coning = lock * (b.pitch_rad / 8 - through / 6) / (1 + b.spring)
    aim = -4 / 3 * coning * m + spin * (8 / 3 * b.pitch_rad - 2 * through) * _turned(m)
    aim += _turned(around) + 16 / lock * spin * around
    stiff = 8 * b.spring / lock
    tilt = b.flapping * (stiff * aim + spin * _turned(aim)) / (1 + stiff * stiff)
    spring_Nm = file.density_kg_m3 * b.lift * area * b.radius_m * tip * tip * b.spring / (2 * b.lock_number)
    return Load(ca.vertcat(thrust * tilt, thrust), torque, spring_Nm * ca.vertcat(-tilt[1], tilt[0]))


class Static(NamedTuple):
    """Coefficients of the file, or symbols for them."""

    thrust_Ns2: ca.SX
    torque_to_thrust_m: ca.SX
    density_kg_m3: ca.SX


def symbols(values: ca.SX) -> BladeSymbols:
    """Of a column of `coefficients`."""
    return BladeSymbols(*ca.vertsplit(values))


def _turned(vector: ca.SX) -> ca.SX:
    """z x vector, of a vector in the rotor plane."""
    return ca.vertcat(-vector[1], vector[0])
