"""Landing by the companion: the states of `landing_states` flown by offboard setpoints, over a pad that may drive.

    LEAD ─▶ FLY ─▶ OVER            LEAD streams setpoints and requests the mode; OVER commands nothing any more

A setpoint is a position with a velocity. A position alone would trail a pad by v / MPC_XY_P, so the pad's velocity is
fed forward. Over the pad the velocity also carries a stiffer hold than the autopilot's own position loop, which lets
gusts move a hovering aircraft by decimetres:

    v = v_pad + K_POS e + K_INT ∫ e dt + K_VEL (v_pad - v_own),      e from the aircraft to the pad, limited

One step is a pure function of what is known; `position_target` and `command` make MAVLink of its results. It needs
LOCAL_POSITION_NED at 30 Hz or more, and steps at 20 Hz or more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.frames import Vec3, ned_from_enu
from aeroloop.perception import landing_states
from aeroloop.perception.landing_filter import PadEstimate
from aeroloop.perception.landing_states import XY, LandingSettings, Memory, Seen, State

TYPE_MASK = 3520
"""Position and velocity; acceleration, yaw and yaw rate are ignored."""
PX4_OFFBOARD, PX4_HOLD = (6, 0), (4, 3)
"""Main and sub mode."""
LONGEST_STEP_S = 0.1
LANDED_M = 0.035
"""Height that the states have for an aircraft which has landed."""


@dataclass(frozen=True, slots=True)
class OffboardSettings:
    """Lengths in m, speeds in m/s, times in s."""

    without: Literal["land", "hold"] = "land"  # when the pad is not found
    lead_s: float = 1.0  # setpoints before the mode is requested
    mode_s: float = 10.0  # the mode not entered for so long: give up
    ask_s: float = 1.0  # between two requests
    reach_m: float = 2.0  # a farther position is approached with setpoints at this distance
    reach_z_m: float = 0.5  # the setpoint's height is at most this far from the aircraft's
    near_m: float = 0.3  # larger errors count as this in the stiffer hold
    k_pos: float = 3.5  # 1/s
    k_int: float = 2.5  # 1/s2
    k_vel: float = 1.2
    integral_m_s: float = 1.0
    soft_stop: float = 1.5  # 1/s: sink rate for each m above the height at which the descent waits
    rest_height_m: float = 0.055  # of the aircraft's origin when it stands on the ground: the iris
    landing: LandingSettings = field(default_factory=LandingSettings)


class Phase(Enum):
    LEAD = "lead"
    FLY = "fly"
    OVER = "over"


class Outcome(Enum):
    LANDED = "landed"
    GIVEN_UP = "given up"
    REFUSED = "mode refused"
    TAKEN_OVER = "taken over"  # the autopilot left the mode: by a pilot, or by a failsafe


class Request(Enum):
    OFFBOARD = "offboard"
    DISARM = "disarm"
    LAND = "land"
    HOLD = "hold"


class Own(NamedTuple):
    """The aircraft as its autopilot says."""

    t_s: float  # of the position
    pos_W: Vec3  # LOCAL_POSITION_NED, east north up
    vel_W: Vec3
    armed: bool
    offboard: bool  # the mode
    landed: bool  # EXTENDED_SYS_STATE


class Setpoint(NamedTuple):
    pos_W: Vec3
    vel_W: Vec3


class Flight(NamedTuple):
    """What one step hands to the next."""

    phase: Phase
    since_s: float
    t_s: float
    stay_W: Vec3  # position held before the mode; its height is that of the setpoint
    ground_z_W: float  # expected height of the ground, until the pad is known
    memory: Memory
    integral: XY = (0.0, 0.0)  # m/s
    asked_s: float = -math.inf
    outcome: Outcome | None = None


class Step(NamedTuple):
    flight: Flight
    setpoint: Setpoint | None
    request: Request | None


def begin(t_s: float, own: Own, expected_W: XY, ground_z_W: float) -> Flight:
    """`expected_W`: where the pad should be, in the autopilot's local frame."""
    return Flight(Phase.LEAD, t_s, t_s, own.pos_W, ground_z_W, landing_states.begin(t_s, expected_W))


