"""Dimensions and masses of a 3-RRR robot, a planar parallel robot: three legs of two links move one platform.

Base joints are at 210, 330 and 90 deg on a circle; the platform's joints are at the same angles on a smaller one. The
plane is horizontal. Masses and motors are assumptions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from aeroloop.core.config import Config, meta

LEGS = 3
PLANE_M = 0.05
"""Height of the plane of the links above the ground."""
LEG_ANGLES_RAD = tuple(math.radians(angle) for angle in (210.0, 330.0, 90.0))

Length = Annotated[float, meta("m", "length", gt=0, le=10)]
Mass = Annotated[float, meta("kg", "mass", ge=1e-3, le=100)]


class Robot(Config, frozen=True):
    """Dimensions, masses and motors of the robot; keys that are left out are those of `vehicle.robot`."""

    base_m: Annotated[Length, meta("m", "radius of the circle of the base joints")] = 0.595 / math.sqrt(3.0)
    platform_m: Annotated[Length, meta("m", "radius of the circle of the platform's joints")] = 0.2 / math.sqrt(3.0)
    proximal_m: Annotated[Length, meta("m", "length of the driven links")] = 0.2
    distal_m: Annotated[Length, meta("m", "length of the links to the platform")] = 0.2
    proximal_kg: Annotated[Mass, meta("kg", "mass of a driven link, a slender bar")] = 0.30
    distal_kg: Annotated[Mass, meta("kg", "mass of a link to the platform, a slender bar")] = 0.20
    platform_kg: Annotated[Mass, meta("kg", "mass of the platform, a disc")] = 0.60
    motor_kgm2: Annotated[float, meta("kg m2", "inertia of motor and gear about the joint", gt=0, le=10)] = 0.002
    torque_max_Nm: Annotated[float, meta("N m", "largest torque of a motor", gt=0, le=1000)] = 4.0
    torque_lag_s: Annotated[float, meta("s", "time constant of the torque", gt=0, le=1)] = 0.002
    coulomb_Nm: Annotated[float, meta("N m", "dry friction of a driven joint", ge=0, le=100)] = 0.02
    viscous_Nms: Annotated[float, meta("N m s", "viscous friction of a driven joint", ge=0, le=100)] = 0.01

    @property
    def platform_kgm2(self) -> float:
        return self.platform_kg * self.platform_m**2 / 2.0


RobotName = Literal["small", "large"]
ROBOTS: Mapping[RobotName, Mapping[str, Any]] = {
    "small": {},
    "large": {
        "base_m": 0.90 / math.sqrt(3.0),
        "platform_m": 0.08 / math.sqrt(3.0),
        "proximal_m": 0.40,
        "distal_m": 0.40,
        "proximal_kg": 0.151,
        "distal_kg": 0.144,
        "platform_kg": 0.19,
    },
}
"""`small`: triangles of 0.595 and 0.2 m, links of 0.2 m. `large`: triangles of 0.90 and 0.08 m, links of 0.4 m."""
