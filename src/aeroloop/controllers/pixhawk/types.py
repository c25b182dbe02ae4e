"""Types shared by the flight logic and the MAVLink services of the virtual Pixhawk, and the interface between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple, Protocol

from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.signals import NavEstimate, Origin, Setpoint


class FlightMode(IntEnum):
    MANUAL = 1  # sticks command attitude and thrust
    ALTITUDE = 2  # sticks command attitude and climb rate
    POSITION = 3  # sticks command velocity; centred, the aircraft holds its position
    TAKEOFF = 4
    HOLD = 5
    MISSION = 6
    RETURN = 7
    LAND = 8
    OFFBOARD = 9  # setpoints streamed by a companion program
    PRECLAND = 10  # landing on a target that a companion program sees


class Failsafe(IntEnum):
    """Failsafe cause; the greatest is the most urgent. The reaction is decided by the flight logic."""

    NONE = 0
    LINK_LOST = 1  # no ground station, or no sticks or offboard setpoints where they are required
    BATTERY_LOW = 2
    POSITION_LOST = 3  # no satellites
    BATTERY_CRITICAL = 4
    ATTITUDE_LOST = 5
    UNSPECIFIED = 6  # reported by an external autopilot without a cause


class Landed(IntEnum):
    """MAVLink's MAV_LANDED_STATE."""

    UNKNOWN = 0
    ON_GROUND = 1
    IN_AIR = 2
    TAKEOFF = 3
    LANDING = 4


class Severity(IntEnum):
    """MAVLink's MAV_SEVERITY."""

    CRITICAL = 2
    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request was refused; a sentence for the pilot."""

    reason: str
    temporary: bool = True  # a later retry may succeed
    supported: bool = True


@dataclass(frozen=True, slots=True)
class MissionItem:
    """One item as uploaded, in degrees and metres; the numbers are MAVLink's (MAV_CMD, MAV_FRAME)."""

    command: int
    frame: int
    params: tuple[float, float, float, float]  # NaN: omitted by the sender
    lat_deg: float
    lon_deg: float
    alt_m: float
    autocontinue: bool = True


@dataclass(frozen=True, slots=True)
class Sticks:
    """Stick input: -1..1, thrust 0..1 (0.5 is the middle)."""

    roll: float  # to the right
    pitch: float  # nose down, forward
    yaw: float  # to the right, clockwise from above
    thrust: float


@dataclass(frozen=True, slots=True)
class PathTarget:
    """An offboard setpoint of position or velocity, from the origin; NaN: not given."""

    pos_W: Vec3
    vel_W: Vec3
    accel_W: Vec3
    yaw_rad: float
    yaw_rate_rad_s: float
    body: bool = False  # velocity and acceleration are forward, left and up relative to the heading

    def turned(self, yaw_rad: float) -> PathTarget:
        """Convert a target along the heading to world axes."""
        cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)

        def world(vec_B: Vec3) -> Vec3:
            ahead, left, up = vec_B
            return cos * ahead - sin * left, sin * ahead + cos * left, up

        return replace(self, vel_W=world(self.vel_W), accel_W=world(self.accel_W), body=False)


@dataclass(frozen=True, slots=True)
class AttitudeTarget:
    """An offboard setpoint of attitude, or of body rates, with thrust."""

    quat_WB: Quat | None  # None: by its rates
    rate_B: Vec3
    thrust_ratio: float  # 0..1


@dataclass(frozen=True, slots=True)
class LandingTarget:
    """Where a companion program saw the landing pad."""

    t_ns: int  # of the image, since boot
    pos_W: Vec3  # in the local frame


class Battery(NamedTuple):
    voltage_V: float
    current_A: float
    remaining: float  # 0..1
    used_mAh: float


@dataclass(frozen=True, slots=True)
class SensorHealth:
    """Whether valid samples are received; one entry for each bit of SYS_STATUS that is reported."""

    imu: bool = False
    magnetometer: bool = False
    barometer: bool = False
    gnss: bool = False


class Status(NamedTuple):
    """The whole state of the aircraft at one time."""

    t_ns: int
    mode: FlightMode
    armed: bool
    landed: Landed
    failsafe: Failsafe
    battery: Battery
    health: SensorHealth
    estimate: NavEstimate | None
    origin: Origin | None
    home_W: Vec3 | None  # take-off position, in the local frame
    setpoint: Setpoint | None
    mission_current: int  # sequence number of the current item
    mission_reached: int  # the last one reached; -1: none
    mission_finished: bool
    ready_to_arm: bool


class AutopilotInterface(Protocol):
    """The flight logic's interface for the MAVLink services. Every request is answered at once: None means accepted."""

    @property
    def status(self) -> Status: ...

    @property
    def mission(self) -> tuple[MissionItem, ...]: ...

    @property
    def mission_reached(self) -> int:
        """As in `status`, which is slower."""

    def arm(self, *, force: bool = False) -> Refusal | None: ...
    def disarm(self, *, force: bool = False) -> Refusal | None: ...
    def set_mode(self, mode: FlightMode) -> Refusal | None: ...
    def take_off(self, height_m: float | None) -> Refusal | None:
        """`height_m` above home; None: the parameter's."""

    def go_to(self, lat_deg: float, lon_deg: float, alt_m: float, yaw_rad: float | None) -> Refusal | None:
        """Hold there; altitude above mean sea level."""

    def set_mission(self, items: tuple[MissionItem, ...]) -> Refusal | None: ...
    def set_current(self, number: int) -> Refusal | None: ...
    def sticks(self, sticks: Sticks) -> None: ...
    def offboard(self, target: PathTarget | AttitudeTarget) -> Refusal | None:
        """A setpoint of the stream for mode OFFBOARD."""

    def land(self, precision: int) -> Refusal | None:
        """Parameter 2 of MAV_CMD_NAV_LAND: 0 off, 1 opportunistic, 2 required."""

    def landing_target(self, target: LandingTarget) -> Refusal | None: ...

    def note_ground_station(self) -> None:
        """A heartbeat of a ground station was received."""

    def take_texts(self) -> list[tuple[Severity, str]]:
        """Texts for the pilot since the last call; at most 50 characters each."""
