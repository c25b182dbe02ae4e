"""The autopilot's end of MAVLink HIL, held against the simulator's end and against pymavlink's own packing."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as dialect

from aeroloop.protocols.hil_autopilot import ActuatorsOut, SensorEnd, greeting
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.protocols.mavlink_hil import (
    ActuatorEnd,
    BarometerSample,
    HilBattery,
    HilFix,
    HilSample,
    battery_status,
    hil_gps,
    hil_sensor,
)

singles = st.floats(-1000, 1000, width=32)
vectors = st.tuples(singles, singles, singles)


def frame_of(message: Any) -> Frame:
    (frame,) = MavlinkIn(MavlinkCounters()).feed(MavlinkOut(MavlinkCounters(), 1, 200).pack(message))
    return frame


@given(
    vectors,
    vectors,
    st.none() | vectors,
    st.none() | st.tuples(st.floats(1e4, 2e5), singles, st.floats(200, 330)),
    st.none() | singles,
)
def test_what_the_simulator_measures_arrives(accel: Any, rate: Any, field: Any, air: Any, dynamic: Any) -> None:
    sent = HilSample(8_000_000, accel, rate, field, air and BarometerSample(*air), dynamic)
    got = SensorEnd().sample(frame_of(hil_sensor(sent)))
    assert got is not None
    assert got.t_ns == 8_000_000
    assert (got.accel_B, got.rate_B) == (accel, rate)
    assert (got.field_B_T is None, got.barometer is None, got.diff_pressure_Pa is None) == (
        field is None,
        air is None,
        dynamic is None,
    )
    if field is not None:
        assert got.field_B_T == pytest.approx(field, rel=1e-6)
    if air is not None and got.barometer is not None:
        assert got.barometer.pressure_Pa == pytest.approx(air[0], rel=1e-6)
        assert got.barometer.altitude_m == pytest.approx(air[1], rel=1e-6)
        assert got.barometer.temperature_K == pytest.approx(air[2], abs=1e-4)
    if dynamic is not None:
        assert got.diff_pressure_Pa == pytest.approx(dynamic, rel=1e-6)


def sensor(time_us: int, updated: int, instance: int = 0, **fields: float) -> Frame:
    names = ("xacc", "yacc", "zacc", "xgyro", "ygyro", "zgyro", "xmag", "ymag", "zmag")
    rest = ("abs_pressure", "diff_pressure", "pressure_alt", "temperature")
    values = (fields.get(name, 1.0) for name in names + rest)
    return frame_of(dialect.MAVLink_hil_sensor_message(time_us, *values, updated, instance))


def test_a_group_counts_only_whole() -> None:
    end = SensorEnd()
    for number, (updated, expected) in enumerate(
        ((0x3, ""), (0x7, "accel"), (0x38, "rate"), (0x30, ""), (0x1C0, "field"), (0x1800, ""), (0x1A00, "air"))
    ):
        got = end.sample(sensor(number + 1, updated))
        assert got is not None
        found = {"accel": got.accel_B, "rate": got.rate_B, "field": got.field_B_T, "air": got.barometer}
        assert "".join(name for name, value in found.items() if value is not None) == expected


def test_axes_and_units_by_hand() -> None:
    end = SensorEnd()
    got = end.sample(sensor(1, 0x1FFF, yacc=2.0, zacc=-9.8, xmag=0.2, zmag=0.4, abs_pressure=1013.25, temperature=15.0))
    assert got is not None
    assert got.accel_B == pytest.approx((1.0, -2.0, 9.8))
    assert got.field_B_T == pytest.approx((2e-5, -1e-4, -4e-5))
    assert got.barometer is not None
    assert got.barometer.pressure_Pa == pytest.approx(101325)
    assert got.barometer.temperature_K == pytest.approx(288.15)


def test_a_number_that_is_none_costs_its_group_alone() -> None:
    end = SensorEnd()
    got = end.sample(sensor(1, 0x1FFF, ygyro=math.nan, pressure_alt=math.inf))
    assert got is not None
    assert got.rate_B is None and got.barometer is None
    assert got.accel_B is not None and got.field_B_T is not None
    assert end.counters.not_finite == 2


def test_time_does_not_go_back() -> None:
    end = SensorEnd()
    assert end.sample(sensor(4000, 0x3F))
    assert end.sample(sensor(4000, 0x3F)) is None
    assert end.sample(sensor(3000, 0x3F)) is None
    assert end.counters.time_backwards == 2
    assert end.sample(sensor(8000, 0x3F))
    end.restart()
    assert end.sample(sensor(1000, 0x3F))
    assert end.sample(sensor(2000, 0x3F, instance=1)) is None
    assert end.counters.other_instances == 1


def test_a_fix_arrives() -> None:
    sent = HilFix(5_000_000, 47.397742, -8.545594, 488.123, (3.0, -4.0, 0.5), 0.3, 0.4, 10)
    assert SensorEnd().fix(frame_of(hil_gps(sent))) == sent


def test_a_fix_nowhere_on_earth_is_refused() -> None:
    end = SensorEnd()
    message = dialect.MAVLink_hil_gps_message(1, 3, 900_000_001, 0, 0, 1, 1, 0, 0, 0, 0, 65535, 9)
    assert end.fix(frame_of(message)) is None
    assert end.counters.out_of_range == 1
    assert end.fix(sensor(1, 0x3F)) is None
    assert end.sample(frame_of(message)) is None


@given(st.lists(st.floats(0, 1, width=32), max_size=16), st.booleans(), st.booleans(), st.integers(0, 2**60))
def test_actuators_are_packed_as_pymavlink_packs_them(
    motors: list[float], armed: bool, lockstep: bool, t_ns: int
) -> None:
    counters = MavlinkCounters()
    ours, theirs = ActuatorsOut(counters, 3, 1), MavlinkOut(MavlinkCounters(), 3, 1)
    for _ in range(2):
        controls = [*motors, *[0.0] * (16 - len(motors))] if armed else [0.0] * 16
        expected = theirs.pack(
            dialect.MAVLink_hil_actuator_controls_message(t_ns // 1000, controls, 129 if armed else 1, int(lockstep))
        )
        assert ours.actuators(t_ns, motors, armed=armed, lockstep=lockstep) == expected
    assert counters.frames_out == 2
    assert counters.bytes_out == 2 * len(expected)


def test_the_simulator_understands_actuators() -> None:
    out = ActuatorsOut(MavlinkCounters(), 1, 1)
    for number in range(300):  # frame numbers wrap at 256
        wire = out.actuators(number * 4_000_000, (0.25, 0.5, 0.75, 1.0), armed=True)
    (frame,) = MavlinkIn(MavlinkCounters()).feed(wire)
    got = ActuatorEnd(frozenset(range(4))).accept(frame)
    assert got is not None
    assert got.armed and got.lockstep and not got.held
    assert got.controls[:5] == (0.25, 0.5, 0.75, 1.0, 0.0)
    assert got.time_usec == 299 * 4000


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1.5])
def test_a_command_that_is_none_is_never_sent(bad: float) -> None:
    with pytest.raises(ValueError, match="expected finite numbers"):
        ActuatorsOut(MavlinkCounters(), 1, 1).actuators(0, (0.1, bad, 0.1, 0.1), armed=True)


def test_one_sample_and_its_answer_on_the_wire() -> None:
    """Golden: the 93 bytes of an armed answer, laid out by hand."""
    wire = ActuatorsOut(MavlinkCounters(), 1, 1).actuators(4_000_000, (0.5,) * 4, armed=True)
    assert wire[:10].hex() == "fd510000000101" + "5d0000"
    assert wire[10:-2] == struct.pack("<QQ16fB", 4000, 1, *(0.5,) * 4, *(0.0,) * 12, 129)


def test_the_greeting_asks_for_no_ground_truth() -> None:
    wish, beat = (frame_of(message).message() for message in greeting())
    assert (wish.command, wish.param1, wish.param2) == (511, dialect.MAVLINK_MSG_ID_HIL_STATE_QUATERNION, -1)
    assert (beat.autopilot, beat.base_mode & 128) == (dialect.MAV_AUTOPILOT_PX4, 0)


def test_one_numbering_for_everything_that_is_sent() -> None:
    sent, heard = MavlinkCounters(), MavlinkCounters()
    out, simulator = ActuatorsOut(sent, 1, 1), MavlinkIn(heard)
    wires = [out.pack(message) for message in greeting()]
    wires += [out.actuators(number * 4_000_000, (), armed=False) for number in range(300)]
    frames = simulator.feed(b"".join(wires))
    assert len(frames) == sent.frames_out == 302
    assert sent.bytes_out == heard.bytes_in
    assert heard.lost == 0


@given(st.floats(0.0, 600.0), st.floats(0.0, 300.0), st.floats(0.0, 100.0), st.floats(0.0, 1.0))
def test_what_the_battery_monitor_measures_arrives(volts: float, amperes: float, used: float, left: float) -> None:
    got = SensorEnd().battery(frame_of(battery_status(HilBattery(volts, amperes, used, 1e4, left))))
    assert got is not None
    assert got.voltage_V == pytest.approx(volts, abs=0.006), "of up to ten parts, each in millivolts"
    assert got.current_A == pytest.approx(amperes, abs=0.006) and got.used_Ah == pytest.approx(used, abs=6e-4)
    assert left - 0.0101 <= got.remaining <= left and got.energy_J == 1e4


def test_a_battery_that_is_not_measured_is_none() -> None:
    unknown = [65535] * 10
    for cells, current, consumed, remaining, number in (
        (unknown, 100, 100, 50, 0),
        ([11000, *unknown[1:]], -1, 100, 50, 0),
        ([11000, *unknown[1:]], 100, -1, 50, 0),
        ([11000, *unknown[1:]], 100, 100, -1, 0),
        ([11000, *unknown[1:]], 100, 100, 50, 1),
    ):
        message = dialect.MAVLink_battery_status_message(number, 0, 0, 32767, cells, current, consumed, -1, remaining)
        assert SensorEnd().battery(frame_of(message)) is None
    assert SensorEnd().battery(frame_of(hil_sensor(HilSample(1, (0, 0, 0), (0, 0, 0), None, None, None)))) is None