def step(
    flight: Flight,
    t_s: float,
    own: Own,
    pad: PadEstimate | None,
    frames: tuple[bool, ...],
    settings: OffboardSettings,
) -> Step:
    """`frames`: whether the pad was seen in the last frames, newest last. Nothing is commanded for a time that goes
    back, or without a finite position."""
    known = all(map(math.isfinite, (t_s, own.t_s, *own.pos_W, *own.vel_W)))
    if flight.phase is Phase.OVER or not known or t_s < flight.t_s:
        return Step(flight, None, None)
    dt_s = min(LONGEST_STEP_S, t_s - flight.t_s)
    flight = flight._replace(t_s=t_s)
    if flight.phase is Phase.LEAD:
        return _lead(flight, own, settings)
    return _fly(flight, dt_s, _moved(own, t_s), pad, frames, settings)


def _moved(own: Own, t_s: float) -> Own:
    """At this time, as far as its velocity says."""
    ahead_s = max(0.0, min(LONGEST_STEP_S, t_s - own.t_s))
    (x, y, z), (vx, vy, vz) = own.pos_W, own.vel_W
    return own._replace(t_s=t_s, pos_W=(x + vx * ahead_s, y + vy * ahead_s, z + vz * ahead_s))


def _lead(flight: Flight, own: Own, settings: OffboardSettings) -> Step:
    waited_s = flight.t_s - flight.since_s
    if own.offboard and waited_s >= settings.lead_s:
        memory = flight.memory._replace(since_s=flight.t_s)
        flight = flight._replace(phase=Phase.FLY, since_s=flight.t_s, memory=memory, asked_s=-math.inf)
    elif waited_s > settings.lead_s + settings.mode_s:
        return Step(_over(flight, Outcome.REFUSED), None, None)
    stay = Setpoint(flight.stay_W, (0.0, 0.0, 0.0))
    return _asking(flight, stay, Request.OFFBOARD if waited_s >= settings.lead_s else None, settings)


def _fly(
    flight: Flight, dt_s: float, own: Own, pad: PadEstimate | None, frames: tuple[bool, ...], settings: OffboardSettings
) -> Step:
    given_up = flight.memory.state is State.GIVEN_UP
    if not own.armed:
        return Step(_over(flight, Outcome.GIVEN_UP if given_up else Outcome.LANDED), None, None)
    if not own.offboard:
        return Step(_over(flight, Outcome.GIVEN_UP if given_up else Outcome.TAKEN_OVER), None, None)
    t_s = flight.t_s
    pad_W = None if pad is None else pad.at(t_s)
    pad_vel: XY = (0.0, 0.0) if pad is None else pad.vel_W
    ground_z = flight.ground_z_W if pad_W is None else pad_W[2]
    height_m = own.pos_W[2] - ground_z - settings.rest_height_m + LANDED_M
    seen = Seen(
        t_s=t_s,
        pos_W=own.pos_W[:2],
        speed_m_s=math.hypot(own.vel_W[0] - pad_vel[0], own.vel_W[1] - pad_vel[1]),
        height_m=height_m,
        pad_W=None if pad_W is None else pad_W[:2],
        unseen_s=math.inf if pad is None else t_s - pad.t_s,
        frames=frames,
        landed=own.landed,
        climb_m_s=own.vel_W[2],
    )
    memory, command = landing_states.step(flight.memory, seen, settings.landing)
    climb_m_s = command.climb_m_s
    if memory.state is State.DESCEND:
        climb_m_s = max(climb_m_s, min(0.0, -settings.soft_stop * (height_m - settings.landing.wait_m)))
    flight = flight._replace(memory=memory)
    flight, setpoint = _setpoint(flight, dt_s, own, command.target_W, pad_vel, climb_m_s, settings)
    request = None
    if memory.state is State.DONE:
        request = Request.DISARM
    elif memory.state is State.GIVEN_UP:
        request = Request.LAND if settings.without == "land" else Request.HOLD
    return _asking(flight, setpoint, request, settings)


