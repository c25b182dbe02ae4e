"""Presets of sensors: their numbers, sources and noise."""

from __future__ import annotations

import functools
import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sensor_scenes import AIR, FIELD_W_T, PLACE, G, seconds
from suite_flights import fly, of

from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.sensors import suite as suite_module
from aeroloop.sensors.suite import NAMES, Sample, SensorSet, preset, presets

PRESETS = Path(suite_module.__file__).parent / "presets.toml"
SOURCES = (
    r"data sheet",  # of a part that is named before it
    r"^(Table 3\.1|section 3\.2)",  # of the thesis
    r"gazebo",
    r"PX4",
    r"ArduPilot",
    r"^PNI, RM3100",
    r"^Bosch, BMI088 flyer",
    r"u-blox protocol",
    r"^as (`\w+`|the gyroscope)",
)
"""Kinds of sources, as they begin or occur in a comment."""
ASSUMED = {"thesis": 3, "px4": 12, "ideal": 2, "consumer": 38, "bmi088": 18, "icm42688p": 7}
"""Lines of each preset with an assumed number."""


def test_presets_are_those_of_the_documentation() -> None:
    assert presets() == ("thesis", "px4", "ideal", "consumer", "bmi088", "icm42688p")
    with pytest.raises(ConfigError, match="expected one of: thesis, px4, ideal, consumer, bmi088, icm42688p"):
        preset("pixhawk")


def test_presets_of_parts_have_the_numbers_of_their_data_sheets() -> None:
    """In the data sheets' units: deg/s, mg and ug, K."""
    bosch, tdk = preset("bmi088").imu, preset("icm42688p").imu
    assert bosch is not None
    assert tdk is not None
    for imu, noise, per_K, accel_noise, accel_per_K, range_g in (
        (bosch, 0.014, 0.015, (160.0, 160.0, 190.0), 0.2, 24.0),
        (tdk, 0.0028, 0.005, (65.0, 65.0, 70.0), 0.15, 16.0),
    ):
        assert math.degrees(imu.gyro.errors.white_density) == pytest.approx(noise, rel=1e-3)
        assert np.degrees(np.abs(imu.gyro.temperature_offset)) == pytest.approx(np.full(3, per_K), rel=1e-3)
        assert np.array(imu.accel.errors.white_density) / G * 1e6 == pytest.approx(np.array(accel_noise), rel=1e-3)
        assert np.abs(imu.accel.temperature_offset) / G * 1e3 == pytest.approx(np.full(3, accel_per_K), rel=1e-3)
        assert imu.accel.errors.range == pytest.approx((-range_g * G, range_g * G), rel=1e-3)
        assert imu.accel.errors.quantum == pytest.approx(range_g * G / 32768.0, rel=1e-3)
        assert np.degrees(imu.gyro.errors.range) == pytest.approx((-2000.0, 2000.0), rel=1e-3)
    assert np.degrees(bosch.g_sensitivity[0][0]) * G == pytest.approx(0.1, rel=1e-3)
    assert preset("icm42688p").gnss == preset("bmi088").gnss
    assert preset("bmi088").rangefinder == preset("consumer").rangefinder


def lines_of_presets() -> list[tuple[str, str, str]]:
    """Key with its tables, line and comment of each setting in the file."""
    table, found = "", []
    for line in PRESETS.read_text(encoding="utf-8").splitlines():
        if header := re.match(r"\[([\w.]+)\]", line):
            table = header[1]
        elif setting := re.match(r"(\w+) = ", line):
            found.append((f"{table}.{setting[1]}", line, line.partition("  # ")[2]))
    return found


def fault_of(comment: str) -> str:
    """What is missing in a line's comment; nothing: an empty string."""
    if "assumed" in comment:
        return "" if re.search(r"assumed: \S.{4,}", comment) else "assumed without a reason"
    return "" if any(re.search(kind, comment) for kind in SOURCES) else "no source of a named kind"


def test_every_number_of_a_preset_has_a_source() -> None:
    """Of a named kind; or it is assumed, for a reason."""
    lines = [(key, comment) for key, line, comment in lines_of_presets() if re.search(r"= [\[\d-]", line)]
    assert len(lines) > 200
    assert {key: fault for key, comment in lines if (fault := fault_of(comment))} == {}


def test_number_of_assumed_lines() -> None:
    """Who assumes one more, or finds the source of one, changes this number."""
    counts = Counter(key.split(".")[0] for key, _, comment in lines_of_presets() if "assumed" in comment)
    assert counts == ASSUMED


