"""A fault in a file is one sentence that names it; no file makes a traceback or takes long."""

from __future__ import annotations

import struct
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.helpers.cad_files import Triangles, binary_stl, box, iris_sdf, put, quad_urdf, text_stl, wing_urdf

from aeroloop.cad import mesh_files, xml_tree
from aeroloop.cad.assembly import Densities
from aeroloop.cad.imported import Imported, read
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import from_cad as wing_from_cad
from aeroloop.families.fixedwing.airframe import Airframe as WingAirframe
from aeroloop.families.multirotor import from_cad as multirotor_from_cad
from aeroloop.families.multirotor.airframe import Airframe as MultirotorAirframe

PLASTIC = Densities(other=1000.0)
UNIT = box(0.3, 0.3, 0.05)
ENTITIES = '<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>'


def imported(path: Path, *, densities: Densities = PLASTIC, unit: str | None = None) -> Imported:
    return read(path, densities, unit=unit)


def sentence(path: Path, *, densities: Densities = PLASTIC, unit: str | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        imported(path, densities=densities, unit=unit)
    text = str(refused.value)
    assert "\n" not in text and len(text) < 500
    return text


@pytest.mark.parametrize(
    ("triangles", "says"),
    [
        (UNIT[:-1], "the mesh is open: 3 of its edges"),
        (UNIT[:2], "the mesh is open: 4 of its edges"),
        (np.concatenate([UNIT[:4, ::-1], UNIT[4:]]), "edges have triangles that face different ways"),
        (np.concatenate([box(1, 1, 1), box(1, 1, 1, (3, 0, 0))[:, ::-1] * 0.5]), "closed surfaces is inside out"),
        (np.concatenate([UNIT, UNIT[:, ::-1]]), "encloses no volume"),
        (1000.0 * UNIT, "300 m long"),
        (1e-3 * UNIT, "0.0003 m long; expected more than 0.01 m"),
        (np.zeros((4, 3, 3)), "triangles have no area"),
        (UNIT * np.nan, "NaN, infinite"),
        (UNIT * 1e30, "NaN, infinite or above 1e+12"),
    ],
)
def test_a_mesh_that_has_no_mass_says_why(triangles: Triangles, says: str, tmp_path: Path) -> None:
    assert says in sentence(put(tmp_path / "frame.stl", binary_stl(triangles)))


def test_a_unit_slip_names_the_likely_unit(tmp_path: Path) -> None:
    millimetres = put(tmp_path / "frame.stl", binary_stl(1000.0 * UNIT))
    assert sentence(millimetres).endswith("if the mesh is in mm, it is 0.3 m long; state it by --unit mm")
    assert imported(millimetres, unit="mm").body.mass_kg == pytest.approx(4.5, rel=1e-6)
    put(tmp_path / "quad.urdf", quad_urdf("frame.stl"))
    assert '--unit mm, or scale="0.001 0.001 0.001" in the file' in sentence(tmp_path / "quad.urdf")


def test_a_mesh_inside_out_is_turned_and_overlaps_are_told(tmp_path: Path) -> None:
    turned = imported(put(tmp_path / "frame.stl", binary_stl(UNIT[:, ::-1])))
    assert turned.body.mass_kg == pytest.approx(4.5, rel=1e-6) and "faced inwards" in turned.notes[0]
    twice = imported(put(tmp_path / "twice.stl", binary_stl(np.concatenate([UNIT, 0.5 * UNIT]))))
    assert "the mass counts twice" in twice.notes[0]


def test_points_with_few_digits_are_merged(tmp_path: Path) -> None:
    rough = UNIT + np.random.default_rng(0).uniform(-1e-9, 1e-9, UNIT.shape)
    assert imported(put(tmp_path / "frame.stl", text_stl(rough))).body.mass_kg == pytest.approx(4.5, rel=1e-6)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('<child link="prop_2"/>', '<child link="prop_9"/>', "joint 'prop_2_joint': its child 'prop_9' is not a link"),
        ('<child link="prop_2"/>', "", "joint 'prop_2_joint': child: missing"),
        ('<child link="prop_2"/>', '<child link="prop_1"/>', "link 'prop_1': child of two joints"),
        ('<link name="prop_3">', '<link name="prop_2">', "link 'prop_2': defined twice"),
        (
            '<parent link="frame"/><child link="prop_0"/>',
            '<parent link="prop_0"/><child link="prop_0"/>',
            "form a loop",
        ),
        ('type="continuous"', 'type="spinning"', "type 'spinning': expected one of: continuous, revolute"),
        ('xyz="0.2 -0.2 0.05"', 'xyz="0.2 -0.2"', "expected 3 numbers, not '0.2 -0.2'"),
        ('xyz="0.2 -0.2 0.05"', 'xyz="200 -200 50"', "lies 2"),
        ('radius="0.12"', 'radius="-0.12"', "radius: expected more than 0"),
        ('<robot name="quad">', '<robot name="quad"><xacro:macro/>', "contains macros (xacro)"),
        ('<robot name="quad">', '<robot name="qu&#10;ad">', "expected a name of printable characters"),
        ("<robot", f"{ENTITIES[: ENTITIES.index('<robot')]}<robot", "a DOCTYPE may define entities, and is not read"),
        ("</robot>", "", "not valid XML: no element found"),
        ("<robot ", "<machine ", "not valid XML: mismatched tag"),
        ('<box size="0.3 0.3 0.04"/>', '<mesh filename="../frame.stl"/>', "lies outside"),
        ('<box size="0.3 0.3 0.04"/>', '<mesh filename="/etc/passwd"/>', "lies outside"),
        ('<box size="0.3 0.3 0.04"/>', '<mesh filename="http://x/frame.stl"/>', "expected a file beside it"),
        ('<box size="0.3 0.3 0.04"/>', '<mesh filename="frame.dae"/>', "expected .stl or .obj"),
        ('<box size="0.3 0.3 0.04"/>', '<mesh filename="model://q/frame.stl"/>', "there is no such file"),
        ('<box size="0.3 0.3 0.04"/>', "<torus/>", "expected one of: box, cylinder"),
    ],
)
def test_a_fault_in_a_urdf_is_named(before: str, after: str, says: str, tmp_path: Path) -> None:
    assert before in quad_urdf()
    assert says in sentence(put(tmp_path / "quad.urdf", quad_urdf().replace(before, after, 1)))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            '<joint name="rotor_2_joint" type="revolute">',
            '<joint name="rotor_2_joint" type="revolute"><parent>world</parent>',
            "link 'rotor_2': no joint connects it to 'base_link'; expected a joint",
        ),
        ("<jointName>rotor_1_joint</jointName>", "<jointName>rotor_7_joint</jointName>", "no joint 'rotor_7_joint'"),
        ("<motorNumber>2</motorNumber>", "<motorNumber>1</motorNumber>", "motorNumber 1 is used twice"),
        ("<turningDirection>cw<", "<turningDirection>left<", "turningDirection: expected cw or ccw, not 'left'"),
        ("<motorConstant>5.84e-06<", "<motorConstant>0<", "motorConstant: expected more than 0, not 0"),
        ("<ixx>0.029125</ixx>", "<ixx>2.9125</ixx>", "exceeds the sum of the others"),
        ("<ixx>0.029125</ixx>", "<ixx>-1</ixx>", "is negative"),
        ("<ixx>0.029125</ixx>", "", "link 'base_link': ixx: missing"),
        ("<mass>1.5</mass>", "", "link 'base_link': mass: missing"),
        ("<mass>1.5</mass>", "<mass>1500</mass>", "a mass of 1.5e+03 kg"),
        ("<mass>1.5</mass>", "<mass>{{ mass }}</mass>", "expected a number, not '{{ mass }}'"),
        ("<pose>0.13 -0.22 0.023 0 0 0</pose>", '<pose relative_to="rotor_0">0 0 0 0 0 0</pose>', "relative to itself"),
        ("<pose>0.13 -0.22 0.023 0 0 0</pose>", '<pose relative_to="gone">0 0 0 0 0 0</pose>', "no frame 'gone'"),
        ('<model name="iris">', '<model name="a"></model><model name="iris">', "2 models; expected a file with one"),
        ('<sdf version="1.6">', f"{ENTITIES[: ENTITIES.index('<robot')].replace('robot', 'sdf')}<sdf>", "DOCTYPE"),
    ],
)
def test_a_fault_in_an_sdf_is_named(before: str, after: str, says: str, tmp_path: Path) -> None:
    assert before in iris_sdf()
    text = iris_sdf().replace(before, after, 1).replace('<?xml version="1.0"?>\n', "")
    assert says in sentence(put(tmp_path / "iris.sdf", text))


