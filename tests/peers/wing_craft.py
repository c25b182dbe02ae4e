"""A fixed wing and the board behind a link of the test's own, in the bench's loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from aeroloop.controllers.law.exchange import period_behind
from aeroloop.families.fixedwing.build import vehicle
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.flight.exchange_context import ExchangeContext
from aeroloop.sim.fault_plan import FaultPlan
from aeroloop.sim.loop import Craft, run
from aeroloop.sim.pace import Pace


class WingCraft:
    def __init__(
        self,
        scenario: FixedWingScenario,
        link: Any,
        publish: Mapping[str, Callable[..., None]],
        expected_image: int = 0,
    ) -> None:
        self.vehicle = vehicle(scenario, 0, publish)
        orders: Any = SimpleNamespace(image_id=expected_image)
        self.exchange = period_behind(
            ExchangeContext(scenario, orders, 0, self.vehicle, publish, {}, lambda words: None), link
        )
        self.craft = Craft(self.vehicle, [self.exchange], scenario.end_ns, plan=FaultPlan(scenario.faults_of(0)))

    def fly(self) -> str:
        """To its end, in lockstep."""
        ended = run([self.craft], Pace(self.vehicle.step_ns, lockstep=True), lambda: False)
        self.exchange.finish()
        return ended
