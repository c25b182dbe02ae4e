"""Errors of a multirotor's own numbers: the simulated aircraft has them, its controller is designed without them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from aeroloop.core.config import Config, meta
from aeroloop.models.rigid_body import Body
from aeroloop.models.rotors import Rotors

Factor = Annotated[float, meta("-", "factor", gt=0, le=3)]


class Scale(Config, frozen=True):
    """Factors on the airframe's numbers."""

    mass: Annotated[float, meta("-", "factor on the mass", gt=0, le=3)] = 1.0
    inertia: Annotated[float, meta("-", "factor on the moments of inertia", gt=0, le=3)] = 1.0
    thrust: Annotated[float, meta("-", "factor on thrust and drag torque of all rotors", gt=0, le=3)] = 1.0
    rotors: Annotated[
        tuple[Factor, ...], meta("-", "factor on the thrust of each rotor, not on its torque; empty: 1 for all")
    ] = ()


def scaled(body: Body, rotors: Rotors, scale: Scale) -> tuple[Body, Rotors]:
    """The same objects where every factor is 1."""
    if scale in (Scale(), Scale(rotors=(1.0,) * rotors.count)):
        return body, rotors
    x, y, z = body.inertia_kgm2
    factors = scale.rotors or (1.0,) * rotors.count
    return (
        msgspec.structs.replace(
            body,
            mass_kg=scale.mass * body.mass_kg,
            inertia_kgm2=(scale.inertia * x, scale.inertia * y, scale.inertia * z),
        ),
        msgspec.structs.replace(
            rotors,
            thrust_Ns2=scale.thrust * rotors.thrust_Ns2,
            thrust_share=tuple(factor * share for factor, share in zip(factors, rotors.shares, strict=True)),
        ),
    )
