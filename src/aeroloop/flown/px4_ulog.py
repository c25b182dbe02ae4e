"""PX4's logs (.ulg) through pyulog, in the formats of its years; and those that `aeroloop export --ulg` writes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.analysis.track import euler_rad
from aeroloop.core.errors import ConfigError
from aeroloop.flown import own_run
from aeroloop.flown.quantities import CHANNELS
from aeroloop.flown.read import Options
from aeroloop.flown.record import Array, FlightRecord
from aeroloop.flown.rules import Message, Rule, above_start, apply, attitude, scaled

MAGIC = b"ULog\x01\x12\x35"
OURS = "aeroloop"
GAUSS = 1e-4  # T
ARMED = 2  # vehicle_status.arming_state
VEHICLE_TYPES = {1: "multirotor", 2: "fixedwing", 3: "rover", 4: "airship"}  # vehicle_status.vehicle_type
MAV_TYPES = {1: "fixedwing", 2: "multirotor", 10: "rover", 13: "multirotor", 14: "multirotor", 15: "multirotor"}
ATTITUDE = own_run.ATTITUDE
_SETPOINT = "vehicle_attitude_setpoint"


def _quaternion(name: str) -> tuple[str, str, str, str]:
    return f"{name}[0]", f"{name}[1]", f"{name}[2]", f"{name}[3]"


def _vector(name: str, message: str, column: str, factor: float = 1.0) -> list[Rule]:
    return [scaled(f"{name}_{axis}", message, f"{column}[{at}]", factor) for at, axis in enumerate("xyz")]


def _place(message: str) -> list[Rule]:
    return [
        scaled("lat", message, "latitude_deg"),
        scaled("lat", message, "lat", 1e-7),
        scaled("lon", message, "longitude_deg"),
        scaled("lon", message, "lon", 1e-7),
        scaled("alt", message, "altitude_msl_m"),
        scaled("alt", message, "alt", 1e-3),
        scaled("speed", message, "vel_m_s"),
    ]


def _channels(name: str, message: str, column: str) -> Iterable[Rule]:
    return (scaled(f"{name}_{i + 1}", message, f"{column}[{i}]") for i in range(CHANNELS))


RULES: tuple[Rule, ...] = (
    *attitude(ATTITUDE, "vehicle_attitude", _quaternion("q"), euler_rad),
    *(scaled(f"{name}_setpoint", _SETPOINT, f"{name}_body") for name in ATTITUDE),
    *attitude([f"{name}_setpoint" for name in ATTITUDE], _SETPOINT, _quaternion("q_d"), euler_rad),
    *(scaled(f"{name}_rate_setpoint", "vehicle_rates_setpoint", name) for name in ATTITUDE),
    scaled("throttle", _SETPOINT, "thrust_body[2]", -1.0),
    scaled("throttle", _SETPOINT, "thrust"),
    scaled("height_setpoint", "vehicle_local_position_setpoint", "z", -1.0),
    *_vector("gyro", "sensor_combined", "gyro_rad"),
    *_vector("accel", "sensor_combined", "accelerometer_m_s2"),
    *_vector("mag", "vehicle_magnetometer", "magnetometer_ga", GAUSS),
    *_vector("mag", "sensor_combined", "magnetometer_ga", GAUSS),
    scaled("pressure", "vehicle_air_data", "baro_pressure_pa"),
    Rule("height", "vehicle_air_data", ("baro_alt_meter",), above_start),
    Rule("height", "sensor_combined", ("baro_alt_meter",), above_start),
    *_place("vehicle_gps_position"),
    *_place("sensor_gps"),
    *(
        scaled(name, "vehicle_local_position", column)
        for name, column in (
            *(("north", "x"), ("east", "y"), ("down", "z")),
            *(("vel_north", "vx"), ("vel_east", "vy"), ("vel_down", "vz")),
        )
    ),
    *_channels("pulse", "actuator_outputs", "output"),
    *_channels("motor", "actuator_motors", "control"),
    *_channels("stick", "input_rc", "values"),
    Rule("armed", "vehicle_status", ("arming_state",), lambda state: (state == ARMED).astype(np.float64)),
    scaled("mode", "vehicle_status", "nav_state"),
)


def read(path: Path, options: Options) -> FlightRecord:
    if importlib.util.find_spec("pyulog") is None:
        raise ConfigError(f"{path}: .ulg needs pyulog, which is not installed: pip install 'aeroloop[logs]'")
    from pyulog import ULog

    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ConfigError(f"{path}: not a ULog file, expected it to begin with ULog")
    wanted = sorted({rule.message for rule in (*RULES, *own_run.RULES)})
    said = StringIO()  # pyulog prints what it stumbles over: standard output is not its place
    try:
        with redirect_stdout(said):
            log: Any = ULog(str(path), wanted, disable_str_exceptions=True)
        ours = log.msg_info_dict.get("sys_name") == OURS
        messages = {
            data.name: Message(data.data["timestamp"] * 1e-6, {name: _numbers(of) for name, of in data.data.items()})
            for data in log.data_list
            if data.multi_id == (options.aircraft if ours else 0)
        }
    except Exception as error:  # which one depends on the byte that is damaged
        words = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"{path}: the ULog file is damaged: {words}") from None
    found = apply(own_run.RULES if ours else RULES, messages)
    if "roll" not in found.signals:
        raise ConfigError(f"{path}: no attitude can be read: the log has no vehicle_attitude")
    damaged = log.file_corruption or said.getvalue()
    remarks = ["The log is damaged or cut: what could not be read was left out."] if damaged else []
    return FlightRecord(
        path,
        "ULog of Aeroloop" if ours else "PX4 .ulg",
        found.signals,
        parameters={name: float(value) for name, value in log.initial_parameters.items()},
        vehicle=_vehicle(log, messages),
        firmware=" ".join(str(log.msg_info_dict.get(key, "")) for key in ("sys_name", "ver_sw")).strip(),
        missing=found.missing,
        dropped=found.dropped,
        remarks=remarks,
    )


def _numbers(values: Any) -> Array:
    return np.asarray(values, np.float64)


def _vehicle(log: Any, messages: dict[str, Message]) -> str:
    status = messages.get("vehicle_status")
    if status is not None and len(status.t_s):
        if "vehicle_type" in status.columns:
            return VEHICLE_TYPES.get(int(status.columns["vehicle_type"][-1]), "")
        if "is_rotary_wing" in status.columns:
            return VEHICLE_TYPES[1 if status.columns["is_rotary_wing"][-1] else 2]
    return MAV_TYPES.get(int(log.initial_parameters.get("MAV_TYPE", 0)), "")
