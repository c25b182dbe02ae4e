"""A payload that a multirotor carries from a time on: its table, and mass and inertia of aircraft and payload together.

The payload is a point mass m at r, fixed to a body of mass M with its centre of mass in the origin and inertia I. They
are one rigid body of mass M + m, with its centre of mass at m r / (M + m) and, about that centre, the inertia

    I + mu (|r|^2 1 - r r'),     mu = m M / (M + m)

The payload is taken up at rest relative to the aircraft: position, attitude, velocity and rates of the airframe do not
jump. It has no drag. Sensors stay where they are, at the origin of the airframe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import Vec, Vec3
from aeroloop.models.rigid_body import Body


class Payload(Config, frozen=True):
    """A point mass that is fixed to the aircraft from a time on."""

    mass_kg: Annotated[float, meta("kg", "mass", gt=0, le=1000)]
    offset_B_m: Annotated[Vec3, meta("m", "from the aircraft's centre of mass: forward, left, up")] = (0.0, 0.0, 0.0)
    from_s: Annotated[float, meta("s", "time at which it is taken up", ge=0, le=86400)] = 0.0


@dataclass(frozen=True)
class Laden:
    """Aircraft and payload as one rigid body."""

    mass_kg: float
    centre_B_m: Vec  # (3,) from the airframe's origin
    inertia_kgm2: Vec  # (3, 3) about the centre, in body axes


def laden(body: Body, payload: Payload) -> Laden:
    total_kg, r = body.mass_kg + payload.mass_kg, np.array(payload.offset_B_m)
    reduced_kg = payload.mass_kg * body.mass_kg / total_kg
    inertia = np.diag(body.inertia_kgm2) + reduced_kg * (r @ r * np.eye(3) - np.outer(r, r))
    return Laden(total_kg, payload.mass_kg / total_kg * r, inertia)
