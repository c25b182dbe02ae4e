"""What an autopilot's actuator channels move on a fixed wing, by the rows of `channels`."""

from __future__ import annotations

from aeroloop.exchanges.mavlink_hil import Outputs
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.build import level_flight
from aeroloop.families.fixedwing.channels import THROTTLE, Channels, commands, rows
from aeroloop.families.fixedwing.scenario import PilotedWingScenario
from aeroloop.protocols.servo_pulses import PulseChannel, PulseMap

AXES = "px4"
"""HIL_CONTROLS has roll, pitch, yaw and throttle in the order and with the signs of PX4's standard channels."""


def outputs(scenario: PilotedWingScenario) -> Outputs:
    tables = scenario.aircraft
    servos, level = airframes.load(tables.vehicle.airframe).servos, level_flight(tables).controls
    table = rows(tables.channels, scenario.flown_by.name)
    return Outputs(
        motors=frozenset({table[THROTTLE].channel - 1}),
        stopped=(*level[:THROTTLE], 0.0),
        command=commands(table, servos, level),
        mix=commands(rows(Channels(), AXES), servos, level),
    )


def pulses(scenario: PilotedWingScenario) -> PulseMap:
    """The same of an autopilot that sends servo pulses."""
    tables = scenario.aircraft
    table = rows(tables.channels, scenario.flown_by.name)
    channels = tuple(PulseChannel(row.channel, row.trim, motor=at == THROTTLE) for at, row in enumerate(table))
    servos, level = airframes.load(tables.vehicle.airframe).servos, level_flight(tables).controls
    return PulseMap(channels, commands(table, servos, level))
