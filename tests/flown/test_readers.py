"""Text logs, ULog and CSV as flight records, and the sentences about files that cannot be read."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
from flown_logs import attitude_log, synthetic, times, ulog
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.angles import wrap_pi
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import euler_from_quat, quat_ned_frd_from_enu_flu
from aeroloop.flown import csv_table, dataflash_text, own_run
from aeroloop.flown.read import Options, read
from aeroloop.recording.log import Log

TEXT = """ArduCopter V3.1.5 (3c57e771)
FMT, 128, 89, FMT, BBnNZ, Type,Length,Name,Format,Columns
FMT, 1, 15, ATT, Icc, TimeMS,Roll,Pitch
FMT, 2, 30, GPS, BIHLLeEI, Status,TimeMS,Week,Lat,Lng,Alt,Spd,T
FMT, 3, 23, PARM, Nf, Name,Value
FMT, 4, 14, MODE, IMB, TimeMS,Mode,ModeNum
PARM, RATE_RLL_P, 0.150000
MODE, 900, Stabilize, 3
ATT, 1000, 1.50, -0.25
GPS, 3, 130040903, 1769, 47.3977419, 8.5455938, 500.00, 1.23, 1001
GPS, 3, 130041103, 47.3977419, 8.5455938
ATT, 1100, 2.50, -0.25
ATT, 1200, x, -0.25
"""
ATTITUDE = ("float[4] q", [(0.02 * i, np.cos(0.1), np.sin(0.1), 0.0, 0.0) for i in range(50)])


def file(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_text_log(tmp_path: Path) -> None:
    record = read(file(tmp_path, "1.log", TEXT))
    assert record["roll"].t_s.tolist() == [1.0, 1.1]
    np.testing.assert_allclose(record["roll"].values, np.radians([1.5, 2.5]))
    assert (record["lat"].t_s[0], record["lat"].values[0]) == pytest.approx((1.001, 47.3977419))
    assert record.parameters == {"RATE_RLL_P": 0.15}
    assert (record["mode"].values.tolist(), record["mode"].source) == ([3.0], "MODE.ModeNum")
    assert (record.firmware, record.vehicle) == ("ArduCopter V3.1.5 (3c57e771)", "multirotor")
    assert record.remarks == ["2 of 13 lines cannot be read, the first of them line 11 (GPS)."]


def test_a_binary_log_may_be_called_log(tmp_path: Path) -> None:
    record = read(file(tmp_path, "1.log", attitude_log([0, 20_000])))
    assert record.format == "ArduPilot .bin"


@given(st.binary(max_size=400), st.integers(0, len(TEXT)), st.integers(0, 400))
def test_any_text_is_read_without_an_error(noise: bytes, at: int, cut: int) -> None:
    content = TEXT.encode()[:at] + noise + TEXT.encode()[at + cut :]
    found = dataflash_text.parse(BytesIO(content), len(content))
    assert found.rows <= content.count(b"\n") + 1


def test_a_ulog_of_px4(tmp_path: Path) -> None:
    topics = {
        "vehicle_attitude": ("float[4] q;", ATTITUDE[1]),
        "sensor_combined": ("float[3] gyro_rad;float[3] accelerometer_m_s2;", [(0.02, 1, 2, 3, 0, 0, -9.8)]),
        "vehicle_magnetometer": ("float[3] magnetometer_ga;", [(0.02, 0.2, 0.1, 0.4)]),
        "vehicle_gps_position": ("int32_t lat;int32_t lon;int32_t alt;", [(0.1, 473977419, 85455938, 500_000)]),
        "vehicle_air_data": ("float baro_pressure_pa;float baro_alt_meter;", [(0.1, 95000, 500), (0.2, 94990, 501)]),
        "actuator_outputs": ("float[16] output;", [(0.1, 1100, 1200, *[0] * 14)]),
        "vehicle_status": ("uint8_t arming_state;uint8_t nav_state;uint8_t vehicle_type;", [(0.1, 2, 4, 1)]),
    }
    record = read(file(tmp_path, "1.ulg", ulog(topics, {"MC_ROLL_P": 6})))
    assert record["roll"].values[0] == pytest.approx(0.2)
    assert [record[f"gyro_{axis}"].values[0] for axis in "xyz"] == [1.0, 2.0, 3.0]
    assert record["accel_z"].values[0] == pytest.approx(-9.8)
    assert record["mag_x"].values[0] == pytest.approx(0.2e-4)
    assert (record["lat"].values[0], record["alt"].values[0]) == pytest.approx((47.3977419, 500.0))
    assert record["pressure"].values[0] == 95000.0
    assert np.diff(record["height"].values) == pytest.approx(1.0)
    assert [pulse.values[0] for pulse in record.channels("pulse")[:2]] == [1100.0, 1200.0]
    assert (record.vehicle, record["armed"].values[0], record.parameters) == ("multirotor", 1.0, {"MC_ROLL_P": 6.0})
    assert "roll_setpoint" in {missing.name for missing in record.missing}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("1.ulg", b"no ULog at all", "not a ULog file"),
        ("1.ulg", ulog({"vehicle_status": ("uint8_t arming_state;", [(0.1, 1)])}), "no vehicle_attitude"),
        ("1.ulg", ulog({})[:20], "no vehicle_attitude|damaged"),
        ("1.log", "FMT, 1, 15, IMU, If, TimeMS,GyrX\nIMU, 1, 2\n", "message ATT is not in it"),
        ("1.log", "hello\n", "not a DataFlash log"),
        ("1.csv", "Zeit;x\n1;2\n", r"expected a mapping, --map FILE.toml, .*; the columns are: Zeit;x"),
        ("1.csv", b"\x1b[2Jx,\xff\x00\n1,2\n", "not a table of text; its first line, .* is not printable$"),
        ("1.csv", "t,phi,psi\n1,2,3\n", r"; the columns are: t, phi, psi$"),
        (
            "1.csv",
            "time [s],roll [furlong]\n1,2\n",
            "roll: unknown unit 'furlong' of column .*; expected one of: rad, deg",
        ),
        ("1.csv", "time [s],roll [deg]\n,2\n", "no row with a time and a value"),
        ("1.mcap", b"no MCAP", "not a flight log"),
        ("1.txt", "1", "unknown kind of log; expected a run, or a file ending in .bin, .log, .ulg, .csv, .mcap"),
        ("1.bin", b"", "the log is empty"),
    ],
)
def test_a_log_that_cannot_be_used_is_a_sentence(tmp_path: Path, name: str, content: bytes | str, words: str) -> None:
    path = file(tmp_path, name, content)
    with pytest.raises(ConfigError, match=words) as raised:
        read(path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such log; expected a log or a file ending in \.bin"):
        read(tmp_path / "no.bin")
    with pytest.raises(ConfigError, match="no such log; expected a folder that `aeroloop fly` made"):
        read(tmp_path)


def test_a_cut_ulog_has_what_stands_before_the_cut(tmp_path: Path) -> None:
    whole = ulog({"vehicle_attitude": ("float[4] q;", ATTITUDE[1])})
    record = read(file(tmp_path, "1.ulg", whole[:-40]))
    assert 40 < len(record["roll"].t_s) < 50


@given(st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 255)), max_size=6), st.integers(0, 1500))
def test_a_damaged_ulog_is_read_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]], cut: int
) -> None:
    content = bytearray(ulog({"vehicle_attitude": ("float[4] q;", ATTITUDE[1])}))
    for at, value in flips:
        content[at % len(content)] = value
    path = tmp_path_factory.getbasetemp() / "any.ulg"
    path.write_bytes(content[: len(content) - cut] or b"U")
    said = StringIO()
    try:
        with redirect_stdout(said):
            record = read(path)
    except ConfigError as error:
        assert "\n" not in str(error)
    else:
        assert np.all(np.diff(record["roll"].t_s) > 0)
    assert not said.getvalue()


def test_a_table_of_standard_names_needs_no_mapping(tmp_path: Path) -> None:
    record = synthetic(5.0)
    csv_table.write(record, tmp_path / "signals.csv")
    again = read(tmp_path / "signals.csv")
    assert again.signals.keys() == record.signals.keys()
    for name, signal in record.signals.items():
        np.testing.assert_array_equal(again[name].t_s, signal.t_s)
        np.testing.assert_array_equal(again[name].values, signal.values)
    with pytest.raises(ConfigError, match="exists already"):
        csv_table.write(record, tmp_path / "signals.csv")


def test_a_mapping_names_columns_and_units(tmp_path: Path) -> None:
    table = file(tmp_path, "1.csv", "Time [ms],phi,gyro,Baro\n0,90,180,\n20,45,x,1013.25\n20,0,0,0\n")
    mapping = file(
        tmp_path,
        "map.toml",
        'time = "Time"\n[signals]\nroll = "phi [deg]"\ngyro_x = "gyro [deg/s]"\npressure = "Baro [hPa]"\n',
    )
    record = read(table, Options(mapping))
    assert record["roll"].t_s.tolist() == [0.0, 0.02]
    np.testing.assert_allclose(record["roll"].values, [np.pi / 2, np.pi / 4])
    np.testing.assert_allclose(record["gyro_x"].values, [np.pi, 0.0])  # its own rows: the second is no number
    assert record["pressure"].values.tolist() == [101325.0]
    assert record.remarks == ["1 cells are not numbers and were left out."]
    assert [each.rows for each in record.dropped if each.source == "phi"] == [1]


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ('time = "t"\n[signals]\nrol = "phi"\n', r"map.toml: signals.rol: unknown signal \(did you mean 'roll'\?\)"),
        ('time = "t"\n[signals]\nroll = "psi"\n', "map.toml: roll: .* has no column 'psi'; its columns are: t, phi"),
        ('time = "t [h]"\n[signals]\nroll = "phi"\n', "map.toml: time: unknown unit 'h' .* expected one of: s, ms"),
        ('[signals]\nroll = "phi"\n', "map.toml: .*time"),
    ],
)
def test_a_wrong_mapping_is_a_sentence(tmp_path: Path, mapping: str, words: str) -> None:
    table = file(tmp_path, "1.csv", "t,phi\n1,2\n")
    with pytest.raises(ConfigError, match=words):
        read(table, Options(file(tmp_path, "map.toml", mapping)))


@given(st.binary(max_size=300))
def test_any_table_is_read_or_refused_in_a_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"time [s],roll [deg]\n" + content)
    try:
        record = read(path)
    except ConfigError as error:
        assert "\n" not in str(error)
    else:
        assert np.all(np.diff(record["roll"].t_s) > 0)


def test_of_a_run_the_estimate_is_read_and_truth_without_one() -> None:
    """World and body axes become those of autopilots."""
    t_s = times(1.0, 10.0)
    quat = np.array([np.cos(0.1), np.sin(0.1), 0.0, 0.0])  # rolled by 0.2 rad, facing east
    rows = np.column_stack([t_s, np.zeros(len(t_s)), *([value] * len(t_s) for value in quat)])
    columns = ("t_s", "vehicle", "qw", "qx", "qy", "qz")
    log = Log({"truth": rows, "estimate": rows[:0]}, {}, False, (), {"truth": columns, "estimate": columns})
    record = own_run.from_log(log, Path("flight.mcap"))
    assert record["roll"].source == "truth.qw/qx/qy/qz"
    assert (record["roll"].values[0], record["yaw"].values[0]) == pytest.approx((0.2, np.pi / 2))
    assert not own_run.from_log(log, Path("flight.mcap"), aircraft=1).signals
    assert not record.remarks


@given(st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda quat: np.linalg.norm(quat) > 0.1))
def test_angles_of_a_run_are_those_of_an_autopilot(quat: tuple[float, float, float, float]) -> None:
    """North-east-down and forward-right-down, by the quaternion that is sent to autopilots."""
    w, x, y, z = (part / float(np.linalg.norm(quat)) for part in quat)
    expected = euler_from_quat(quat_ned_frd_from_enu_flu((w, x, y, z)))
    columns = ("t_s", "vehicle", "qw", "qx", "qy", "qz")
    log = Log({"truth": np.array([[0.0, 0.0, w, x, y, z]])}, {}, False, (), {"truth": columns})
    record = own_run.from_log(log, Path("flight.mcap"))
    if abs(expected[1]) < 1.5:  # near the zenith roll and yaw are one
        for name, angle in zip(("roll", "pitch", "yaw"), expected, strict=True):
            assert wrap_pi(record[name].values[0] - angle) == pytest.approx(0.0, abs=1e-6)


def test_of_several_aircraft_the_record_says_which_it_is() -> None:
    rows = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]])
    columns = ("t_s", "vehicle", "qw", "qx", "qy", "qz")
    log = Log({"wing/truth": rows}, {}, True, (), {"wing/truth": columns})
    record = own_run.from_log(log, Path("flight.mcap"), aircraft=1)
    assert len(record["roll"].t_s) == 1
    assert record.remarks == [
        "Part wing of the fleet is read.",
        "Aircraft 1 of 2 is read, counted from 0.",
        "The log is truncated.",
    ]
