"""`aeroloop import`: a file of each kind becomes a folder that flies, and the report tells what to fill in."""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.cad_files import binary_stl, box, iris_sdf, put, quad_urdf, wing_urdf
from typer.testing import CliRunner, Result

from aeroloop.cameras import scene
from aeroloop.cli.app import app
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import EXAMPLES
from aeroloop.core.shape import Shape
from aeroloop.core.shape import of_scenario as shape_of
from aeroloop.families.fixedwing import airframe as wings
from aeroloop.families.multirotor import airframe as multirotors
from aeroloop.flight.inline import fly_inline

PUBLISHED = {
    "body": ("mass_kg", "inertia_kgm2"),
    "rotors": ("pos_B_m", "spin", "thrust_Ns2", "torque_to_thrust_m", "inertia_kgm2", "drag_Ns2_m", "density_kg_m3"),
    "motors": ("speed_max_rad_s", "speed_idle_rad_s", "lag_up_s", "lag_down_s"),
    "contact": ("rotor_radius_m",),
}
"""What `iris.toml` has from PX4's model; the rest of it are assumptions."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "iris.sdf", iris_sdf())
    put(tmp_path / "quad.urdf", quad_urdf())
    put(tmp_path / "wing.urdf", wing_urdf())
    put(tmp_path / "frame.stl", binary_stl(1000.0 * box(0.4, 0.3, 0.05)))


def brought(*words: str) -> Result:
    return CliRunner().invoke(app, ["import", *words])


def shape(flight: str) -> Shape:
    plan = scenario_files.load(Path(flight))
    return shape_of(plan)


def test_the_published_numbers_of_the_iris_come_out_as_in_our_file() -> None:
    done = brought("iris.sdf", "--out", "mine", "--body", "base_link")
    assert done.exit_code == 0, done.output
    ours, imported = multirotors.load("iris"), multirotors.load("mine/airframe.toml")
    for table, keys in PUBLISHED.items():
        for key in keys:
            assert getattr(getattr(imported, table), key) == getattr(getattr(ours, table), key), f"{table}.{key}"
    assert imported.rest_height_m == pytest.approx(ours.rest_height_m)  # the bottom of its collision box


def test_all_links_together_have_the_mass_of_the_rotors_too() -> None:
    assert brought("iris.sdf", "--out", "mine").exit_code == 0
    body = multirotors.load("mine/airframe.toml").body
    assert body.mass_kg == pytest.approx(1.52)
    # Parallel axes by hand: the centre rises by 0.02 x 0.023 / 1.52.
    up_m = 0.02 * 0.023 / 1.52
    above_m2 = (0.023 - up_m) ** 2
    squares_m2 = 2 * 0.22**2 + 2 * 0.20**2
    expected = 0.029125 + 1.5 * up_m**2 + 4 * 9.75e-7 + 0.005 * (squares_m2 + 4 * above_m2)
    assert body.inertia_kgm2[0] == pytest.approx(expected, rel=1e-6)


def test_a_multirotor_flies_by_the_command_that_the_import_prints(tmp_path: Path) -> None:
    done = brought("iris.sdf", "--out", "my-quad")
    command = re.search(r"^fly it: (aeroloop .*)$", done.output, re.MULTILINE)
    assert command is not None, done.output
    words = [sys.executable, "-m", "aeroloop.cli", *shlex.split(command[1])[1:]]
    flown = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env={**os.environ})
    assert flown.returncode == 0, flown.stdout + flown.stderr
    assert "my-quad-hover on rung mil" in flown.stdout and "passed (completed" in flown.stdout


@pytest.mark.parametrize(
    ("words", "flight"),
    [
        (("quad.urdf", "--density", "300"), "mine/hover.toml"),
        (("frame.stl", "--density", "200", "--unit", "mm"), "mine/hover.toml"),
        (("wing.urdf",), "mine/loiter.toml"),
        ((str(EXAMPLES / "aircraft" / "x-quad.sdf"), "--density", "2000"), "mine/hover.toml"),
    ],
)
def test_what_it_writes_can_be_flown(words: tuple[str, ...], flight: str) -> None:
    done = brought(*words, "--out", "mine")
    assert done.exit_code == 0, done.output
    assert f"fly it: aeroloop fly {flight}" in done.output
    assert fly_inline(scenario_files.load(Path(flight), ("duration_s=0.5",))).ended == "completed"


@pytest.mark.soak  # in short: they load and begin to fly, above
@pytest.mark.parametrize(
    "words", [("quad.urdf", "--density", "300"), ("frame.stl", "--density", "200", "--unit", "mm")]
)
def test_what_it_writes_passes_its_checks(words: tuple[str, ...]) -> None:
    brought(*words, "--out", "mine")
    words = (sys.executable, "-m", "aeroloop.cli", "fly", "mine/hover.toml")
    flown = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert flown.returncode == 0, flown.stdout + flown.stderr


def test_the_report_lists_bodies_rotors_and_what_to_fill_in() -> None:
    output = brought("quad.urdf", "--out", "mine", "--density", "300").output
    assert re.search(r"frame +│ 1.08 +│ 0 0 0 +│ 0.008244 +│ 0.008244 +│ 0.0162 +│ shape, 300 kg/m3", output)
    assert re.search(r"aircraft +│ 1.297 .*sum of 5 links", output)
    assert "rotor prop_3_joint: at (-0.2, -0.2, 0.04163) m, direction unknown, recognised by its name" in output
    marked = re.findall(r"^(\w+) = .* # FILL IN: ", Path("mine/airframe.toml").read_text(), re.MULTILINE)
    assert "thrust_Ns2" in marked and "mass_kg" not in marked and "pos_B_m" not in marked
    for key in marked:
        assert re.search(rf"^  - .*\.{key}[,:]", output, re.MULTILINE), key


def test_neighbours_turn_opposite_ways_if_nothing_tells() -> None:
    brought("quad.urdf", "--out", "mine", "--density", "300")
    rotors = multirotors.load("mine/airframe.toml").rotors
    assert rotors.spin[0] == rotors.spin[1] == -rotors.spin[2] == -rotors.spin[3]  # diagonals alike


def test_rotors_can_be_named_in_the_order_of_the_motors() -> None:
    named = [word for number in (3, 1, 2, 0) for word in ("--rotor", f"prop_{number}_joint")]
    brought("quad.urdf", "--out", "mine", "--density", "300", *named)
    assert multirotors.load("mine/airframe.toml").rotors.pos_B_m[0][:2] == (-0.2, -0.2)


def test_a_wing_keeps_its_body_and_the_travel_of_its_surfaces() -> None:
    output = brought("wing.urdf", "--out", "mine").output
    assert "surface left_elevon_joint: elevon" in output
    wing = wings.load("mine/airframe.toml")
    assert wing.body.mass_kg == pytest.approx(2.06)
    # By hand: of the fuselage, and of three surfaces of 0.02 kg at x -0.1 m, z 0.05 m; z down, so a minus for z up.
    centre = 3 * 0.02 * -0.1 / 2.06, (0.6 + 3 * 0.02) * 0.05 / 2.06
    product = 0.002 - (3 * 0.02 * -0.1 * 0.05 - 2.06 * centre[0] * centre[1])
    assert wing.body.product_xz_kgm2 == pytest.approx(product, rel=1e-6)
    assert wing.wing.span_m == pytest.approx(1.6)
    assert wing.servos.high[:3] == (0.4, 0.4, 0.4)


def test_its_shape_is_drawn_from_the_centre_of_mass_and_seen_by_cameras() -> None:
    put(Path("quad.urdf"), quad_urdf("frame.stl"))
    brought("quad.urdf", "--out", "mine", "--density", "200", "--unit", "mm")
    own = shape("mine/hover.toml")
    (part,) = own.parts
    points = np.array(part.vertices_m).reshape(-1, 3)
    up_m = multirotors.load("mine/airframe.toml").rotors.pos_B_m[0][2] - 0.05  # the frame's origin from the centre
    assert points.min(axis=0) == pytest.approx([-0.2, -0.15, up_m - 0.025], abs=1e-6)
    assert [rotor.radius_m for rotor in own.rotors] == pytest.approx([0.12] * 4, rel=0.005)
    assert own.reach_m == pytest.approx(math.hypot(0.2, 0.2) + 0.12, abs=0.01)
    swarm = scenario_files.load(Path("mine/hover.toml"), ("vehicle.count=2",))
    assert scene.of_scenario(swarm).compile().nmesh == 1


def test_a_drawn_mesh_outside_the_folder_is_refused() -> None:
    brought("frame.stl", "--out", "mine", "--density", "200", "--unit", "mm")
    path = Path("mine/airframe.toml")
    path.write_text(path.read_text().replace("meshes/part-1.stl", "../frame.stl"))
    with pytest.raises(ConfigError, match="lies outside"):
        shape("mine/hover.toml")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("gone.sdf",), "gone.sdf: there is no such file"),
        (("frame.step",), "frame.step: expected a file ending in .urdf, .sdf, .stl or .obj"),
        (("frame.stl",), "frame.stl: link 'frame': no mass and inertia in the file; expected a density"),
        (("frame.stl", "--density", "soft"), "--density soft: expected kg/m3 from 0.1 to 30000"),
        (("frame.stl", "--density", "2.7e6"), "--density 2.7e6: expected kg/m3"),
        (("frame.stl", "--unit", "ft"), "--unit ft: expected one of: m, mm, cm, in"),
        (("iris.sdf", "--body", "base"), "--body base: iris.sdf has no link of this name with a mass (did you mean"),
        (("iris.sdf", "--rotor", "rotor"), "--rotor rotor: iris.sdf has no joint of this name"),
        (("iris.sdf", "--kind", "boat"), "--kind boat: expected one of: multirotor, fixedwing"),
        (("iris.sdf", "--kind", "fixedwing"), "iris.sdf: a fixed wing has control surfaces"),
        (("wing.urdf", "--kind", "multirotor"), "wing.urdf: a multirotor has 4 to 8 upright rotors, not 0"),
        (("iris.sdf", "--out", "My Quad"), "--out My Quad: expected a name of small letters"),
        (("iris.sdf", "--out", "there"), "there: exists already, and is never overwritten"),
    ],
)
def test_what_it_cannot_import_is_one_sentence_and_nothing_is_written(words: tuple[str, ...], says: str) -> None:
    Path("there").mkdir()
    before = sorted(Path().rglob("*"))
    done = brought(*words, *(() if "--out" in words else ("--out", "mine")))
    assert isinstance(done.exception, ConfigError) and str(done.exception).startswith(says), done.exception
    assert sorted(Path().rglob("*")) == before


def test_an_aircraft_that_is_too_heavy_for_its_motors_is_written_and_told() -> None:
    put(Path("iris.sdf"), iris_sdf().replace("<mass>1.5</mass>", "<mass>15</mass>"))
    done = brought("iris.sdf", "--out", "mine")
    assert done.exit_code == 1
    assert "cannot fly yet" in done.output and "is too slow to hover" in done.output
    assert Path("mine/airframe.toml").is_file()
