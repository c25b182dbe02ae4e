"""The table of families: rows by name and by folder, and what loading a scenario costs and keeps."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from log_rows import rows_of

from aeroloop.analysis import checks, compare_plots
from aeroloop.analysis.compare import Run, compare
from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.core import fault_offers, scenario_files
from aeroloop.core.errors import EXIT_CHECK_FAILED, ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Event
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import FAMILIES, family
from aeroloop.recording.log import Log

GLIDER = """
from typing import Annotated
from aeroloop.core.config import Config, note
from aeroloop.core.scenario import FamilyTables

class Vehicle(Config, frozen=True):
    kind: Annotated[str, note("family of aircraft")]

class GliderTables(FamilyTables, frozen=True, kw_only=True):
    vehicle: Vehicle
"""
STREAMS = """
from aeroloop.core.common_streams import common
from aeroloop.core.stream import Stream, fields

STREAMS = (
    common("truth", rate_hz=10.0),
    Stream("thermal", "plant", 10.0, True, True, "of the air", fields(("vario_m_s", "m/s", "climb rate"))),
    common("event"),
    common("fault"),
    common("pace"),
    common("link", ("lost", "-", "lost")),
)
"""
ROW = """
from aeroloop.core.tables import Family
ROW = Family(
    name="NAME",
    tables="NAME.scenario:GliderTables",
    streams="NAME.streams:STREAMS",
    vehicle="NAME.build:vehicle",
    controllers={"law": "aeroloop.controllers.law.rows:VALUES"},
)
"""
COUNTERS = ("frames_in", "frames_out", "bytes_in", "bytes_out", "bad_checksums", "lost")
FLOWN = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}


def folder_of_a_family(parent: Path, name: str) -> Path:
    """A family of a test's own; modules are imported by the folder's name, so each test takes another."""
    folder = parent / name
    folder.mkdir()
    (folder / "scenario.py").write_text(GLIDER)
    (folder / "streams.py").write_text(STREAMS)
    (folder / "family.py").write_text(ROW.replace("NAME", name))
    return folder


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_row_is_called_as_its_scenario_says(kind: str) -> None:
    plan = scenario_files.of_table({"name": "x", "vehicle": {"kind": kind}}, "x")
    assert plan.kind == kind
    assert family(kind).name == {"multirotor": "quadrotor"}.get(kind, kind), "a multirotor has two names"


def test_a_folder_is_found_from_the_scenario_file_and_stays_absolute(tmp_path: Path) -> None:
    folder = folder_of_a_family(tmp_path, "glider_in_a_file")
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "./glider_in_a_file"\n')
    plan = scenario_files.load(tmp_path / "x.toml")
    assert plan.kind == str(folder.resolve())
    assert family(plan.kind).name == "glider_in_a_file"


def test_a_folder_after_set_is_found_from_where_it_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    folder = folder_of_a_family(here, "glider_typed")
    (there / "x.toml").write_text('name = "x"\n')
    monkeypatch.chdir(here)
    assert scenario_files.load(there / "x.toml", ("vehicle.kind=./glider_typed",)).kind == str(folder.resolve())


def test_a_folder_without_a_row_is_refused_with_the_files_name(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "./nothing"\n')
    with pytest.raises(ConfigError, match=r"x\.toml: vehicle\.kind: .*nothing: expected a folder with family\.py"):
        scenario_files.load(tmp_path / "x.toml")


def test_an_unknown_family_names_those_that_exist(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "zeppelin"\n')
    known = "tiltrotor, quadrotor, multirotor, fixedwing, helicopter, rrr, freebody"
    with pytest.raises(ConfigError, match=f"unknown 'zeppelin', expected one of: {known}; "):
        scenario_files.load(tmp_path / "x.toml")


def test_a_name_of_the_table_is_taken(tmp_path: Path) -> None:
    folder = folder_of_a_family(tmp_path, "quadrotor")
    with pytest.raises(ConfigError, match="the name quadrotor is taken"):
        family(str(folder))


def test_the_list_of_scenarios_imports_no_family() -> None:
    """Whoever asks what can be flown must not wait for the import of what flies it."""
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from aeroloop.cli.app import app\n"
        "listed = CliRunner().invoke(app, ['list'])\n"
        "assert listed.exit_code == 0 and 'tiltrotor-spiral' in listed.output, listed.output\n"
        "heavy = ('aeroloop.families.', 'aeroloop.controllers.', 'casadi', 'mujoco', 'matplotlib', 'scipy')\n"
        "print(*(name for name in sys.modules if name.startswith(heavy)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_a_scenario_whose_folder_is_gone_says_so(tmp_path: Path) -> None:
    folder = folder_of_a_family(tmp_path, "glider_that_went")
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "./glider_that_went"\n')
    shutil.rmtree(folder)
    with pytest.raises(ConfigError, match="glider_that_went: expected a folder with"):
        scenario_files.load(tmp_path / "x.toml")


@pytest.fixture(scope="module")
def glider(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """A scenario of a family that names no analysis, no report and no faults."""
    folder = tmp_path_factory.mktemp("outside")
    folder_of_a_family(folder, "glider_judged")
    (folder / "x.toml").write_text(
        'name = "x"\n[vehicle]\nkind = "./glider_judged"\n[[checks]]\nmetric = "flown_s"\nabove = 1.5\n'
    )
    return scenario_files.load(folder / "x.toml")


def glider_log(scenario: Scenario, events: list[list[float]]) -> Log:
    log = Log.empty(streams_of(scenario))
    t_s = np.arange(0.0, 2.05, 0.1)
    rows = rows_of({stream.name: stream for stream in streams_of(scenario)})
    log.rows["truth"] = rows("truth", t_s, x_m=10 * t_s, z_m=100 - t_s, qw=1.0)
    log.rows["thermal"] = rows("thermal", t_s, vario_m_s=-1.0)
    log.rows["event"] = np.array(events).reshape(-1, 4)
    log.rows["pace"] = rows("pace", [1.0], lateness_s=0.002, missed=3.0)
    log.rows["link"] = rows("link", [1.0, 2.0], frames_in=[7.0, 12.0], lost=[1.0, 2.0])
    return log


def test_a_family_without_an_analysis_is_judged(glider: Scenario) -> None:
    checks.verify(glider)
    summary = summarise(glider, glider_log(glider, [[0.5, 0, Event.GROUND_CONTACT, 1.5]]), outcome=FLOWN)
    assert summary["ok"] and summary["metrics"]["flown_s"] == 2.0
    assert [check["name"] for check in summary["checks"]] == ["flown_s", "diverged", "overruns", "board_restarts"]
    contact = {"t_s": 0.5, "source": "plant", "vehicle": 0, "event": "GROUND_CONTACT", "value": 1.5}
    assert summary["events"] == [contact]
    assert summary["links"]["link"] == {**dict.fromkeys(COUNTERS, 0), "frames_in": 12, "lost": 2}
    assert summary["timing"]["step_lateness_s"]["max"] == 0.002 and summary["timing"]["missed_deadlines"] == 3


def test_a_flight_that_diverged_or_recorded_nothing_fails_without_an_analysis_too(glider: Scenario) -> None:
    diverged = summarise(glider, glider_log(glider, [[0.5, 0, Event.DIVERGED, 0.0]]), outcome=FLOWN)
    nothing = summarise(glider, Log.empty(streams_of(glider)), outcome=FLOWN)
    assert [summary["exit_code"] for summary in (diverged, nothing)] == [EXIT_CHECK_FAILED] * 2


def test_a_family_without_a_report_gets_one_of_all_its_signals(glider: Scenario) -> None:
    log = glider_log(glider, [[0.5, 0, Event.GROUND_CONTACT, 1.5]])
    html = render_report(glider, log, summarise(glider, log, outcome=FLOWN))
    assert 'id="stream-thermal"' in html and "stream-event" not in html
    assert html.count("<figure") == 4, "the way, and the signals of two streams, of which one has many"
    for words in ("vario_m_s", "ground contact", "bad checksums", "step lateness", "Passed"):
        assert words in html
    empty = Log.empty(streams_of(glider))
    assert "Failed" in render_report(glider, empty, summarise(glider, empty, outcome=FLOWN))


SECTIONS = """
from aeroloop.analysis.section import Column, Note, Section, Table, Text

