"""Access rights: one table of message permissions, and one commander at a time.

- A vehicle may send any message.
- An observer may send OPEN messages only: heartbeats and read requests. All others are refused and counted.
- Of the links that may command, the first to send a COMMANDING message holds command until it releases it, another
  takes over, or it times out. Messages of the others are refused with a text that names the holder.
- Input of a vehicle's estimator (MEASURING: positions, odometry, HIL sensors) may come from the holder of command,
  and from an endpoint that the configuration declares a companion; sending it does not acquire command.
- A simulator may send such input and heartbeats, to its vehicle; while a vehicle has one, nobody else sends HIL_*.
- All other messages pass.
"""

from __future__ import annotations

from aeroloop.router.messages import MAVLINK
from aeroloop.router.targets import offset

OPEN = frozenset(
    MAVLINK[name]
    for name in (
        "HEARTBEAT",
        "PING",
        "TIMESYNC",
        "SYSTEM_TIME",
        "PARAM_REQUEST_READ",
        "PARAM_REQUEST_LIST",
        "PARAM_EXT_REQUEST_READ",
        "PARAM_EXT_REQUEST_LIST",
        "MISSION_REQUEST_LIST",
        "MISSION_REQUEST",
        "MISSION_REQUEST_INT",
        "MISSION_ACK",
        "LOG_REQUEST_LIST",
        "LOG_REQUEST_DATA",
        "LOG_REQUEST_END",
        "CHANGE_OPERATOR_CONTROL",
    )
)
COMMANDING = frozenset(
    number
    for name, number in MAVLINK.items()
    if name.startswith(
        (
            "SET_",
            "COMMAND_LONG",
            "COMMAND_INT",
            "COMMAND_CANCEL",
            "MISSION_ITEM",
            "GIMBAL_MANAGER_SET",
            "STORM32_GIMBAL_MANAGER_C",
        )
    )
    or name
    in (
        "MISSION_COUNT",
        "MISSION_CLEAR_ALL",
        "MISSION_SET_CURRENT",
        "MISSION_WRITE_PARTIAL_LIST",
        "PARAM_SET",
        "PARAM_EXT_SET",
        "PARAM_MAP_RC",
        "MANUAL_CONTROL",
        "RC_CHANNELS_OVERRIDE",
        "SAFETY_SET_ALLOWED_AREA",
        "SETUP_SIGNING",
        "SERIAL_CONTROL",
        "FILE_TRANSFER_PROTOCOL",
        "LOG_ERASE",
        "PLAY_TUNE",
        "GIMBAL_DEVICE_SET_ATTITUDE",
        "CAN_FRAME",
        "CANFD_FRAME",
        "CAN_FILTER_MODIFY",
        # Messages of other dialects.
        "CUBEPILOT_FIRMWARE_UPDATE_START",
        "DEVICE_OP_WRITE",
        "DIGICAM_CONFIGURE",
        "DIGICAM_CONTROL",
        "FENCE_POINT",
        "GIMBAL_CONTROL",
        "GOPRO_SET_REQUEST",
        "LED_CONTROL",
        "MOUNT_CONFIGURE",
        "MOUNT_CONTROL",
        "OSD_PARAM_CONFIG",
        "RADIO_RC_CHANNELS",
        "RALLY_POINT",
        "SECURE_COMMAND",
    )
)
MEASURING = frozenset(
    number
    for name, number in MAVLINK.items()
    if name.startswith(("HIL_", "VISION_", "GPS_IN", "OPTICAL_FLOW", "OBSTACLE_DISTANCE", "TRAJECTORY_REPRESENTATION"))
    or name
    in (
        "ODOMETRY",
        "GLOBAL_VISION_POSITION_ESTIMATE",
        "VICON_POSITION_ESTIMATE",
        "ATT_POS_MOCAP",
        "GPS_RTCM_DATA",
        "DISTANCE_SENSOR",
        "LANDING_TARGET",
        "FOLLOW_TARGET",
        "ADSB_VEHICLE",
        "COLLISION",
        "HIGHRES_IMU",
        "RAW_IMU",
        "SCALED_IMU",
        "WIND_COV",
    )
)
"""Messages that an autopilot uses as measurements, of itself or of its surroundings."""
SIMULATING = MEASURING | {MAVLINK["HEARTBEAT"]}
"""Messages that a simulator may send to its vehicle."""
OPEN_COMMANDS = frozenset((510, 512, 519, 520, 521, 522, 525, 526, 527))
"""MAV_CMD_GET_MESSAGE_INTERVAL, REQUEST_MESSAGE and the older requests for one message."""
SHARED_COMMANDS = OPEN_COMMANDS | {511}
"""MAV_CMD_SET_MESSAGE_INTERVAL too: ground stations send it when they connect. Not for observers: they could turn off
messages of other stations."""
OPEN_FILE_OPERATIONS = frozenset((1, 2, 3, 4, 5, 14, 15))
"""MAVLink FTP operations: end and reset of sessions, list, open for reading, read, checksum, burst read."""

