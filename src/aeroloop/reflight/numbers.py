"""The numbers of an aircraft that a log can tell: one table, for the fit, the report and the airframe file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec
import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.families.multirotor.airframe import Airframe

DELAY_MOST_S = 0.1
"""From a setpoint or pulse to its motor."""


@dataclass(frozen=True, slots=True)
class Plant:
    """What a rollout takes of the aircraft besides its fixed numbers."""

    NAMES: ClassVar = (
        *("mass", "inertia_x", "inertia_y", "inertia_z", "lag_up", "lag_down", "delay"),
        *("trim_x", "trim_y", "trim_z"),
    )

    mass_kg: float
    inertia_kgm2: Vec3
    lag_up_s: float
    lag_down_s: float
    delay_s: float = 0.0
    trim_rad_s2: Vec3 = (0.0, 0.0, 0.0)  # body FLU: unequal rotors, a centre of mass beside the middle

    setpoint_delay_s: float = 0.0  # from the time that a setpoint is logged with to the loops

    def row(self) -> Vec:
        """What a step takes, by `NAMES`."""
        return np.array(
            [self.mass_kg, *self.inertia_kgm2, self.lag_up_s, self.lag_down_s, self.delay_s, *self.trim_rad_s2]
        )

    @classmethod
    def of(cls, airframe: Airframe) -> Plant:
        body, motors = airframe.body, airframe.motors
        return cls(body.mass_kg, body.inertia_kgm2, motors.lag_up_s, motors.lag_down_s)

    def applied(self, airframe: Airframe) -> Airframe:
        """The airframe with these numbers. It has no delay and no trim."""
        changed = msgspec.structs.replace
        return changed(
            airframe,
            body=changed(airframe.body, mass_kg=self.mass_kg, inertia_kgm2=self.inertia_kgm2),
            motors=changed(airframe.motors, lag_up_s=self.lag_up_s, lag_down_s=self.lag_down_s),
        )


@dataclass(frozen=True)
class Unknown:
    """A number to fit, as a coordinate that may take any value between its limits: x of `by(plant, x)`.

    Those of `relative` are the logarithm of a factor on the number in the airframe file.
    """

    name: str
    unit: str
    meaning: str
    by: Callable[[Plant, float], Plant]
    value: Callable[[Plant], float]
    least: float
    most: float
    relative: bool = True
    nuisance: bool = False  # of this flight rather than of the aircraft: not written into a file
    step: float = 1e-3  # of finite differences


def _axis(values: Vec3, axis: int, value: float) -> Vec3:
    x, y, z = (value if i == axis else other for i, other in enumerate(values))
    return x, y, z


def _inertia(axis: int) -> Unknown:
    name = "xyz"[axis]
    return Unknown(
        f"inertia_{name}",
        "kg m2",
        f"moment of inertia about {name}",
        lambda p, x: replace(p, inertia_kgm2=_axis(p.inertia_kgm2, axis, p.inertia_kgm2[axis] * float(np.exp(x)))),
        lambda p: p.inertia_kgm2[axis],
        -3.0,
        3.0,
    )


def _trim(axis: int) -> Unknown:
    name = "xyz"[axis]
    return Unknown(
        f"trim_{name}",
        "rad/s2",
        f"constant angular acceleration about {name}",
        lambda p, x: replace(p, trim_rad_s2=_axis(p.trim_rad_s2, axis, x)),
        lambda p: p.trim_rad_s2[axis],
        -20.0,
        20.0,
        relative=False,
        nuisance=True,
        step=1e-2,
    )


UNKNOWNS: tuple[Unknown, ...] = (
    Unknown(
        "mass",
        "kg",
        "mass",
        lambda p, x: replace(p, mass_kg=p.mass_kg * float(np.exp(x))),
        lambda p: p.mass_kg,
        -2.0,
        2.0,
    ),
    *(_inertia(axis) for axis in range(3)),
    Unknown(
        "lag",
        "s",
        "time constant of the motors when they spin up; that of spinning down keeps its ratio",
        lambda p, x: replace(p, lag_up_s=p.lag_up_s * float(np.exp(x)), lag_down_s=p.lag_down_s * float(np.exp(x))),
        lambda p: p.lag_up_s,
        -3.0,
        3.0,
        step=1e-2,
    ),
    Unknown(
        "delay",
        "s",
        "delay from the control law, or the recorded pulse, to the motors",
        lambda p, x: replace(p, delay_s=x),
        lambda p: p.delay_s,
        0.0,
        DELAY_MOST_S - 0.01,
        relative=False,
        step=2e-3,
    ),
    *(_trim(axis) for axis in range(3)),
    Unknown(
        "setpoint_delay",
        "s",
        "time from a logged setpoint to the loops: sampling and holding, at the times that the log has",
        lambda p, x: replace(p, setpoint_delay_s=x),
        lambda p: p.setpoint_delay_s,
        -0.05,
        0.05,
        relative=False,
        nuisance=True,
        step=1e-3,
    ),
)
BY_NAME = {unknown.name: unknown for unknown in UNKNOWNS}
