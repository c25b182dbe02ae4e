"""The reader and the writer of ArduPilot's .bin: against pymavlink, in the formats of years, cut, damaged, shuffled."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from flown_logs import FMT, attitude_log, described, row, synthetic
from hypothesis import example, given
from hypothesis import strategies as st
from pymavlink import DFReader

from aeroloop.core.errors import ConfigError
from aeroloop.flown import dataflash, dataflash_writer
from aeroloop.flown.ardupilot import Contents
from aeroloop.flown.read import Options, read

STEPS_US = [20_000 * index for index in range(50)]


def parse(content: bytes, options: Options = Options()) -> Contents:  # noqa: B008  frozen
    return dataflash.parse(BytesIO(content), len(content), options)


def log_at(folder: Path, content: bytes, name: str = "flight.bin") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    record = synthetic(5.0)
    dataflash_writer.write(record, tmp_path / "flight.bin")
    again = read(tmp_path / "flight.bin")
    for name, signal in record.signals.items():
        if name == "lat":  # without a longitude there is no place
            continue
        np.testing.assert_allclose(again[name].t_s, signal.t_s, atol=1e-6)
        np.testing.assert_allclose(again[name].values, signal.values, rtol=1e-6, atol=1e-6)
    assert not again.remarks
    assert not again.dropped
    with pytest.raises(ConfigError, match="exists already"):
        dataflash_writer.write(record, tmp_path / "flight.bin")


def test_pymavlink_reads_every_row_that_is_written(tmp_path: Path) -> None:
    record = synthetic(5.0)
    dataflash_writer.write(record, tmp_path / "flight.bin")
    theirs = DFReader.DFReader_binary(str(tmp_path / "flight.bin"))
    found: dict[str, list[tuple[float, float]]] = {"ATT": [], "IMU": [], "CTUN": [], "BARO": []}
    columns = {"ATT": "Roll", "IMU": "GyrX", "CTUN": "ThO", "BARO": "Alt"}
    while (message := theirs.recv_msg()) is not None:
        kind = message.get_type()
        if kind in found:
            found[kind].append((message.TimeUS * 1e-6, getattr(message, columns[kind])))
    for kind, (name, factor) in {
        "ATT": ("roll", 180 / np.pi),
        "IMU": ("gyro_x", 1.0),
        "CTUN": ("throttle", 1.0),
        "BARO": ("height", 1.0),
    }.items():
        t_s, values = np.array(found[kind]).T
        np.testing.assert_allclose(t_s, record[name].t_s, atol=1e-6)
        np.testing.assert_allclose(values, record[name].values * factor, rtol=1e-5, atol=1e-5)


def test_names_and_units_of_old_logs(tmp_path: Path) -> None:
    """Before 3.3 times are ms, GPS.TimeMS is the receiver's time, throttle 0 to 1000, channels Ch1."""
    formats = (
        described(1, "ATT", "Icccc", "TimeMS,RollIn,Roll,NavYaw,Yaw")
        + described(2, "GPS", "BIHLLeEI", "Status,TimeMS,Week,Lat,Lng,Alt,Spd,T")
        + described(3, "CTUN", "Ihe", "TimeMS,ThrOut,BarAlt")
        + described(4, "RCOU", "Ihh", "TimeMS,Ch1,Ch2")
        + described(5, "PARM", "Nf", "Name,Value")
    )
    rows = row(5, "Nf", b"RATE_RLL_P", 0.15) + row(2, "BIHLLeEI", 1, 7000, 0, 0, 0, 0, 0, 500)
    for index in range(20):
        at_ms = 1000 + 100 * index
        rows += row(1, "Icccc", at_ms, 100, 200, 9000, 18000)
        rows += row(2, "BIHLLeEI", 3, 7_000_000 + index, 1800, 473_977_419, 85_455_938, 50_000, 123, at_ms)
        rows += row(3, "Ihe", at_ms, 450, 1234) + row(4, "Ihh", at_ms, 1500, 1600)
    record = read(log_at(tmp_path, FMT + formats + rows))
    assert record["roll"].t_s[0] == record["lat"].t_s[0] == 1.0  # the row without a fix is left out
    assert record["roll"].values[0] == pytest.approx(np.radians(2.0))
    assert record["roll_setpoint"].values[0] == pytest.approx(np.radians(1.0))
    assert record["yaw_setpoint"].values[0] == pytest.approx(np.pi / 2)
    assert record["throttle"].values[0] == pytest.approx(0.45)
    assert record["height"].values[0] == pytest.approx(12.34)
    assert record["height"].source == "CTUN.BarAlt"
    assert (record["lat"].values[0], record["lon"].values[0]) == pytest.approx((47.3977419, 8.5455938))
    assert (record["alt"].values[0], record["speed"].values[0]) == pytest.approx((500.0, 1.23))
    assert [channel.values[0] for channel in record.channels("pulse")] == [1500.0, 1600.0]
    assert record.parameters == {"RATE_RLL_P": pytest.approx(0.15)}
    assert {"gyro_x", "mag_x", "pressure", "stick_1"} <= {missing.name for missing in record.missing}
    with pytest.raises(ConfigError, match=r"has no gyro_x \(expected IMU.GyrX\)"):
        record["gyro_x"]


