"""The helicopter's body in MuJoCo: fuselage, skids and boom over its ground; and its shape for drawing."""

from __future__ import annotations

import math
from importlib import resources

import mujoco

from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.core.shape import Shape
from aeroloop.families.helicopter import airframe
from aeroloop.families.helicopter.airframe import FOLDER, SKID_RADIUS_M, Helicopter, Rotor
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.world.feet import Feet
from aeroloop.world.ground import SPRUNG, Ground, lay
from aeroloop.world.shapes import of_model

PASSES = {"contype": 0, "conaffinity": 0}


def build(h: Helicopter, step_s: float, terrain: Ground | None = None, *, drawn: bool = False) -> mujoco.MjModel:
    """Its six actuators are force and torque on the body. `drawn`: with discs of the rotors, for the shape only."""
    text = resources.files("aeroloop").joinpath(f"{FOLDER}/model.xml").read_text(encoding="utf-8")
    spec = mujoco.MjSpec.from_string(text)
    spec.option.timestep = step_s
    # A NaN state must persist: MuJoCo would reset the aircraft to the origin and continue.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.option.gravity = [0.0, 0.0, -GRAVITY_M_S2]
    contact = h.contact
    friction = [contact.friction, 0.01, 0.001]
    spec.geom("ground").friction = friction
    if terrain is not None:
        lay(spec, terrain)
    body = spec.body("fuselage")
    body.mass, body.inertia = h.body.mass_kg, h.body.inertia_kgm2
    body.ipos, body.iquat = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    body.explicitinertial = True
    touches = {"contype": 2, "conaffinity": 1, "friction": friction}
    capsule, ellipsoid = mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_ELLIPSOID
    body.add_geom(type=ellipsoid, size=contact.fuselage_half_m, rgba=[0.75, 0.2, 0.15, 1], **touches)
    body.add_geom(
        type=capsule, size=[0.018, 0, 0], fromto=[0, 0, 0, *h.tail_rotor.hub_B_m], rgba=[0.3, 0.3, 0.3, 1], **touches
    )
    body.add_geom(
        type=capsule, size=[0.015, 0, 0], fromto=[0, 0, 0, *h.main_rotor.hub_B_m], rgba=[0.2, 0.2, 0.2, 1], **PASSES
    )
    steps = touches if contact.springs is None else {**touches, **SPRUNG}
    half_m, low_m = contact.skid_length_m / 2, -contact.skid_below_m
    for side_m in (contact.skid_width_m / 2, -contact.skid_width_m / 2):
        skid = [-half_m, side_m, low_m, half_m, side_m, low_m]
        body.add_geom(type=capsule, size=[SKID_RADIUS_M, 0, 0], fromto=skid, rgba=[0.15, 0.15, 0.15, 1], **steps)
        for x_m in (-half_m / 2, half_m / 2):
            leg = [x_m, 0, 0, x_m, side_m, low_m]
            body.add_geom(type=capsule, size=[0.008, 0, 0], fromto=leg, rgba=[0.15, 0.15, 0.15, 1], **PASSES)
    if drawn:
        side = math.copysign(math.sqrt(0.5), h.head.spin)
        _add_disc(spec, "main_rotor", h.main_rotor, [1.0, 0.0, 0.0, 0.0], h.head.spin)
        _add_disc(spec, "tail_rotor", h.tail_rotor, [math.sqrt(0.5), side, 0.0, 0.0], 1)
    return spec.compile()


def feet(h: Helicopter, terrain: Ground) -> Feet | None:
    """On springs; None: its contact is MuJoCo's."""
    springs = h.contact.springs
    return None if springs is None else Feet(springs, terrain)


def _add_disc(spec: mujoco.MjSpec, name: str, rotor: Rotor, quat: list[float], spin: int) -> None:
    """A disc with the actuator by which shapes know a rotor."""
    body = spec.body("fuselage")
    disc, size = mujoco.mjtGeom.mjGEOM_CYLINDER, [rotor.radius_m, 0.003, 0]
    body.add_geom(type=disc, size=size, pos=rotor.hub_B_m, quat=quat, rgba=[0.2, 0.4, 0.8, 0.35], **PASSES)
    body.add_site(name=name, pos=rotor.hub_B_m, quat=quat)
    thrust = spec.add_actuator(name=name, trntype=mujoco.mjtTrn.mjTRN_SITE, target=name)
    thrust.gear = [0.0, 0.0, 1.0, 0.0, 0.0, -0.01 * spin]


def shape(scenario: HelicopterScenario) -> Shape:
    tables = scenario.aircraft
    return of_model(build(airframe.load(tables.vehicle.airframe), tables.world.step_s, drawn=True))
