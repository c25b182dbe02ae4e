"""Landings of the real virtual Pixhawk in simulated flight, by a companion whose camera is the detector's error model:
true geometry with noise and a wrong attitude, in the autopilot's own local frame, late as a camera is.

`trial(seed)` draws what differs between landings: the side of the wind, the GNSS bias, the attitude's error. Wind, GNSS
and camera have their own random streams, so the same seed has the same wind and bias with and without vision.
`landing_table.py` prints the table over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk import inline
from aeroloop.controllers.pixhawk.process import Aircraft
from aeroloop.controllers.pixhawk.types import FlightMode, Landed
from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.flight.inline import fly_inline
from aeroloop.perception.landing_filter import MOVING, FilterSettings, PadEstimate, sighting_sigma_m, update
from aeroloop.perception.landing_states import State
from aeroloop.perception.offboard_landing import (
    Flight,
    OffboardSettings,
    Own,
    begin,
    command,
    position_target,
    step,
)
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from aeroloop.recording.log import Log
from aeroloop.sim.loop import Craft

FRAME_NS = NS // 30
LATENCY_NS = 80_000_000
ATTITUDE_RAD = math.radians(0.3)
CAMERA_M = 0.02
"""Below the iris' origin; landed, it is 3.5 cm above the pad."""
FEET_B_M, FOOT_RADIUS_M = [(x, y, -0.045) for x in (-0.2, 0.2) for y in (-0.2, 0.2)], 0.01
HALF_VIEW = 0.5  # of the height: the camera's field of view
WIND_M_S, W20_M_S, BIAS_M = 4.0, 7.7, 0.6
TRIAL_LAND_S = 13.0
ARC_M = 5.0

Path = Callable[[float], Vec3]


class Trial(NamedTuple):
    seed: int
    wind_W: Vec3
    bias_W: Vec3  # of the GNSS

    def overrides(self) -> tuple[str, ...]:
        """Takes off to 6 m; the bias begins at 8 s."""
        wind, bias = ([round(value, 6) for value in vector] for vector in (self.wind_W, self.bias_W))
        return (
            f"world.wind.steady_W={wind}",
            f"world.wind.turbulence.w20_m_s={W20_M_S}",
            'pilot.commands=[{at_s=5.0,do="arm"},{at_s=5.5,do="takeoff",value=6.0}]',
            f'faults=[{{target="gnss",kind="bias",channel="position",value={bias},from_s=8.0}}]',
        )


def trial(seed: int) -> Trial:
    rng = np.random.default_rng([seed, 149])
    side = rng.uniform(-math.pi, math.pi)
    east, north, up = rng.normal(0.0, BIAS_M, 3).tolist()
    return Trial(seed, (WIND_M_S * math.cos(side), WIND_M_S * math.sin(side), 0.0), (east, north, up))


def resting(pad_W: Vec3) -> Path:
    return lambda t_s: pad_W


def arc(speed_m_s: float, radius_m: float, start_s: float) -> Path:
    """A pad that drives on a circle, through the origin at `start_s`."""

    def at(t_s: float) -> Vec3:
        angle = speed_m_s / radius_m * (t_s - start_s)
        return radius_m * math.sin(angle), radius_m * (1.0 - math.cos(angle)), 0.0

    return at


def touches(pos_W: Vec3, quat_WB: Quat) -> bool:
    """Whether a foot of the iris touches level ground."""
    w, x, y, z = quat_WB
    up_B = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    lowest_m = min(sum(a * b for a, b in zip(up_B, foot, strict=True)) for foot in FEET_B_M)
    return pos_W[2] + lowest_m - FOOT_RADIUS_M <= 1e-3


class Sighting(NamedTuple):
    t_ns: int  # of the image
    pad_W: Vec3  # in the autopilot's local frame
    height_m: float


class Camera:
    """`sees(t_s, height_m)`: whether the pad is in sight, besides the field of view."""

    def __init__(self, seed: int, pad: Path, sees: Callable[[float, float], bool]) -> None:
        self._rng = np.random.default_rng(seed)
        self._attitude = self._rng.normal(0.0, ATTITUDE_RAD, 2)
        self._pad, self._sees = pad, sees

    def look(self, t_ns: int, pos_W: Vec3, own_W: Vec3) -> Sighting | None:
        """From the true position and the autopilot's own."""
        pad_W = self._pad(t_ns / NS)
        height_m = pos_W[2] - CAMERA_M - pad_W[2]
        off_m = math.dist(pos_W[:2], pad_W[:2])
        if not (height_m > 0.04 and off_m < HALF_VIEW * height_m and self._sees(t_ns / NS, height_m)):
            return None
        lateral_m, vertical_m = sighting_sigma_m(height_m)
        noise = self._rng.standard_normal(3) * [lateral_m, lateral_m, vertical_m]
        tilted = (*(self._attitude * height_m), 0.0)
        x, y, z = (np.array(own_W) + np.subtract(pad_W, pos_W) + tilted + noise).tolist()
        return Sighting(t_ns, (x, y, z), height_m)