def test_of_several_sensors_the_first_is_read(tmp_path: Path) -> None:
    imu = described(3, "IMU", "QBf", "TimeUS,I,GyrX")
    rows = b"".join(row(3, "QBf", at, unit, 1.0 + unit) for at in STEPS_US for unit in (0, 1))
    record = read(log_at(tmp_path, attitude_log(STEPS_US) + imu + rows))
    assert record["gyro_x"].values.tolist() == [1.0] * len(STEPS_US)
    assert not record.dropped


def test_rows_whose_time_does_not_rise_are_dropped_and_counted(tmp_path: Path) -> None:
    twice = [20_000 * (index - index % 3 // 2) for index in range(60)]  # every third row again at the time before
    record = read(log_at(tmp_path, attitude_log(twice)))
    assert np.all(np.diff(record["roll"].t_s) > 0)
    assert [(each.source, each.rows, each.of) for each in record.dropped] == [("ATT", 20, 60)]


def test_one_row_with_a_damaged_time_does_not_cost_the_rest(tmp_path: Path) -> None:
    damaged = [*STEPS_US[:10], 2**60, *STEPS_US[11:]]
    record = read(log_at(tmp_path, attitude_log(damaged)))
    assert len(record["roll"].t_s) == len(STEPS_US) - 1
    assert record.dropped[0].rows == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the log is empty"),
        (b"nothing of this is a log " * 20, "not a DataFlash log of ArduPilot"),
        (attitude_log(STEPS_US, b"ArduRover V4.2.0 (1234)"), r"the log of a rover \(ArduRover V4.2.0 \(1234\)\)"),
        (attitude_log(STEPS_US, b"APM:Rover V2.50"), "the log of a rover"),
        (FMT + described(1, "IMU", "Qf", "TimeUS,GyrX") + row(1, "Qf", 0, 0.0), "message ATT is not in it"),
        (FMT + described(1, "ATT", "cc", "Roll,Pitch") + row(1, "cc", 0, 0), "message ATT has no column TimeUS"),
        (attitude_log(STEPS_US[::-1]), "the time of ATT runs back: 49 of 50 rows"),
    ],
)
def test_a_log_that_cannot_be_used_is_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        read(log_at(tmp_path, content))
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


@given(st.integers(0, len(attitude_log(STEPS_US)) - 1))
@example(len(attitude_log(STEPS_US)) - 1)
@example(len(attitude_log(STEPS_US)) - 14)
def test_a_log_that_is_cut_has_every_whole_row_before(end: int) -> None:
    content = attitude_log(STEPS_US)
    first = content.index(row(1, "Qcc", 0, 0, 0))
    found = parse(content[:end])
    whole = max(0, end - first) // 15
    assert len(found.columns.get("ATT", {}).get("Roll", ())) == whole
    if end > first:
        assert any("truncated" in remark for remark in found.remarks) == bool((end - first) % 15)


