"""What disturbs the robot from a time on: loads, payload, friction, a weak motor; encoder noise acts at all times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.families.rrr.robot import Robot

Kind = Literal["none", "load", "payload", "friction", "weak", "noise", "all"]
Joints = tuple[float, float, float]

CONSTANT_LOAD_Nm, SINE_LOAD_Nm, SINE_LOAD_HZ = -0.6, 0.4, 3.0
PAYLOAD: Joints = (1.0, 0.05, 0.0)
"""Mass (kg) and place on the platform (m)."""
MORE_COULOMB_Nm, MORE_VISCOUS_Nms = 0.25, 0.05
WEAK_SHARE = 0.5
NOISE_RAD = 1e-4
NOTHING: Joints = (0.0, 0.0, 0.0)


class Disturbance(Config, frozen=True):
    """What disturbs the robot."""

    kind: Annotated[
        Kind,
        note(
            "`load`: -0.6 N m on joint 1, 0.4 N m sin at 3 Hz on joint 2; `payload`: 1 kg at (50, 0) mm; `friction`: "
            "0.25 N m and 0.05 N m s more; `weak`: motor 1 gives half its torque; `noise`: 0.1 mrad white noise of the "
            "encoders, all the time; `all`: these five"
        ),
    ] = "none"
    start_s: Annotated[float, meta("s", "start of the disturbance; noise begins at 0", ge=0, le=86400)] = 2.0

    def has(self, kind: Kind) -> bool:
        return self.kind in (kind, "all")

    @property
    def encoder_noise_rad(self) -> float:
        return NOISE_RAD if self.has("noise") else 0.0


@dataclass(frozen=True)
class Acting:
    """What acts on the robot at a time."""

    load_Nm: Joints
    shares: Joints
    friction: tuple[float, float]  # dry (N m), viscous (N m s)
    payload: Joints  # mass (kg), place (m)


def acting(robot: Robot, disturbance: Disturbance, t_s: float) -> Acting:
    on = t_s >= disturbance.start_s
    load, shares, payload = NOTHING, (1.0, 1.0, 1.0), NOTHING
    dry, viscous = robot.coulomb_Nm, robot.viscous_Nms
    if on and disturbance.has("load"):
        load = (CONSTANT_LOAD_Nm, SINE_LOAD_Nm * math.sin(math.tau * SINE_LOAD_HZ * t_s), 0.0)
    if on and disturbance.has("payload"):
        payload = PAYLOAD
    if on and disturbance.has("friction"):
        dry, viscous = dry + MORE_COULOMB_Nm, viscous + MORE_VISCOUS_Nms
    if on and disturbance.has("weak"):
        shares = (WEAK_SHARE, 1.0, 1.0)
    return Acting(load, shares, (dry, viscous), payload)
