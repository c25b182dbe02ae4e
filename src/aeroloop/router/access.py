"""Who may say what: one table, and one commander at a time.

- A vehicle may say anything.
- An observer may say what is OPEN: that it is there, and what it wants to see. All else is refused and counted.
- Of those who may command, the first to send something COMMANDING holds the command, until it hands it over, another
  takes it over, or it falls silent. The others are refused, and told who commands. What is neither open nor
  commanding, a companion's odometry for instance, passes.
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
        # Of other dialects.
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
OPEN_COMMANDS = frozenset((510, 512, 519, 520, 521, 522, 525, 526, 527))
"""MAV_CMD_GET_MESSAGE_INTERVAL, REQUEST_MESSAGE and the older requests for one message."""
SHARED_COMMANDS = OPEN_COMMANDS | {511}
"""MAV_CMD_SET_MESSAGE_INTERVAL too: ground stations set it as they connect. An observer could silence others by it."""
OPEN_FILE_OPERATIONS = frozenset((1, 2, 3, 4, 5, 14, 15))
"""Of MAVLink FTP: end and reset of sessions, list, open to read, read, checksum, burst read."""

PRECIOUS = frozenset(
    number
    for name, number in MAVLINK.items()
    if name.startswith(("COMMAND_", "MISSION_", "PARAM_", "SET_", "LOG_REQUEST", "CHANGE_OPERATOR"))
    or name in ("FILE_TRANSFER_PROTOCOL", "SETUP_SIGNING", "STATUSTEXT", "LOG_ERASE")
) - frozenset(
    MAVLINK[name]
    for name in (
        "MISSION_CURRENT",
        # Streams of setpoints: an old one is worth nothing.
        "SET_ATTITUDE_TARGET",
        "SET_POSITION_TARGET_LOCAL_NED",
        "SET_POSITION_TARGET_GLOBAL_INT",
        "SET_ACTUATOR_CONTROL_TARGET",
    )
)
"""Never dropped silently: commands, missions, parameters and their answers."""

COMMANDS = {MAVLINK[name]: offset(name, "command") for name in ("COMMAND_LONG", "COMMAND_INT")}
"""Messages that carry a command, and where."""
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
"""Parts of an upload, whose end or refusal is a MISSION_ACK."""
_FILES = MAVLINK["FILE_TRANSFER_PROTOCOL"]
_FILE_OPERATION_AT = offset("FILE_TRANSFER_PROTOCOL", "payload") + 3


def may_observe(message: int, payload: bytes) -> bool:
    """Whether anybody may say this."""
    return message in OPEN or _harmless(message, payload, OPEN_COMMANDS)


def commands(message: int, payload: bytes) -> bool:
    """Whether only the commander may say this."""
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


class Seat:
    """Who commands; peers are known by their numbers, 0 is nobody."""

    def __init__(self) -> None:
        self.holder = 0

    def allows(self, peer: int) -> bool:
        """The first to command holds the command."""
        if not self.holder:
            self.holder = peer
        return self.holder == peer

    def free(self, peer: int) -> None:
        if self.holder == peer:
            self.holder = 0
