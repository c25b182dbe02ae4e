"""What a helicopter's board is sent once a control period: measured state, rotor speed, setpoint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import ADDING, Switch, Switched
from aeroloop.core.frames import Quat, Vec, Vec3, quat_product
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.helicopter import reference
from aeroloop.families.helicopter.faults import STATE_CHANNELS
from aeroloop.families.helicopter.scenario import HelicopterTables
from aeroloop.sensors import noise

Row = tuple[float, ...]
AXES = 3


class Instruments:
    """Each channel with its own errors and faults."""

    def __init__(self, tables: HelicopterTables, streams: noise.Streams, rotor_speed: Callable[[], float]) -> None:
        sensors, period_s = tables.sensors, tables.control.period_s
        self._reference, self._rotor_speed = tables.reference, rotor_speed
        self._channels = {
            name: noise.Channel(getattr(sensors, name), period_s, AXES, streams.child(name)) for name in STATE_CHANNELS
        }
        self._speed = noise.Channel(sensors.rotor_speed, period_s, 1, streams.child("rotor_speed"))
        self._added: dict[tuple[str, str], Vec] = {}
        self._whole: set[str] = set()
        self._last: Row | None = None

    def measure(self, state: RigidState) -> Row | None:
        """None while the state sensor is silent."""
        channels = self._channels
        pos_W = channels["position"].measure3(*state.pos_W, 1)
        vel_W = channels["velocity"].measure3(*state.vel_W, 1)
        quat_WB = turned(state.quat_WB, channels["attitude"].measure3(0.0, 0.0, 0.0, 1))
        rate_B = channels["rate"].measure3(*state.rate_B, 1)
        measured: Row = (*pos_W, *vel_W, *quat_WB, *rate_B)
        if "frozen" in self._whole:
            measured = self._last = self._last or measured
        speed = self._speed.measure1(self._rotor_speed(), 1)
        wanted = reference.at(self._reference, state.t_ns / NS)
        if "silent" in self._whole:
            return None
        setpoint = (*wanted.pos_W, *wanted.vel_W, *wanted.accel_W[:2], wanted.yaw_rad, wanted.yaw_rate_rad_s)
        return (*measured, speed, *setpoint)

    def switch(self, switch: Switch) -> Switched:
        """A fault of the measured state."""
        if switch.target != "state":
            raise ConfigError(f"{switch.target}: this helicopter has none; expected one of: state, rotor, servo")
        if switch.kind not in ADDING:
            (self._whole.add if switch.on else self._whole.discard)(switch.kind)
            self._last = None if switch.kind == "frozen" else self._last
            return Switched()
        name = switch.channel or next(iter(STATE_CHANNELS))
        if name not in STATE_CHANNELS:
            raise ConfigError(f"state: unknown channel {name!r}, expected one of: {', '.join(STATE_CHANNELS)}")
        self._added.pop((switch.kind, name), None)
        values: Row = ()
        if switch.on:
            values = switch.values if len(switch.values) == AXES else switch.values * AXES
            self._added[switch.kind, name] = np.array(values)
        none: Vec = np.zeros(AXES)
        bias, std = (self._added.get((kind, name), none) for kind in ADDING)
        self._channels[name].disturb(bias, std)
        return Switched(STATE_CHANNELS[name], values)


def turned(quat_WB: Quat, angle_B: Vec3) -> Quat:
    """By a small rotation vector in body axes."""
    x, y, z = angle_B
    return quat_product(quat_WB, (1.0, x / 2, y / 2, z / 2))
