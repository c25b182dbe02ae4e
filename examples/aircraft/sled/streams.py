"""What is logged of a sled: the columns of its log, its charts and its report."""

from aeroloop.core.stream import EVENT, FAULT, Stream, fields

_PLACE = (("x_m", "m", "along the rail"), ("y_m", "m", "across it"), ("z_m", "m", "above it"))
STREAMS = (
    Stream(
        "sled_truth",
        "plant",
        200.0,
        simulated=True,
        logged=True,
        meaning="where the sled is",
        fields=fields(*_PLACE, ("vx_m_s", "m/s", "speed"), ("push_N", "N", "push of the propeller")),
    ),
    Stream("sensors", "plant", 50.0, True, True, "as sent", fields(("x_m", "m", "place"), ("vx_m_s", "m/s", "speed"))),
    Stream("command", "plant", 50.0, True, True, "as received", fields(("push_N", "N", "push"))),
    Stream("sled_event", "plant", 0.0, True, True, "what happened", fields(*EVENT)),
    Stream("sled_fault", "plant", 0.0, True, True, "a fault that was switched", fields(*FAULT)),
    Stream(
        "sled_pace",
        "plant",
        50.0,
        simulated=False,
        logged=True,
        meaning="how well the plant keeps time",
        fields=fields(("lateness_s", "s", "largest lateness"), ("missed", "-", "deadlines missed so far")),
    ),
)
