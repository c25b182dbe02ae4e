"""One vocabulary of streams: what a name means does not depend on the aircraft."""

from __future__ import annotations

import pytest
from stream_tables import FIXED_WING, TILTROTOR

from aeroloop.core.common_streams import COMMON, common
from aeroloop.core.stream import numbered
from aeroloop.core.streams import streams_of_kind
from aeroloop.core.tables import FAMILIES
from aeroloop.protocols import board_fields, interface


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_family_appends_columns_and_changes_none(kind: str) -> None:
    known = {stream.name: stream for stream in COMMON}
    for stream in streams_of_kind(kind):
        if stream.name in known:
            usual = known[stream.name]
            assert stream.fields[: len(usual.fields)] == usual.fields, stream.name
            assert stream.simulated == usual.simulated, stream.name
            assert stream.optional >= usual.optional, stream.name  # a family may have it in some flights only


def test_columns_that_the_common_stream_has_are_not_repeated() -> None:
    x_m, yaw_rad = ("x_m", "m", "east"), ("yaw_rad", "rad", "heading")
    stream = common("setpoint", x_m, yaw_rad, rate_hz=5.0)
    assert stream.names == ("t_s", "vehicle", "x_m", "y_m", "z_m", "yaw_rad")
    assert (stream.rate_hz, common("setpoint").rate_hz) == (5.0, 0.0)


@pytest.mark.parametrize("stream", interface.TELLING)
def test_what_the_fixed_wings_board_tells_is_in_the_order_of_its_stream(stream: str) -> None:
    told = tuple(name for name, _ in interface.TELLING[stream].fields[1:])
    added = {"user_answer": ("latency_s",)}.get(stream, ())  # measured by the plant
    assert (*told, *added) == FIXED_WING[stream].names[2:]


@pytest.mark.parametrize(
    ("stream", "columns"),
    [
        ("setpoint", board_fields.REFERENCE),
        ("sensors", board_fields.SENSORS),
        ("command", board_fields.ACTUATORS),
        ("link", board_fields.COUNTERS),
    ],
)
def test_what_the_tiltrotors_messages_carry_is_in_the_order_of_its_stream(
    stream: str, columns: tuple[tuple[str, str, str], ...]
) -> None:
    assert tuple(name for name, _, _ in columns) == TILTROTOR[stream].names[2:]


def test_rows_of_an_aircraft_get_its_number() -> None:
    rows: list[tuple[float, ...]] = []
    numbered({"truth": lambda *row: rows.append(row)}, 3)["truth"](0.5, 1.0, 2.0)
    assert rows == [(0.5, 3, 1.0, 2.0)]
