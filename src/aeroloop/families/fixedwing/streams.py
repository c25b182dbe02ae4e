"""The streams of the fixed wing's flights; its plant writes what the board tells."""

from __future__ import annotations

from aeroloop.core.stream import (
    ACCEL,
    EVENT,
    FAULT,
    FIELD,
    GYRO,
    QUATERNION,
    RATES,
    REMEMBERED,
    VELOCITY,
    WIND,
    Stream,
    fields,
)
from aeroloop.protocols import wing_fields

_SURFACES = (
    ("aileron_rad", "rad", "aileron, positive rolls right"),
    ("elevator_rad", "rad", "elevator, positive pitches the nose down"),
    ("rudder_rad", "rad", "rudder, positive yaws left"),
    ("throttle", "-", "throttle, 0 to 1"),
)


def _flown(
    name: str, producer: str, rate_hz: float, meaning: str, *rows: tuple[str, str, str], remembered: int = 0
) -> Stream:
    return Stream(name, producer, rate_hz, True, True, meaning, fields(*rows), remembered=remembered)


def _measured(name: str, producer: str, rate_hz: float, meaning: str, *rows: tuple[str, str, str]) -> Stream:
    return Stream(name, producer, rate_hz, False, True, meaning, fields(*rows))


STREAMS: tuple[Stream, ...] = (
    _flown(
        "wing_truth",
        "plant",
        50.0,
        "state of the fixed wing in the world",
        *wing_fields.XYZ,
        *VELOCITY,
        *QUATERNION,
        *wing_fields.ANGLES,
        *RATES,
        ("airspeed_m_s", "m/s", "true airspeed"),
        ("alpha_rad", "rad", "angle of attack"),
        ("beta_rad", "rad", "sideslip"),
        ("ground_m", "m", "height of the ground below, above mean sea level"),
    ),
    _flown("wing_air", "plant", 20.0, "the air where the aircraft is", *WIND, ("density_kg_m3", "kg/m3", "density")),
    _flown(
        "wing_effort",
        "plant",
        50.0,
        "where surfaces and throttle really are",
        *_SURFACES,
        ("saturated", "-", "1 while a limit cuts the command"),
    ),
    _flown(
        "wing_sensors",
        "plant",
        20.0,
        "what the board is sent; the IMU's values are means over the period",
        *GYRO,
        *ACCEL,
        *FIELD,
        ("static_Pa", "Pa", "static pressure"),
        ("dynamic_Pa", "Pa", "dynamic pressure"),
        ("fix", "-", "1 where the values of the satellite receiver are new"),
        ("lat_deg", "deg", "latitude"),
        ("lon_deg", "deg", "longitude"),
        ("alt_m", "m", "height above mean sea level"),
        *VELOCITY,
    ),
    _flown(
        "wing_command",
        "plant",
        20.0,
        "servo message accepted from the board",
        *_SURFACES,
        ("cycle", "-", "control period that it answers"),
        ("latency_s", "s", "from sensors to servos on the board, in instruction-count time; 0 on the host"),
    ),
    _flown("wing_estimate", "plant", 20.0, "where the board believes that it is", *wing_fields.ESTIMATE),
    _flown("wing_guidance", "plant", 20.0, "path following", *wing_fields.GUIDANCE),
    _flown("wing_step", "plant", 0.0, "the mission goes on to another step", *wing_fields.STEP, remembered=REMEMBERED),
    _flown("wing_plan", "plant", 0.0, "a search for a way has ended", *wing_fields.PLAN, remembered=16),
    _flown(
        "wing_cell",
        "plant",
        0.0,
        "a cell on the way, one row a cell and plan",
        *wing_fields.CELL,
        remembered=256,  # of several plans
    ),
    _flown(
        "wing_path",
        "plant",
        0.0,
        "a point of a path, one row a point",
        *wing_fields.PATH,
        remembered=1500,  # of several paths
    ),
    _flown("wing_cpu", "plant", 1.0, "run-time statistics of the board, in instruction-count time", *wing_fields.CPU),
    _flown(
        "wing_task",
        "plant",
        0.0,
        "run-time statistics of one task of the board, one row a task and sample",
        *wing_fields.TASK,
    ),
    _flown("wing_event", "plant", 0.0, "something that happened", *EVENT, remembered=REMEMBERED),
    _flown("wing_fault", "plant", 0.0, "a fault that was switched in flight", *FAULT, remembered=REMEMBERED),
    _measured(
        "wing_pace",
        "plant",
        50.0,
        "how well the plant keeps time",
        ("lateness_s", "s", "largest wall time from a step's deadline to its start since the row before"),
        ("missed", "-", "deadlines missed so far"),
    ),
    _measured(
        "wing_link",
        "plant",
        1.0,
        "counters of the link at the plant",
        ("frames_in", "-", "valid frames received"),
        ("frames_out", "-", "frames sent"),
        ("bytes_in", "B", "bytes received"),
        ("bytes_out", "B", "bytes sent"),
        ("bad_checksums", "-", "frames whose checksum did not match"),
        ("malformed", "-", "frames too short, too long, badly escaped or of no known message"),
        ("lost", "-", "messages of the board that never came"),
    ),
)
