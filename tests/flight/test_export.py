"""`aeroloop export`: what other programs read back is what the log says."""

from __future__ import annotations

import csv
import importlib
import json
import re
import sys
from pathlib import Path

import foxglove
import numpy as np
import pyarrow.parquet
import pytest
from google.protobuf.descriptor import FieldDescriptor
from pyulog import ULog
from typer.testing import CliRunner
from well_known_logs import EPOCH_NS, short_plan, well_known, write_flight

from aeroloop.cli.app import app
from aeroloop.core.common_streams import common
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan
from aeroloop.core.scenario_files import find, load
from aeroloop.core.stream import Stream, fields
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import FAMILIES
from aeroloop.flight.described import described
from aeroloop.flight.export import FORMATS, aircraft_names, export_run
from aeroloop.flight.results import LOG, make_folder
from aeroloop.recording.layout import layout
from aeroloop.recording.log import Log, Logged, LogWriter, log_sha256, read
from aeroloop.recording.tables import file_names, write_csv
from aeroloop.recording.well_known import WellKnownTopics

SHIPPED = Path(__file__).resolve().parents[2] / "examples" / "foxglove" / "aeroloop.json"


def run_of(folder: Path, plan: Plan) -> Path:
    make_folder(folder, plan)
    write_flight(folder / LOG, plan)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = short_plan("quad-hover", 1.0, "vehicle.count=2")
    return run_of(tmp_path_factory.mktemp("runs") / "two", plan)


@pytest.fixture(scope="module")
def log(run: Path) -> Log:
    return read(run / LOG)


def test_csv_has_a_file_for_each_stream_with_units_and_every_digit(run: Path, log: Log, tmp_path: Path) -> None:
    files = {path.stem: path for path in export_run(run, ["csv"], tmp_path / "csv")}
    assert set(files) == {name for name, rows in log.rows.items() if len(rows)}
    with files["truth"].open(newline="") as file:
        titles, *rows = csv.reader(file)
    assert titles[:5] == ["t_s [s]", "vehicle [-]", "x_m [m]", "y_m [m]", "z_m [m]"]
    read_back = np.array([[float(cell or "nan") for cell in row] for row in rows])
    assert np.array_equal(read_back, log.rows["truth"], equal_nan=True)
    with files["effort"].open(newline="") as file:  # of rotors that a quadrotor lacks
        assert any(cell == "" for row in csv.reader(file) for cell in row)


def test_parquet_keeps_columns_and_units(run: Path, log: Log, tmp_path: Path) -> None:
    files = {path.stem: path for path in export_run(run, ["parquet"], tmp_path)}
    table = pyarrow.parquet.read_table(files["truth"])
    assert tuple(table.column_names) == log.columns["truth"]
    assert table.schema.field("x_m").metadata == {b"unit": b"m"}
    assert table.schema.metadata[b"epoch_ns"] == str(EPOCH_NS).encode()
    assert np.array_equal(np.stack([table[name].to_numpy() for name in table.column_names], axis=1), log.rows["truth"])