RELIABLE = frozenset(
    number
    for name, number in MAVLINK.items()
    if name.startswith(("COMMAND_", "MISSION_", "PARAM_", "SET_", "LOG_REQUEST", "CHANGE_OPERATOR"))
    or name in ("FILE_TRANSFER_PROTOCOL", "SETUP_SIGNING", "STATUSTEXT", "LOG_ERASE")
) - frozenset(
    MAVLINK[name]
    for name in (
        "MISSION_CURRENT",
        # Setpoint streams: only the newest has a use.
        "SET_ATTITUDE_TARGET",
        "SET_POSITION_TARGET_LOCAL_NED",
        "SET_POSITION_TARGET_GLOBAL_INT",
        "SET_ACTUATOR_CONTROL_TARGET",
    )
)
"""Never dropped silently: commands, missions, parameters and their answers."""

COMMANDS = {MAVLINK[name]: offset(name, "command") for name in ("COMMAND_LONG", "COMMAND_INT")}
"""Messages that carry a command, with the offset of the command number."""
MISSION_CHANGES = frozenset(
    MAVLINK[name]
    for name in (
        "MISSION_COUNT",
        "MISSION_ITEM",
        "MISSION_ITEM_INT",
        "MISSION_CLEAR_ALL",
        "MISSION_WRITE_PARTIAL_LIST",
    )
)
"""Messages of an upload, which ends with a MISSION_ACK, accepted or refused."""
_FILES = MAVLINK["FILE_TRANSFER_PROTOCOL"]
_FILE_OPERATION_AT = offset("FILE_TRANSFER_PROTOCOL", "payload") + 3


def may_observe(message: int, payload: bytes) -> bool:
    """Whether an observer may send this message."""
    return message in OPEN or _harmless(message, payload, OPEN_COMMANDS)


def commands(message: int, payload: bytes) -> bool:
    """Whether only the commander may send this message."""
    return message in COMMANDING and not _harmless(message, payload, SHARED_COMMANDS)


def _harmless(message: int, payload: bytes, harmless: frozenset[int]) -> bool:
    if message in COMMANDS:
        return command_of(message, payload) in harmless
    if message == _FILES and len(payload) > _FILE_OPERATION_AT:
        return payload[_FILE_OPERATION_AT] in OPEN_FILE_OPERATIONS
    return False


def command_of(message: int, payload: bytes) -> int:
    at = COMMANDS[message]
    return int.from_bytes(payload[at : at + 2], "little")


class CommandHolder:
    """The peer that holds command, by number; 0: none."""

    def __init__(self) -> None:
        self.holder = 0

    def allows(self, peer: int) -> bool:
        """The first peer that commands acquires command."""
        if not self.holder:
            self.holder = peer
        return self.holder == peer

    def free(self, peer: int) -> None:
        if self.holder == peer:
            self.holder = 0
