"""What is logged of a rocket: the columns of its log, its charts and its report."""

from aeroloop.core.common_streams import common
from aeroloop.core.stream import QUATERNION, RATES, VELOCITY, XYZ
from aeroloop.protocols.board_fields import COUNTERS
from aeroloop.protocols.values import CPU_COLUMNS

GIMBAL = (
    ("gimbal_x_rad", "rad", "gimbal about x; positive turns the body about its x"),
    ("gimbal_y_rad", "rad", "gimbal about y; positive turns the body about its y"),
)
STREAMS = (
    common("truth", rate_hz=250.0),
    common("setpoint", *VELOCITY, rate_hz=250.0),
    common("effort", ("thrust_N", "N", "thrust"), *GIMBAL, ("mass_kg", "kg", "mass"), rate_hz=250.0),
    common("sensors", *XYZ, *VELOCITY, *QUATERNION, *RATES, rate_hz=50.0),
    common("command", ("throttle", "-", "share of the full thrust"), *GIMBAL, rate_hz=50.0),
    common("event"),
    common("board_event"),
    common("fault"),
    common("pace"),
    common("link", *COUNTERS),
    common("cpu", *CPU_COLUMNS, rate_hz=1.0),
    common("task"),
)
