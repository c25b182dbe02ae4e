"""The streams that a pose board adds to those of its aircraft."""

from __future__ import annotations

from aeroloop.core.stream import Column, Stream, fields

_AXES = tuple(
    (f"{source}_{axis}", "of the sensor", f"{axis} of the {source} sample; NaN where there is none")
    for source in ("soft", "hard")
    for axis in "xyz"
)
_STATE: tuple[Column, ...] = (
    ("sens_soft", "-", "SENS_SOFT: a bit for each class with the soft driver"),
    ("sens_soft_noise", "-", "SENS_SOFT_NOISE"),
    ("sens_shadow", "-", "SENS_SHADOW"),
    ("stale", "-", "1 while no complete set has come for SENS_STALE"),
    ("failed", "-", "1 while the failsafe acts"),
    ("sets", "-", "complete sets so far"),
    ("lost", "-", "sets that the running number of type 7 skipped"),
    ("frames_in", "-", "good packets"),
    ("bad_checksums", "-", "packets whose checksum did not match"),
    ("malformed", "-", "headers with a type or length that the board does not know"),
    ("skipped_bytes", "B", "bytes outside of packets"),
    ("other", "-", "good packets of types that are not in the set"),
    ("implausible", "-", "packets and rebuilt samples with impossible numbers"),
)
_COST: tuple[Column, ...] = (
    ("decode_s", "s", "packets of the period decoded"),
    ("place_s", "s", "position from the take-off place in metres"),
    ("accelerometer_s", "s", "rebuilt and handed over"),
    ("gyro_s", "s", "rebuilt and handed over"),
    ("magnetometer_s", "s", "rebuilt and handed over"),
    ("barometer_s", "s", "rebuilt and handed over"),
    ("gnss_s", "s", "rebuilt and handed over"),
)


def _told(name: str, rate_hz: float, meaning: str, *columns: Column) -> Stream:
    return Stream(name, "board", rate_hz, True, True, meaning, fields(*columns), optional=True)


STREAMS: tuple[Stream, ...] = (
    _told(
        "pose_sensor",
        500.0,
        "a sample on the pose board: the latest of the soft and of the hard driver of one part",
        ("part", "-", "number of the part in controllers.pose.driver_table.PARTS"),
        ("flags", "-", "1 soft, 2 hard, 4 the soft one is in use, 8 the line is stale, 16 no set since the last read"),
        ("soft_age_s", "s", "age of the soft sample; NaN where there is none"),
        ("hard_age_s", "s", "age of the hard sample; NaN where there is none"),
        *_AXES,
    ),
    _told("pose_state", 1.0, "the soft drivers of the pose board and its second line", *_STATE),
    _told(
        "pose_cost",
        250.0,
        "execution time of one set of pose packets on the pose board; on the emulated board instruction-count time",
        *_COST,
    ),
    _told(
        "pose_parameter",
        0.0,
        "the pose board's answer to a changed parameter",
        ("parameter", "-", "its number in controllers.pose.parameters.TABLE"),
        ("requested", "-", "value that was sent"),
        ("value", "-", "value now"),
        ("answer", "-", "0 set, 1 refused since the board is armed, 2 refused as out of range"),
    ),
)
