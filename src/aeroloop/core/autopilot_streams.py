"""The streams of a flight with an autopilot over MAVLink, alike for every aircraft that one flies."""

from __future__ import annotations

from collections.abc import Iterable

from aeroloop.core.common_streams import common
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.sensor_streams import ESTIMATE, SENSOR_STREAMS
from aeroloop.core.stream import REMEMBERED, VELOCITY, Column, Stream, fields
from aeroloop.core.text_rows import TEXT_COLUMNS

COUNTERS: tuple[Column, ...] = (
    ("skipped_bytes", "B", "bytes outside of frames"),
    ("unknown", "-", "frames of messages that the dialect lacks"),
    ("other_system", "-", "good frames of other systems"),
    ("lost", "-", "gaps in the sender's sequence numbers"),
)
"""Of a MAVLink link, after those of every link."""
_COUNTED: tuple[Column, ...] = (
    ("signal", "-", "number of the signal in signals.LINK_SIGNALS"),
    ("set_hz", "Hz", "set rate; 0 if none is set"),
    ("count", "-", "messages or samples so far"),
    ("wall_s", "s", "wall time of the newest one since the first"),
)


def _counted(name: str, producer: str, meaning: str) -> Stream:
    return Stream(name, producer, 1.0, False, True, meaning, fields(*_COUNTED))


ESTIMATE_STREAM = common(
    "estimate",
    *ESTIMATE,
    producer="board",
    rate_hz=50.0,
    meaning="state estimate of the virtual Pixhawk or our board, in the plant's frame",
)
SETPOINT_STREAM = common(
    "setpoint",
    *VELOCITY,
    ("roll_rad", "rad", "roll setpoint of the attitude loop"),
    ("pitch_rad", "rad", "pitch setpoint of the attitude loop"),
    ("yaw_rad", "rad", "yaw setpoint of the attitude loop"),
    ("thrust_ratio", "-", "collective thrust, 0 to 1"),
    producer="board",
    rate_hz=50.0,
    meaning="setpoints of the virtual Pixhawk or our board, in the plant's frame; NaN where there is none",
)
AUTOPILOT_STATE = Stream(
    "autopilot_state",
    "board",
    10.0,
    True,
    True,
    "status of the virtual Pixhawk",
    fields(
        ("mode", "-", "number of the mode in controllers.pixhawk.types.FlightMode"),
        ("armed", "-", "1 while the motors may turn"),
        ("landed", "-", "number in controllers.pixhawk.types.Landed"),
        ("failsafe", "-", "number in controllers.pixhawk.types.Failsafe"),
        ("battery", "-", "charge left, 0 to 1"),
        ("mission_current", "-", "current item of the mission"),
    ),
)
ESTIMATOR = Stream(
    "estimator",
    "board",
    0.0,
    False,  # logs of earlier versions keep their hash
    True,
    "the navigation filter of the virtual Pixhawk rejected three measurements of one kind in a row",
    fields(
        ("gate", "-", "0 magnetometer, 1 barometer, 2 position, 3 velocity, 4 height of the receiver"),
        ("alarms", "-", "how often so far"),
    ),
    remembered=REMEMBERED,
    optional=True,
)
BOARD_EVENT = common("board_event", producer="board", meaning="events of the virtual Pixhawk or our board")
STATUS_TEXT = Stream(
    "status_text",
    "board",
    0.0,
    False,
    True,
    "texts of an autopilot to its pilot (STATUSTEXT)",
    fields(
        ("severity", "-", "MAV_SEVERITY: 0 is the worst, 6 is for information"),
        *((name, "-", "six bytes of the text as a number (core.text_rows)") for name in TEXT_COLUMNS),
    ),
    remembered=REMEMBERED,
    optional=True,
)
SIGNAL_COUNT = _counted("signal_count", "plant", "number of times a signal crossed the link so far")
TELEMETRY_COUNT = _counted(
    "telemetry_count", "board", "number of times the virtual Pixhawk sent or received a signal so far"
)
LINK = common("link", *COUNTERS, meaning="counters of a MAVLink HIL link at the plant")


def with_external_autopilot(own: Iterable[Stream], command: Stream) -> tuple[Stream, ...]:
    """The streams of an aircraft of its own family that an external autopilot flies; `command` is what the autopilot's
    channels mean for it."""
    by_name = {stream.name: stream for stream in own}
    return (
        *(by_name[name] for name in ("truth", "air", "effort")),
        command,
        *SENSOR_STREAMS,
        common("event"),
        common("fault"),
        ESTIMATE_STREAM,
        SETPOINT_STREAM,
        AUTOPILOT_STATE,
        BOARD_EVENT,
        STATUS_TEXT,
        SIGNAL_COUNT,
        TELEMETRY_COUNT,
        common("pace"),
        LINK,
        *ROUTER_STREAMS,
    )
