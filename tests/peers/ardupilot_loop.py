"""A quadrotor of the bench and the tests' ArduPilot at the end of its link, in the bench's own loop and in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from aeroloop.core import scenario_files
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.signals import NS, Event
from aeroloop.core.tables import made, offered
from aeroloop.exchanges.ardupilot_json import JsonAutopilot, Settings
from aeroloop.sim.loop import Craft, run
from aeroloop.sim.pace import Pace
from peers.ardupilot_link import PeerLink
from peers.ardupilot_peer import ArdupilotPeer


class Rows:
    """The exchange's."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Event, float]] = []

    def event(self, t_ns: int, event: Event, value: float) -> None:
        self.events.append((t_ns, event, value))

    def exchanged(self, *_: Any) -> None: ...
    def finish(self, *_: Any) -> None: ...


class Nowhere(dict[str, Callable[..., None]]):
    """Rows that nobody keeps."""

    def __missing__(self, name: str) -> Callable[..., None]:
        return lambda *row: None


class JsonLoop:
    def __init__(
        self,
        peer: ArdupilotPeer,
        *,
        scenario: str = "quad-ardupilot",
        link: Callable[[ArdupilotPeer], PeerLink] = PeerLink,
        on_restart: Any = "reset",
        **changes: Any,
    ) -> None:
        """`changes` are of keys of the scenario, with `__` for a dot."""
        plan: Scenario[Any, Any] = scenario_files.load(scenario_files.find(scenario))
        for key, value in changes.items():
            plan = with_value(plan, key.replace("__", "."), value)
        self.scenario, self.peer, self.link = plan, peer, link(peer)
        self.rows, self.said = Rows(), list[str]()
        self.vehicle = made(plan.family.vehicle, plan, 0, Nowhere())
        self.period_ns = round(plan.aircraft.aboard.imu.period_s * NS)
        settings = Settings(
            offered(plan.kind, "pulses", plan), self.period_ns, on_restart=on_restart, notify=self.said.append
        )
        self.exchange = JsonAutopilot(self.vehicle, self.link, self.link.timing, settings, self.rows)
        self._pace = Pace(self.vehicle.step_ns, lockstep=True)
        self._out = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)

    def fly(self, until_s: float) -> str:
        if self.vehicle.t_ns == 0:
            self.exchange.await_ready(30.0)
        until_ns = round(until_s * NS / self.period_ns) * self.period_ns
        return run([Craft(self.vehicle, [self.exchange], until_ns)], self._pace, lambda: False)

    def command(self, number: int, *params: float) -> None:
        filled = (*params, *(0.0,) * (7 - len(params)))
        self.peer.hear(mavlink.MAVLink_command_long_message(1, 1, number, 0, *filled).pack(self._out))

    def take_off(self, height_m: float) -> None:
        self.command(mavlink.MAV_CMD_DO_SET_MODE, 1, 4)
        self.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
        self.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, height_m)
