"""HIL messages: every conversion against numbers worked out by hand, and actuators that cannot be believed."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.frames import frd_from_flu, ned_from_enu, quat_from_euler, quat_ned_frd_from_enu_flu
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.protocols.mavlink_hil import (
    ActuatorEnd,
    BarometerSample,
    HilFix,
    HilOut,
    HilRange,
    HilSample,
    HilTruth,
    distance_sensor,
    heartbeat,
    hil_gps,
    hil_sensor,
    hil_state_quaternion,
)

FIX = HilFix(5_000_000, 47.397742, 8.545594, 488.1234, (3.0, 4.0, 0.5), 0.3, 0.4, 10)
TRUTH = HilTruth(
    8_000_000,
    (1.0, 0.0, 0.0, 0.0),
    (0.1, 0.2, 0.3),
    -33.9,
    151.2,
    12.5,
    (3.0, 4.0, 0.5),
    (1.0, 2.0, 9.80665),
    15.0,
    16.5,
)


def sent(message: Any) -> Any:
    """The message as its receiver reads it."""
    (frame,) = MavlinkIn(MavlinkCounters()).feed(MavlinkOut(MavlinkCounters(), 1, 200).pack(message))
    return frame.message()


def frame_of(message: Any) -> Frame:
    (frame,) = MavlinkIn(MavlinkCounters()).feed(MavlinkOut(MavlinkCounters(), 1, 1).pack(message))
    return frame


def single(value: float) -> float:
    return float(np.float32(value))


def crc_by_the_book(data: bytes) -> int:
    """CRC-16/MCRF4XX, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if crc & 1 else 0)
    return crc


def test_a_frame_built_by_hand_from_the_specification() -> None:
    """Message 107, fields in order of size, trailing zeros left out, seed 108 behind the checksummed bytes."""
    values = (0.5, -0.25, -9.75, 0.125, 0.25, -0.5) + (0.0,) * 7
    payload = struct.pack("<Q13fI", 4000, *values, 0x3F).rstrip(b"\0")
    body = bytes([len(payload), 0, 0, 0, 1, 200, 107, 0, 0]) + payload
    wanted = b"\xfd" + body + struct.pack("<H", crc_by_the_book(body + b"\x6c"))
    sample = HilSample(4_000_000, accel_B=(0.5, 0.25, 9.75), rate_B=(0.125, -0.25, 0.5))
    assert MavlinkOut(MavlinkCounters(), 1, 200).pack(hil_sensor(sample)) == wanted


def test_accelerometer_and_gyro_go_out_in_frd() -> None:
    """At rest, nose up a little: the specific force points up and forward."""
    m = sent(hil_sensor(HilSample(4_000_999, accel_B=(0.5, 0.25, 9.75), rate_B=(0.125, -0.25, 0.5))))
    assert (m.xacc, m.yacc, m.zacc) == (0.5, -0.25, -9.75)
    assert (m.xgyro, m.ygyro, m.zgyro) == (0.125, 0.25, -0.5)
    assert m.time_usec == 4000
    assert m.id == 0


def test_magnetometer_goes_out_in_gauss_and_frd() -> None:
    m = sent(hil_sensor(HilSample(0, field_B_T=(20e-6, -3e-6, -43e-6))))
    assert (m.xmag, m.ymag, m.zmag) == (single(0.2), single(0.03), single(0.43))


def test_barometer_goes_out_in_hpa_metres_and_celsius() -> None:
    m = sent(hil_sensor(HilSample(0, barometer=BarometerSample(95_600.0, 488.5, 285.15))))
    assert (m.abs_pressure, m.pressure_alt, m.temperature) == (956.0, 488.5, 12.0)


def test_differential_pressure_goes_out_in_hpa() -> None:
    """15 m/s at sea level is 137.8 Pa."""
    m = sent(hil_sensor(HilSample(0, diff_pressure_Pa=137.8)))
    assert m.diff_pressure == single(1.378)


