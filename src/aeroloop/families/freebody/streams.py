"""What is logged of a free body."""

from __future__ import annotations

from aeroloop.core.common_streams import common
from aeroloop.core.stream import Column, Stream, fields

GEODETIC: tuple[Column, ...] = (
    ("lat_deg", "deg", "latitude, geodetic on WGS-84"),
    ("lon_deg", "deg", "longitude"),
    ("height_m", "m", "height above ellipsoid or sphere"),
    ("vel_n_m_s", "m/s", "velocity to the north, relative to the rotating earth"),
    ("vel_e_m_s", "m/s", "velocity to the east"),
    ("vel_d_m_s", "m/s", "velocity downwards"),
    ("rate_p_deg_s", "deg/s", "roll rate about the forward axis, relative to inertial space"),
    ("rate_q_deg_s", "deg/s", "pitch rate about the right axis"),
    ("rate_r_deg_s", "deg/s", "yaw rate about the downward axis"),
    ("roll_deg", "deg", "roll in local north, east, down axes"),
    ("pitch_deg", "deg", "pitch"),
    ("yaw_deg", "deg", "yaw, from north over east"),
)
# Without a rate, so that rows are not batched: a body without a controller flies hundreds of times faster than real
# time, and the recorder needs room for all rows of a case.
STREAMS: tuple[Stream, ...] = (
    common("truth", meaning="state in the tangent plane of the start; rates inertial"),
    Stream("geodetic", "plant", 0.0, True, True, "state in local axes of the earth", fields(*GEODETIC)),
    common("air"),
    common("event"),
    common("fault"),
    common("pace"),
)
