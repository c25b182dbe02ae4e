"""The drivers of a pose board in Python and in C are the same to the byte, whatever comes on their lines."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aeroloop.controllers.pose.board_settings import BoardSettings, settings_of, split
from aeroloop.controllers.pose.driver_table import ALL_SOFT, CLASSES, DRIVERS, GNSS, SENSED_VALUES, mask_of
from aeroloop.controllers.pose.drivers import HARD, HELD, SOFT, STALE, STEP_BACK, STEP_FAILED, STEP_STALE, Drivers
from aeroloop.controllers.pose.native import NativeDrivers, library
from aeroloop.controllers.pose.parameters import NAMES, TABLE, Answer
from aeroloop.core.scenario_files import find, load
from aeroloop.protocols.pose import Attitude, Pose, Position, Rates, SpecificForce, Status, Velocity, encode

FORMATS: dict[str, tuple[str, ...]] = {
    "extended, exact": (),
    "paper": ("pose.format=paper", "pose.board=paper", "pose.reconstruction=paper", "pose.motors=pulses"),
    "bare, exact": ('pose.set=["attitude", "position"]', "pose.rate_hz=50"),
    "with velocity": ('pose.set=["attitude", "position", "rates", "velocity"]', "pose.position=float32"),
    "other checksum": ("pose.crc_init=0", "pose.crc_reflected=false", "pose.crc_low_first=false"),
}
PERIOD_US = 4000
HOME = Position(8.545594, 47.397742, 488.0)


@cache
def board(name: str, *more: str) -> BoardSettings:
    return settings_of(load(find("quad-pose"), (*FORMATS[name], *more)))


@cache
def built(name: str, *more: str) -> Path:
    """With sanitizers: what C does not define ends the test's process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "gcc -fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all")
        return library(board(name, *more))


def both(name: str, *more: str) -> tuple[Drivers, NativeDrivers]:
    return Drivers(board(name, *more)), NativeDrivers(built(name, *more))


def packets(own: BoardSettings, t_ms: int, number: int, values: list[float], home: Position = HOME) -> list[Pose]:
    """Those of a set, of fifteen numbers about 1."""
    a, b, c = values[:3]
    place = Position(home.lon_deg + a * 1e-4, home.lat_deg + b * 1e-4, home.alt_m + 10 * c)
    made: list[Pose] = [
        Attitude(*values[3:6]),
        place,
        Rates(*values[6:9]),
        Velocity(*values[9:12]),
        SpecificForce(*values[12:15]),
        Status(t_ms, number),
    ]
    kinds = (1, 2, 3, 5, 6, 7)
    return [pose for kind, pose in zip(kinds, made, strict=True) if kind in own.kinds]


def set_bytes(own: BoardSettings, t_ms: int, number: int, values: list[float]) -> bytes:
    return b"".join(encode(pose, own.layout) for pose in packets(own, t_ms, number, values))


def shown(drivers: Drivers | NativeDrivers) -> tuple[Any, ...]:
    """All that can be seen of the drivers, in bytes where it is a number."""
    parameters = struct.pack(f"<{len(NAMES)}f", *(drivers.parameter(i) for i in range(len(NAMES))))
    latest = [
        sample.pack() if (sample := drivers.latest(i, source)) is not None else None
        for i in range(len(DRIVERS))
        for source in (HARD, SOFT)
    ]
    flags = drivers.stale, drivers.failed, drivers.stop(), drivers.refused
    return drivers.counts, flags, parameters, latest, struct.pack("<f", drivers.age_s())


def period(drivers: Drivers | NativeDrivers, now_us: int, line: bytes, row: list[float] | None, armed: bool) -> Any:
    """A control period as the front end runs it."""
    drivers.time(now_us)
    drivers.line(line)
    if row is not None:
        drivers.values(row, 0b1111)
    found = [drivers.step(armed), drivers.begin()]
    if found[-1]:
        for number in range(len(DRIVERS)):
            drivers.rebuild(number)
    for number in range(len(DRIVERS)):
        for source in (HARD, SOFT):
            sample = drivers.read(number, source)
            found.append(sample.pack() if sample is not None else None)
    return found