def sections(scenario, log, summary):
    sink_m_s = -log.column("thermal", "vario_m_s").mean()
    return [
        Section("verdict", "", [Text("It glided <far>.")]),
        Section("sink", "Sink rate", [Table([Column("", "name"), Column("m/s")], [("mean", f"{sink_m_s:g}")])]),
        Section("links", "", [Note("No tow rope.")]),
    ]
"""


def a_reported_glider(folder: Path, name: str, report: str) -> Scenario:
    """Of a family whose row names the sections of its report."""
    own = folder_of_a_family(folder, name)
    row = ROW.replace('name="NAME",', 'name="NAME",\n    sections="NAME.report:sections",')
    (own / "family.py").write_text(row.replace("NAME", name))
    (own / "report.py").write_text(report)
    (folder / "x.toml").write_text(f'name = "x"\n[vehicle]\nkind = "./{name}"\n')
    return scenario_files.load(folder / "x.toml")


def test_a_family_adds_sections_and_words_to_the_report(tmp_path: Path) -> None:
    plan = a_reported_glider(tmp_path, "glider_reported", SECTIONS)
    log = glider_log(plan, [])
    html = render_report(plan, log, summarise(plan, log, outcome=FLOWN))
    titles = re.findall(r'<h2 id="(\w+)">(.*?)</h2>', html)
    assert [key for key, _ in titles] == [*("checks", "sink", "timing", "links", "events", "metrics", "reproduce")]
    assert dict(titles)["sink"] == "Sink rate" and dict(titles)["links"] == "Link counters"
    assert '<th scope="row">mean</th><td class="n">1</td>' in html
    card = html[html.index('<section class="verdict') : html.index("</section>")]
    assert "It glided &lt;far&gt;." in card and "real-time factor" in card
    assert html.index('id="links"') < html.index("No tow rope.") < html.index('id="events"')


def test_sections_that_fail_are_one_sentence(tmp_path: Path) -> None:
    broken = "def sections(scenario, log, summary): return summary['sink']"
    plan = a_reported_glider(tmp_path, "glider_misreported", broken)
    log = glider_log(plan, [])
    with pytest.raises(
        ConfigError, match=r"glider_misreported\.report:sections: .*report\.py, line 1: KeyError: 'sink'"
    ):
        render_report(plan, log, summarise(plan, log, outcome=FLOWN))


def test_runs_of_a_family_without_an_analysis_are_compared(glider: Scenario) -> None:
    log, other = glider_log(glider, []), glider_log(glider, [])
    other.rows["truth"][:, 4] += 2.0
    runs = [Run(name, glider, of, summarise(glider, of, outcome=FLOWN)) for name, of in (("a", log), ("b", other))]
    comparison = compare(runs)
    assert comparison["differences"][0]["position_max_m"] == pytest.approx(2.0)
    assert "commands" not in [picture.name for picture in compare_plots.pictures(runs)]


def test_a_family_has_the_streams_that_every_vehicle_writes(tmp_path: Path) -> None:
    folder = folder_of_a_family(tmp_path, "glider_without_faults")
    (folder / "streams.py").write_text(STREAMS.replace('common("fault"),', "").replace('common("pace"),', ""))
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "./glider_without_faults"\n')
    with pytest.raises(ConfigError, match="expected the common streams fault, pace too"):
        streams_of(scenario_files.load(tmp_path / "x.toml"))


def test_a_family_that_names_no_faults_offers_none(glider: Scenario) -> None:
    assert fault_offers.offers(glider) == ()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("family.py", "ROW = 1 / 0", r"vehicle\.kind: .*family\.py, line 1: ZeroDivisionError: division by zero"),
        ("family.py", "ROW = 3", "expected a core.tables.Family as its row, not int"),
        ("scenario.py", "import nothing_of_the_kind", r"vehicle\.kind: glider_\d\.scenario:.*: ModuleNotFoundError"),
        ("scenario.py", "", r"glider_\d\.scenario:GliderTables: AttributeError: .* no attribute"),
    ],
)
def test_broken_code_in_a_folder_is_one_sentence(
    tmp_path: Path, file: str, text: str, words: str, request: pytest.FixtureRequest
) -> None:
    name = f"glider_{request.node.callspec.indices['file']}"
    (folder_of_a_family(tmp_path, name) / file).write_text(text)
    (tmp_path / "x.toml").write_text(f'name = "x"\n[vehicle]\nkind = "./{name}"\n')
    with pytest.raises(ConfigError, match=words):
        scenario_files.load(tmp_path / "x.toml")
