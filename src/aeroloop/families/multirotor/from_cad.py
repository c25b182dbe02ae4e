"""The airframe of a multirotor from a CAD file: what the file tells, and assumptions that let it hover for the rest.

Assumptions about rotors follow from their radius, as for usual propellers: thrust and power coefficients C_T and C_P,

    k = C_T rho D^4 / (2 pi)^2,   b = C_P / C_T  D / (2 pi),

and from the weight: full speed gives twice the thrust of hovering.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from aeroloop.cad.airframe_file import Entry, as_toml
from aeroloop.cad.imported import Box, Imported, Importer, Written
from aeroloop.cad.model import MotorModel
from aeroloop.cad.recognised import Rotor
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.families.multirotor import first_flight
from aeroloop.families.multirotor.airframe import LEAST_ROTORS
from aeroloop.families.multirotor.streams import MOST_ROTORS

DENSITY_KG_M3 = 1.225
THRUST_COEFFICIENT, POWER_COEFFICIENT = 0.11, 0.045
THRUST_TO_WEIGHT = 2.0
FOOT_RADIUS_M = 0.01
SPREAD = 0.85
"""Feet this fraction of the way from the centre to the corners of the body."""
IDLE = 0.1
"""Of full speed."""
BRAKING_PER_S = 0.3
"""Drag of all rotors in hover over momentum."""
FIGURE_OF_MERIT, VOLTAGE_V = 0.5, 15.0
PRODUCTS = 0.02
"""Products of inertia above this fraction of the smallest moment are told."""
SAME = 0.01
"""Motors whose constants differ by more are told."""
DATA_SHEET = "a thrust stand or the propeller's data sheet"


def lacks(found: Imported) -> str:
    if found.alone:
        return ""
    upright = [rotor for rotor in found.rotors if rotor.upright]
    if LEAST_ROTORS <= len(upright) <= MOST_ROTORS:
        return ""
    return f"a multirotor has {LEAST_ROTORS} to {MOST_ROTORS} upright rotors, not {len(upright)}"


def written(found: Imported, name: str) -> Written:
    entries = (*_body(found), *_propulsion(found), *_contact(found, _hubs(found)), _supply(found))
    title = (
        f"{found.assembly.model.name}, imported from {found.source} by `aeroloop import`.",
        "Body frame: x forward, y left, z up, origin in the centre of mass. FILL IN: the file does not state it.",
    )
    return Written(
        as_toml(title, entries, found.drawn),
        first_flight.flight(f"{name}-hover"),
        first_flight.FILE,
        entries,
        tuple(_notes(found)),
    )


IMPORTER = Importer(lacks, written)


def _body(found: Imported) -> Iterable[Entry]:
    yield Entry("body.mass_kg", found.body.mass_kg, found.weighed)
    yield Entry("body.inertia_kgm2", np.diag(found.body.inertia_kgm2), f"{found.weighed}, about the centre of mass")
    low, high = _box(found)
    x, y, z = high - low
    areas = [y * z / 3, x * z / 3, x * y / 3]
    yield Entry(
        "body.drag_area_m2", areas, "assumption: a third of its bounding box, with drag coefficient 1", known=False
    )


def _box(found: Imported) -> Box:
    """Of what touches the ground; a flat box within the rotors if the file has no shapes."""
    if found.touching is not None:
        return found.touching
    reach_m = max((math.hypot(*rotor.pos_m[:2]) for rotor in found.rotors), default=0.2)
    half = np.array([reach_m, reach_m, 0.3 * reach_m])
    return -half, half


def _rotors(found: Imported) -> tuple[Rotor, ...]:
    return tuple(rotor for rotor in found.rotors if rotor.upright)


def _hubs(found: Imported) -> Vec:
    """Positions of the rotors; of a mesh alone those of an X at the corners of its box."""
    upright = _rotors(found)
    if upright:
        return np.array([rotor.pos_m for rotor in upright])
    low, high = _box(found)
    x, y, z = (high - low) / 2
    middle = (low + high) / 2
    corners = ((1, -1), (-1, 1), (1, 1), (-1, -1))  # PX4's order
    return np.array([[middle[0] + a * x, middle[1] + b * y, max(0.0, middle[2] + z)] for a, b in corners])


def _spins(found: Imported, hubs: Vec) -> tuple[list[int], bool]:
    """Of the file if it tells all; otherwise neighbours turn opposite ways, and so do coaxial rotors."""
    told = [rotor.spin for rotor in _rotors(found)]
    if told and None not in told:
        return [int(spin or 1) for spin in told], True
    if not told:
        return [1, 1, -1, -1], False
    arms = _arms(hubs)
    order = sorted(arms, key=lambda arm: math.atan2(hubs[arm[0]][1], hubs[arm[0]][0]))
    spins = [1] * len(hubs)
    for place, arm in enumerate(order):
        for level, rotor in enumerate(sorted(arm, key=lambda index: -hubs[index][2])):
            spins[rotor] = 1 if (place + level) % 2 == 0 else -1
    known = next((index for index, spin in enumerate(told) if spin is not None), None)
    flip = -1 if known is not None and spins[known] != told[known] else 1
    return [flip * spin for spin in spins], False


def _arms(hubs: Vec) -> list[list[int]]:
    """Rotors above one another, by index."""
    arms: list[list[int]] = []
    near_m = 0.1 * max(float(np.hypot(hubs[:, 0], hubs[:, 1]).max()), 1e-6)
    for index, hub in enumerate(hubs):
        arm = next((arm for arm in arms if math.hypot(*(hubs[arm[0]] - hub)[:2]) < near_m), None)
        if arm is None:
            arms.append([index])
        else:
            arm.append(index)
    return arms


def _propulsion(found: Imported) -> Iterable[Entry]:
    hubs, upright = _hubs(found), _rotors(found)
    motors = [rotor.motor for rotor in upright if rotor.motor is not None]
    by = ", ".join(rotor.name for rotor in upright)
    radius_m, _ = _radius(found, hubs)
    if upright:
        yield Entry("rotors.pos_B_m", hubs, f"joints {by}, from the centre of mass")
    else:
        yield Entry("rotors.pos_B_m", hubs, "assumption: four, at the corners of the mesh", known=False)
    spins, told = _spins(found, hubs)
    assumed = "assumption: neighbours opposite; the directions of your propellers, in the order of the motors"
    yield Entry("rotors.spin", spins, "motor models or names" if told else assumed, told)
    below = [min(hub[2] for hub in hubs[arm]) for arm in _arms(hubs) if len(arm) > 1]
    if below:
        lower = {min(arm, key=lambda index: hubs[index][2]) for arm in _arms(hubs) if len(arm) > 1}
        shares = [0.8 if index in lower else 1.0 for index in range(len(hubs))]
        yield Entry("rotors.thrust_share", shares, "assumption: 80 % in the wash of the upper rotor", known=False)
    diameter_m = 2.0 * radius_m
    thrust = _common(
        motors,
        lambda motor: motor.thrust_Ns2,
        "rotors.thrust_Ns2",
        "motorConstant",
        THRUST_COEFFICIENT * DENSITY_KG_M3 * diameter_m**4 / (2 * math.pi) ** 2,
        f"assumption: a propeller of this radius with CT = {THRUST_COEFFICIENT:g}; from {DATA_SHEET}",
    )
    yield thrust
    yield _common(
        motors,
        lambda motor: motor.torque_to_thrust_m,
        "rotors.torque_to_thrust_m",
        "momentConstant",
        POWER_COEFFICIENT / THRUST_COEFFICIENT * diameter_m / (2 * math.pi),
        f"assumption: the same propeller with CP = {POWER_COEFFICIENT:g}; from {DATA_SHEET}",
    )
    inertias = [rotor.inertia_kgm2 for rotor in upright if rotor.inertia_kgm2 is not None]
    yield _mean(
        "rotors.inertia_kgm2",
        inertias,
        "rotor links, about their axis, over rotorVelocitySlowdownSim",
        0.0,
        "assumption: none; propeller and the motor's bell, about their axis",
    )
    hover_rad_s = math.sqrt(found.body.mass_kg * GRAVITY_M_S2 / len(hubs) / thrust.value)
    yield _common(
        motors,
        lambda motor: motor.drag_Ns2_m,
        "rotors.drag_Ns2_m",
        "rotorDragCoefficient",
        BRAKING_PER_S * found.body.mass_kg / len(hubs) / hover_rad_s,
        f"assumption: in hover the rotors brake at {BRAKING_PER_S:g} /s",
    )
    yield Entry("rotors.density_kg_m3", DENSITY_KG_M3, "the coefficients hold at sea level (ISA)")
    top = _common(
        motors,
        lambda motor: motor.speed_max_rad_s,
        "motors.speed_max_rad_s",
        "maxRotVelocity",
        hover_rad_s * math.sqrt(THRUST_TO_WEIGHT),
        f"assumption: {THRUST_TO_WEIGHT:g} times the thrust of hovering; speed at full throttle",
    )
    yield top
    yield _common(
        motors,
        lambda motor: motor.speed_idle_rad_s,
        "motors.speed_idle_rad_s",
        "zero_position_armed",
        IDLE * top.value,
        "assumption: a tenth of full speed",
    )
    for key, tag, lag_s in (("lag_up_s", "timeConstantUp", 0.03), ("lag_down_s", "timeConstantDown", 0.05)):
        value = _attribute(key)
        yield _common(motors, value, f"motors.{key}", tag, lag_s, "assumption; from a step test on a thrust stand")


def _attribute(name: str) -> Callable[[MotorModel], float | None]:
    def value(motor: MotorModel) -> float | None:
        return float(found) if (found := getattr(motor, name)) is not None else None

    return value


def _common(
    motors: list[MotorModel],
    value: Callable[[MotorModel], float | None],
    key: str,
    tag: str,
    otherwise: float,
    assumption: str,
) -> Entry:
    """A constant that all motors share."""
    return _mean(key, [told for motor in motors if (told := value(motor)) is not None], tag, otherwise, assumption)


def _mean(key: str, told: list[float], origin: str, otherwise: float, assumption: str) -> Entry:
    if not told:
        return Entry(key, otherwise, assumption, known=False)
    if max(told) - min(told) <= SAME * max(told):
        return Entry(key, told[0], origin)
    different = f"{origin}: mean of {min(told):g} to {max(told):g}; all rotors of an airframe are equal"
    return Entry(key, float(np.mean(told)), different, known=False)


def _radius(found: Imported, hubs: Vec) -> tuple[float, bool]:
    radii = [rotor.radius_m for rotor in _rotors(found) if rotor.radius_m is not None]
    if radii:
        return max(radii), True
    arms = [hubs[arm[0]] for arm in _arms(hubs)]
    gaps = [math.hypot(*(a - b)[:2]) for i, a in enumerate(arms) for b in arms[:i]]
    return 0.4 * min(gaps, default=0.3), False


def _contact(found: Imported, hubs: Vec) -> Iterable[Entry]:
    low, high = _box(found)
    reach_m = max(float(np.hypot(hubs[:, 0], hubs[:, 1]).max()), 0.02)
    foot_m = min(FOOT_RADIUS_M, reach_m / 10)
    bottom_m = float(low[2]) + foot_m
    seen = found.touching is not None and bottom_m < -foot_m
    if not seen:
        bottom_m = -0.3 * reach_m
    feet = [[SPREAD * float(x), SPREAD * float(y), bottom_m] for x in (low[0], high[0]) for y in (low[1], high[1])]
    where = "lowest point of its shapes" if seen else "assumption"
    origin = f"height: {where}; spread: assumption, {SPREAD:g} of its shapes"
    yield Entry("contact.feet_B_m", feet, origin, known=False)
    yield Entry("contact.foot_radius_m", foot_m, "assumption", known=False)
    half = np.minimum((high - low) / 2, [0.5 * reach_m, 0.5 * reach_m, 0.8 * -bottom_m])
    yield Entry(
        "contact.body_half_size_m", half, "assumption: its shapes, at most half the reach of the rotors", known=False
    )
    radius_m, told = _radius(found, hubs)
    origin = "shapes of the rotor links" if told else "assumption: 0.4 of the distance between two rotors"
    yield Entry("contact.rotor_radius_m", radius_m, origin, told)
    yield Entry("contact.friction", 0.8, "assumption: plastic on tarmac", known=False)


def _supply(found: Imported) -> Entry:
    """Induced power of the discs, from momentum theory."""
    hubs = _hubs(found)
    area_m2 = len(hubs) * math.pi * _radius(found, hubs)[0] ** 2
    weight_N = found.body.mass_kg * GRAVITY_M_S2
    power_W = weight_N**1.5 / math.sqrt(2 * DENSITY_KG_M3 * area_m2) / FIGURE_OF_MERIT
    origin = f"assumption: {VOLTAGE_V:g} V and half the power lost; from a hover with a current sensor"
    return Entry("supply.hover_A", min(power_W / VOLTAGE_V, 1e4), origin, known=False)


def _notes(found: Imported) -> Iterable[str]:
    inertia = found.body.inertia_kgm2
    product = max(abs(float(inertia[i, j])) for i, j in ((0, 1), (0, 2), (1, 2)))
    if product > PRODUCTS * float(np.diag(inertia).min()):
        yield (f"products of inertia up to {product:.3g} kg m2 are left out: principal axes are taken along x, y, z")
    for rotor in _rotors(found):
        tilt_deg = math.degrees(math.acos(min(1.0, abs(float(rotor.axis[2])))))
        if tilt_deg > 2.0:
            yield f"joint {rotor.name!r}: its axis is tilted by {tilt_deg:.0f} deg; rotors of an airframe are upright"
    if any(rotor.by == "name" for rotor in found.rotors):
        yield "rotors are in the order of their names; the order of the motor outputs may differ (rotors.pos_B_m)"
    others: list[Any] = [rotor.name for rotor in found.rotors if not rotor.upright]
    if others:
        yield f"rotors that are not upright are left out: {', '.join(others)}"
    if found.surfaces:
        yield f"control surfaces are left out: {', '.join(surface.name for surface in found.surfaces)}"
