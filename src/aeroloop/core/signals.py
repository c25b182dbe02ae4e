"""Signals between stages: frozen, typed, SI.

Every signal of the tilt-rotor loop is here, so that stages do not import each other. Signals created in every step are
named tuples: their creation takes a third of the time of a frozen dataclass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from aeroloop.core.frames import Quat, Vec3

NS = 1_000_000_000
"""Simulated time is an integer number of nanoseconds, so that sums are exact; logs have seconds."""

new_tuple = tuple.__new__
"""Creates a NamedTuple in half the time of its own constructor, which is a Python function; for signals created in
every step."""


class Effort(NamedTuple):
    """The forces and torques that the actuators deliver to the airframe."""

    thrust_N: tuple[float, float]  # right, left
    tilt_torque_Nm: tuple[float, float]  # right, left
    saturated: bool


class Truth(NamedTuple):
    """True state of the aircraft."""

    t_ns: int
    pos_W: Vec3  # m, origin of the body frame
    quat_WB: Quat
    vel_W: Vec3  # m/s
    rate_B: Vec3  # rad/s
    tilt_rad: tuple[float, float]  # right, left
    tilt_rate_rad_s: tuple[float, float]


class RigidState(NamedTuple):
    """True state of a rigid aircraft."""

    t_ns: int
    pos_W: Vec3  # m, centre of mass
    quat_WB: Quat
    vel_W: Vec3  # m/s
    rate_B: Vec3  # rad/s
    accel_W: Vec3  # m/s2, coordinate acceleration: zero at rest, -g in free fall


class Air(NamedTuple):
    """The air at the aircraft's position."""

    wind_W: Vec3  # m/s, towards
    pressure_Pa: float
    temperature_K: float
    density_kg_m3: float


class Place(NamedTuple):
    """The earth at the aircraft's position."""

    lat_deg: float
    lon_deg: float
    alt_m: float  # above mean sea level
    gravity_m_s2: float
    field_W_T: Vec3  # tesla, east north up


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of an autopilot's local frame on the earth."""

    lat_deg: float
    lon_deg: float
    alt_m: float  # above mean sea level


class NavEstimate(NamedTuple):
    """An autopilot's estimate of position and motion, from its sensors alone."""

    t_ns: int
    pos_W: Vec3  # m, from its origin: its first known position
    vel_W: Vec3  # m/s
    quat_WB: Quat
    rate_B: Vec3  # rad/s, with the gyro's bias removed
    tilt_std_rad: float  # standard deviations
    yaw_std_rad: float
    pos_std_m: float  # horizontal
    height_std_m: float
    attitude_ok: bool
    height_ok: bool
    position_ok: bool  # horizontal position and velocity; becomes false some time after the last fix


class Setpoint(NamedTuple):
    """Setpoint of an autopilot's control law; the two holds select which fields apply."""

    pos_W: Vec3  # m, from the autopilot's origin
    vel_W: Vec3  # m/s, fed forward
    accel_W: Vec3  # m/s2, fed forward
    yaw_rad: float
    roll_rad: float  # unless hold_xy
    pitch_rad: float  # unless hold_xy
    thrust_ratio: float  # 0..1 of the thrust of all rotors, unless hold_z
    hold_xy: bool  # fly to pos_W east and north
    hold_z: bool  # fly to pos_W up
    yaw_rate_rad_s: float = 0.0  # fed forward

    def row(self) -> tuple[float, ...]:
        holds = float(self.hold_xy), float(self.hold_z)
        angles = self.yaw_rad, self.roll_rad, self.pitch_rad, self.thrust_ratio
        return (*self.pos_W, *self.vel_W, *self.accel_W, *angles, *holds, self.yaw_rate_rad_s)


SENSOR_COUNT = 16
"""x, y, z, roll, pitch, yaw, tilt right, tilt left (m, rad), then their time derivatives."""

COMMAND_COUNT = 4
"""thrust right, thrust left (N), tilt torque right, tilt torque left (N m)."""

Sensors = tuple[float, ...]  # SENSOR_COUNT values
Command = tuple[float, ...]  # COMMAND_COUNT values


@dataclass(frozen=True, slots=True)
class Reference:
    """Setpoint of position and velocity."""

    t_ms: int  # simulated time at which it applies
    pos_W: Vec3  # m
    yaw_rad: float
    vel_W: Vec3  # m/s
    yaw_rate_rad_s: float

    def row(self) -> tuple[float, ...]:
        return (*self.pos_W, self.yaw_rad, *self.vel_W, self.yaw_rate_rad_s)


REFERENCE_COUNT = 8


class Mode(IntEnum):
    """State of the board."""

    WAITING = 0  # for its first sensor sample
    FLYING = 1  # every cycle has its sensors
    HOLDING = 2  # no sensors: the last command is held
    SAFE = 3  # no sensors for too long: the safe command is sent