def test_numbers_as_those_of_another_preset_are_equal_to_them() -> None:
    tables = tomllib.loads(PRESETS.read_text(encoding="utf-8"))

    def value(key: str) -> Any:
        return functools.reduce(lambda table, name: table[name], key.split("."), tables)

    same = [(key, named[1]) for key, _, comment in lines_of_presets() if (named := re.match(r"as `(\w+)`", comment))]
    assert len(same) > 25
    for key, other in same:
        assert value(key) == value(other + key[key.index(".") :]), key


@pytest.mark.parametrize("comment", ["", "assumed", "assumed, likewise", "assumed: ", "from memory", "typical"])
def test_a_comment_without_a_source_is_found(comment: str) -> None:
    assert fault_of(comment)


def test_unknown_keys_in_a_preset_are_refused() -> None:
    table = {"imu": {"rate_hz": 250.0, "gyro": {"errors": {"with_std": 1.0}}}}
    with pytest.raises(
        ConfigError,
        match=r"imu\.gyro\.errors\.with_std: unknown key \(did you mean 'white_std'\?\), expected one of: white_std",
    ):
        convert(table, SensorSet, "here")


def test_the_thesis_preset_is_table_3_1() -> None:
    thesis = preset("thesis")
    assert thesis.imu is not None
    assert thesis.gnss is not None
    assert np.degrees(thesis.imu.gyro.errors.white_std) == pytest.approx([0.67, 0.78, 0.12])
    assert thesis.imu.accel.errors.white_std == (0.04, 0.06, 0.07)
    assert (thesis.imu.rate_hz, thesis.gnss.rate_hz, thesis.gnss.position.white_std) == (500.0, 5.0, 0.3)


def test_the_thesis_preset_makes_that_noise() -> None:
    """Seed 1, 40 s: 20 000 samples of the IMU, to 3 %; 200 fixes, altitude to 20 %."""
    heard = fly(preset("thesis"), 40.0)
    rates = np.degrees([sample.rate_B for sample in of(heard, "imu")])
    accels = np.array([sample.accel_B for sample in of(heard, "imu")])
    assert rates.std(axis=0) == pytest.approx([0.67, 0.78, 0.12], rel=0.03)
    assert accels.std(axis=0) == pytest.approx([0.04, 0.06, 0.07], rel=0.03)
    assert np.std([sample.alt_m for sample in of(heard, "gnss")]) == pytest.approx(0.3, rel=0.2)


def test_ideal_has_the_rates_of_px4_and_no_errors() -> None:
    ideal, px4 = preset("ideal"), preset("px4")
    for name in NAMES:
        assert getattr(ideal, name).rate_hz == getattr(px4, name).rate_hz
    heard = fly(ideal, 1.0)
    assert {sample.accel_B for sample in of(heard, "imu")} == {(0.0, 0.0, G)}
    assert {sample.field_B_T for sample in of(heard, "magnetometer")} == {FIELD_W_T}
    assert {(s.pressure_Pa, s.temperature_K) for s in of(heard, "barometer")} == {(AIR.pressure_Pa, AIR.temperature_K)}
    assert {(s.lat_deg, s.lon_deg, s.alt_m) for s in of(heard, "gnss")} == {(PLACE.lat_deg, PLACE.lon_deg, PLACE.alt_m)}
    assert {sample.range_m for sample in of(heard, "rangefinder")} == {5.0}


def numbers(sample: Sample) -> Iterator[tuple[str, float]]:
    for field, value in sample._asdict().items():
        if isinstance(value, tuple):
            yield from ((f"{field}[{i}]", part) for i, part in enumerate(value))
        elif isinstance(value, float) and field not in ("eph_m", "epv_m", "min_m", "max_m"):
            yield field, value


@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_the_px4_preset_ever_stands_still(name: str) -> None:
    """PX4 declares a constant sensor stale: from sample to sample every number changes, in a motionless aircraft."""
    samples = of(fly(preset("px4"), 8.0), name)
    assert len(samples) > 40
    for before, after in itertools.pairwise(samples):
        for (key, a), (_, b) in zip(numbers(before), numbers(after), strict=True):
            assert a != b, key


def test_px4_gets_its_first_fix_after_three_seconds() -> None:
    fixes = of(fly(preset("px4"), 4.0), "gnss")
    assert fixes[0].t_ns == seconds(3.0)
    assert (fixes[0].eph_m, fixes[0].epv_m, fixes[0].satellites) == (0.3, 0.4, 10)
