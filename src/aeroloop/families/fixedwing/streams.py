"""The streams of the fixed wing's flights; the plant logs the board's telemetry.

Its x and y are from the middle of the map, its z is above mean sea level.
"""

from __future__ import annotations

from aeroloop.core.common_streams import common
from aeroloop.core.power_streams import power_stream
from aeroloop.core.stream import ACCEL, FIELD, GYRO, RATES, REMEMBERED, VELOCITY, Column, Stream, Track, fields
from aeroloop.protocols import wing_fields

SETPOINT = Track("guidance", "path_x_m", "path_y_m", "mission.height_m")
"""The followed point of the path."""
SURFACES: tuple[Column, ...] = (
    ("aileron_rad", "rad", "aileron, positive rolls right"),
    ("elevator_rad", "rad", "elevator, positive pitches the nose down"),
    ("rudder_rad", "rad", "rudder, positive yaws left"),
    ("throttle", "-", "throttle, 0 to 1"),
)
GUST_RATE = Stream(
    "gust_rate",
    "plant",
    20.0,
    True,
    True,
    "angular velocity of the turbulent air as the wing feels it, in body axes; with world.wind.turbulence.rates",
    fields(*RATES),
    optional=True,
)


def _told(
    name: str, meaning: str, *columns: Column, rate_hz: float = 0.0, remembered: int = 0, optional: bool = False
) -> Stream:
    """A stream of the board's mission telemetry."""
    kept = fields(*columns)
    return Stream(name, "plant", rate_hz, True, True, meaning, kept, remembered=remembered, optional=optional)


STREAMS: tuple[Stream, ...] = (
    common(
        "truth",
        *wing_fields.ANGLES,
        ("airspeed_m_s", "m/s", "true airspeed"),
        ("alpha_rad", "rad", "angle of attack"),
        ("beta_rad", "rad", "sideslip"),
        ("ground_m", "m", "height of the ground below, above mean sea level"),
        rate_hz=50.0,
    ),
    common("air", rate_hz=20.0),
    GUST_RATE,
    common(
        "effort",
        *SURFACES,
        ("saturated", "-", "1 while a limit reduces the command"),
        rate_hz=50.0,
        meaning="actual positions of surfaces and throttle",
    ),
    common(
        "sensors",
        *GYRO,
        *ACCEL,
        *FIELD,
        ("static_Pa", "Pa", "static pressure"),
        ("dynamic_Pa", "Pa", "dynamic pressure"),
        ("fix", "-", "1 if the values of the GNSS receiver are new"),
        ("lat_deg", "deg", "latitude"),
        ("lon_deg", "deg", "longitude"),
        ("alt_m", "m", "height above mean sea level"),
        *VELOCITY,
        rate_hz=20.0,
        meaning="values sent to the board; those of the IMU are means over the period",
    ),
    common(
        "command",
        *SURFACES,
        ("cycle", "-", "control period of the answered sensors"),
        (
            "latency_s",
            "s",
            "latency from sensors to servos on the board, in instruction-count time; 0 on mil, on sil planning overrun",
        ),
        rate_hz=20.0,
        meaning="servo message accepted from the board",
    ),
    common("estimate", *wing_fields.ESTIMATE, rate_hz=20.0),
    _told("guidance", "path following", *wing_fields.GUIDANCE, rate_hz=20.0),
    _told("mission_step", "the mission changes to another step", *wing_fields.STEP, remembered=REMEMBERED),
    _told("plan", "a path search has ended", *wing_fields.PLAN, remembered=16),
    _told(
        "plan_cell",
        "a cell of the path, one row per cell and plan",
        *wing_fields.CELL,
        remembered=256,  # of several plans
    ),
    _told(
        "path",
        "a point of a path, one row per point",
        *wing_fields.PATH,
        remembered=1500,  # of several paths
    ),
    _told(
        "user_command",
        "a user command is sent to the board",
        *wing_fields.ANSWER[:3],
        ("x", "m", "of a goal: its place, east; of the command set the value, in its own unit"),
        ("y", "m", "of a goal: its place, north"),
        remembered=REMEMBERED,
        optional=True,
    ),
    _told(
        "user_answer",
        "the board's answer to a user command",
        *wing_fields.ANSWER,
        ("latency_s", "s", "from the first sending of the command"),
        remembered=REMEMBERED,
        optional=True,
    ),
    _told(
        "parameter",
        "the value of a parameter on the board, when it is set or read",
        *wing_fields.PARAMETER,
        remembered=REMEMBERED,
        optional=True,
    ),
    common("cpu", *wing_fields.CPU, rate_hz=1.0),
    common("task"),
    common("event"),
    common("board_event"),
    common("fault"),
    power_stream(1, 50.0),
    common("pace"),
    common(
        "link",
        ("malformed", "-", "frames too short, too long, badly escaped or with an unknown message"),
        ("lost", "-", "messages of the board that were lost"),
    ),
)
