"""The log file: what is written comes back, to the last flush, and its hash says what was simulated."""

from __future__ import annotations

import hashlib
import io
import math
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import Writer
from stream_tables import TILTROTOR

from aeroloop.core.errors import EXIT_LINK, AeroloopError, ConfigError
from aeroloop.core.stream import Stream, fields
from aeroloop.core.streams import logged
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.recording.log import Log, LogWriter, log_sha256, read

COMMAND = TILTROTOR["command"]
LOGGED = logged(STREAMS)


def command_rows(count: int) -> list[tuple[float, ...]]:
    noise = random.Random(7)
    return [(i * 0.012, 0.0, *(noise.gauss(0, 1) for _ in range(4))) for i in range(count)]


def write_log(path: Path, *rows: tuple[str, tuple[float, ...]]) -> Log:
    path.unlink(missing_ok=True)
    writer = LogWriter(path, LOGGED)
    for stream, row in rows:
        writer.write(TILTROTOR[stream], row)
    writer.close()
    return read(path)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to the bit, but for which NaN it is."""
    return a.shape == b.shape and bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)))


@given(
    rows=st.lists(st.tuples(st.floats(0, 1e5), *[st.floats() for _ in range(5)]), max_size=20),
    packed=st.booleans(),
)
def test_rows_come_back_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, ...]], packed: bool
) -> None:
    path = tmp_path_factory.mktemp("log") / "flight.mcap"
    writer = LogWriter(path, LOGGED)
    for row in rows:
        writer.write(COMMAND, COMMAND.packing.pack(*row) if packed else row)
    writer.close()
    expected = np.array(rows, dtype=np.float64).reshape(len(rows), 6)
    expected[np.isinf(expected)] = math.nan  # JSON knows neither
    log = read(path)
    assert same(log.rows["command"], expected)
    assert not log.truncated


def test_every_logged_stream_is_there_and_every_channel_documented(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "flight.mcap", LOGGED)
    for i, stream in enumerate(LOGGED):
        writer.write(stream, tuple(float(i + k) for k in range(len(stream.fields))))
    writer.write_metadata("recorder", {"lost_rows": "3"})
    writer.close()
    writer.close()
    log = read(tmp_path / "flight.mcap")
    assert set(log.rows) == {stream.name for stream in STREAMS if stream.logged}
    for i, stream in enumerate(LOGGED):
        assert log.rows[stream.name].tolist() == [[float(i + k) for k in range(len(stream.fields))]]
        assert log.column(stream.name, stream.names[-1]).tolist() == [i + len(stream.fields) - 1.0]
    assert log.metadata["recorder"] == {"lost_rows": "3"}


def test_a_foreign_tool_reads_times_schemas_and_units(tmp_path: Path) -> None:
    write_log(tmp_path / "flight.mcap", ("command", (1.2000000004, 0, 1, 2, 3, 4)))
    with (tmp_path / "flight.mcap").open("rb") as file:
        [(schema, channel, message)] = make_reader(file).iter_messages()
    assert schema is not None
    assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
    assert channel.metadata["producer"] == "plant"
    assert channel.metadata["simulated"] == "true"
    assert "thrust_right_N=N" in channel.metadata["units"]
    assert message.log_time == 1_200_000_000


def test_an_empty_log_has_empty_arrays_of_the_right_width(tmp_path: Path) -> None:
    log = write_log(tmp_path / "flight.mcap")
    empty = Log.empty(STREAMS)
    for stream in LOGGED:
        assert log.rows[stream.name].shape == empty.rows[stream.name].shape == (0, len(stream.fields))


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    path.write_text("precious")
    with pytest.raises(ConfigError, match=r"flight\.mcap: already exists"):
        LogWriter(path, LOGGED)
    assert path.read_text() == "precious"
    with pytest.raises(ConfigError, match=r"absent/flight\.mcap: cannot be created"):
        LogWriter(tmp_path / "absent" / "flight.mcap", LOGGED)


def test_what_is_no_log_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.mcap: cannot be read: No such file"):
        read(tmp_path / "none.mcap")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read(tmp_path)
    (tmp_path / "text.mcap").write_text("t_s,x_m\n0,1\n")
    with pytest.raises(ConfigError, match=r"text\.mcap: not a flight log"):
        read(tmp_path / "text.mcap")
    with (tmp_path / "other.mcap").open("wb") as file:
        other = Writer(file)
        other.start(profile="ros2")
        other.finish()
    with pytest.raises(ConfigError, match=r"other\.mcap: an MCAP file, but not a flight log"):
        read(tmp_path / "other.mcap")


def flushed_log(path: Path) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """A log with several chunks, and after each flush its (bytes, rows)."""
    rows = command_rows(1500)
    writer = LogWriter(path, LOGGED)
    flushed = []
    for i, row in enumerate(rows):
        writer.write(COMMAND, row)
        if i % 400 == 399:
            writer.flush()
            flushed.append((path.stat().st_size, i + 1))
    writer.close()
    return np.array(rows), flushed


def test_a_cut_anywhere_leaves_a_prefix_with_all_that_was_flushed(tmp_path: Path) -> None:
    path, cut_path = tmp_path / "flight.mcap", tmp_path / "cut.mcap"
    rows, flushed = flushed_log(path)
    data = path.read_bytes()
    near_flushes = [size + offset for size, _ in flushed for offset in (-1, 0, 1)]
    random_cuts = random.Random(11).sample(range(len(data)), 150)
    for cut in [*range(12), *near_flushes, *range(len(data) - 40, len(data)), *random_cuts]:
        cut_path.write_bytes(data[:cut])
        log = read(cut_path, STREAMS)
        found = log.rows["command"]
        assert log.truncated, f"cut at {cut} of {len(data)}"
        assert same(found, rows[: len(found)]), f"cut at {cut}"
        assert len(found) >= max((n for size, n in flushed if size <= cut), default=0), f"cut at {cut}"


def test_a_flipped_byte_costs_no_more_than_what_follows_it(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    rows, _ = flushed_log(path)
    data = bytearray(path.read_bytes())
    for position in random.Random(5).sample(range(200, len(data) // 2), 40):
        damaged = data.copy()
        damaged[position] ^= 0x10
        (tmp_path / "damaged.mcap").write_bytes(damaged)
        log = read(tmp_path / "damaged.mcap", STREAMS)
        assert same(log.rows["command"], rows[: len(log.rows["command"])])


DYING = """
import os, signal, sys
from pathlib import Path
from aeroloop.recording.log import LogWriter
from aeroloop.families.tiltrotor.streams import STREAMS
writer = LogWriter(Path(sys.argv[1]), STREAMS)
command = next(stream for stream in STREAMS if stream.name == "command")
for i in range(5000):
    writer.write(command, (i * 0.012, 0.0, 1.0, 2.0, 3.0, 4.0))
    if i == 4000:
        writer.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_recorder_leaves_everything_up_to_the_last_flush(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    done = subprocess.run([sys.executable, "-c", DYING, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    log = read(path)
    assert log.truncated
    times_s = log.column("command", "t_s")
    assert len(times_s) >= 4001
    assert times_s.tolist() == [i * 0.012 for i in range(len(times_s))]


FILLING = """
import resource, signal, sys
from pathlib import Path
from aeroloop.core.errors import AeroloopError
from aeroloop.recording.log import LogWriter
from aeroloop.families.tiltrotor.streams import STREAMS
import random
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
writer = LogWriter(Path(sys.argv[1]), STREAMS)
command = next(stream for stream in STREAMS if stream.name == "command")
try:
    for i in range(100_000):
        writer.write(command, (i * 0.012, 0.0, *(random.random() for _ in range(4))))
except AeroloopError as error:
    print(error.exit_code, i, error)
try:
    writer.close()
except AeroloopError as error:
    print(error.exit_code, i, error)
"""


def test_a_disk_that_takes_no_more_is_reported_once_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    done = subprocess.run([sys.executable, "-c", FILLING, str(path)], check=True, capture_output=True, text=True)
    on_write, on_close = done.stdout.splitlines()
    code, last_row, message = on_write.split(" ", 2)
    assert int(code) == EXIT_LINK
    assert message == f"{path}: the log cannot be continued: File too large"
    assert on_close == on_write
    assert done.stderr == ""
    log = read(path)
    assert log.truncated
    written = len(log.rows["command"])
    assert 0 < written <= int(last_row) + 1


def test_a_full_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "open", lambda *_args, **_options: io.FileIO("/dev/full", "wb"))
    path = tmp_path / "flight.mcap"
    writer = LogWriter(path, LOGGED)
    for action in (
        lambda: writer.write(COMMAND, (0.0, 0.0, 1.0, 2.0, 3.0, 4.0)),
        writer.flush,
        lambda: writer.write_metadata("recorder", {}),
        writer.close,
    ):
        with pytest.raises(AeroloopError, match=r"flight\.mcap: the log cannot be continued: the disk is full"):
            action()
    writer.close()


def test_the_hash_is_known_and_does_not_depend_on_interleaving_or_wall_clock(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    commands = [("command", row) for row in command_rows(5)]
    events = [("board_event", (0.0, 0.0, 1.0, 0.0)), ("board_event", (0.024, 0.0, 2.0, math.nan))]
    wall = [("cycle", (0.012, 0.0, 0.0121, 0.0001)), ("pace", (0.004, 0.0, 1e-5, 0.0))]
    digest = log_sha256(write_log(path, *commands, *events))
    assert digest == log_sha256(write_log(path, *commands, *events))
    assert digest == log_sha256(write_log(path, events[0], *commands[:3], events[1], *commands[3:]))
    assert digest == log_sha256(write_log(path, *wall, *commands, *events))
    assert digest != log_sha256(write_log(path, *commands[::-1], *events))
    assert digest != log_sha256(write_log(path, *commands[:-1], *events))
    switched = ("fault", (0.012, 0.0, 7.0, 6.0, 1.0, 0.0, 0.3, 0.0, 0.0))
    assert digest != log_sha256(write_log(path, *commands, *events, switched))
    # An empty flight's hash, so that a change of the rule is noticed: logs of before could not be compared.
    assert log_sha256(Log.empty(STREAMS)) == "8168f57cbd2aedd69183fd0edfd5fc1854c5298e001fd56a23afd1a8f3e5d773"


def test_the_hash_feels_a_single_bit_and_no_more() -> None:
    rows = np.array(command_rows(3))
    log = replace(Log.empty(STREAMS), rows={**Log.empty(STREAMS).rows, "command": rows})
    digest = log_sha256(log)
    flipped = rows.copy()
    flipped[1, 2] = np.nextafter(flipped[1, 2], math.inf)
    assert log_sha256(replace(log, rows={**log.rows, "command": flipped})) != digest
    assert log_sha256(replace(log, truncated=True, metadata={"recorder": {}})) == digest
    rows_nan, rows_other_nan = rows.copy(), rows.copy()
    rows_nan[0, 1] = math.nan
    rows_other_nan[0, 1] = -math.nan
    a, b = (log_sha256(replace(log, rows={**log.rows, "command": r})) for r in (rows_nan, rows_other_nan))
    assert a == b != digest


def test_the_same_numbers_in_another_stream_hash_differently() -> None:
    row = np.array([[0.0, 0.0, 1.0, 2.0]])
    empty = Log.empty(STREAMS)
    plant = replace(empty, rows={**empty.rows, "event": row})
    board = replace(empty, rows={**empty.rows, "board_event": row})
    assert log_sha256(plant) != log_sha256(board)


GLIDER = (
    Stream("glide", "plant", 10.0, True, True, "", fields(("z_m", "m", "height"), ("vario_m_s", "m/s", "climb rate"))),
    Stream("thermal", "plant", 0.0, True, True, "", fields(("w_m_s", "m/s", "updraught"))),
    Stream("gauge", "plant", 1.0, False, True, "", fields(("lag_s", "s", "how late it is"))),
)


def test_a_log_opens_without_the_family_that_wrote_it(tmp_path: Path) -> None:
    """Its streams, their columns and the order of its hash stand in the file, also of those without rows."""
    path = tmp_path / "flight.mcap"
    writer = LogWriter(path, GLIDER)
    writer.write(GLIDER[2], (0.0, 0.0, 0.001))
    writer.write(GLIDER[0], (0.1, 0.0, 5.0, -0.5))
    writer.close()
    log = read(path)
    assert log.column("glide", "vario_m_s").tolist() == [-0.5]
    assert log.columns == {stream.name: stream.names for stream in GLIDER}
    assert log.rows["thermal"].shape == (0, 3)
    digest = hashlib.sha256(b"glide 1\n" + np.array([[0.1, 0.0, 5.0, -0.5]]).tobytes() + b"thermal 0\n").hexdigest()
    assert log_sha256(log) == digest
    assert log_sha256(read(path, STREAMS)) == digest, "what a reader expects besides changes nothing"


def test_a_stream_that_a_log_lacks_has_no_rows_where_it_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    writer = LogWriter(path, GLIDER[:1])
    writer.close()
    assert "thermal" not in read(path).rows
    assert read(path, GLIDER).rows["thermal"].shape == (0, 3)


def test_a_log_from_before_logs_listed_their_streams_reads_by_its_own_columns() -> None:
    log = read(Path(__file__).parents[1] / "golden" / "log_without_table.mcap", STREAMS)
    assert same(log.rows["command"], np.delete(command_rows(5), 1, axis=1)), "it has no aircraft's number"
    assert log.column("board_event", "code").tolist() == [1.0, 2.0]
    assert log.rows["event"].shape == (0, len(TILTROTOR["event"].names))
