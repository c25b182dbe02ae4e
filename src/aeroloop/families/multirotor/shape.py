"""Shape of a multirotor for drawing: its MuJoCo model, or the parts that its airframe file has for it."""

from __future__ import annotations

from pathlib import Path

from aeroloop.cad.drawn import dressed
from aeroloop.core.shape import Shape
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.world.shapes import of_model


def shape(scenario: QuadrotorScenario) -> Shape:
    name = scenario.aircraft.vehicle.airframe
    own = airframe.load(name)
    return dressed(of_model(airframe.build(own, scenario.aircraft.world.step_s)), own.drawn, Path(name))