def test_inertia_in_square_millimetres_is_a_unit_slip(tmp_path: Path) -> None:
    text = iris_sdf()
    for moment in ("0.029125", "0.055225"):
        text = text.replace(f">{moment}<", f">{float(moment) * 1e6}<")
    assert "expected kg and kg m2 (1 kg mm2 is 1e-6" in sentence(put(tmp_path / "iris.sdf", text))


def test_a_link_without_mass_asks_for_a_density(tmp_path: Path) -> None:
    path = put(tmp_path / "quad.urdf", quad_urdf())
    text = sentence(path, densities=Densities())
    assert "link 'frame': no mass and inertia in the file" in text and "--density frame=1200" in text
    assert "did you mean 'carbon'" in sentence(path, densities=Densities({"carbn": 1600.0}, 1000.0))


def test_a_mesh_behind_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    outside = put(tmp_path / "frame.stl", binary_stl(UNIT))
    (tmp_path / "inside" / "frame.stl").symlink_to(outside)
    path = put(tmp_path / "inside" / "quad.urdf", quad_urdf("frame.stl"))
    assert "--meshes FOLDER" in sentence(path)
    found = read(path, PLASTIC, meshes=tmp_path)
    assert found.assembly.bodies[0].inertial.mass_kg == pytest.approx(4.5, rel=1e-6)


