"""Servo pulses: which stop a motor, which are refused, and what a missing one means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.protocols.servo_pulses import PulseChannel, Pulses, motor_pulses

MOTORS = motor_pulses((1, 2, 3, 4), 1000.0, 1000.0)


def commanded(*packets: tuple[int, ...]) -> tuple[float, ...]:
    pulses = Pulses(MOTORS.channels)
    command: tuple[float, ...] = ()
    for pwm in packets:
        command = MOTORS.command(pulses.take(pwm))
    return command


def test_from_stopped_to_full() -> None:
    assert commanded((1000, 1500, 2000, 1100)) == (0.0, 0.5, 1.0, 0.1)
    assert commanded((1049, 1050, 2200, 800)) == (0.0, 0.05, 1.0, 0.0)


def test_no_pulse_stops_a_motor_without_an_error() -> None:
    pulses = Pulses(MOTORS.channels)
    pulses.take((1500,) * 4)
    assert MOTORS.command(pulses.take((0, 1000, 0, 1000))) == (0.0,) * 4
    assert (pulses.refused, pulses.refusing) == (0, False)


@pytest.mark.parametrize("pulse_us", [1, 799, 2201, 65535])
def test_a_pulse_out_of_range_leaves_the_last_one_and_is_counted(pulse_us: int) -> None:
    pulses = Pulses(MOTORS.channels)
    pulses.take((1600,) * 4)
    assert MOTORS.command(pulses.take((1500, pulse_us, 1500, 1500))) == (0.5, 0.6, 0.5, 0.5)
    assert (pulses.refused, pulses.refusing) == (1, True)
    pulses.take((1500,) * 4)
    assert (pulses.refused, pulses.refusing) == (1, False)


def test_a_surface_without_a_pulse_stays_where_it_is() -> None:
    pulses = Pulses((PulseChannel(2, 1500.0, motor=False),))
    assert pulses.take((0, 0))[1] == 1500.0, "neutral before its first pulse"
    assert pulses.take((0, 1700))[1] == 1700.0
    assert pulses.take((0, 0))[1] == 1700.0
    assert pulses.take((0, 900))[1] == 900.0, "a small pulse moves a surface; it stops only a motor"
    pulses.rest()
    assert pulses.take(())[1] == 1500.0


def test_motors_on_other_channels_with_another_range() -> None:
    there = motor_pulses((9, 20), 1100.0, 800.0)
    pulses = Pulses(there.channels)
    pwm = [1000] * 32
    pwm[8], pwm[19] = 1500, 1900
    assert there.command(pulses.take(pwm)) == (0.5, 1.0)
    assert there.command(pulses.take(pwm[:16])) == (0.5, 0.0), "16 channels have no pulse for the twentieth"


@given(st.lists(st.lists(st.integers(0, 65535), min_size=16, max_size=16), max_size=8))
def test_commands_stay_within_their_range_whatever_comes(packets: list[list[int]]) -> None:
    pulses = Pulses(MOTORS.channels)
    for pwm in packets:
        command = MOTORS.command(pulses.take(pwm))
        assert all(0.0 <= motor <= 1.0 for motor in command)
        assert pulses.refusing == any(p != 0 and not 800 <= p <= 2200 for p in pwm[:4])