def small(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


numbers = st.floats(-3, 3, width=32)
wild = st.one_of(numbers, st.floats(width=32, allow_nan=False, allow_infinity=False))
periods = st.fixed_dictionaries(
    {
        "gap": st.sampled_from([1, 1, 1, 2, 30, 150]),
        "sets": st.lists(st.lists(wild, min_size=15, max_size=15), max_size=2),
        "cut": st.integers(0, 40),
        "garbage": st.binary(max_size=12),
        "armed": st.booleans(),
        "row": st.one_of(st.none(), st.lists(numbers, min_size=SENSED_VALUES, max_size=SENSED_VALUES)),
        "parameter": st.one_of(st.none(), st.tuples(st.integers(0, len(TABLE)), st.floats(-2, 40, width=32))),
    }
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=() if name in ("extended, exact", "paper") else pytest.mark.soak
        )  # two formats in short
        for name in FORMATS
    ],
)
@settings(max_examples=20, derandomize=True)
@given(st.lists(periods, min_size=1, max_size=12))
def test_python_and_c_agree_to_the_byte(name: str, flight: list[dict[str, Any]]) -> None:
    own = board(name, "pose.noise=board")
    twins = both(name, "pose.noise=board")
    now_us, number, open_bytes = 0, 0, b""
    for each in flight:
        now_us += each["gap"] * PERIOD_US
        line = open_bytes + each["garbage"]
        for values in each["sets"]:
            number += 1
            place = [math.fmod(value, 3.0) for value in values[:3]]  # stays where a place can be
            line += set_bytes(own, now_us // 1000, number, [*place, *values[3:]])
        cut = min(each["cut"], len(line))
        line, open_bytes = line[: len(line) - cut], line[len(line) - cut :]
        if each["parameter"] is not None:
            assert len({drivers.set(*each["parameter"], each["armed"]) for drivers in twins}) == 1
        python, c = (period(drivers, now_us, line, each["row"], each["armed"]) for drivers in twins)
        assert python == c
        assert shown(twins[0]) == shown(twins[1])


@settings(max_examples=30, derandomize=True)
@given(st.lists(st.floats(-0.5, 1.5, width=32), min_size=4, max_size=4))
@example([0.0, 1.0, 5e-4, 4.9e-4])
@pytest.mark.parametrize("name", ["extended, exact", "paper", pytest.param("other checksum", marks=pytest.mark.soak)])
def test_motors_agree_to_the_byte(name: str, command: list[float]) -> None:
    python, c = both(name)
    assert python.motors(command) == c.motors(command)


@settings(max_examples=25, derandomize=True)
@given(st.binary(max_size=200), st.lists(st.integers(0, 60), max_size=8))
@pytest.mark.parametrize("name", ["extended, exact", "paper"])
def test_any_bytes_between_and_any_cuts_leave_every_set_whole(name: str, garbage: bytes, cuts: list[int]) -> None:
    own = board(name)
    wire = set_bytes(own, 4, 1, [0.1] * 15) + garbage + b"\0" * 18 + set_bytes(own, 8, 2, [0.2] * 15)
    for drivers in both(name):
        drivers.time(PERIOD_US)
        rest = wire
        for cut in cuts:
            drivers.line(rest[:cut])
            rest = rest[cut:]
        drivers.line(rest)
        assert drivers.counts.sets >= 2
        assert drivers.counts.bytes_in == len(wire)


def flown(
    drivers: Drivers | NativeDrivers, own: BoardSettings, from_s: float, to_s: float, armed: bool
) -> Iterator[Any]:
    for cycle in range(round(from_s * 250), round(to_s * 250)):
        yield period(drivers, cycle * PERIOD_US, set_bytes(own, cycle * 4, cycle, [0.1] * 15), None, armed)


def test_a_soft_sample_is_flagged_when_no_set_comes_for_a_tenth_of_a_second() -> None:
    own = board("extended, exact")
    for drivers in both("extended, exact"):
        list(flown(drivers, own, 0.0, 0.2, armed=True))
        steps = []
        flags = []
        for cycle in range(50, 250):
            now_us = cycle * PERIOD_US
            drivers.time(now_us)
            steps.append((cycle, drivers.step(True)))
            sample = drivers.read(1, SOFT)
            assert sample is not None
            flags.append(sample.flags)
        last_set = 49
        assert [(cycle - last_set, step) for cycle, step in steps if step] == [(26, STEP_STALE), (126, STEP_FAILED)]
        assert flags[:25] == [HELD] * 25
        assert flags[25:] == [STALE | HELD] * 175
        assert drivers.stop()
        again = next(flown(drivers, own, 1.0, 1.004, armed=True))
        assert again[0] == STEP_BACK
        assert drivers.stop(), "a failsafe stands until the board is disarmed"
        drivers.step(False)
        assert not drivers.stop()


def test_with_hard_inertial_sensors_a_lost_line_does_not_stop_the_rotors() -> None:
    for drivers in both("extended, exact", 'pose.soft=["gnss"]'):
        drivers.time(0)
        drivers.step(True)
        drivers.time(2_000_000)
        assert drivers.step(True) == STEP_STALE | STEP_FAILED
        assert not drivers.stop()


def test_parameters_change_only_disarmed_and_in_their_range() -> None:
    soft = NAMES.index("SENS_SOFT")
    for drivers in both("extended, exact"):
        assert drivers.parameter(soft) == ALL_SOFT
        assert drivers.set(soft, 3.0, True) == Answer.ARMED
        assert drivers.parameter(soft) == ALL_SOFT
        assert drivers.set(soft, 3.0, False) == Answer.SET
        assert [drivers.source(number) for number in range(5)] == [SOFT, SOFT, HARD, HARD, HARD]
        for bad in (-1.0, ALL_SOFT + 1.0, math.nan):
            assert drivers.set(soft, bad, False) == Answer.RANGE
        assert drivers.set(len(NAMES), 0.0, False) == Answer.RANGE
        assert drivers.parameter(soft) == 3.0


def test_every_class_reads_what_its_line_brought() -> None:
    own, row = board("extended, exact"), [float(i) / 8 for i in range(SENSED_VALUES)]
    for drivers in both("extended, exact"):
        assert drivers.read(0, SOFT) is None
        assert drivers.read(0, HARD) is None
        period(drivers, 8000, set_bytes(own, 6, 1, [0.25] * 15), None, armed=False)
        drivers.values(row, 0b1111)
        hard = [drivers.read(number, HARD) for number in range(len(DRIVERS))]
        assert all(sample is not None for sample in hard)
        values = [list(sample.value[: sample.size]) for sample in hard if sample is not None]
        assert values == [row[3:6], row[0:3], row[6:9], row[9:10], row[11:19]]
        assert drivers.read(0, HARD) is None, "nothing new"
        soft = drivers.latest(0, SOFT)
        assert soft is not None
        assert soft.value[:3] == (0.25, -0.25, -0.25), "specific force, from right and down to left and up"
        fix = drivers.latest(GNSS, SOFT)
        assert fix is not None
        assert fix.value[3:6] == (0.25, 0.25, -0.25)
        assert fix.value[2] == pytest.approx(2.5, abs=1e-4)


def test_noise_repeats_and_is_of_the_size_that_was_set() -> None:
    own = board("extended, exact", "pose.noise=board")
    twice = []
    for drivers in both("extended, exact", "pose.noise=board"):
        samples = []
        for cycle in range(1500):
            period(drivers, cycle * PERIOD_US, set_bytes(own, cycle * 4, cycle, [0.25] * 15), None, armed=False)
            sample = drivers.latest(1, SOFT)
            assert sample is not None
            samples.append(sample.value[0])
        twice.append(samples)
    assert twice[0] == twice[1]
    mean = sum(twice[0]) / len(twice[0])
    std = math.sqrt(sum((value - mean) ** 2 for value in twice[0]) / len(twice[0]))
    assert mean == pytest.approx(0.25, abs=3e-4)
    assert std == pytest.approx(0.003, rel=0.08)


def test_a_hard_class_gets_no_noise() -> None:
    own = board("extended, exact", "pose.noise=board", 'pose.soft=["gyro"]')
    for drivers in both("extended, exact", "pose.noise=board", 'pose.soft=["gyro"]'):
        period(drivers, 4000, set_bytes(own, 4, 1, [0.25] * 15), None, armed=False)
        accelerometer, gyro = (drivers.latest(number, SOFT) for number in range(2))
        assert accelerometer is not None
        assert gyro is not None
        assert accelerometer.value[0] == 0.25
        assert gyro.value[0] != 0.25


def test_lost_sets_show_in_the_running_number() -> None:
    own = board("extended, exact")
    for drivers in both("extended, exact"):
        for number in (1, 2, 7, 8, 3):  # the last: a sender that began anew
            drivers.line(set_bytes(own, number * 4, number, [0.1] * 15))
        assert (drivers.counts.sets, drivers.counts.lost) == (5, 4)


def test_a_paper_board_skips_the_types_that_it_does_not_know() -> None:
    paper, extended = board("paper"), board("extended, exact")
    for drivers in both("paper"):
        drivers.line(set_bytes(extended, 4, 1, [0.1] * 15))
        assert drivers.counts.sets == 1
        assert drivers.counts.malformed >= 3
    assert len(set_bytes(paper, 4, 1, [0.1] * 15)) == 54


@pytest.mark.parametrize("degrees", [47.397742, -0.0000001, -33.9999999, 179.9999999, 0.0])
def test_a_place_is_exact_in_two_parameters(degrees: float) -> None:
    whole, rest = split(degrees)
    assert small(whole) * 10**7 + small(rest) == round(degrees * 1e7)


def test_the_mask_has_a_bit_for_each_class() -> None:
    assert mask_of(CLASSES) == ALL_SOFT == 31
    assert mask_of(("gyro", "gnss")) == 0b10010
