"""What is logged of a sled: the columns of its log, its charts and its report."""

from aeroloop.core.common_streams import common
from aeroloop.protocols.board_fields import COUNTERS
from aeroloop.protocols.values import CPU_COLUMNS

PUSH = ("push_N", "N", "push of the propeller")
STREAMS = (
    common("truth", rate_hz=200.0),
    common("effort", PUSH, rate_hz=200.0),
    common("sensors", ("x_m", "m", "along the rail"), ("vx_m_s", "m/s", "speed"), rate_hz=50.0),
    common("command", PUSH, rate_hz=50.0),
    common("event"),
    common("board_event"),
    common("fault"),
    common("pace"),
    common("link", *COUNTERS),
    common("cpu", *CPU_COLUMNS, rate_hz=1.0),
    common("task"),
)