def test_what_a_file_may_cost_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "<a>" * 70 + "</a>" * 70
    assert "nested deeper than 64" in sentence(put(tmp_path / "deep.urdf", deep))
    monkeypatch.setattr(xml_tree, "MOST_ELEMENTS", 10)
    assert "more than 10 elements" in sentence(put(tmp_path / "many.urdf", quad_urdf()))
    monkeypatch.setattr(mesh_files, "MOST_TRIANGLES", 10)
    assert "more than 10 triangles" in sentence(put(tmp_path / "frame.stl", binary_stl(UNIT)))
    assert "more than 10 triangles" in sentence(put(tmp_path / "text.stl", text_stl(UNIT)))
    monkeypatch.setattr(mesh_files, "MOST_BYTES", 100)
    assert "larger than" in sentence(tmp_path / "frame.stl")
    header = b"lies".ljust(80) + struct.pack("<I", 2**32 - 1)
    assert "its header has 4294967295 triangles" in sentence(put(tmp_path / "lies.stl", header))


WORDS = st.sampled_from(
    [
        *("0", "-1", "1e400", "nan", "{{x}}", "&#10;", "&lt;", "../x.stl", "frame.stl", "model://a/frame.stl"),
        *("rotor_0", "rotor_0_joint", "base_link", "frame", "prop_1", "world", "fixed", "revolute", "cw"),
        *("<link/>", "<link name='x'/>", "<joint/>", "<pose>", "<mesh/>", "]]>", "<!--", "<!DOCTYPE a>", '"', "/>", ""),
    ]
)


@settings(max_examples=150)
@given(
    text=st.sampled_from([iris_sdf(), quad_urdf(), quad_urdf("frame.stl"), wing_urdf()]),
    changes=st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 40), WORDS), min_size=1, max_size=4),
)
def test_no_change_of_a_description_makes_a_traceback(
    text: str, changes: list[tuple[float, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    if not folder.exists():
        folder.mkdir()
        put(folder / "frame.stl", binary_stl(UNIT))
    for place, cut, word in changes:
        at = int(place * len(text))
        text = text[:at] + word + text[at + cut :]
    outcome(put(folder / "changed.urdf", text))


@settings(max_examples=100)
@given(
    content=st.one_of(
        st.binary(max_size=400),
        st.binary(max_size=200).map(lambda rest: binary_stl(UNIT)[:-200] + rest),
        st.tuples(st.integers(0, 683), st.binary(min_size=1, max_size=60)).map(
            lambda change: binary_stl(UNIT)[: change[0]] + change[1] + binary_stl(UNIT)[change[0] + len(change[1]) :]
        ),
        st.tuples(st.integers(0, 2000), WORDS).map(
            lambda change: text_stl(UNIT)[: change[0]] + change[1].encode() + text_stl(UNIT)[change[0] + 5 :]
        ),
    ),
    ending=st.sampled_from([".stl", ".obj"]),
)
@example(content=b"v 1 2 3\nf 1 1 1\nf 0 1 2\n", ending=".obj")
@example(content=b"v 1 2 3\nf 1 -1 99999999999999999999\n", ending=".obj")
def test_no_content_of_a_mesh_makes_a_traceback(
    content: bytes, ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outcome(put(tmp_path_factory.getbasetemp() / f"changed{ending}", content))


def outcome(path: Path) -> None:
    """A sentence, or a result with finite numbers of which a family writes a file in its format."""
    try:
        found = imported(path)
    except ConfigError as error:
        assert "\n" not in str(error)
        return
    assert found.body.mass_kg > 0.0 and np.isfinite(found.body.inertia_kgm2).all()
    for family, kind in ((multirotor_from_cad, MultirotorAirframe), (wing_from_cad, WingAirframe)):
        importer = family.IMPORTER
        if not importer.lacks(found):
            written = importer.written(found, "changed")
            convert(tomllib.loads(written.airframe), kind, "changed")
