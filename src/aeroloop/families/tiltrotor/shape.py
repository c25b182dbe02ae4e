"""Shape of a tilt-rotor for drawing: its MuJoCo model."""

from __future__ import annotations

from aeroloop.core.shape import Shape
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.world.shapes import of_model


def shape(scenario: TiltrotorScenario) -> Shape:
    return of_model(airframe.build(parameters(scenario.aircraft.vehicle.parameters), scenario.aircraft.world.step_s))
