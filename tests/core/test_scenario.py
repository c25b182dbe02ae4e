"""Scenario files: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import tomli_w

from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import parts_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.families.multirotor.scenario import MultirotorTables
from aeroloop.families.tiltrotor.scenario import load_tiltrotor
from aeroloop.flight import results
from aeroloop.ground.config import Waypoints

SPIRAL = Path(__file__).parents[2] / "scenarios" / "tiltrotor-spiral.toml"


@pytest.mark.parametrize("path", scenario_files.available(), ids=lambda path: path.stem)
def test_shipped_scenarios_are_valid_and_named_after_their_file(path: Path) -> None:
    plan = load_plan(path)
    assert plan.name == path.stem
    assert plan.summary


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("colour=1", "colour: unknown key, expected one of: name, summary"),
        ("link.to_plant.los=0.1", "link.to_plant.los: unknown key (did you mean 'loss'?), expected one of: delay_s"),
        ("link.to_plant.loss=3", "link.to_plant.loss: expected `float` <= 1.0"),
        ("seed=abc", "seed: expected `int`, got `str`"),
        ("duration_s=-1", "duration_s: expected `float` > 0"),
        ("ground.trajectory.kind=zigzag", "ground.trajectory.kind: invalid value 'zigzag'"),
        ("pace=fast", "pace: expected lockstep, real or a speed"),
        ("pace=0x", "pace: expected lockstep, real or a speed"),
        ("control.period_s=0.01", "control.period_s: expected a multiple of world.step_s"),
        ("control.period_s=0.0125", "control.period_s"),
        ("world.bound_m=inf", "world.bound_m: expected a finite number, not inf"),
        ("world.start_pos_W=[nan, 0.0, 1.0]", "world.start_pos_W[0]: expected a finite number"),
        ("world.step_s=0.0013333333333333333", "control.period_s: expected a multiple of world.step_s"),
        ("ground.trajectory.radus_m=2", "radus_m: unknown key (did you mean 'radius_m'?), expected one of: radius_m"),
        ("ground.source=nobody", "expected one of: base-station, external, joystick"),
        ("loop=hil", "fly hil with --pace real"),
        ("ground.source=external", "external needs --pace real"),
        ("ground.source=joystick", "joystick_recording"),
        ('checks=[{metric="roll_max_deg"}]', "expected exactly one of below, above, equals"),
        ("nonsense", "expected key=value"),
        ("name.x=1", "name is not a table"),
    ],
)
def test_bad_values_get_one_sentence(override: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scenario_files.load(SPIRAL, (override,))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("sensors.preset=foo", "sensors.preset: unknown 'foo', expected one of: thesis, px4"),
        ('sensors.fitted=["imu", "lidar"]', "sensors.fitted[1]: invalid enum value 'lidar', expected one of: airspeed"),
        ("sensors.rangefinder.max_m=3.0", "sensors.rangefinder: the aircraft has none"),
        ("sensors.imu.rate=5", "sensors.imu.rate: unknown key (did you mean 'rate_hz'?), expected one of: rate_hz"),
        ("world.step_s=0.003", "world.step_s: expected a part of the IMU's period (0.004 s)"),
        ('autopilot.ground_links=["udp://here:1", "foo"]', "autopilot.ground_links[1]: link URL 'foo'"),
        ('pilot.commands=[{at_s=1.0, do="mission"}]', "expected pilot.waypoints or pilot.plan_file"),
        ("pilot.orders=[]", "pilot.orders: renamed; expected pilot.commands"),
        ("pilot.source=external", "external needs --pace real"),
        ("loop=pil", "pilot: a table of controller pixhawk or px4 or ardupilot, and law flies here"),
    ],
)
def test_bad_values_of_multirotors_get_one_sentence(override: str, words: str) -> None:
    hover = scenario_files.find("quad-hover")
    with pytest.raises(ConfigError) as caught:
        scenario_files.load(hover, (override,))
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(hover))


def test_overrides_take_toml_values_and_plain_words() -> None:
    plan = scenario_files.load(SPIRAL, ("seed=7", "loop=sil", 'pace="4x"', "link.to_board.delay_s=0.002"))
    assert (plan.seed, plan.loop, plan.speed, plan.link.to_board.delay_s) == (7, "sil", 4.0, 0.002)


def test_file_names_are_relative_to_the_scenario(tmp_path: Path) -> None:
    table = {"name": "x", "ground": {"trajectory": {"kind": "waypoints", "file": "points.csv"}}}
    (tmp_path / "x.toml").write_text(tomli_w.dumps(table))
    trajectory = load_tiltrotor(tmp_path / "x.toml").controller.ground.trajectory
    assert isinstance(trajectory, Waypoints)
    assert trajectory.file == str(tmp_path / "points.csv")


@pytest.mark.parametrize(
    "override", ['ground.trajectory.file="mine.csv"', 'ground.trajectory={kind="waypoints",file="mine.csv"}']
)
def test_file_names_that_were_typed_are_relative_to_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, override: str
) -> None:
    (tmp_path / "there").mkdir()
    table = {
        "name": "x",
        "ground": {"trajectory": {"kind": "waypoints", "file": "points.csv"}, "joystick_map": "stick.toml"},
    }
    (tmp_path / "there" / "x.toml").write_text(tomli_w.dumps(table))
    monkeypatch.chdir(tmp_path)
    ground = load_tiltrotor(Path("there/x.toml"), (override,)).controller.ground
    assert isinstance(ground.trajectory, Waypoints)
    assert ground.trajectory.file == str(tmp_path / "mine.csv")
    assert ground.joystick_map == str(tmp_path / "there" / "stick.toml")


@pytest.mark.parametrize("path", scenario_files.available(), ids=lambda path: path.stem)
def test_resolved_scenario_reads_back_the_same(path: Path, tmp_path: Path) -> None:
    plan = load_plan(path)
    results.make_folder(tmp_path / "run", plan)
    again = load_plan(tmp_path / "run" / results.SCENARIO)
    for part, read in zip(parts_of(plan), parts_of(again), strict=True):
        assert read.with_files(part.files()) == part
        for key, name in part.files().items():  # the run has copies of its own
            copy = Path(read.files()[key])
            assert copy.parent == tmp_path / "run"
            assert copy.read_bytes() == Path(name).read_bytes()


def test_each_rung_has_its_link() -> None:
    plan = scenario_files.load(SPIRAL)
    assert plan.link_url == "loopback://"
    assert msgspec.structs.replace(plan, loop="sil").link_url == "tcp://127.0.0.1:0"
    with pytest.raises(ConfigError, match="hil needs the board's link"):
        _ = msgspec.structs.replace(plan, loop="hil", pace="real").link_url


def test_a_preset_is_changed_value_by_value() -> None:
    path = scenario_files.find("quad-mission")
    plain, changed = scenario_files.load(path), scenario_files.load(path, ("sensors.imu.gyro.errors.quantum=0.001",))
    assert isinstance(plain.aircraft, MultirotorTables) and isinstance(changed.aircraft, MultirotorTables)
    assert plain.aircraft.sensors.imu is not None and changed.aircraft.sensors.imu is not None
    assert changed.aircraft.sensors.imu.gyro.errors.quantum == 0.001
    assert changed.aircraft.sensors.imu.gyro.errors.white_std == plain.aircraft.sensors.imu.gyro.errors.white_std != 0.0
    assert changed.aircraft.sensors.gnss == plain.aircraft.sensors.gnss


def test_own_files_of_the_current_folder_come_before_the_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = scenario_files.find("tiltrotor-spiral")
    assert shipped == SPIRAL.resolve()
    own = tmp_path / "scenarios"
    own.mkdir()
    for folder, name in ((own, "tiltrotor-spiral"), (own, "mine"), (tmp_path, "mine")):
        (folder / f"{name}.toml").write_text(f'name = "{name}"\nduration_s = 1.0\n')
    assert scenario_files.find("tiltrotor-spiral") == Path("scenarios/tiltrotor-spiral.toml")
    assert scenario_files.find("mine") == Path("mine.toml")
    names = {path.stem: path for path in scenario_files.available()}
    assert names["mine"] == Path("mine.toml") and names["tiltrotor-spiral"].parent == Path("scenarios")
    assert names["quad-hover"].parent == shipped.parent


def test_a_folder_names_the_scenarios_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "airframe.toml").write_text("[body]\nmass_kg = 1.0\n")
    (tmp_path / "mine" / "hover.toml").write_text('name = "mine"\nduration_s = 1.0\n')
    with pytest.raises(ConfigError, match=r"^mine: a folder; expected one of the scenarios in it: mine/hover\.toml$"):
        scenario_files.find("mine")


def test_other_files_of_the_current_folder_are_no_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = scenario_files.available()
    for name, text in {
        "pyproject": '[project]\nname = "x"\n',
        "router": 'name = "bench"\n[[endpoints]]\n',
        "broken": "name = ",
        "binary": "\udcff",
        "airframe": "[body]\nmass_kg = 1.0\n",
    }.items():
        (tmp_path / f"{name}.toml").write_text(text, errors="surrogateescape")
    assert scenario_files.available() == before
