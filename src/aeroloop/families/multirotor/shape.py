"""Shape of a multirotor for drawing: its MuJoCo model."""

from __future__ import annotations

from aeroloop.core.shape import Shape
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.world.shapes import of_model


def shape(scenario: QuadrotorScenario) -> Shape:
    return of_model(airframe.build(airframe.load(scenario.aircraft.vehicle.airframe), scenario.aircraft.world.step_s))