@pytest.mark.parametrize(
    ("sample", "mask"),
    [
        (HilSample(0), 0),
        (HilSample(0, accel_B=(0, 0, 9.8)), 0x7),
        (HilSample(0, rate_B=(0, 0, 0)), 0x38),
        (HilSample(0, field_B_T=(0, 0, 0)), 0x1C0),
        (HilSample(0, diff_pressure_Pa=0.0), 0x400),
        (HilSample(0, barometer=BarometerSample(1e5, 0, 288)), 0x1A00),
        (HilSample(0, (0, 0, 9.8), (0, 0, 0)), 0x3F),
        (HilSample(0, (0, 0, 9.8), (0, 0, 0), (1e-5, 0, 0), BarometerSample(1e5, 0, 288), 3.0), 0x1FFF),
    ],
)
def test_only_new_samples_are_marked(sample: HilSample, mask: int) -> None:
    assert sent(hil_sensor(sample)).fields_updated == mask


def test_groups_that_are_not_new_are_zero() -> None:
    m = sent(hil_sensor(HilSample(0, rate_B=(1, 1, 1))))
    assert [m.xacc, m.zacc, m.xmag, m.abs_pressure, m.temperature, m.diff_pressure] == [0.0] * 6


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_sample_that_is_not_finite_is_never_sent(bad: float) -> None:
    for sample in (
        HilSample(0, accel_B=(0, bad, 0)),
        HilSample(0, rate_B=(0, 0, bad)),
        HilSample(0, field_B_T=(bad, 0, 0)),
        HilSample(0, barometer=BarometerSample(1e5, bad, 288)),
        HilSample(0, diff_pressure_Pa=bad),
        HilSample(0, accel_B=(math.inf, -math.inf, 0)),
    ):
        with pytest.raises(ValueError, match="not finite"):
            hil_sensor(sample)
    for fix in (
        HilFix(0, bad, 8, 0, (0, 0, 0), 1, 1, 9),
        HilFix(0, 47, bad, 0, (0, 0, 0), 1, 1, 9),
        HilFix(0, 47, 8, bad, (0, 0, 0), 1, 1, 9),
        HilFix(0, 47, 8, 0, (0, 0, bad), 1, 1, 9),
        HilFix(0, 47, 8, 0, (0, 0, 0), bad, 1, 9),
    ):
        with pytest.raises(ValueError, match=r"not finite|not a position"):
            hil_gps(fix)


def test_place_goes_out_in_dege7_and_mm() -> None:
    m = sent(hil_gps(FIX))
    assert (m.lat, m.lon, m.alt) == (473977420, 85455940, 488123)
    assert m.time_usec == 5000


def test_velocity_goes_out_in_cm_s_and_ned() -> None:
    """3 m/s east, 4 m/s north, 0.5 m/s up: 5 m/s over ground."""
    m = sent(hil_gps(FIX))
    assert (m.vn, m.ve, m.vd, m.vel) == (400, 300, -50, 500)


def test_accuracy_goes_out_in_cm() -> None:
    m = sent(hil_gps(FIX))
    assert (m.eph, m.epv, m.satellites_visible, m.fix_type) == (30, 40, 10, 3)


@pytest.mark.parametrize(
    ("east", "north", "course"),
    [
        (0.0, 1.0, 0),
        (1.0, 1.0, 4500),
        (1.0, 0.0, 9000),
        (0.0, -1.0, 18000),
        (-1.0, 0.0, 27000),
        (-1e-9, 1.0, 0),  # rounds to 360.00, which is 0
        (3.0, 4.0, 3687),  # atan(3/4) = 36.870 deg
        (0.05, 0.05, 65535),
    ],
)
def test_course_goes_out_in_centidegrees_from_north_by_east(east: float, north: float, course: int) -> None:
    assert sent(hil_gps(HilFix(0, 0, 0, 0, (east, north, 0), 1, 1, 9))).cog == course


def test_the_ends_of_the_ranges_saturate_or_wrap() -> None:
    m = sent(hil_gps(HilFix(0, -90.0, 190.0, 0, (400.0, -400.0, 400.0), 1e6, 1e6, 300)))
    assert (m.lat, m.lon, m.satellites_visible) == (-900000000, -1700000000, 255)
    assert (m.vn, m.ve, m.vd, m.eph, m.epv) == (-32768, 32767, -32768, 65535, 65535)
    with pytest.raises(ValueError, match="not a position"):
        hil_gps(HilFix(0, 90.1, 0, 0, (0, 0, 0), 1, 1, 9))