def test_parquet_without_pyarrow_is_a_sentence(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pyarrow, which is not installed: pip install 'aeroloop\[export\]'"):
        export_run(run, ["parquet"], tmp_path)


def test_ulog_is_read_back_by_pyulog(run: Path, log: Log, tmp_path: Path) -> None:
    (path,) = export_run(run, ["ulg"], tmp_path)
    ulog = ULog(str(path))
    assert not ulog.file_corruption
    assert ulog.msg_info_dict["sys_name"] == "aeroloop"
    for vehicle in (0, 1):
        data = ulog.get_dataset("truth", vehicle).data
        rows = log.rows["truth"][log.rows["truth"][:, 1] == vehicle]
        assert np.array_equal(data["timestamp"], np.round(rows[:, 0] * 1e6).astype(np.uint64))
        assert np.array_equal(data["z_m"], rows[:, log.columns["truth"].index("z_m")])
    assert {dataset.name for dataset in ulog.data_list} == {name for name, rows in log.rows.items() if len(rows)}


def test_mcap_again_has_the_same_rows_and_hash(run: Path, log: Log, tmp_path: Path) -> None:
    (path,) = export_run(run, ["mcap"], tmp_path)
    again = read(path)
    assert log_sha256(again) == log_sha256(log)
    assert again.epoch_ns == log.epoch_ns == EPOCH_NS
    assert [told.data for told in well_known(path)] == [told.data for told in well_known(run / LOG)]


def test_the_log_of_an_older_version_gets_its_topics(tmp_path: Path) -> None:
    """One without epoch, units and well-known topics."""
    folder = run_of(tmp_path / "run", short_plan("aircraft/sled.toml", 0.2))
    new = read(folder / LOG)
    (folder / LOG).unlink()
    from sled.streams import STREAMS

    writer = LogWriter(folder / LOG, STREAMS)
    for stream in STREAMS:
        for row in new.rows[stream.name].tolist():
            writer.write(stream, tuple(row))
    writer.close()
    (path,) = export_run(folder, ["mcap"], tmp_path / "out")
    told = list(well_known(path))
    assert {each.topic for each in told} >= {"/aircraft/0/tf", "/aircraft/0/shape"}
    assert min(each.log_time for each in told) == 0


PATH = re.compile(r"([^.{]+)(?:\{(\w+)==\d+\})?\.([\w.]+)")
"""A message path of the layout: topic, filter, field."""


def named_in(text: str) -> tuple[set[str], set[tuple[str, str]]]:
    """All that a layout names: topics of 3D panels, maps and logs; topic and field of message paths and filters."""
    topics: set[str] = set()
    fields: set[tuple[str, str]] = set()

    def walk(item: object) -> None:
        if isinstance(item, list):
            for each in item:
                walk(each)
        elif isinstance(item, dict):
            walk(list(item.values()))
            topics.update(item[key] for key in ("followTopic", "topicToRender") if key in item)
            topics.update(item.get("topics", {}))
            if "value" in item:
                found = PATH.fullmatch(item["value"])
                assert found is not None, item["value"]
                fields.update((found[1], name) for name in found.groups()[1:] if name)

    walk(json.loads(text))
    return topics, fields


def topics_of(text: str) -> set[str]:
    topics, fields = named_in(text)
    return topics | {topic for topic, _ in fields}


def number_in(schema: str, path: str) -> bool:
    """Whether a published definition has a number at this path."""
    about = getattr(importlib.import_module(f"foxglove_schemas_protobuf.{schema}_pb2"), schema).DESCRIPTOR
    *outer, last = path.split(".")
    for name in outer:
        about = about.fields_by_name[name].message_type
    return last in about.fields_by_name and about.fields_by_name[last].type == FieldDescriptor.TYPE_DOUBLE


OF_FAMILIES = {  # a scenario of each, and what the layout names that its log lacks
    "tiltrotor-spiral": {"autopilot_state", "/terrain", "/objects"},
    "quad-terrain": {"/objects"},
    "fixedwing-hierarchical": {"autopilot_state", "/objects"},
    "heli-hover": {"autopilot_state", "/terrain", "/objects"},
    "rrr-circle": {"autopilot_state", "/terrain", "/objects", "/aircraft/0/location"},
    "check-case-1": {
        *("autopilot_state", "board_event", "/terrain", "/objects"),
        *("/aircraft/0/location", "/aircraft/0/setpoint"),
    },
}


@pytest.mark.parametrize("name", OF_FAMILIES)
def test_every_path_of_the_shipped_layout_is_a_topic_and_a_number_in_it(name: str) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert text == layout()  # `make docs` writes it
    scenario = load(find(name))
    streams = {stream.name: stream.names for stream in streams_of(scenario)}
    derived = WellKnownTopics(foxglove.Context(), streams_of(scenario), described([(scenario, "")])[0])
    schemas = {channel.topic(): type(channel).__name__.removesuffix("Channel") for channel in derived._channels()}
    assert topics_of(text) - set(streams) - set(schemas) == OF_FAMILIES[name]
    for topic, field in named_in(text)[1]:
        if topic in streams:
            assert field in streams[topic], topic
        elif topic in schemas:
            assert number_in(schemas[topic], field), topic
    assert {("/aircraft/0/attitude", axis) for axis in "xyz"} <= named_in(text)[1]


def test_scenarios_of_all_families_were_asked() -> None:
    assert {FAMILIES[load(find(name)).kind] for name in OF_FAMILIES} == set(FAMILIES.values())


def test_a_layout_for_a_run_names_its_aircraft(run: Path, log: Log, tmp_path: Path) -> None:
    (path,) = export_run(run, ["layout"], tmp_path)
    named = topics_of(path.read_text())
    assert {"/aircraft/0/shape", "/aircraft/1/shape", "/aircraft/0/attitude", "event"} <= named
    topics = {f"/aircraft/{number}/{kind}" for number in "01" for kind in ("shape", "path", "setpoint")}
    topics |= {f"/aircraft/0/{kind}" for kind in ("pose", "attitude", "location")} | {"/log"}  # no terrain, no objects
    assert named - topics <= set(log.columns)
    assert aircraft_names(short_plan("mixed-fleet", 1.0))[0] in layout(aircraft_names(short_plan("mixed-fleet", 1.0)))


def test_names_from_a_strange_log_are_no_paths(tmp_path: Path) -> None:
    rows = {name: np.zeros((1, 1)) for name in ("../../up", "/etc/passwd", "a/b", "a-b", "..", "x" * 400, "ü")}
    columns = dict.fromkeys(rows, ("t_s",))
    log = Log(rows, {}, False, tuple(Logged(name, ("t_s",)) for name in rows), columns)
    names = file_names(log, ".csv")
    assert len(set(names.values())) == len(rows)
    paths = write_csv(log, tmp_path)
    assert all(path.parent == tmp_path and path.is_file() for path in paths)
    assert paths[0].read_text().splitlines() == ["t_s", "0.0"]  # a log that knows no units


def test_nothing_is_overwritten(run: Path, tmp_path: Path) -> None:
    for name in FORMATS:
        export_run(run, [name], tmp_path)
        with pytest.raises(ConfigError, match="exists already"):
            export_run(run, [name], tmp_path)


def test_the_command_line(run: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["export", str(run / LOG), "--ulg", "--out", str(tmp_path)])
    assert done.exit_code == 0 and done.output.strip() == str(tmp_path / "flight.ulg")
    for arguments, words in (
        ([str(run)], "no format given"),
        ([str(tmp_path / "nothing"), "--csv"], "expected a folder that `aeroloop fly` made"),
        ([str(run / LOG), "--layout"], "expected the folder of a run"),
    ):
        failed = runner.invoke(app, ["export", *arguments])
        assert isinstance(failed.exception, ConfigError) and words in str(failed.exception)


def test_a_log_with_other_streams_is_refused(tmp_path: Path) -> None:
    plan = short_plan("aircraft/sled.toml", 0.2)
    make_folder(tmp_path / "run", plan)
    glide = Stream("glide", "plant", 1.0, True, True, "another family's", fields(("sink_m_s", "m/s", "sink rate")))
    writer = LogWriter(tmp_path / "run" / LOG, (common("truth"), glide))
    writer.close()
    with pytest.raises(ConfigError, match=r"other streams \(glide\)"):
        export_run(tmp_path / "run", ["mcap"], None)
