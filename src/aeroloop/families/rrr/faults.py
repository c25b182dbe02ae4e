"""Faults of the robot that can be switched in a run: of its motors, its joints, its platform and its encoders."""

from __future__ import annotations

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import Offer, of_sensor
from aeroloop.core.faults import Switch, Switched, three
from aeroloop.core.frames import Vec
from aeroloop.families.rrr.disturbances import (
    NOTHING_ADDED,
    PAYLOAD,
    SINE_LOAD_HZ,
    USUAL_WAVE,
    VISCOUS_S,
    WEAK_SHARE,
    Added,
    CONSTANT_LOAD_Nm,
    MORE_COULOMB_Nm,
    SINE_LOAD_Nm,
)
from aeroloop.families.rrr.robot import LEGS
from aeroloop.families.rrr.scenario import RobotScenario
from aeroloop.sensors import noise

MOTORS = tuple(f"motor{i}" for i in range(1, LEGS + 1))
JOINTS = tuple(f"joint{i}" for i in range(1, LEGS + 1))
USUAL = {"load_sine": USUAL_WAVE, "payload": PAYLOAD}
"""Of faults with three numbers."""


def offers(scenario: RobotScenario) -> tuple[Offer, ...]:
    of_motors = (
        ("dead", "", 0.0, "no torque"),
        ("stuck", "", 0.0, "torque stays as it is now"),
        ("weak", "-", WEAK_SHARE, "remaining fraction of its torque"),
    )
    of_joints = (
        ("load", "N m", CONSTANT_LOAD_Nm, 1, "additional torque"),
        ("load_sine", "N m, Hz, rad", SINE_LOAD_Nm, 3, f"torque that oscillates, at {SINE_LOAD_HZ:g} Hz unless given"),
    )
    more = f"more dry friction; viscous friction rises by {VISCOUS_S:g} s times that"
    x_mm, y_mm = (1e3 * place for place in PAYLOAD[1:])
    return (
        *(
            Offer("rotor", kind, (motor,), unit, value, 1 if unit else 0, f"{motor}: {words}")
            for motor in MOTORS
            for kind, unit, value, words in of_motors
        ),
        *(
            Offer("joint", kind, (joint,), unit, value, axes, f"{joint}: {words}")
            for joint in JOINTS
            for kind, unit, value, axes, words in of_joints
        ),
        Offer("joint", "friction", (), "N m", MORE_COULOMB_Nm, 1, f"all joints: {more}"),
        Offer(
            "platform",
            "payload",
            (),
            "kg, m, m",
            PAYLOAD[0],
            3,
            f"platform: a mass at ({x_mm:g}, {y_mm:g}) mm unless given",
        ),
        *of_sensor("encoder"),
    )


class BodyFaults:
    """Loads, friction and payload that are switched on now."""

    def __init__(self) -> None:
        self.added: Added = NOTHING_ADDED

    def switch(self, switch: Switch, t_s: float) -> Switched:
        values = switch.values if switch.on else ()
        if values and switch.kind in USUAL:
            values = three(values, USUAL[switch.kind])
        joint = _joint(switch)
        added = self.added.after(switch.kind, joint, values, t_s)
        self.added = NOTHING_ADDED if added == NOTHING_ADDED else added
        return Switched(joint, values)


def _joint(switch: Switch) -> int:
    name = switch.channel or JOINTS[0]
    if name not in JOINTS:
        raise ConfigError(f"{switch.target}: unknown channel {name!r}, expected one of: {', '.join(JOINTS)}")
    return JOINTS.index(name)


class EncoderFaults:
    """Bias and noise in addition to the encoders' own errors, and values that do not change."""

    def __init__(self, channel: noise.Channel) -> None:
        self._channel = channel
        self._added: dict[str, Vec] = {}
        self.frozen = False

    def switch(self, switch: Switch) -> Switched:
        if switch.channel not in ("", "angle"):
            raise ConfigError(f"encoder: unknown channel {switch.channel!r}, expected: angle")
        if switch.kind == "frozen":
            self.frozen = switch.on
            return Switched()
        self._added.pop(switch.kind, None)
        values: tuple[float, ...] = ()
        if switch.on:
            values = switch.values if len(switch.values) == LEGS else switch.values * LEGS
            self._added[switch.kind] = np.array(values)
        none: Vec = np.zeros(LEGS)
        self._channel.disturb(self._added.get("bias", none), self._added.get("noise", none))
        return Switched(0, values)
