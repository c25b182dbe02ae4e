"""Flights of the real virtual Pixhawk with a companion that sends LANDING_TARGET: the detector's error model on the
true geometry, in the autopilot's own local frame, late as a camera is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk import inline
from aeroloop.controllers.pixhawk.process import Aircraft
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.flight.inline import fly_inline
from aeroloop.perception.landing_filter import sighting_sigma_m
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from aeroloop.recording.log import Log
from aeroloop.sim.loop import Craft

FRAME_NS = NS // 30
LATENCY_NS = 80_000_000
ATTITUDE_RAD = math.radians(0.3)
FEET_M, CAMERA_M = 0.055, 0.02
"""Below the iris' origin; landed, the camera is 3.5 cm above the pad."""
LAND_NS = 11 * NS
HALF_VIEW = 0.5  # of the height: the camera's field of view


@dataclass
class Companion:
    """`sees(t_s, height_m)`: whether the pad is in sight, besides the camera's field of view."""

    pad_W: Vec3 = (0.6, -0.4, 0.0)  # in the plant's frame
    sees: Callable[[float, float], bool] = lambda t_s, height_m: True
    frame: int = mavlink.MAV_FRAME_LOCAL_NED
    precision: int = 2
    seed: int = 1
    aircraft: list[Aircraft] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._attitude = self._rng.normal(0.0, ATTITUDE_RAD, 2)
        self._mav = mavlink.MAVLink(None, srcSystem=1, srcComponent=mavlink.MAV_COMP_ID_ONBOARD_COMPUTER)
        self._in = MavlinkIn(MavlinkCounters())
        self._next_ns = 0
        self._late: list[tuple[int, Any]] = []
        self._landing = False
        self.touched_W: Vec3 = (math.nan, math.nan, math.nan)

    def attend(self, fleet: Sequence[Craft]) -> str | None:
        (craft,) = fleet
        pixhawk, t_ns, (x, y, z) = self.aircraft[0].pixhawk, craft.vehicle.t_ns, craft.vehicle.state.pos_W
        self.touched_W = (x, y, z)
        if t_ns >= LAND_NS and not self._landing:
            self._landing = True
            land = (
                mavlink.MAV_CMD_NAV_LAND,
                0,
                0.0,
                float(self.precision),
                0.0,
                math.nan,
                math.nan,
                math.nan,
                math.nan,
            )
            self._send(mavlink.MAVLink_command_long_message(1, 1, *land), t_ns)
        if t_ns >= self._next_ns:
            self._next_ns += FRAME_NS
            self._look((x, y, z), t_ns)
        while self._late and self._late[0][0] <= t_ns:
            self._send(self._late.pop(0)[1], t_ns)
        return "landed" if self._landing and not pixhawk.logic.doing[0] else None

    def _look(self, pos_W: Vec3, t_ns: int) -> None:
        estimate = self.aircraft[0].pixhawk.logic.estimate
        height_m = pos_W[2] - CAMERA_M - self.pad_W[2]
        off_m = math.dist(pos_W[:2], self.pad_W[:2])
        visible = height_m > 0.04 and off_m < HALF_VIEW * height_m
        if estimate is None or not visible or not self.sees(t_ns / NS, height_m):
            return
        lateral_m, vertical_m = sighting_sigma_m(height_m)
        noise = self._rng.standard_normal(3) * [lateral_m, lateral_m, vertical_m]
        tilted = (*(self._attitude * height_m), 0.0)
        east, north, up = np.array(estimate.pos_W) + np.subtract(self.pad_W, pos_W) + tilted + noise
        message = mavlink.MAVLink_landing_target_message(
            t_ns // 1000, 0, self.frame, 0.0, 0.0, height_m, 0.0, 0.0, north, east, -up, [1, 0, 0, 0], 2, 1
        )
        self._late.append((t_ns + LATENCY_NS, message))

    def _send(self, message: Any, t_ns: int) -> None:
        self.sent += message.get_type() == "LANDING_TARGET"
        services = self.aircraft[0].pixhawk.services
        for frame in self._in.feed(message.pack(self._mav)):
            services.receive(0, frame, t_ns)

    def said(self, text: str) -> int:
        return sum(text in each for each in self.texts)

    @property
    def off_m(self) -> float:
        """Where it stands, from the pad."""
        return math.dist(self.touched_W[:2], self.pad_W[:2])


def fly(companion: Companion, *overrides: str) -> Log:
    """Takes off to 3 m and is commanded to land at 11 s; a bias of the GNSS begins at 8 s."""

    class Watched(Aircraft):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            companion.aircraft.append(self)
            note = self.pixhawk.services.on_text

            def on_text(t_ns: int, severity: Any, text: str) -> None:
                companion.texts.append(text)
                note(t_ns, severity, text)

            self.pixhawk.services.on_text = on_text

    settings = (
        "duration_s=90.0",
        "checks=[]",
        'pilot.commands=[{at_s=5.0,do="arm"},{at_s=5.5,do="takeoff",value=3.0}]',
        'faults=[{target="gnss",kind="bias",channel="position",value=0.6,from_s=8.0}]',
        f"seed={companion.seed}",
        *overrides,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inline, "Aircraft", Watched)
        return fly_inline(load(find("quad-hover"), settings), attend=companion.attend).logs[0]
