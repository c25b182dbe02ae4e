"""Python API to command an aircraft over MAVLink: every command is acknowledged or raises an error.

with Vehicle.connect("udp://127.0.0.1:14540?listen") as vehicle:
    vehicle.arm()
    vehicle.takeoff(5.0)
"""

from __future__ import annotations

from aeroloop.ground.commands.errors import CommandError, HeldError, InvalidError, NoAnswerError, RefusedError
from aeroloop.ground.commands.parameter_values import Parameter, Value
from aeroloop.ground.commands.state import VehicleState
from aeroloop.ground.commands.station import Station
from aeroloop.ground.commands.texts import Text
from aeroloop.ground.commands.transaction import Patience
from aeroloop.ground.commands.vehicle import MODES, Vehicle
from aeroloop.ground.missions import plan_text, write_plan

__all__ = [
    "MODES",
    "CommandError",
    "HeldError",
    "InvalidError",
    "NoAnswerError",
    "Parameter",
    "Patience",
    "RefusedError",
    "Station",
    "Text",
    "Value",
    "Vehicle",
    "VehicleState",
    "plan_text",
    "write_plan",
]
