"""The streams of the tilt-rotor's flights."""

from __future__ import annotations

from dataclasses import replace

from aeroloop.core.common_streams import common
from aeroloop.core.sensor_streams import ESTIMATE, GROUND, SENSOR_STREAMS
from aeroloop.core.stream import Stream, fields
from aeroloop.protocols.board_fields import ACTUATORS, COUNTERS, POSE, REFERENCE, SENSORS, TILT_RATES

CYCLE_HZ = 1 / 0.012

_AIR = common("air", GROUND, rate_hz=50.0, meaning="air and ground at the aircraft's position")
_ESTIMATE = common("estimate", *ESTIMATE, rate_hz=50.0, meaning="state estimate from the sensors, for the board")

STREAMS: tuple[Stream, ...] = (
    common("truth", *POSE, *TILT_RATES, rate_hz=250.0),
    common("effort", *ACTUATORS, ("saturated", "-", "1 while a limit reduces the command"), rate_hz=250.0),
    common("sensors", *SENSORS, rate_hz=CYCLE_HZ, meaning="the answer to a sensor request, as sent"),
    common("command", *ACTUATORS, rate_hz=CYCLE_HZ, meaning="actuator message accepted from the board"),
    common(
        "setpoint",
        *REFERENCE,
        producer="ground",
        rate_hz=CYCLE_HZ,
        meaning="reference sent to the board",
    ),
    common("event"),
    common("fault"),
    common("board_event", producer="board", reported=True),
    Stream(
        "clock",
        "plant",
        CYCLE_HZ,
        False,
        False,
        "the simulation clock, for the ground and viewers",
        fields(),
        rings=True,
    ),
    Stream(
        "cycle",
        "plant",
        CYCLE_HZ,
        False,
        True,
        "wall-clock timing of one sensor request at the plant",
        fields(
            ("period_s", "s", "wall time since the previous request"),
            ("answer_latency_s", "s", "wall time from reading the request to sending the answer"),
        ),
    ),
    common("pace"),
    Stream(
        "board_cycle",
        "board",
        CYCLE_HZ,
        False,
        True,
        "timing of one cycle at the board's process",
        fields(
            ("round_trip_s", "s", "wall time from sending the request to receiving the answer"),
            ("law_s", "s", "wall time in the control law; on the emulated board: in the emulator"),
            ("busy_s", "s", "instruction-count time of the emulated board's work; 0 on the host"),
            ("timer_lateness_s", "s", "wall time from the timer's deadline to the cycle's start; 0 in lockstep"),
            ("mode", "-", "number of the mode in signals.Mode"),
        ),
    ),
    common("link", *COUNTERS),
    common("board_link", *COUNTERS, producer="board", reported=True),
    Stream(
        "reference_link",
        "board",
        1.0,
        False,
        True,
        "counters of the reference link at the board",
        fields(*COUNTERS),
        reported=True,
    ),
    common(
        "cpu",
        ("overruns", "-", "cycles since the start whose work took longer than the period"),
        ("worst_cycle_s", "s", "longest work of one cycle since the start"),
        ("uptime_s", "s", "time since the board started"),
        rate_hz=1.0,
        reported=True,
    ),
    common("task", reported=True),
    *(replace(stream, optional=True) for stream in (_AIR, *SENSOR_STREAMS, _ESTIMATE)),
)
