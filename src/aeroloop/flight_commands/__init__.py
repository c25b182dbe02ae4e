"""Flying an aircraft over MAVLink from Python: a small typed API in which every command is answered or fails clearly.

with Vehicle.connect("udp://127.0.0.1:14540?listen") as vehicle:
    vehicle.arm()
    vehicle.takeoff(5.0)
"""

from __future__ import annotations

from aeroloop.flight_commands.conversation import Patience
from aeroloop.flight_commands.errors import CommandError, HeldError, InvalidError, NoAnswerError, RefusedError
from aeroloop.flight_commands.parameter_values import Parameter, Value
from aeroloop.flight_commands.plans import plan_text, write_plan
from aeroloop.flight_commands.state import VehicleState
from aeroloop.flight_commands.station import Station
from aeroloop.flight_commands.texts import Text
from aeroloop.flight_commands.vehicle import MODES, Vehicle

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
