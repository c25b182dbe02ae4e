"""The 3D view's aircraft: what the MuJoCo models have, and nothing else."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from aeroloop.core import scenario_files as scenarios
from aeroloop.dashboard import family_page
from aeroloop.families.multirotor import airframe as multirotor
from aeroloop.families.tiltrotor import airframe as tiltrotor
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.world import shapes


def model_of(name: str) -> mujoco.MjModel:
    if name == "tiltrotor":
        return tiltrotor.build(parameters("cad"), 0.004)
    return multirotor.build(multirotor.load(name), 0.004)


@pytest.mark.parametrize("name", ["iris", "hexarotor", "tiltrotor"])
def test_every_geom_is_drawn_once(name: str) -> None:
    model = model_of(name)
    shape = shapes.of_model(model)
    drawn = [(part.body + 1, part.pos_m) for part in shape.parts] + [(r.body + 1, r.pos_m) for r in shape.rotors]
    there = [
        (int(model.geom_bodyid[i]), tuple(model.geom_pos[i].tolist()))
        for i in range(model.ngeom)
        if model.geom_bodyid[i] > 0
    ]
    assert sorted(drawn) == sorted(there)


@pytest.mark.parametrize("name", ["iris", "hexarotor"])
def test_rotors_are_the_motors_in_order_and_turn_their_way(name: str) -> None:
    airframe = multirotor.load(name)
    shape = shapes.of_model(model_of(name))
    assert [rotor.pos_m for rotor in shape.rotors] == [tuple(pos) for pos in airframe.rotors.pos_B_m]
    assert [rotor.direction for rotor in shape.rotors] == list(airframe.rotors.spin)
    assert {rotor.radius_m for rotor in shape.rotors} == {airframe.contact.rotor_radius_m}


def test_pods_of_the_tiltrotor_hinge_where_the_parameters_say() -> None:
    shape = shapes.of_model(model_of("tiltrotor"))
    hinged = {body.hinge.name: body for body in shape.bodies if body.hinge}
    assert list(hinged) == ["tilt_right", "tilt_left"]  # the order of the truth stream's tilts
    for body, pivot in zip(hinged.values(), parameters("cad").pod_pivot_B_m, strict=True):
        assert body.pos_m == pytest.approx(pivot)
        assert body.hinge is not None and body.hinge.axis == (0.0, 1.0, 0.0)
    # The torque on the airframe is the parameters' spin, so the rotor itself turns the other way.
    assert [rotor.direction for rotor in shape.rotors] == [-spin for spin in parameters("cad").spin]
    assert [shape.bodies[rotor.body].name for rotor in shape.rotors] == ["pod_right", "pod_left"]


def test_blades_stay_within_their_disc() -> None:
    for rotor in shapes.of_model(model_of("iris")).rotors:
        assert len(rotor.blades) == 2
        for blade in rotor.blades:
            assert abs(blade.pos_m[0]) + blade.size_m[0] == pytest.approx(rotor.radius_m)


def test_reach_covers_the_rotors_tips() -> None:
    shape = shapes.of_model(model_of("iris"))
    tips = [np.hypot(rotor.pos_m[0], rotor.pos_m[1]) for rotor in shape.rotors]
    assert max(tips) < shape.reach_m < max(tips) + shape.rotors[0].radius_m + 0.1


def test_a_mesh_keeps_its_triangles_and_what_is_invisible_is_left_out() -> None:
    xml = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
    <geom type="plane" size="1 1 1"/><body name="b"><freejoint/><geom type="mesh" mesh="m" rgba="1 0 0 1"/>
    <geom type="sphere" size=".1" rgba="0 0 0 0"/></body></worldbody></mujoco>"""
    (part,) = shapes.of_model(mujoco.MjModel.from_xml_string(xml)).parts
    assert part.kind == "mesh"
    assert len(part.vertices_m) == 12
    assert len(part.faces) == 12


@pytest.mark.parametrize(("name", "rotors"), [("quad-hover", 4), ("tiltrotor-spiral", 2)])
def test_a_scenario_has_the_shape_of_what_flies_in_it(name: str, rotors: int) -> None:
    scenario = scenarios.load(scenarios.find(name))
    assert len(family_page.of(scenario).shape(scenario).rotors) == rotors
