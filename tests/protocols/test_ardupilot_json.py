"""ArduPilot's JSON interface: servo packets of both sizes, answers that its first-match search reads."""

from __future__ import annotations

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.frames import ned_from_enu, quat_ned_frd_from_enu_flu
from aeroloop.protocols.ardupilot_json import AnswerState, ServoIn, answer
from peers.ardupilot_reader import Reader

FINITE = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTOR = st.tuples(FINITE, FINITE, FINITE)
STATES = st.builds(
    AnswerState,
    t_ns=st.integers(0, 86_400_000_000_000),
    rate_B=VECTOR,
    accel_B=VECTOR,
    pos_W=VECTOR,
    quat_WB=st.tuples(FINITE, FINITE, FINITE, FINITE),
    vel_W=VECTOR,
    wind_W=VECTOR,
    airspeed_m_s=st.one_of(st.none(), st.floats(0, 300)),
    ranges_m=st.lists(st.floats(0, 1000), max_size=6).map(tuple),
)
AT_REST = AnswerState(
    1_250_000, (0.001, 0.0, 0.0), (0.0, 0.0, 9.81), (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0), (0.5, 0.25, -1.0)
)


def packet(magic: int, rate: int, count: int, pwm: list[int]) -> bytes:
    return struct.pack(f"<HHI{len(pwm)}H", magic, rate, count, *pwm)


def test_the_example_of_arducopter() -> None:
    servos = ServoIn()
    datagram = bytes.fromhex("1a48b00400000000") + bytes.fromhex("e803") * 4 + bytes(24)
    found = servos.read(datagram)
    assert found == (1200, 0, (1000,) * 4 + (0,) * 12)
    assert (servos.counters.packets, servos.counters.wrong_size, servos.counters.wrong_magic) == (1, 0, 0)


def test_thirty_two_channels() -> None:
    pwm = list(range(1000, 1032))
    assert ServoIn().read(packet(29569, 800, 7, pwm)) == (800, 7, tuple(pwm))


@pytest.mark.parametrize(
    "datagram",
    [b"", b"x", packet(18458, 1, 2, [0] * 16)[:-1], packet(18458, 1, 2, [0] * 17), packet(18458, 1, 2, [0] * 31)],
)
def test_another_size_is_counted_and_ignored(datagram: bytes) -> None:
    servos = ServoIn()
    assert servos.read(datagram) is None
    assert (servos.counters.wrong_size, servos.counters.wrong_magic) == (1, 0)


@pytest.mark.parametrize(("magic", "channels"), [(18459, 16), (29569, 16), (18458, 32)])
def test_another_magic_number_is_counted_and_ignored(magic: int, channels: int) -> None:
    servos = ServoIn()
    assert servos.read(packet(magic, 1, 2, [0] * channels)) is None
    assert (servos.counters.wrong_size, servos.counters.wrong_magic) == (0, 1)


@given(st.binary(max_size=2000))
def test_any_bytes_are_a_packet_or_counted(datagram: bytes) -> None:
    servos = ServoIn()
    found = servos.read(datagram)
    counters = servos.counters
    assert counters.packets + counters.wrong_size + counters.wrong_magic == 1
    assert (found is not None) == (len(datagram) in (40, 72) and datagram[:2] in (b"\x1a\x48", b"\x81\x73"))


def test_an_answer_to_the_byte() -> None:
    state = AT_REST._replace(airspeed_m_s=1.25, wind_W=(1.0, 0.0, 0.0), ranges_m=(12.5,))
    assert answer(state) == (
        b'\n{"timestamp":0.001250000,"imu":{"gyro":[0.001,-0,-0],"accel_body":[0,-0,-9.81]},"position":[2,1,-3],'
        b'"quaternion":[0.707106781,0,0,0.707106781],"velocity":[0.25,0.5,1],"airspeed":1.25,'
        b'"velocity_wind":[0,1,-0],"rng_1":12.5}\n'
    )


@given(STATES)
def test_an_answer_is_read_back_by_the_first_text_match(state: AnswerState) -> None:
    text = answer(state)
    reader = Reader()
    assert reader.receive(text), reader.refused
    p, q, r = state.rate_B
    ax, ay, az = state.accel_B
    expected = {
        "timestamp": (state.t_ns / 1e9,),
        "gyro": (p, -q, -r),
        "accel_body": (ax, -ay, -az),
        "position": ned_from_enu(state.pos_W),
        "quaternion": quat_ned_frd_from_enu_flu(state.quat_WB),
        "velocity": ned_from_enu(state.vel_W),
        **{f"rng_{number}": (range_m,) for number, range_m in enumerate(state.ranges_m, 1)},
    }
    if state.airspeed_m_s is not None:
        expected |= {"airspeed": (state.airspeed_m_s,), "velocity_wind": ned_from_enu(state.wind_W)}
    assert set(reader.state) == set(expected)
    for key, values in expected.items():
        assert reader.state[key] == pytest.approx(values, rel=1e-8, abs=1e-15), key


@given(STATES)
def test_an_answer_is_one_compact_line_of_json(state: AnswerState) -> None:
    text = answer(state).decode()
    assert text[0] == text[-1] == "\n" and "\n" not in text[1:-1]
    assert " " not in text
    parsed = json.loads(text, parse_constant=pytest.fail)
    keys = list(parsed)
    assert keys[:5] == ["timestamp", "imu", "position", "quaternion", "velocity"], "velocity before velocity_wind"
    assert not [key for key in keys if "rc" in key]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["rate_B", "accel_B", "pos_W", "quat_WB", "vel_W", "wind_W"])
def test_nan_is_never_sent(field: str, bad: float) -> None:
    values = list(getattr(AT_REST, field))
    values[1] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        answer(AT_REST._replace(airspeed_m_s=1.0, **{field: tuple(values)}))


def test_large_numbers_whose_sum_overflows_are_still_sent() -> None:
    state = AT_REST._replace(pos_W=(1.7e308, 1.7e308, 0.0))
    assert Reader().receive(answer(state))


def test_what_it_would_not_read_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        answer(AT_REST._replace(ranges_m=(math.nan,)))
    with pytest.raises(ValueError, match="6 range finders, not 7"):
        answer(AT_REST._replace(ranges_m=(1.0,) * 7))
    with pytest.raises(ValueError, match="clock starts at 0"):
        answer(AT_REST._replace(t_ns=-1))
