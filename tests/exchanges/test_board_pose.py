"""The pose line at the plant: bytes arrive with the speed of a UART, each once and in order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.actuators.motors import Motor
from aeroloop.controllers.pose.sampler import from_pulses, from_speeds
from aeroloop.core.signals import NS
from aeroloop.exchanges.board_pose import UartQueue

BAUD = 115_200
BYTE_NS = 10 * NS / BAUD


@settings(derandomize=True, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3_000_000), st.binary(min_size=1, max_size=120)), min_size=1, max_size=6),
    st.lists(st.integers(1, 20_000_000), max_size=10),
)
def test_every_byte_comes_once_in_order_and_never_early(sent: list[tuple[int, bytes]], looks: list[int]) -> None:
    queue, t_ns, ends = UartQueue(BAUD), 0, []
    for gap_ns, data in sent:
        t_ns += gap_ns
        queue.put(t_ns, data)
        ends += [t_ns] * len(data)
    expected, free_ns = [], 0.0
    for begun_ns in ends:  # when each byte is whole
        free_ns = max(free_ns, float(begun_ns)) + BYTE_NS
        expected.append(free_ns)
    whole = b"".join(data for _, data in sent)
    got = b""
    for look_ns in sorted(looks):
        got += queue.arrived(look_ns)
        assert got == whole[: len(got)]
        assert abs(len(got) - sum(end_ns <= look_ns for end_ns in expected)) <= 1  # of a byte that ends just then
    got += queue.arrived(math.ceil(free_ns) + 1)
    assert got == whole


def test_a_set_of_108_bytes_takes_1172_microseconds_at_921600_baud() -> None:
    queue = UartQueue(921_600)
    queue.put(4_000_000, bytes(108))
    assert len(queue.arrived(4_000_000 + 1_171_000)) == 107
    assert len(queue.arrived(4_000_000 + 1_172_000)) == 1


def test_pulses_become_commands() -> None:
    assert from_pulses((0, 1000, 1500, 2000)) == (0.0, 0.0, 0.5, 1.0)
    assert from_pulses((900, 2600, 1001, 1999)) == (0.0, 1.0, 0.001, 0.999)


def test_speeds_become_the_commands_that_hold_them() -> None:
    motor = Motor(speed_max_rad_s=1000.0, speed_idle_rad_s=100.0, lag_up_s=0.01, lag_down_s=0.02)
    rpm = 60 / math.tau
    command = from_speeds(motor)((0, round(100 * rpm), round(550 * rpm), 65535))
    assert command[0] == 0.0
    assert 0.0 < command[1] < 1e-3
    assert command[2] == pytest.approx(0.5, abs=1e-4)
    assert command[3] == 1.0