@given(st.integers(0, 49), st.binary(min_size=1, max_size=40).filter(lambda noise: b"\xa3" not in noise))
def test_bytes_between_rows_are_skipped_and_counted(after: int, noise: bytes) -> None:
    content = attitude_log(STEPS_US)
    at = len(content) - 15 * after
    found = parse(content[:at] + noise + content[at:])
    assert found.columns["ATT"]["Roll"].tolist() == [index * 0.01 for index in range(50)]
    assert any(remark.startswith(f"{len(noise)} of ") for remark in found.remarks)


@given(st.binary(max_size=600), st.lists(st.tuples(st.integers(0, 1300), st.integers(0, 255)), max_size=30))
def test_any_bytes_are_read_without_an_error(start: bytes, flips: list[tuple[int, int]]) -> None:
    """Damaged formats among them: lengths, letters and labels that cannot be true."""
    content = bytearray(attitude_log(STEPS_US))
    for at, value in flips:
        content[at % len(content)] = value
    for damaged in (start, bytes(content), start + bytes(content), bytes(content) + start):
        found = parse(damaged)
        assert sum(len(column) for columns in found.columns.values() for column in columns.values()) <= len(damaged)


def test_a_flipped_letter_or_length_makes_the_format_unknown() -> None:
    content = attitude_log(STEPS_US)
    for broken in (content.replace(b"Qcc\0", b"Q?c\0", 1), content.replace(b"\x80\x01\x0f", b"\x80\x01\x10", 1)):
        assert broken != content
        assert "ATT" not in parse(broken).columns


def test_a_format_may_change_within_a_log() -> None:
    content = attitude_log(STEPS_US[:10]) + described(1, "ATT", "Qff", "TimeUS,Roll,Pitch")
    content += b"".join(row(1, "Qff", at, 7.0, 0.0) for at in STEPS_US[10:])
    roll = parse(content).columns["ATT"]["Roll"]
    assert roll.tolist() == [*(index / 100 for index in range(10)), *[7.0] * 40]


@pytest.mark.parametrize("piece", [100, 101, 4096])
def test_pieces_of_any_size_read_the_same(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    content = attitude_log(STEPS_US) + b"\xa3noise\xa3\x95" + attitude_log(STEPS_US)[len(FMT) :]
    whole = parse(content)
    monkeypatch.setattr(dataflash, "PIECE_BYTES", piece)
    told: list[tuple[int, int]] = []
    found = parse(content, Options(progress=lambda done, size: told.append((done, size))))
    assert found.rows == whole.rows
    assert found.remarks == whole.remarks
    np.testing.assert_array_equal(found.columns["ATT"]["Roll"], whole.columns["ATT"]["Roll"])
    assert told[-1] == (len(content), len(content))
    assert len(told) >= len(content) // piece


@given(st.integers(0, 2**32))
def test_reading_does_not_depend_on_the_order_between_messages(seed: int) -> None:
    first = [row(1, "Qcc", at, index, 0) for index, at in enumerate(STEPS_US)]
    second = [row(3, "Qf", at, index) for index, at in enumerate(STEPS_US)]
    head = attitude_log([]) + described(3, "IMU", "Qf", "TimeUS,GyrX")
    order = [0] * len(first) + [1] * len(second)
    random.Random(seed).shuffle(order)
    ordered = [iter(first), iter(second)]
    shuffled = parse(head + b"".join(next(ordered[which]) for which in order))
    plain = parse(head + b"".join(first + second))
    for message, columns in plain.columns.items():
        for label, values in columns.items():
            np.testing.assert_array_equal(shuffled.columns[message][label], values)
