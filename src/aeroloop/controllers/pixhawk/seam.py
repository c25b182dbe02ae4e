"""The seam of the virtual Pixhawk: what its flight logic offers, and what those who speak MAVLink for it may ask."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NavEstimate, Origin, Setpoint


class FlightMode(IntEnum):
    MANUAL = 1  # sticks are attitude and thrust
    ALTITUDE = 2  # sticks are attitude and climb rate
    POSITION = 3  # sticks are velocity; centred, the aircraft stands in the air
    TAKEOFF = 4
    HOLD = 5
    MISSION = 6
    RETURN = 7
    LAND = 8


class Failsafe(IntEnum):
    """What went wrong; the greatest is the most urgent. What is done about it is the flight logic's."""

    NONE = 0
    LINK_LOST = 1  # no ground station and no sticks where they are needed
    BATTERY_LOW = 2
    POSITION_LOST = 3  # no satellites
    BATTERY_CRITICAL = 4
    ATTITUDE_LOST = 5


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
    """Why a request was not granted; a sentence for the pilot."""

    reason: str
    temporary: bool = True  # asking again later may help
    supported: bool = True


@dataclass(frozen=True, slots=True)
class MissionItem:
    """One item as it was uploaded, in degrees and metres; the numbers are MAVLink's (MAV_CMD, MAV_FRAME)."""

    command: int
    frame: int
    params: tuple[float, float, float, float]  # NaN where the sender left one open
    lat_deg: float
    lon_deg: float
    alt_m: float
    autocontinue: bool = True


@dataclass(frozen=True, slots=True)
class Sticks:
    """A pilot's hands: -1..1, thrust 0..1 (0.5 is the middle)."""

    roll: float  # to the right
    pitch: float  # nose down, forwards
    yaw: float  # to the right, clockwise from above
    thrust: float


class Battery(NamedTuple):
    voltage_V: float
    current_A: float
    remaining: float  # 0..1
    used_mAh: float


@dataclass(frozen=True, slots=True)
class SensorHealth:
    """Whether samples come and make sense; one entry for each bit of SYS_STATUS that we report."""

    imu: bool = False
    magnetometer: bool = False
    barometer: bool = False
    gnss: bool = False


class Status(NamedTuple):
    """All there is to tell of the aircraft at one time."""

    t_ns: int
    mode: FlightMode
    armed: bool
    landed: Landed
    failsafe: Failsafe
    battery: Battery
    health: SensorHealth
    estimate: NavEstimate | None
    origin: Origin | None
    home_W: Vec3 | None  # where it took off, in the local frame
    setpoint: Setpoint | None
    mission_current: int  # sequence number of the item that is flown, or would be
    mission_reached: int  # the last one reached; -1 for none
    mission_finished: bool
    ready_to_arm: bool


class Brain(Protocol):
    """The flight logic, as those who speak for it see it. Every request is answered at once: None means granted."""

    @property
    def status(self) -> Status: ...

    @property
    def mission(self) -> tuple[MissionItem, ...]: ...

    @property
    def mission_reached(self) -> int:
        """As in `status`, which costs more."""

    def arm(self, *, force: bool = False) -> Refusal | None: ...
    def disarm(self, *, force: bool = False) -> Refusal | None: ...
    def set_mode(self, mode: FlightMode) -> Refusal | None: ...
    def take_off(self, height_m: float | None) -> Refusal | None:
        """`height_m` above home; None for the parameter's."""

    def go_to(self, lat_deg: float, lon_deg: float, alt_m: float, yaw_rad: float | None) -> Refusal | None:
        """Hold there; altitude above mean sea level."""

    def set_mission(self, items: tuple[MissionItem, ...]) -> Refusal | None: ...
    def set_current(self, number: int) -> Refusal | None: ...
    def sticks(self, sticks: Sticks) -> None: ...
    def heard_ground(self) -> None:
        """A ground station's heartbeat came."""

    def take_texts(self) -> list[tuple[Severity, str]]:
        """What the pilot should read, since the last call; at most 50 characters each."""
