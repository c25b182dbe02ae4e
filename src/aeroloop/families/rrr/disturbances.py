"""What disturbs the robot from a time on: loads, payload, friction, a weak motor; encoder noise acts at all times.

`[disturbance]` sets it for a whole run; faults, planned or switched by hand, add to it. Plant and report compute what
acts with the same function, the report from the rows of the log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.faults import sine, three
from aeroloop.families.rrr.robot import Robot

Kind = Literal["none", "load", "payload", "friction", "weak", "noise", "all"]
Joints = tuple[float, float, float]

CONSTANT_LOAD_Nm, SINE_LOAD_Nm, SINE_LOAD_HZ = -0.6, 0.4, 3.0
PAYLOAD: Joints = (1.0, 0.05, 0.0)
"""Mass (kg) and place on the platform (m)."""
MORE_COULOMB_Nm, MORE_VISCOUS_Nms = 0.25, 0.05
VISCOUS_S = MORE_VISCOUS_Nms / MORE_COULOMB_Nm
"""Viscous friction that a fault adds, by the dry friction that it adds."""
USUAL_WAVE: Joints = (SINE_LOAD_Nm, SINE_LOAD_HZ, 0.0)
"""Amplitude, frequency and phase of a fault's sinusoidal load."""
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


Wave = tuple[Joints, float]
"""A sinusoidal load (amplitude, frequency, phase), and the time of its start (s)."""


@dataclass(frozen=True)
class Added:
    """What faults add to the scenario's disturbance."""

    load_Nm: Joints = NOTHING
    waves: tuple[Wave, Wave, Wave] = ((NOTHING, 0.0),) * 3
    dry_Nm: float = 0.0
    payload: Joints = NOTHING  # in place of the scenario's

    def after(self, kind: str, joint: int, values: tuple[float, ...], t_s: float) -> Added:
        """After a fault of this kind was switched at a time; without values, switched off."""
        match kind:
            case "load":
                return replace(self, load_Nm=_with(self.load_Nm, joint, values[0] if values else 0.0))
            case "load_sine":
                wave = three(values, USUAL_WAVE) if values else NOTHING
                return replace(self, waves=_with(self.waves, joint, (wave, t_s if values else 0.0)))
            case "friction":
                return replace(self, dry_Nm=values[0] if values else 0.0)
            case "payload":
                return replace(self, payload=three(values, PAYLOAD) if values else NOTHING)
        return self


def _with(values: Any, index: int, value: Any) -> Any:
    return tuple(value if i == index else old for i, old in enumerate(values))


NOTHING_ADDED = Added()


def acting(robot: Robot, disturbance: Disturbance, t_s: float, added: Added = NOTHING_ADDED) -> Acting:
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
    if added is not NOTHING_ADDED:
        a, b, c = (
            usual + constant + (sine(wave, t_s - since_s) if wave[0] else 0.0)
            for usual, constant, (wave, since_s) in zip(load, added.load_Nm, added.waves, strict=True)
        )
        load, payload = (a, b, c), added.payload if added.payload[0] else payload
        dry, viscous = dry + added.dry_Nm, viscous + VISCOUS_S * added.dry_Nm
    return Acting(load, shares, (dry, viscous), payload)
