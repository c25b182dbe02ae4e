"""The plant's end of the JSON link to ArduPilot, and of the time that its telemetry process is told."""

from __future__ import annotations

from aeroloop.controllers.ardupilot.tables import ArdupilotScenario
from aeroloop.controllers.pixhawk.hil_rows import HilRows
from aeroloop.controllers.px4.exchange import time_out
from aeroloop.core.signals import NS
from aeroloop.core.tables import offered
from aeroloop.exchanges.ardupilot_json import DatagramLink, JsonAutopilot, Settings
from aeroloop.exchanges.mavlink_hil import Timing, wall_timing
from aeroloop.flight.exchange_context import ExchangeContext
from aeroloop.links.udp import UdpServer
from aeroloop.links.url import parse
from aeroloop.sensors.suite import SensorSet
from aeroloop.sim.exchange import Exchange


def exchange(context: ExchangeContext) -> Exchange:
    server, _ = context.launch.vehicle_links[context.number]
    link = UdpServer(parse(server))
    return behind(context, link, wall_timing(link))


def behind(context: ExchangeContext, link: DatagramLink, timing: Timing) -> JsonAutopilot:
    """The ArduPilot behind this link."""
    scenario: ArdupilotScenario = context.scenario
    aboard = scenario.aircraft.aboard
    assert aboard.imu is not None
    clock = time_out(context)
    settings = Settings(
        pulses=offered(scenario.kind, "pulses", scenario),
        period_ns=round(aboard.imu.period_s * NS),
        on_restart=scenario.controller.ardupilot.on_restart,
        notify=context.notify,
        settled=clock.tell if clock is not None else lambda t_ns: None,
    )
    # ArduPilot has sensors of its own for all else: they do not cross this link.
    crossing = SensorSet(imu=aboard.imu, rangefinder=aboard.rangefinder)
    rows = HilRows(context.publish, crossing, aboard.imu.rate_hz)
    return JsonAutopilot(context.vehicle, link, timing, settings, rows)