@dataclass
class Companion:
    """Commands the landing at `land_s` and sends LANDING_TARGET."""

    pad_W: Vec3 = (0.6, -0.4, 0.0)  # in the plant's frame
    sees: Callable[[float, float], bool] = lambda t_s, height_m: True
    frame: int = mavlink.MAV_FRAME_LOCAL_NED
    precision: int = 2
    seed: int = 1
    land_s: float = 11.0
    pad: Path | None = None  # instead of pad_W: it moves
    aircraft: list[Aircraft] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self) -> None:
        self.pad = self.pad or resting(self.pad_W)
        self._camera = Camera(self.seed, self.pad, self.sees)
        self._mav = mavlink.MAVLink(None, srcSystem=1, srcComponent=mavlink.MAV_COMP_ID_ONBOARD_COMPUTER)
        self._in = MavlinkIn(MavlinkCounters())
        self._next_ns = 0
        self._late: list[Sighting] = []
        self.landing = False
        self.stands_W: Vec3 = (math.nan, math.nan, math.nan)
        self.touched_s = self.off_m = self.touch_speed_m_s = math.nan
        """At the first contact with the ground, `off_m` from the pad."""

    def attend(self, fleet: Sequence[Craft]) -> str | None:
        (craft,) = fleet
        logic, t_ns, state = self.aircraft[0].pixhawk.logic, craft.vehicle.t_ns, craft.vehicle.state
        self.stands_W = state.pos_W
        if not self.landing and t_ns >= self.land_s * NS:
            self.landing = True
            self.begin(t_ns)
        if self.landing and math.isnan(self.touched_s) and touches(state.pos_W, state.quat_WB):
            assert self.pad is not None
            self.touched_s = t_ns / NS
            (x, y, _), (before_x, before_y, _) = self.pad(self.touched_s), self.pad(self.touched_s - 1e-3)
            self.off_m = math.dist(state.pos_W[:2], (x, y))
            self.touch_speed_m_s = math.dist(state.vel_W[:2], ((x - before_x) * 1e3, (y - before_y) * 1e3))
        if t_ns >= self._next_ns:
            self._next_ns += FRAME_NS
            if logic.estimate is not None:
                sighting = self._camera.look(t_ns, state.pos_W, logic.estimate.pos_W)
                self._late += [sighting] if sighting else []
        while self._late and self._late[0].t_ns + LATENCY_NS <= t_ns:
            self.take(self._late.pop(0), t_ns)
        self.step(t_ns)
        return "landed" if self.landing and not logic.doing[0] else None

    def begin(self, t_ns: int) -> None:
        land = (0.0, float(self.precision), 0.0, math.nan, math.nan, math.nan, math.nan)
        self.send(mavlink.MAVLink_command_long_message(1, 1, mavlink.MAV_CMD_NAV_LAND, 0, *land), t_ns)

    def take(self, sighting: Sighting, t_ns: int) -> None:
        east, north, up = sighting.pad_W
        place = (sighting.height_m, 0.0, 0.0, north, east, -up, [1, 0, 0, 0], 2, 1)
        target = mavlink.MAVLink_landing_target_message(sighting.t_ns // 1000, 0, self.frame, 0.0, 0.0, *place)
        self.sent += 1
        self.send(target, t_ns)

    def step(self, t_ns: int) -> None:
        """In every round."""

    def send(self, message: Any, t_ns: int) -> None:
        services = self.aircraft[0].pixhawk.services
        for frame in self._in.feed(message.pack(self._mav)):
            services.receive(0, frame, t_ns)

    def said(self, text: str) -> int:
        return sum(text in each for each in self.texts)


@dataclass
class OffboardCompanion(Companion):
    """Lands by offboard setpoints: one step for each frame, at its delivery. It knows the autopilot by telemetry of
    PX4's usual rates: position at 50 Hz, landed at 5 Hz, mode and armed at 1 Hz."""

    settings: OffboardSettings = field(default_factory=OffboardSettings)
    filtering: FilterSettings = MOVING
    until_disarmed: bool = True  # else the flight ends at the first contact
    flight: Flight | None = None
    states: list[State] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pad: PadEstimate | None = None
        self._frames: tuple[bool, ...] = ()
        self._told: dict[str, Any] = {}
        self._told_ns: dict[str, int] = {}
        self._step_ns = 0

    def _telemetry(self, name: str, period_ns: int, t_ns: int, value: Callable[[], Any]) -> Any:
        if t_ns >= self._told_ns.get(name, 0):
            self._told_ns[name] = t_ns + period_ns
            self._told[name] = value()
        return self._told[name]

    def _own(self, t_ns: int) -> Own | None:
        logic = self.aircraft[0].pixhawk.logic
        estimate = self._telemetry("position", NS // 50, t_ns, lambda: logic.estimate)
        landed = self._telemetry("landed", NS // 5, t_ns, lambda: logic.status.landed is Landed.ON_GROUND)
        armed, mode = self._telemetry("heartbeat", NS, t_ns, lambda: logic.doing[:2])
        if estimate is None:
            return None
        offboard = mode is FlightMode.OFFBOARD
        return Own(estimate.t_ns / NS, estimate.pos_W, estimate.vel_W, armed, offboard, landed)

    def begin(self, t_ns: int) -> None:
        own = self._own(t_ns)
        assert own is not None
        self.flight = begin(t_ns / NS, own, own.pos_W[:2], 0.0)

    def take(self, sighting: Sighting, t_ns: int) -> None:
        self._pad = update(self._pad, sighting.t_ns / NS, sighting.pad_W, sighting.height_m, self.filtering).estimate

    def step(self, t_ns: int) -> None:
        own = self._own(t_ns)
        if t_ns < self._step_ns or own is None:
            return
        self._step_ns += FRAME_NS
        seen = self._pad is not None and t_ns / NS - self._pad.t_s < (LATENCY_NS + 1.5 * FRAME_NS) / NS
        self._frames = (*self._frames, seen)[-8:]
        if self.flight is None:
            return
        t_s = t_ns / NS
        self.flight, setpoint, request = step(self.flight, t_s, own, self._pad, self._frames, self.settings)
        if not self.states or self.states[-1] is not self.flight.memory.state:
            self.states.append(self.flight.memory.state)
        if setpoint is not None:
            self.sent += 1
            self.send(position_target(t_s, setpoint), t_ns)
        if request is not None:
            self.send(command(request), t_ns)

    def attend(self, fleet: Sequence[Craft]) -> str | None:
        ended = super().attend(fleet)
        return "touched" if not self.until_disarmed and math.isfinite(self.touched_s) else ended


def fly(companion: Companion, *overrides: str) -> Log:
    """Takes off to 3 m; a bias of the GNSS begins at 8 s."""

    class Watched(Aircraft):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
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


class Touchdown(NamedTuple):
    """The end of one trial."""

    seed: int
    off_m: float
    speed_m_s: float  # over the pad, at the first contact
    time_s: float  # since the command to land
    by_vision: bool  # not given up on the way


def by_autopilot(seed: int, *overrides: str, vision: bool = True) -> Touchdown:
    """PRECLAND over a pad at the place of the take-off; without vision a normal landing there by GNSS."""
    companion = Companion((0.0, 0.0, 0.0), seed=seed, precision=2 if vision else 0, land_s=TRIAL_LAND_S)
    fly(companion, *trial(seed).overrides(), *overrides)
    time_s = companion.touched_s - TRIAL_LAND_S
    return Touchdown(
        seed, companion.off_m, companion.touch_speed_m_s, time_s, vision and not companion.said("landing here")
    )


def by_companion(
    seed: int, *overrides: str, speed_m_s: float = 0.0, settings: OffboardSettings | None = None
) -> Touchdown:
    """By offboard setpoints, over a pad at rest or one that drives on an arc of 5 m radius."""
    companion = OffboardCompanion(
        pad=arc(speed_m_s, ARC_M, TRIAL_LAND_S) if speed_m_s else resting((0.0, 0.0, 0.0)),
        seed=seed,
        land_s=TRIAL_LAND_S,
        settings=settings or OffboardSettings(),
        until_disarmed=False,
    )
    fly(companion, *trial(seed).overrides(), *overrides)
    assert companion.flight is not None
    by_vision = companion.flight.memory.state in (State.DESCEND, State.LAND)
    return Touchdown(seed, companion.off_m, companion.touch_speed_m_s, companion.touched_s - TRIAL_LAND_S, by_vision)


def rms_m(touchdowns: Sequence[Touchdown]) -> float:
    return math.sqrt(sum(each.off_m**2 for each in touchdowns) / len(touchdowns))
