"""Parameters over MAVLink from the ground: encodings, loss, refusals."""

from __future__ import annotations

import math
import struct

import pytest
from flight_command_rig import NS, Puppet, SimStation, Weather
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.ground.commands import InvalidError, NoAnswerError, Patience, RefusedError
from aeroloop.ground.commands.hub import GROUND
from aeroloop.ground.commands.parameter_transfer import ParameterList, ParameterRead, ParameterSet
from aeroloop.ground.commands.parameter_values import Parameter, field_from, parameter_from

REAL, INT32 = mavlink.MAV_PARAM_TYPE_REAL32, mavlink.MAV_PARAM_TYPE_INT32
RANGES = {
    1: (0, 255),
    2: (-128, 127),
    3: (0, 65535),
    4: (-(2**15), 2**15 - 1),
    5: (0, 2**32 - 1),
    6: (-(2**31), 2**31 - 1),
}
storms = st.builds(
    Weather, seed=st.integers(0, 2**32), loss=st.sampled_from((0.0, 0.3)), twice=st.just(0.2), latest_s=st.just(0.2)
)


def told(name: str, field: float, kind: int, index: int = 0, count: int = 1) -> bytes:
    return Puppet().frame(mavlink.MAVLink_param_value_message(name.encode(), field, kind, count, index))  # type: ignore[return-value]


@settings(max_examples=10)
@given(weather=storms)
def test_all_of_them_over_a_bad_line(weather: Weather) -> None:
    station = SimStation(weather)
    progress: list[tuple[int, int]] = []
    found = station.vehicle.parameters(lambda so_far, of: progress.append((so_far, of)))
    table = station.bench.parameters
    assert found == {row.name: pytest.approx(row.default, rel=1e-6) for row in table}
    assert all(isinstance(found[row.name], int) == (row.kind == "int") for row in table)
    assert progress[-1] == (len(table), len(table)) and progress == sorted(progress)


@settings(max_examples=10)
@given(weather=storms, speed=st.floats(0.5, 20.0, width=32), act=st.integers(0, 3))
def test_get_and_set_over_a_bad_line(weather: Weather, speed: float, act: int) -> None:
    station = SimStation(weather)
    assert station.vehicle.set_parameter("MPC_XY_CRUISE", speed) == speed
    assert station.vehicle.set_parameter("NAV_DLL_ACT", act) == act
    stands = station.bench.parameters
    assert (stands.get("MPC_XY_CRUISE"), stands.get("NAV_DLL_ACT")) == (speed, act)
    assert station.vehicle.parameter("NAV_DLL_ACT") == act


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MPC_XY_CRUISE", 99.0, "set MPC_XY_CRUISE: the autopilot refused: MPC_XY_CRUISE must be 0.1 to 20"),
        ("NAV_DLL_ACT", 9, "set NAV_DLL_ACT: the autopilot refused: NAV_DLL_ACT must be 0 to 3"),
        ("NO_SUCH", 1.0, "parameter NO_SUCH: the autopilot refused: does not exist"),
    ],
)
def test_a_refusal_says_why(name: str, value: float, words: str) -> None:
    station = SimStation()
    before = {row.name: station.bench.parameters.get(row.name) for row in station.bench.parameters}
    with pytest.raises(RefusedError, match=words):
        station.vehicle.set_parameter(name, value)
    assert before == {row.name: station.bench.parameters.get(row.name) for row in station.bench.parameters}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MPC_XY_CRUISE", math.nan, "expected a finite number"),
        ("MPC_XY_CRUISE", math.inf, "expected a finite number"),
        ("MPC_XY_CRUISE", 1e300, "too large for a number of 32 bits"),
        ("NAV_DLL_ACT", 1.5, "expected a whole number"),
        ("NAV_DLL_ACT", 2**40, "does not fit into its type, INT32"),
        ("NAV_DLL_ACT", -5_000_000, "are not preserved as a float"),
        ("", 1.0, "a name has 1 to 16 letters"),
        ("A" * 17, 1.0, "a name has 1 to 16 letters"),
        ("Ä", 1.0, "a name has 1 to 16 letters"),
    ],
)
def test_what_cannot_be_is_not_sent(name: str, value: float, words: str) -> None:
    station = SimStation()
    with pytest.raises(InvalidError, match=words):
        station.vehicle.set_parameter(name, value)
    assert "PARAM_SET" not in [message.get_type() for message in station.heard]


