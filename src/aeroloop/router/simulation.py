"""HIL links: which simulator flies which vehicle, and which messages pass between them.

A simulator takes the place of a vehicle's sensors and motors. What it sends goes to its vehicle alone; of the vehicle's
messages it gets those that a simulator uses, and HIL messages go to nobody else. No forwarding rule limits either.
"""

from __future__ import annotations

from aeroloop.router.config import RouterConfig
from aeroloop.router.messages import MAVLINK

HIL = frozenset(number for name, number in MAVLINK.items() if name.startswith("HIL_"))
TO_SIMULATOR = HIL | {MAVLINK["HEARTBEAT"], MAVLINK["COMMAND_LONG"]}
"""An autopilot requests ground truth by a command."""


class SimulatedVehicles:
    """Links are identified by their numbers."""

    def __init__(self, config: RouterConfig) -> None:
        numbers = {end.name: number for number, end in enumerate(config.endpoints)}
        self._vehicle_of = {
            numbers[end.name]: numbers[config.simulated_by(end)] for end in config.endpoints if end.role == "simulator"
        }
        self._simulator_of = {vehicle: simulator for simulator, vehicle in self._vehicle_of.items()}

    def __bool__(self) -> bool:
        return bool(self._vehicle_of)

    def __contains__(self, link: int) -> bool:
        """Whether it is the link of a simulator, or of a vehicle that has one."""
        return link in self._vehicle_of or link in self._simulator_of

    def simulator_of(self, link: int) -> int | None:
        return self._simulator_of.get(link)

    def passes(self, source: int, target: int, message: int) -> bool | None:
        """Whether a message passes from one link to another; None: the forwarding rules decide."""
        if source in self._vehicle_of:
            return self._vehicle_of[source] == target
        if target in self._vehicle_of:
            return self._vehicle_of[target] == source and message in TO_SIMULATOR
        if message in HIL and (source in self._simulator_of or target in self._simulator_of):
            return False
        return None

    def urgent(self, source: int, message: int) -> bool:
        """Whether the message goes ahead of all others."""
        return source in self._vehicle_of or (source in self._simulator_of and message in HIL)
