"""The flight logic of the virtual Pixhawk with a point that follows it, and what both tests of it share."""

from __future__ import annotations

from pixhawk_follower import Follower

from aeroloop.controllers.pixhawk.autopilot import PixhawkAutopilot
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import Sticks

MIDDLE = Sticks(0.0, 0.0, 0.0, 0.5)


def simulated(**values: float) -> Follower:
    parameters = Parameters()
    for name, value in values.items():
        assert parameters.set(name, value) is None
    return Follower(PixhawkAutopilot(parameters))
