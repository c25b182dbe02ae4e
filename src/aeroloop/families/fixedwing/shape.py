"""Shape of a fixed wing for drawing: a MuJoCo model with the size of its parameter file, which is not simulated, or the
parts that its file has for it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import mujoco

from aeroloop.cad.drawn import dressed
from aeroloop.core.shape import Shape
from aeroloop.families.fixedwing.airframe import FOLDER, Airframe, load
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.world.shapes import of_model

DRAWN_SPAN_M = 2.8956
SURFACES = ("aileron_left", "aileron_right", "tail_left", "tail_right")
"""Hinges of the model."""


def shape(scenario: FixedWingScenario) -> Shape:
    name = scenario.aircraft.vehicle.airframe
    own = load(name)
    return dressed(of_model(build(own)), own.drawn, Path(name))


def build(airframe: Airframe) -> mujoco.MjModel:
    text = resources.files("aeroloop").joinpath(f"{FOLDER}/model.xml").read_text(encoding="utf-8")
    spec = mujoco.MjSpec.from_string(text)
    scale = airframe.wing.span_m / DRAWN_SPAN_M
    frame = spec.body("frame")
    for body in (frame, *(spec.body(name) for name in SURFACES)):
        body.pos, body.ipos = body.pos * scale, body.ipos * scale
        for geom in body.geoms:
            geom.pos, geom.size = geom.pos * scale, geom.size * scale
            if geom.fromto[0] == geom.fromto[0]:  # NaN if unset
                geom.fromto = geom.fromto * scale
        for site in body.sites:
            site.pos = site.pos * scale
    frame.mass = airframe.body.mass_kg
    frame.inertia = airframe.body.inertia_kgm2
    disc = spec.geom("propeller")
    disc.size = [airframe.propulsion.diameter_m / 2, disc.size[1], 0.0]
    # The drawing derives the direction of rotation from the torque; a pair is drawn as one.
    spec.actuator("thrust").gear = [0.0, 0.0, 1.0, 0.0, 0.0, -0.05 * (airframe.propulsion.spin or 1)]
    return spec.compile()


def deflections_rad(controls: tuple[float, ...]) -> tuple[float, float, float, float]:
    """Angles of SURFACES for aileron, elevator, rudder; the two halves of an inverted V tail combine elevator and
    rudder."""
    aileron, elevator, rudder = controls[:3]
    return aileron, -aileron, elevator - rudder, elevator + rudder