def _setpoint(
    flight: Flight,
    dt_s: float,
    own: Own,
    target_W: XY,
    pad_vel: XY,
    climb_m_s: float,
    settings: OffboardSettings,
) -> tuple[Flight, Setpoint]:
    x, y, z = own.pos_W
    error = target_W[0] - x, target_W[1] - y
    over_pad = flight.memory.state in (State.APPROACH, State.DESCEND, State.LAND, State.ABORT)
    vel: XY = (0.0, 0.0)
    integral = flight.integral
    if over_pad:
        ex, ey = _limited(error, settings.near_m)
        lag = pad_vel[0] - own.vel_W[0], pad_vel[1] - own.vel_W[1]
        if math.hypot(*error) < settings.near_m:
            grown = integral[0] + settings.k_int * ex * dt_s, integral[1] + settings.k_int * ey * dt_s
            integral = _limited(grown, settings.integral_m_s)
            vel = (
                pad_vel[0] + settings.k_pos * ex + settings.k_vel * lag[0] + integral[0],
                pad_vel[1] + settings.k_pos * ey + settings.k_vel * lag[1] + integral[1],
            )
        else:
            vel = pad_vel
    reach = _limited(error, settings.reach_m)
    height = flight.stay_W[2] + climb_m_s * dt_s
    height = max(z - settings.reach_z_m, min(z + settings.reach_z_m, height))
    place: Vec3 = (x + reach[0], y + reach[1], height)
    return flight._replace(stay_W=place, integral=integral), Setpoint(place, (*vel, climb_m_s))


def _limited(vector: XY, most: float) -> XY:
    length = math.hypot(*vector)
    scale = min(1.0, most / length) if length > 0.0 else 1.0
    return vector[0] * scale, vector[1] * scale


def _over(flight: Flight, outcome: Outcome) -> Flight:
    return flight._replace(phase=Phase.OVER, since_s=flight.t_s, outcome=outcome)


def _asking(flight: Flight, setpoint: Setpoint, request: Request | None, settings: OffboardSettings) -> Step:
    """A request is repeated until the autopilot shows its effect: a message may be lost."""
    if request is None or flight.t_s - flight.asked_s < settings.ask_s:
        return Step(flight, setpoint, None)
    return Step(flight._replace(asked_s=flight.t_s), setpoint, request)


# MAVLink.


def position_target(t_s: float, setpoint: Setpoint, system: int = 1, component: int = 1) -> Any:
    """SET_POSITION_TARGET_LOCAL_NED; `t_s` since the autopilot's boot."""
    place, velocity = ned_from_enu(setpoint.pos_W), ned_from_enu(setpoint.vel_W)
    frame = dialect.MAV_FRAME_LOCAL_NED
    return dialect.MAVLink_set_position_target_local_ned_message(
        round(1000 * t_s) & 0xFFFFFFFF, system, component, frame, TYPE_MASK, *place, *velocity, *(0.0,) * 5
    )


def command(request: Request, system: int = 1, component: int = 1) -> Any:
    """COMMAND_LONG. A custom mode is PX4's."""
    unset = math.nan
    number, params = {
        Request.OFFBOARD: (dialect.MAV_CMD_DO_SET_MODE, (1.0, *map(float, PX4_OFFBOARD), 0.0, 0.0, 0.0, 0.0)),
        Request.HOLD: (dialect.MAV_CMD_DO_SET_MODE, (1.0, *map(float, PX4_HOLD), 0.0, 0.0, 0.0, 0.0)),
        Request.DISARM: (dialect.MAV_CMD_COMPONENT_ARM_DISARM, (0.0,) * 7),
        Request.LAND: (dialect.MAV_CMD_NAV_LAND, (0.0, 0.0, 0.0, unset, unset, unset, unset)),
    }[request]
    return dialect.MAVLink_command_long_message(system, component, number, 0, *params)
