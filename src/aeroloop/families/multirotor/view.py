"""What FlightGear shows of a multirotor's actuators: the speeds of its rotors."""

from __future__ import annotations

import math

from aeroloop.core.view import Shown, ShownEffort
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.scenario import QuadrotorScenario

RPM_PER_RAD_S = 60.0 / math.tau


def effort(scenario: QuadrotorScenario) -> ShownEffort:
    rotors = airframes.flown(scenario).rotors.count
    return ShownEffort(rpm=tuple(Shown(f"speed_{i}_rad_s", RPM_PER_RAD_S) for i in range(1, rotors + 1)))