WATCHDOG_PERIODS = 4
"""A board with our firmware whose tasks hang for this many control periods restarts."""


class Event(IntEnum):
    """Events for log and report; the meaning of the value is given for each."""

    STARTED = 1  # the board's first valid sensor sample; value: cycle
    SENSORS_LOST = 2  # no answer within its cycle; value: cycle
    SAFE_COMMAND = 3  # sensors lost for longer than the hold time; value: seconds without sensors
    SENSORS_BACK = 4  # value: seconds without sensors
    REFERENCE_LOST = 5  # holding the last one; value: seconds without a reference
    REFERENCE_BACK = 6  # value: seconds without a reference
    IMPLAUSIBLE_SENSORS = 7  # value: index of the first offending element
    IMPLAUSIBLE_COMMAND = 8  # value: index of the first offending element
    DEADLINE_MISSED = 9  # value: periods lost
    DIVERGED = 10  # out of bounds, upside down or a pod turned right round; value: distance from the origin in m
    GROUND_CONTACT = 11  # value: vertical speed in m/s
    LAW_NOT_FINITE = 12  # the control law returned NaN or infinity; value: index of the element, or count so far
    OVERRUN = 13  # the board's work of one cycle took longer than its period; value: seconds it took
    LATE_CYCLE = 14  # a request was late by half a period or more; value: seconds since the previous one
    BOARD_RESTARTED = 15  # the board sent its start message in flight; value: signals.ResetCause
    MESSAGES_LOST = 16  # events or statistics of the board were lost; value: number lost
    AUTOPILOT_ANSWERED = 17  # its first actuators were received; value: 1 in lockstep, 0 without
    AUTOPILOT_RESTARTED = 18  # it sent its first message again in flight; value: count so far
    AUTOPILOT_LEFT = 19  # its connection ended, or without lockstep its actuators; value: count so far
    AUTOPILOT_BACK = 20  # value: seconds without it
    ACTUATORS_REFUSED = 21  # NaN, or far out of range; value: count so far
    ARMED = 22  # value: 1 if the pilot forced it
    DISARMED = 23  # the motors have stopped
    MODE_CHANGED = 24  # value: controllers.pixhawk.types.FlightMode
    FAILSAFE = 25  # value: controllers.pixhawk.types.Failsafe
    WAYPOINT_REACHED = 26  # value: its number in the mission
    COMMAND_REFUSED = 27  # the pilot aborted a command; value: number of the command
    ROTOR_LOST = 28  # the autopilot continues without a rotor that has no thrust; value: its number from 1
    COMMAND_SENT = 29  # the pilot's command to an external autopilot was sent first; value: number of the command
    COMMAND_ACCEPTED = 30  # it was acknowledged; value: number of the command
    LANDING_TARGETS_REFUSED = 31  # the autopilot did not use a LANDING_TARGET; value: count so far
    COLLISION = 32  # value: number of the object in the world, the first is 0; -1 - n: of aircraft n of the flight
    LAW_FALLBACK = 33  # the law found no solution; value: 1 last good command held, 2 fallback law, 0 solved again
    BOARD_SELECTED = 34  # another board flies; value: its number from 1, 0 the mid-value of several
    BOARD_OUT = 35  # a board failed or was voted out; value: its number from 1
    BOARD_IN = 36  # it is aligned and may fly again; value: its number from 1
    BOARDS_DISAGREE = 37  # two boards differ by more than the band, the faulty one is unknown; value: 1 yes, 0 no more
    NO_BOARD = 38  # no board has a command, the last one is held; value: 1 yes, 0 no more
    TOUCHDOWN_LOAD = 39  # after a touchdown on springs; value: largest force of the feet over the weight


class ResetCause(IntEnum):
    """Reason of the board's last start, from its start message."""

    POWER_ON = 0  # or the emulator started
    WATCHDOG = 1  # a task hung and the watchdog expired
    COMMANDED = 2  # the reset button, or a reset by the emulator
    FAULT = 3  # the processor raised a fault exception
    ABANDONED = 4  # no sensors for 2 s: the flight has ended, and the board waits for the next


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the firmware; the smallest number is the highest priority."""

    name: str
    priority: int
    trigger: str


LINK_SIGNALS = (
    "IMU",
    "magnetometer",
    "barometer",
    "GNSS",
    "airspeed",
    "range finder",
    "actuators",
    "attitude",
    "position",
    "heartbeat",
)
"""The signals between simulator, autopilot and ground whose rates are compared with the configured ones."""

TASKS = (
    Task("cycle", 1, "timer, every control period"),
    Task("get_references", 2, "bytes on the reference link"),
    Task("get_sensors", 3, "bytes on the board link"),
    Task("control", 4, "sensors of this cycle are complete"),
    Task("send_actuators", 5, "control has a command"),
    Task("statistics", 6, "actuators are sent"),
)
"""The tilt-rotor firmware's tasks: the paper's four activities, the cycle that starts them and the statistics."""
