"""Builds a helicopter for an external autopilot: on its skids, the rotor at rest, with a governor of the rotor speed.

    throttle = hover + P slack + I integral(slack),   slack = setpoint - rotor speed

With gains of the airframe's own governor (`[law]`). Until the rotor has nearly its speed, the engine gives half of its
rated torque at most, as a clutch or a soft start does: full power at rest would turn the helicopter on its skids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aeroloop.core.fault_offers import Offer, of_actuators
from aeroloop.core.frames import Vec3, quat_from_euler
from aeroloop.core.signals import NS, RigidState
from aeroloop.core.stream import Publish
from aeroloop.families.helicopter import airframe, model
from aeroloop.families.helicopter.airframe import SKID_RADIUS_M, Helicopter
from aeroloop.families.helicopter.build import Controls, Effort, HelicopterMotion, Rows, assembled
from aeroloop.families.helicopter.channels import pulse_map
from aeroloop.families.helicopter.faults import ENGINE, SERVOS, TAIL
from aeroloop.families.helicopter.rotors import Flow
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.protocols.servo_pulses import PulseMap
from aeroloop.sensors.fault_offers import of_sensors_and_lines
from aeroloop.sensors.noise import Streams
from aeroloop.sim.exchange import Row
from aeroloop.sim.vehicle import Vehicle
from aeroloop.world.rigid import Rigid

AT_REST = (0.0, 0.0, 0.0, 0.0, 0.0)
RUN_UP, RUN_UP_TORQUE = 0.9, 0.5
"""Below this share of its speed the rotor is run up with this share of the rated torque at most."""
GOVERNED_MOST = 0.5
"""Largest throttle of the governor's integral."""


class GovernedMotion(HelicopterMotion):
    """The last value of a command is the setpoint of the rotor speed, over that of the airframe."""

    def __init__(
        self, h: Helicopter, rigid: Callable[[Any], Rigid[Controls]], start: tuple[Vec3, float], step_ns: int
    ) -> None:
        super().__init__(h, rigid, start)
        (x, y, ground_m), yaw_rad = start
        self._governed = 0.0  # integral of the slack
        self._level = (0.0, 0.0, 0.0, self.hover[model.TAIL], 0.0)
        self.body.reset((x, y, ground_m + h.contact.skid_below_m + SKID_RADIUS_M), quat_from_euler(0.0, 0.0, yaw_rad))
        self.body.settle(step_ns)
        stands = self.body.state(0)
        self._stands = stands.pos_W, stands.quat_WB
        self.restart()

    def restart(self) -> None:
        """On its skids, where it stood at the start."""
        self._governed = self._throttle = 0.0
        self.rotors.state = AT_REST
        self._servos.reset(self._level[: model.THROTTLE])
        self.body.reset(*self._stands)
        still, nothing = (0.0, 0.0, 0.0), Controls(self._servos.controls, 0.0)
        self.rotors.loads(AT_REST, Flow(still, still, model.SEA_LEVEL_KG_M3, *nothing))
        self.at_rest = self._effort(nothing, saturated=False)

    @property
    def first_command(self) -> Row:
        return self._level

    def drive(self, command: Row, dt_ns: int) -> Effort:
        return super().drive((*command[: model.THROTTLE], self._throttle_for(command[model.THROTTLE], dt_ns)), dt_ns)

    def _throttle_for(self, setpoint: float, dt_ns: int) -> float:
        head, gains, speed = self._h.head, self._h.law, self.rotors.state[4]
        if not setpoint > 0.0:
            self._governed = 0.0
            return 0.0
        slack = setpoint * head.speed_rad_s - speed
        if speed < RUN_UP * head.speed_rad_s:
            most, self._governed = RUN_UP_TORQUE * max(speed, 1.0) / head.speed_rad_s, 0.0
        else:
            bound = GOVERNED_MOST / max(gains.governor_per_rad, 1e-9)
            most, self._governed = 1.0, min(max(self._governed + slack * dt_ns / NS, -bound), bound)
        wanted = self.hover[model.THROTTLE] + gains.governor_per_rad_s * slack + gains.governor_per_rad * self._governed
        return min(max(wanted, 0.0), most)


class PilotedRows(Rows):
    """The autopilot reports setpoint and estimate; the command is logged as its channels give it."""

    def __init__(self, publish: Mapping[str, Publish]) -> None:
        super().__init__(publish, None, lambda: None)

    def wanted(self, vehicle: Vehicle[Effort, RigidState], t_s: float) -> None:
        self._publish["command"](t_s, *vehicle.command)


def vehicle(scenario: HelicopterScenario, number: int, publish: Mapping[str, Publish]) -> Vehicle[Effort, RigidState]:
    tables = scenario.aircraft
    streams = Streams(scenario.seed).child(f"vehicle-{number}") if number else Streams(scenario.seed)
    x, y = tables.start_m(number)
    step_ns = round(tables.world.step_s * NS)

    def motion(h: Helicopter, rigid: Callable[[Any], Rigid[Controls]], ground_m: float) -> GovernedMotion:
        return GovernedMotion(h, rigid, ((x, y, ground_m), tables.reference.yaw_rad), step_ns)

    return assembled(scenario, streams, (x, y), motion, lambda estimate: PilotedRows(publish), publish["event"])


def pulses(scenario: HelicopterScenario) -> PulseMap:
    h = airframe.load(scenario.aircraft.vehicle.airframe)
    _, command = model.hover(h)
    return pulse_map(scenario.aircraft.channels, h, command.tolist())


def check(scenario: HelicopterScenario) -> None:
    """ConfigError if it cannot hover."""
    pulses(scenario)


def fault_offers(scenario: HelicopterScenario) -> tuple[Offer, ...]:
    """Of actuators and of the sensors that cross the link; there is no state sensor."""
    actuators = (offer for offer in of_actuators((TAIL, ENGINE), SERVOS, offset=0.02) if offer.target != "battery")
    return (*of_sensors_and_lines(scenario.aircraft.aboard, lines=False), *actuators)
