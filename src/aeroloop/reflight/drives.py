"""What drives the simulator when a log is flown again: recorded setpoints, the flown track, or recorded pulses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aeroloop.control import cascade
from aeroloop.control.flight_gains import GAINS
from aeroloop.control.flight_gains import row as gain_row
from aeroloop.controllers.pixhawk.flight_law import frame
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.flown.record import FlightRecord
from aeroloop.reflight import attitude_loops
from aeroloop.reflight.flown_motion import FlownMotion, interpolated, step_means
from aeroloop.reflight.rollout import (
    DENSITY,
    GRAVITY,
    INPUT,
    LEAD_S,
    MOVED,
    POS,
    QUAT,
    RATE,
    SETPOINT,
    STEP_S,
    TURNED,
    VEL,
    Law,
)

RESTART_S = 1.0
"""Recorded pulses fly the aircraft open loop: it is set to the log's motion this often."""
YAW, ROLL, PITCH, THRUST, HOLD_XY, HOLD_Z, YAW_RATE = (INPUT + i for i in range(9, 16))


@dataclass(frozen=True)
class Drive:
    rows: Vec  # (n, width) as `Rollout` takes them
    law: Law | None
    loops: str  # which loops are simulated, as a report names them
    compared: tuple[str, ...]  # signals that this drive lets one compare
    fitted: tuple[str, ...]  # unknowns that it lets one fit
    restart_s: float  # 0: never
    delay_least_s: float = 0.0
    remarks: tuple[str, ...] = ()


ATTITUDE = ("roll", "pitch", "yaw")
GYRO, ACCEL, MAG = (tuple(f"{name}_{axis}" for axis in "xyz") for name in ("gyro", "accel", "mag"))
TURNING = ("inertia_x", "inertia_y", "inertia_z", "lag", "delay")
OF_FLIGHT = ("trim_x", "trim_y", "trim_z", "setpoint_delay")


def _base(motion: FlownMotion, inputs: int) -> Vec:
    rows = np.zeros((len(motion.t_s), INPUT + inputs))
    rows[:, POS], rows[:, VEL], rows[:, QUAT], rows[:, RATE] = (
        motion.pos_W,
        motion.vel_W,
        motion.quat_WB,
        motion.rate_B,
    )
    rows[:, DENSITY], rows[:, GRAVITY] = motion.density_kg_m3, motion.gravity_m_s2
    return rows


def setpoints(record: FlightRecord, motion: FlownMotion, airframe: Airframe, restart_s: float) -> Drive:
    """Recorded attitude setpoint and throttle; position and velocity are the log's, so that drag is the flight's."""
    t_s, remarks = motion.t_s, []
    rows = _base(motion, SETPOINT)
    rows[:, MOVED] = 1.0
    rows[:, ROLL] = interpolated(record, "roll_setpoint", t_s)
    rows[:, PITCH] = -interpolated(record, "pitch_setpoint", t_s)
    if "yaw_setpoint" in record:
        rows[:, YAW] = math.pi / 2 - interpolated(record, "yaw_setpoint", t_s)
    else:
        rows[:, YAW] = math.pi / 2 - interpolated(record, "yaw", t_s)
        remarks.append("The log has no setpoint of yaw: the flown yaw stands in for it.")
    rows[:, YAW_RATE] = np.gradient(rows[:, YAW], STEP_S)
    law, loops = _law(record, airframe)
    fitted: tuple[str, ...] = (*TURNING, *OF_FLIGHT)
    if "throttle" in record:
        rows[:, THRUST] = np.clip(interpolated(record, "throttle", t_s), 0.0, 1.0)
        fitted = ("mass", *fitted)
    else:
        rows[:, THRUST] = frame(airframe).hover_ratio
        remarks.append("The log has no throttle: that of hover stands in for it, and the mass is not fitted.")
    return Drive(rows, law, loops, (*ATTITUDE, *GYRO, "accel_z"), fitted, 0.0, remarks=tuple(remarks))