@given(data=st.data(), kind=st.sampled_from(sorted(RANGES)), bytewise=st.booleans())
def test_whole_numbers_travel_in_bytes_or_as_floats(data: st.DataObject, kind: int, bytewise: bool) -> None:
    low, high = RANGES[kind]
    if not bytewise:
        low, high = max(low, -(2**24)), min(high, 2**24)
    value = data.draw(st.integers(low, high))
    try:
        field = field_from("X", value, kind, bytewise=bytewise)
    except InvalidError as error:
        assert bytewise and "do not survive" in str(error)
        octets = struct.pack("<q", value)[:4]
        assert octets[3] & 0x7F == 0x7F and octets[2] & 0xC0 == 0x80, "the bytes of a signalling NaN"
        return
    parameter = parameter_from(told("X", field, kind), bytewise=bytewise)  # type: ignore[arg-type]
    assert parameter is not None and (parameter.value, type(parameter.value)) == (value, int)


def test_px4s_bytes_worked_out_by_hand() -> None:
    assert struct.pack("<f", field_from("X", 10016, INT32, bytewise=True)) == bytes([0x20, 0x27, 0, 0])
    assert field_from("X", 10016, INT32, bytewise=False) == 10016.0
    assert parameter_from(told("X", 1.0, 99), bytewise=True) is None, "a type of the future"  # type: ignore[arg-type]


def setting(wanted: float) -> ParameterSet:
    before = Parameter("GAIN", 1.0, REAL, 0, 1)
    talk = ParameterSet(before, wanted, (1, 1), GROUND, Patience(answer_s=1.0, tries=3), bytewise=True)
    talk.begin(0)
    return talk


def test_an_old_value_on_its_way_is_no_refusal() -> None:
    talk = setting(2.0)
    talk.handle(told("GAIN", 1.0, REAL), 0)  # type: ignore[arg-type]
    talk.step(NS // 2)
    assert not talk.done
    talk.handle(told("GAIN", 2.0, REAL), NS // 2)  # type: ignore[arg-type]
    assert talk.result.value == 2.0


@pytest.mark.parametrize("tries", [1, 3])
def test_a_value_that_stays_is_a_refusal_and_one_of_the_autopilots_choice_is_told(tries: int) -> None:
    for stands in (1.0, 1.5):
        talk = setting(2.0)
        talk.patience = Patience(answer_s=1.0, tries=tries)
        for second in range(10):
            talk.handle(told("GAIN", stands, REAL), second * NS)  # type: ignore[arg-type]
            talk.step(second * NS)
        if stands == 1.0:
            with pytest.raises(RefusedError, match="set GAIN: the autopilot refused: value remains 1"):
                _ = talk.result
        else:
            assert talk.result.value == 1.5


def test_silence() -> None:
    read = ParameterRead("GAIN", (1, 1), GROUND, Patience(answer_s=1.0, tries=2), bytewise=True)
    every = ParameterList((1, 1), GROUND, Patience(answer_s=1.0, tries=2), bytewise=True)
    for talk in (read, every):
        talk.begin(0)
    every.handle(told("_HASH_CHECK", 0.5, REAL, index=65535, count=3), 0)  # type: ignore[arg-type]
    every.handle(told("A", 0.5, REAL, index=1, count=3), 0)  # type: ignore[arg-type]
    asked = [
        m.param_index for second in range(1, 9) for m in every.step(second * NS) if m.get_type() == "PARAM_REQUEST_READ"
    ]
    for second in range(9):
        read.step(second * NS)
    assert asked == [0, 2, 0, 2]
    with pytest.raises(NoAnswerError, match="parameters: 2 of 3 not received"):
        _ = every.result
    with pytest.raises(NoAnswerError, match="after 2 tries; some autopilots do not answer"):
        _ = read.result
