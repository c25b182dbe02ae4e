"""The airframe of a fixed wing from a CAD file: its body, wing and surfaces, with the coefficients of the Aerosonde.

A CAD file has no aerodynamic coefficients. Those of the Aerosonde hold for an aircraft that is similar to it: with the
same coefficients, wing loading fixes the speed, and propeller and motor scale so that trims and climb are alike,

    V ~ sqrt(m / S),   D ~ sqrt(S),   n ~ V / D,   current ~ thrust V / voltage.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np

from aeroloop.cad.airframe_file import Entry, as_toml
from aeroloop.cad.imported import Imported, Importer, Written
from aeroloop.families.fixedwing import first_flight
from aeroloop.families.fixedwing.airframe import FOLDER

SIMILAR = "aerosonde"
ORDER = ("aileron", "elevator", "rudder")
MIXED = {"elevon": ("aileron", "elevator"), "ruddervator": ("elevator", "rudder")}
"""Surfaces that do the work of two."""
CIRCLE_M, CIRCLE_SPEED_M_S = 150.0, 20.0
"""A circle for the Aerosonde at its usual speed; banked alike, radius goes with the squared speed."""
SMALLEST_M = 20.0
"""Circle of a mission."""
OWN = ("body", "wing", "servos", "cruise", "propulsion")


def lacks(found: Imported) -> str:
    if not found.surfaces:
        return "a fixed wing has control surfaces: joints called aileron, elevator, rudder, elevon or ruddervator"
    if len([rotor for rotor in found.rotors if rotor.upright]) >= 4:
        return "it has upright rotors"
    return ""


def written(found: Imported, name: str) -> Written:
    text = resources.files("aeroloop").joinpath(f"{FOLDER}/{SIMILAR}.toml").read_text(encoding="utf-8")
    similar = tomllib.loads(text)
    entries = (*_body(found), *_wing(found, similar), *_coefficients(similar))
    values = {entry.key: entry.value for entry in entries}
    area = values["wing.area_m2"] / similar["wing"]["area_m2"]
    weight = found.body.mass_kg / similar["body"]["mass_kg"]
    entries = (*entries, *_propulsion(found, similar, area, weight), *_servos(found, similar))
    speed = math.sqrt(weight / area)
    cruise = tuple(_cruise(similar["cruise"], speed))
    title = (
        f"{found.assembly.model.name}, imported from {found.source} by `aeroloop import`.",
        "Derivatives per radian in the literature's axes (forward, right, down).",
        "FILL IN marks what the file does not state.",
    )
    airspeed = round(similar["cruise"]["speed_m_s"] * speed, 1)
    flight = first_flight.flight(
        f"{name}-loiter", airspeed, max(SMALLEST_M, round(CIRCLE_M * (airspeed / CIRCLE_SPEED_M_S) ** 2, 1))
    )
    entries = (*entries, *cruise)
    return Written(as_toml(title, entries, found.drawn), flight, first_flight.FILE, entries, tuple(_notes(found)))


IMPORTER = Importer(lacks, written)


def _body(found: Imported) -> Iterable[Entry]:
    inertia = found.body.inertia_kgm2
    yield Entry("body.mass_kg", found.body.mass_kg, found.weighed)
    yield Entry("body.inertia_kgm2", np.diag(inertia), f"{found.weighed}, Jx, Jy, Jz about the centre of mass")
    yield Entry("body.product_xz_kgm2", float(inertia[0, 2]), f"{found.weighed}, Jxz")


def _wing(found: Imported, similar: Mapping[str, Any]) -> Iterable[Entry]:
    """From the box of the links called wing; without them, of the weight with the Aerosonde's wing loading."""
    if found.wings is not None:
        span_m, chord_m = float((found.wings[1] - found.wings[0])[1]), float((found.wings[1] - found.wings[0])[0])
        origin = "box of the links called wing; span times chord, mean chord: check"
        yield Entry("wing.area_m2", span_m * chord_m, origin, known=False)
        yield Entry("wing.span_m", span_m, "box of the links called wing")
        yield Entry("wing.chord_m", chord_m, origin, known=False)
        return
    wing, scale = similar["wing"], (found.body.mass_kg / similar["body"]["mass_kg"]) ** (1.0 / 3.0)
    for key, power in (("area_m2", 2), ("span_m", 1), ("chord_m", 1)):
        yield Entry(f"wing.{key}", wing[key] * scale**power, "assumption: the Aerosonde's at this mass", known=False)


