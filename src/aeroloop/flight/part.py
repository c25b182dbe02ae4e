"""The aircraft of one part of a flight, in the plant's process: vehicles, and the exchanges of their controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from aeroloop.core.change_offers import change_offers, checked
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.fault_offers import sight_switch
from aeroloop.core.fleet import Fleet, Plan, part_key, parts_of
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.shape import Shape
from aeroloop.core.shape import of_scenario as shape_of
from aeroloop.core.stream import Publish
from aeroloop.core.tables import calling, made, part
from aeroloop.flight.exchange_context import ExchangeContext, Inlined, Selected
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.sim.exchange import Exchange, Stopped
from aeroloop.sim.fault_plan import FaultPlan
from aeroloop.sim.loop import Craft, first
from aeroloop.sim.vehicle import Vehicle
from aeroloop.world.earth import Earth, Home
from aeroloop.world.object_kinds import names as object_names
from aeroloop.world.obstacles import Obstacles
from aeroloop.world.placed_objects import of_scenario as objects_of


class FlightPart:
    """Built from its launch settings alone, independent of the other parts."""

    def __init__(self, launch: LaunchSettings, publish: Callable[[int], Mapping[str, Publish]]) -> None:
        """`publish`: log rows of an aircraft, by its number in the part; the rows are given without that number."""
        self.launch, self.scenario = launch, launch.scenario
        count, build = self.scenario.aircraft.count, self.scenario.family.vehicle
        self._own = [publish(number) for number in range(count)]
        self.build = build  # module of its family, for errors in its code
        self.vehicles = [built(build, self.scenario, number, rows) for number, rows in enumerate(self._own)]
        home = value_at(self.scenario, "world.home")
        self.home: Home | None = home if isinstance(home, Home) else None
        self.crafts: list[Craft] = []
        self._finishers: list[Callable[[], None]] = []

    def open(self, batons: Mapping[str, int], notify: Callable[[str], None]) -> None:
        """Open the links, or create the controllers in this process."""
        known = change_offers(self.scenario)
        for number, vehicle in enumerate(self.vehicles):
            context = ExchangeContext(self.scenario, self.launch, number, vehicle, self._own[number], batons, notify)
            found = self._exchange_of(context)
            exchanges, select = (found.exchanges, found.select) if isinstance(found, Selected) else ([found], first)
            plan = FaultPlan(self.scenario.faults_of(number), self.scenario.changes_of(number))
            end_ns, name = self.scenario.end_ns, self._name(number)
            sight = partial(sight_switch, self.scenario)
            craft = Craft(vehicle, exchanges, end_ns, select=select, name=name, plan=plan, sight=sight)
            craft.check = partial(checked, scenario=self.scenario, known=known)
            self.crafts.append(craft)

    def _exchange_of(self, context: ExchangeContext) -> Exchange | Selected:
        controller = self.scenario.flown_by
        if not self.scenario.inline:
            with calling((self.build,)):
                exchange: Exchange | Selected = part(controller.exchange)(context)
            return exchange
        with calling((self.build,)):
            inlined: Inlined = part(controller.inline)(context)
        self._finishers.append(inlined.finish)
        return inlined.exchange

    def _name(self, number: int) -> str:
        """Name of an aircraft in messages; empty for a single one."""
        name = self.launch.prefix.removesuffix("/")
        return f"{name} vehicle {number}".strip() if len(self.vehicles) > 1 else name

    def await_ready(self, stopped: Stopped) -> None:
        for craft in self.crafts:
            for exchange in craft.exchanges:
                exchange.await_ready(self.scenario.link.start_timeout_s, stopped)

    @property
    def over(self) -> bool:
        return all(craft.over for craft in self.crafts)

    def finish(self) -> None:
        """Log the last rows."""
        for craft in self.crafts:
            for exchange in craft.exchanges:
                exchange.finish()

    def end_controllers(self) -> None:
        """End the controllers in this process after their last rows."""
        for finish in self._finishers:
            finish()

    def close(self) -> None:
        for craft in self.crafts:
            for exchange in craft.exchanges:
                exchange.close()


def built(build: str, scenario: Scenario, number: int, rows: Mapping[str, Publish]) -> Vehicle[Any, Any]:
    """Build the vehicle that a family's row names; `rows`: where the rows of this aircraft go, without its number."""
    vehicle = made(build, scenario, number, rows)
    if not isinstance(vehicle, Vehicle):
        raise ConfigError(f"{build}: expected a sim.vehicle.Vehicle, not {type(vehicle).__name__}")
    objects = objects_of(scenario)
    if objects:
        vehicle.add_obstacles(Obstacles(objects, shape_of(scenario)))
    return vehicle


def check_starts(plan: Plan) -> None:
    """ConfigError if an object of the world cannot be read, or is where an aircraft starts."""

    class Discarded(dict[str, Publish]):
        def __missing__(self, stream: str) -> Publish:
            return lambda *row: None

    for each in parts_of(plan):
        if object_names(each):
            try:
                for number in range(each.aircraft.count):
                    built(each.family.vehicle, each, number, Discarded())
            except ConfigError as error:
                at = f"{part_key(plan, each)}." if isinstance(plan, Fleet) else ""
                raise ConfigError(f"{at}{error}") from None


def fleet_of(parts: Sequence[FlightPart]) -> list[Craft]:
    """All aircraft of a flight; several are placed in the world of the first, and can meet there."""
    fleet = [craft for part in parts for craft in part.crafts]
    placed = [(each, each.home) for each in parts if each.home is not None]
    for each, home in placed if len(fleet) > 1 else ():
        origin_W = Earth(placed[0][1]).pos_W(home.lat_deg, home.lon_deg, home.alt_m)
        hull = _hull(each.scenario)
        for craft in each.crafts:
            craft.origin_W, craft.hull = origin_W, hull
    return fleet


def _hull(scenario: Scenario) -> Shape | None:
    try:
        return shape_of(scenario)
    except AeroloopError:  # a file of its shape is missing: it flies, and meets nobody
        return None