def test_ground_truth_in_its_units() -> None:
    m = sent(hil_state_quaternion(TRUTH, hitl=False))
    half = single(math.sqrt(0.5))
    assert m.attitude_quaternion == [half, 0.0, 0.0, half]  # nose to the east: yaw 90 deg from north
    assert (m.rollspeed, m.pitchspeed, m.yawspeed) == (single(0.1), single(-0.2), single(-0.3))
    assert (m.lat, m.lon, m.alt, m.time_usec) == (-339000000, 1512000000, 12500, 8000)
    assert (m.vx, m.vy, m.vz) == (400, 300, -50)
    assert (m.ind_airspeed, m.true_airspeed) == (1500, 1650)
    assert (m.xacc, m.yacc, m.zacc) == (102, -204, -1000)  # thousandths of 9.80665 m/s2


def test_ground_truth_is_refused_in_hitl() -> None:
    with pytest.raises(ValueError, match="SITL only"):
        hil_state_quaternion(TRUTH, hitl=True)


def test_a_heartbeat_is_no_autopilots() -> None:
    m = sent(heartbeat())
    assert m.autopilot == dialect.MAV_AUTOPILOT_INVALID
    assert m.mavlink_version == 3


def test_axes_by_hand() -> None:
    assert frd_from_flu((1.0, 2.0, 3.0)) == (1.0, -2.0, -3.0)
    assert ned_from_enu((1.0, 2.0, 3.0)) == (2.0, 1.0, -3.0)


def matrix(quat: tuple[float, float, float, float]) -> Any:
    w, x, y, z = quat
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


angles = st.floats(-math.pi, math.pi)


@given(angles, st.floats(-1.5, 1.5), angles)
def test_attitude_between_the_autopilots_axes(roll: float, pitch: float, yaw: float) -> None:
    quat_WB = quat_from_euler(roll, pitch, yaw)
    ned_enu, flu_frd = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]), np.diag([1, -1, -1])
    wanted = ned_enu @ matrix(quat_WB) @ flu_frd
    np.testing.assert_allclose(matrix(quat_ned_frd_from_enu_flu(quat_WB)), wanted, atol=1e-12)


def actuators(controls: list[float], mode: int = 129, flags: int = 1) -> Frame:
    return frame_of(dialect.MAVLink_hil_actuator_controls_message(4000, controls, mode, flags))


def test_actuators_are_read() -> None:
    end = ActuatorEnd(frozenset(range(4)))
    command = end.accept(actuators([0.0, 0.25, 0.5, 1.0, -1.0, -0.5] + [0.0] * 10))
    assert command is not None
    assert command is end.latest
    assert command.controls == (0.0, 0.25, 0.5, 1.0, -1.0, -0.5) + (0.0,) * 10
    assert (command.time_usec, command.armed, command.lockstep, command.axes) == (4000, True, True, False)
    motors = end.accept(actuators([0.0, 0.25, 0.5, 1.0] + [0.0] * 12))
    assert motors is not None
    assert motors.controls == (0.0, 0.25, 0.5, 1.0) + (0.0,) * 12, "the channels that are not used"
    idle = end.accept(actuators([0.0] * 16, mode=1, flags=0))
    assert idle is not None
    assert (idle.armed, idle.lockstep) == (False, False)
    assert (end.accepted, end.refused) == (3, 0)


def test_the_older_controls_are_read_as_axes() -> None:
    end = ActuatorEnd(frozenset(range(4)))
    message = dialect.MAVLink_hil_controls_message(7000, -0.5, 0.25, -1.0, 0.75, 0, 0, 0, 1.0, 128, 0)
    command = end.accept(frame_of(message))
    assert command is not None
    assert command.controls == (-0.5, 0.25, -1.0, 0.75, 0.0, 0.0, 0.0, 1.0) + (0.0,) * 8
    assert (command.time_usec, command.armed, command.lockstep, command.axes) == (7000, True, False, True)
    backwards = dialect.MAVLink_hil_controls_message(8000, 0, 0, 0, -0.1, 0, 0, 0, 0, 128, 0)
    held = end.accept(frame_of(backwards))
    assert held is not None
    assert held.held
    assert end.refused == 1