def _coefficients(similar: Mapping[str, Any]) -> Iterable[Entry]:
    for table, values in similar.items():
        if table not in OWN:
            for key, value in values.items():
                yield Entry(
                    f"{table}.{key}", value, "the Aerosonde's; from a wind tunnel, or AVL or XFLR5", known=False
                )


def _propulsion(found: Imported, similar: Mapping[str, Any], area: float, weight: float) -> Iterable[Entry]:
    """`area` and `weight`: over those of the Aerosonde."""
    speed, diameter = math.sqrt(weight / area), math.sqrt(area)
    current = weight * speed
    factors = {"diameter_m": diameter, "speed_constant_rpm_V": speed / diameter, "resistance_ohm": 1 / current}
    factors["idle_A"] = current
    for key, value in similar["propulsion"].items():
        scaled = value * factors[key] if key in factors else value
        told = "the Aerosonde's, scaled to this mass and wing" if key in factors else "the Aerosonde's"
        yield Entry(f"propulsion.{key}", scaled, f"{told}; from data sheets of propeller and motor", known=False)


def _servos(found: Imported, similar: Mapping[str, Any]) -> Iterable[Entry]:
    """Travel from the limits of the joints; signs of joints differ, so the smaller way counts for both."""
    servos = {key: list(value) for key, value in similar["servos"].items()}
    told = []
    for index, name in enumerate(ORDER):
        ways = [
            min(abs(surface.lower_rad), abs(surface.upper_rad))
            for surface in found.surfaces
            if surface.lower_rad is not None
            and surface.upper_rad is not None
            and (surface.kind == name or name in MIXED.get(surface.kind, ()))
        ]
        if ways and 0.01 < min(ways) < 1.5:
            servos["low"][index], servos["high"][index] = -min(ways), min(ways)
            told.append(name)
    origin = f"limits of joints: {', '.join(told)}" if told else "assumption: 25 deg"
    yield Entry(
        "servos.low", servos["low"], f"{origin}; aileron, elevator, rudder, throttle", known=len(told) == len(ORDER)
    )
    yield Entry("servos.high", servos["high"], origin, known=len(told) == len(ORDER))
    yield Entry("servos.rate_per_s", servos["rate_per_s"], "the Aerosonde's; from the servos' data sheet", known=False)
    yield Entry("servos.lag_s", servos["lag_s"], "the Aerosonde's; from the servos' data sheet", known=False)


def _cruise(similar: Mapping[str, float], speed: float) -> Iterable[Entry]:
    for key in ("speed_m_s", "speed_min_m_s", "speed_max_m_s"):
        yield Entry(
            f"cruise.{key}", round(similar[key] * speed, 1), "the Aerosonde's, at this wing loading", known=False
        )
    yield Entry("cruise.density_kg_m3", similar["density_kg_m3"], "the Aerosonde's")


def _notes(found: Imported) -> Iterable[str]:
    kinds = [kind for surface in found.surfaces for kind in (surface.kind, *MIXED.get(surface.kind, ()))]
    for name in ORDER:
        if name not in kinds:
            yield f"no joint is called {name}; the airframe has one with the Aerosonde's effect"
    if len(found.rotors) > 1:
        yield f"{len(found.rotors)} propellers are modelled as one"
    inertia = found.body.inertia_kgm2
    product = max(abs(float(inertia[0, 1])), abs(float(inertia[1, 2])))
    if product > 0.02 * float(np.diag(inertia).min()):
        yield f"products of inertia xy and yz up to {product:.3g} kg m2 are left out: left and right are taken as alike"
