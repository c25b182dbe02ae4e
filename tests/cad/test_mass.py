"""Mass, centre and inertia against closed forms, and against MuJoCo, which nobody here wrote."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.cad_files import (
    Triangles,
    binary_stl,
    box,
    cylinder,
    hollow_sphere,
    iris_sdf,
    obj,
    put,
    quad_urdf,
    sphere,
    text_stl,
    wing_urdf,
)

from aeroloop.cad.assembly import Densities, Meshes, assemble
from aeroloop.cad.imported import read_model
from aeroloop.cad.inertial import Inertial, combined, of_shape, pose, quat_of
from aeroloop.cad.mesh import Mesh, of_corners, simplified, solid
from aeroloop.cad.mesh_files import as_stl, parse_obj, parse_stl
from aeroloop.core.frames import Vec

DENSITY = 1240.0
CLOSE = 0.005
"""What the project promises; coarse meshes of round bodies are the reason that it is not less."""


def ball(radius: float) -> tuple[float, float]:
    mass = DENSITY * 4 / 3 * math.pi * radius**3
    return mass, 2 / 5 * mass * radius**2


OUTER, INNER = ball(0.1), ball(0.08)
BOX_KG = DENSITY * 0.3 * 0.2 * 0.05
ROD_KG = DENSITY * math.pi * 0.04**2 * 0.3
CLOSED_FORMS: dict[str, tuple[Triangles, float, tuple[float, float, float]]] = {
    "box": (
        box(0.3, 0.2, 0.05),
        BOX_KG,
        tuple(BOX_KG / 12 * (a * a + b * b) for a, b in ((0.2, 0.05), (0.3, 0.05), (0.3, 0.2))),  # type: ignore[dict-item]
    ),
    "cylinder": (
        cylinder(0.04, 0.3),
        ROD_KG,
        (ROD_KG * (3 * 0.04**2 + 0.3**2) / 12, ROD_KG * (3 * 0.04**2 + 0.3**2) / 12, ROD_KG * 0.04**2 / 2),
    ),
    "hollow sphere": (hollow_sphere(0.1, 0.08), OUTER[0] - INNER[0], (OUTER[1] - INNER[1],) * 3),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("form", [(binary_stl, parse_stl), (text_stl, parse_stl), (obj, parse_obj)])
def test_a_mesh_has_the_mass_and_inertia_of_the_closed_form(
    name: str, form: tuple[Callable[[Triangles], bytes], Callable[[bytes, str], Mesh]]
) -> None:
    triangles, mass_kg, moments = CLOSED_FORMS[name]
    write, parse = form
    found, remarks = solid(parse(write(triangles), name), DENSITY, name)
    assert remarks == []
    assert found.mass_kg == pytest.approx(mass_kg, rel=CLOSE)
    assert np.diag(found.inertia_kgm2) == pytest.approx(np.array(moments), rel=CLOSE)
    assert found.centre_m == pytest.approx(np.zeros(3), abs=1e-6)
    assert found.inertia_kgm2 == pytest.approx(np.diag(np.diag(found.inertia_kgm2)), abs=1e-6 * max(moments))


@settings(max_examples=30)
@given(
    at=st.tuples(*[st.floats(-5.0, 5.0)] * 3),
    turn=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
)
def test_a_mesh_elsewhere_is_the_same_body_moved(at: tuple[float, ...], turn: tuple[float, float, float]) -> None:
    to = pose(at, turn)
    mesh = of_corners(box(0.3, 0.2, 0.05, (0.1, 0.0, 0.02)))
    here, there = solid(mesh, DENSITY, "here")[0].moved(to), solid(mesh.moved(to), DENSITY, "there")[0]
    assert there.mass_kg == pytest.approx(here.mass_kg, rel=1e-9)
    assert there.centre_m == pytest.approx(here.centre_m, abs=1e-9)
    assert there.inertia_kgm2 == pytest.approx(here.inertia_kgm2, rel=1e-6, abs=1e-9)


@settings(max_examples=50)
@given(turn=st.tuples(*[st.floats(-3.2, 3.2)] * 3))
def test_a_rotation_matrix_becomes_its_quaternion(turn: tuple[float, float, float]) -> None:
    rotation = pose((0, 0, 0), turn).rotation
    back: Vec = np.zeros(9)
    mujoco.mju_quat2Mat(back, np.array(quat_of(rotation)))
    assert back.reshape(3, 3) == pytest.approx(rotation, abs=1e-9)


def in_mujoco(kind: int, size: tuple[float, float, float]) -> tuple[float, Vec]:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(type=kind, size=size, density=DENSITY)
    model = spec.compile()
    return float(model.body_mass[1]), np.sort(model.body_inertia[1])


@pytest.mark.parametrize(
    ("kind", "geom", "size"),
    [
        ("box", mujoco.mjtGeom.mjGEOM_BOX, (0.1, 0.2, 0.03)),
        ("sphere", mujoco.mjtGeom.mjGEOM_SPHERE, (0.1, 0.1, 0.1)),
        ("ellipsoid", mujoco.mjtGeom.mjGEOM_ELLIPSOID, (0.1, 0.2, 0.3)),
        ("cylinder", mujoco.mjtGeom.mjGEOM_CYLINDER, (0.1, 0.25, 0.0)),
        ("capsule", mujoco.mjtGeom.mjGEOM_CAPSULE, (0.1, 0.25, 0.0)),
    ],
)
def test_primitive_shapes_are_as_in_mujoco(kind: str, geom: int, size: tuple[float, float, float]) -> None:
    mass_kg, moments = in_mujoco(geom, size)
    found = of_shape(kind, size, DENSITY)
    assert found.mass_kg == pytest.approx(mass_kg, rel=1e-6)
    assert np.sort(np.diag(found.inertia_kgm2)) == pytest.approx(moments, rel=1e-6)


def whole_in_mujoco(text: str) -> tuple[float, Vec, Vec]:
    """Mass, centre and inertia about it of a URDF that MuJoCo reads itself."""
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    parts = []
    for index in range(model.nbody):
        turned = data.ximat[index].reshape(3, 3)
        inertia = turned @ np.diag(model.body_inertia[index]) @ turned.T
        parts.append(Inertial(float(model.body_mass[index]), data.xipos[index].copy(), inertia))
    total = combined(parts)
    return total.mass_kg, total.centre_m, total.inertia_kgm2


def test_links_and_joints_of_a_urdf_add_up_as_mujoco_adds_them(tmp_path: Path) -> None:
    turned = wing_urdf().replace('<origin xyz="0 0 0.05"/>', '<origin xyz="0.1 0.02 0.05" rpy="0.2 -0.1 0.4"/>')
    model = read_model(put(tmp_path / "wing.urdf", turned))
    found = assemble(model, Densities(), Meshes(model, tmp_path, None)).total
    mass_kg, centre_m, inertia = whole_in_mujoco(turned)
    assert found.mass_kg == pytest.approx(mass_kg)
    assert found.centre_m == pytest.approx(centre_m, abs=1e-9)
    assert found.inertia_kgm2 == pytest.approx(inertia, rel=1e-6, abs=1e-9)


def test_sdf_poses_are_relative_to_the_frames_that_they_name(tmp_path: Path) -> None:
    text = """<sdf version="1.9"><model name="m">
  <link name="a"><pose degrees="true">1 0 0 0 0 90</pose>
    <inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial></link>
  <frame name="f" attached_to="a"><pose>1 0 0 0 0 0</pose></frame>
  <link name="b"><pose relative_to="f">0 0 1 0 0 0</pose>
    <inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial></link>
  <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis></joint>
  </model></sdf>"""
    model = read_model(put(tmp_path / "m.sdf", text))
    assert model.links[1].pose.pos_m == pytest.approx([1.0, 1.0, 1.0])
    assert model.joints[0].axis == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    found = assemble(model, Densities(), Meshes(model, tmp_path, None)).total
    assert found.centre_m == pytest.approx([1.0, 0.5, 0.5])
    # By hand: turned moments 0.2, 0.1, 0.25 twice, and 1 kg at (0, -0.5, -0.5) and (0, 0.5, 0.5) from the centre.
    assert np.diag(found.inertia_kgm2) == pytest.approx([0.4 + 1.0, 0.2 + 0.5, 0.5 + 0.5])


def test_densities_are_of_all_or_of_links_and_materials(tmp_path: Path) -> None:
    model = read_model(put(tmp_path / "quad.urdf", quad_urdf()))
    meshes = Meshes(model, tmp_path, None)
    densities = Densities({"carbon": 1600.0, "prop_1": 500.0}, 1000.0)
    masses = [body.inertial.mass_kg for body in assemble(model, densities, meshes).bodies]
    disc_m3, frame_m3 = math.pi * 0.12**2 * 0.004, 0.3 * 0.3 * 0.04
    assert masses == pytest.approx([1600 * frame_m3, 1000 * disc_m3, 500 * disc_m3, 1000 * disc_m3, 1000 * disc_m3])


def test_a_mass_without_inertia_is_spread_over_the_shape(tmp_path: Path) -> None:
    text = quad_urdf().replace('<link name="frame">', '<link name="frame"><inertial><mass value="2"/></inertial>')
    model = read_model(put(tmp_path / "quad.urdf", text))
    frame = assemble(model, Densities(other=1000.0), Meshes(model, tmp_path, None)).bodies[0]
    assert frame.inertial.mass_kg == pytest.approx(2.0)
    assert frame.inertial.inertia_kgm2[2, 2] == pytest.approx(2.0 * (0.3**2 + 0.3**2) / 12)


def test_an_automatic_inertial_of_sdf_uses_its_collision_shapes(tmp_path: Path) -> None:
    text = iris_sdf().replace("<inertial><mass>1.5</mass>", '<inertial auto="true"><mass>1.5</mass>', 1)
    text = text.replace('<collision name="frame">', '<collision name="frame"><density>60</density>')
    model = read_model(put(tmp_path / "iris.sdf", text))
    base = assemble(model, Densities(), Meshes(model, tmp_path, None)).bodies[0]
    assert base.inertial.mass_kg == pytest.approx(60 * 0.47 * 0.47 * 0.11)


def test_scale_and_unit_of_a_mesh_count_once_each(tmp_path: Path) -> None:
    put(tmp_path / "frame.stl", binary_stl(10.0 * box(0.3, 0.3, 0.04)))
    text = quad_urdf("frame.stl").replace('filename="frame.stl"', 'filename="frame.stl" scale="-10 10 10"')
    model = read_model(put(tmp_path / "quad.urdf", text))
    found = assemble(model, Densities(other=500.0), Meshes(model, tmp_path, "cm"))
    assert found.bodies[0].inertial.mass_kg == pytest.approx(500 * 0.3 * 0.3 * 0.04, rel=1e-6)
    assert found.notes == ()  # mirrored, and still not inside out


def test_a_drawn_mesh_is_made_coarser_and_keeps_its_size() -> None:
    fine = of_corners(sphere(0.2))
    coarse = simplified(fine, 1000)
    assert len(fine.faces) > 15_000 and 200 < len(coarse.faces) <= 1000
    assert coarse.size_m == pytest.approx(fine.size_m, rel=0.1)
    again = parse_stl(as_stl(coarse), "again")
    assert len(again.faces) == len(coarse.faces) and again.size_m == pytest.approx(coarse.size_m, rel=1e-6)