@pytest.mark.parametrize("channel", [0, 3, 4, 15])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1.001, -1.001, 1e30])
@pytest.mark.parametrize("others", [0.1, 0.0])
def test_what_cannot_be_believed_is_refused_and_the_last_command_stands(
    channel: int, bad: float, others: float
) -> None:
    end = ActuatorEnd(frozenset(range(4)))
    good = end.accept(actuators([0.5] * 16))
    held = end.accept(actuators([bad if n == channel else others for n in range(16)]))
    assert held is not None
    assert good is not None
    assert held.held
    assert held.controls == good.controls
    assert end.latest is good
    assert (end.accepted, end.refused) == (1, 1)


def test_a_motor_does_not_turn_backwards_but_a_surface_may() -> None:
    end = ActuatorEnd(frozenset({0}))
    end.accept(actuators([-0.1] + [0.0] * 15))
    assert (end.accepted, end.refused) == (0, 1)
    end.accept(actuators([0.0, -0.1] + [0.0] * 14))
    assert (end.accepted, end.refused) == (1, 1)


def test_other_messages_are_no_actuators() -> None:
    end = ActuatorEnd()
    assert end.accept(frame_of(heartbeat())) is None
    assert (end.latest, end.accepted, end.refused) == (None, 0, 0)


def test_one_that_disarms_is_obeyed_whatever_its_controls() -> None:
    end = ActuatorEnd(frozenset(range(4)))
    end.accept(actuators([0.5] * 16))
    stop = end.accept(actuators([math.nan] * 16, mode=1))
    assert stop is not None
    assert not stop.armed
    assert stop.controls == (0.0,) * 16


_VEC = st.tuples(*[st.floats(-1e6, 1e6, width=32)] * 3)
_SAMPLES = st.builds(
    HilSample,
    t_ns=st.integers(1000, 2**50),
    accel_B=st.none() | _VEC,
    rate_B=st.none() | _VEC,
    field_B_T=st.none() | st.tuples(*[st.floats(-1e-3, 1e-3)] * 3),
    barometer=st.none()
    | st.builds(BarometerSample, st.floats(1e3, 1.2e5), st.floats(-500, 2e4), st.floats(150.0, 350.0)),
    diff_pressure_Pa=st.none() | st.floats(-1e4, 1e4),
)


@given(st.lists(_SAMPLES, min_size=1, max_size=3), st.integers(0, 255))
def test_the_quick_way_to_pack_gives_pymavlinks_bytes(samples: list[HilSample], seq: int) -> None:
    counters = MavlinkCounters()
    ours, theirs = HilOut(counters, 1, 51), dialect.MAVLink(None, srcSystem=1, srcComponent=51)
    ours._number = theirs.seq = seq
    sent = 0
    for sample in samples:
        for wire, message in ((ours.sensor(sample), hil_sensor(sample)), (ours.pack(heartbeat()), heartbeat())):
            assert wire == message.pack(theirs)
            theirs.seq = (theirs.seq + 1) & 0xFF
            sent += len(wire)
    assert (counters.frames_out, counters.bytes_out) == (2 * len(samples), sent)


def test_a_sample_that_is_no_number_is_not_packed() -> None:
    with pytest.raises(ValueError, match="HIL_SENSOR: a sensor sample is not finite"):
        HilOut(MavlinkCounters(), 1, 51).sensor(HilSample(4_000_000, accel_B=(0.0, math.nan, 0.0)))


def test_a_range_finder_looks_down_in_centimetres() -> None:
    message = sent(distance_sensor(HilRange(2_500_000_000, 3.217, True, 0.1, 12.0)))
    assert (message.time_boot_ms, message.current_distance) == (2500, 322)
    assert (message.min_distance, message.max_distance) == (10, 1200)
    assert message.orientation == dialect.MAV_SENSOR_ROTATION_PITCH_270
    assert message.signal_quality == 100
    assert sent(distance_sensor(HilRange(2_500_000_000, 12.0, False, 0.1, 12.0))).signal_quality == 1