def _law(record: FlightRecord, airframe: Airframe) -> tuple[Law, str]:
    loops = attitude_loops.from_parameters(record.parameters)
    if loops is not None:
        law = Law(attitude_loops.law(airframe, loops, STEP_S), loops.row())
        return law, f"{loops.source}'s loops with {loops.found} gains of the log"
    told = [gain.name for gain in GAINS if gain.name in record.parameters]
    loops_of = f"{len(told)} gains of the log" if told else "its default gains"
    return _virtual_autopilot(record, airframe), f"the virtual autopilot's loops with {loops_of}"


def _virtual_autopilot(record: FlightRecord, airframe: Airframe) -> Law:
    return Law(cascade.law(frame(airframe), STEP_S), gain_row(record.parameters))


def route(record: FlightRecord, motion: FlownMotion, airframe: Airframe, restart_s: float) -> Drive:
    """The flown track as the reference of position, velocity and yaw: all loops are simulated, the virtual
    autopilot's."""
    if not np.any(motion.pos_W):
        raise ConfigError(f"{record.path}: has no position (expected north, east, down or lat, lon, alt), so no route")
    rows = _base(motion, SETPOINT)
    rows[:, INPUT : INPUT + 3], rows[:, INPUT + 3 : INPUT + 6] = motion.pos_W, motion.vel_W
    over = max(1, round(0.2 / STEP_S))
    slope = np.gradient(motion.vel_W, STEP_S, axis=0)
    for axis, column in enumerate(slope.T):
        smooth = np.convolve(np.pad(column, over, "edge"), np.ones(over) / over, "same")[over:-over]
        rows[:, INPUT + 6 + axis] = smooth
    yaw = "yaw_setpoint" if "yaw_setpoint" in record else "yaw"
    rows[:, YAW] = math.pi / 2 - interpolated(record, yaw, motion.t_s)
    rows[:, YAW_RATE] = np.gradient(rows[:, YAW], STEP_S)
    rows[:, HOLD_XY] = rows[:, HOLD_Z] = 1.0
    compared = (*ATTITUDE, *GYRO, *ACCEL, *MAG, "pressure", "height", "lat", "lon", "alt", "north", "east", "down")
    told = "the virtual autopilot's loops of position, velocity, attitude and rates"
    return Drive(rows, _virtual_autopilot(record, airframe), told, compared, (), 0.0)


def pulses(record: FlightRecord, motion: FlownMotion, airframe: Airframe, restart_s: float) -> Drive:
    """Recorded motor commands, open loop, set to the log's motion every `restart_s`."""
    rotors = airframe.rotors.count
    rows = _base(motion, rotors)
    channels = record.channels("motor")[:rotors]
    if len(channels) == rotors:
        commands = [step_means(record, channel.name, motion.t_s + LEAD_S) for channel in channels]
    else:
        channels = record.channels("pulse")[:rotors]
        if len(channels) < rotors:
            raise ConfigError(
                f"{record.path}: has pulses of {len(channels)} motors; expected those of all {rotors} of the aircraft"
            )
        low, high = record.parameters.get("MOT_PWM_MIN", 0.0), record.parameters.get("MOT_PWM_MAX", 0.0)
        low, high = (low, high) if high > low > 0 else (1000.0, 2000.0)
        commands = [
            (step_means(record, channel.name, motion.t_s + LEAD_S) - low) / (high - low) for channel in channels
        ]
    rows[:, INPUT:] = np.clip(np.stack(commands, axis=1), 0.0, 1.0)
    begins = np.arange(len(rows)) % max(1, round(restart_s / STEP_S)) == 0
    rows[begins, MOVED] = rows[begins, TURNED] = 1.0
    slow = channels[0].rate_hz < 25.0
    remarks = (
        (f"Pulses came at {channels[0].rate_hz:.0f} Hz: too rarely to determine the lag of the motors.",)
        if slow
        else ()
    )
    fitted = ("mass", *TURNING)
    told = f"no loops: recorded {channels[0].name.partition('_')[0]} commands"
    return Drive(rows, None, told, (*GYRO, "accel_z"), fitted, restart_s, -LEAD_S, remarks)


DRIVES: dict[str, Callable[[FlightRecord, FlownMotion, Airframe, float], Drive]] = {
    "setpoints": setpoints,
    "route": route,
    "pulses": pulses,
}
