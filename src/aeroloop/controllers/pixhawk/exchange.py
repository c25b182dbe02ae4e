"""The plant's end of a MAVLink HIL link, to the virtual Pixhawk or to an external autopilot."""

from __future__ import annotations

import os
from collections.abc import Callable

from aeroloop.controllers.pixhawk.flight_law import Airframe
from aeroloop.controllers.pixhawk.hil_rows import HilRows
from aeroloop.controllers.pixhawk.tables import AutopilotScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import family, offered
from aeroloop.exchanges.barriers import BoardBaton
from aeroloop.exchanges.mavlink_hil import MavlinkHil, Outputs, Settings, Timing, motor_outputs, wall_timing
from aeroloop.exchanges.wire import Turn, Wire, impaired_wire
from aeroloop.flight.exchange_context import ExchangeContext
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.links.url import parse
from aeroloop.protocols.hil_rates import link_load
from aeroloop.protocols.mavlink import Frame
from aeroloop.protocols.mavlink_cutter import MavlinkCutter
from aeroloop.protocols.mavlink_hil import HilBattery
from aeroloop.realtime.lockstep import Baton

HITL_ACTUATORS_HZ = 200.0
"""Rate of PX4's actuator messages on a link without lockstep."""


def exchange(context: ExchangeContext) -> MavlinkHil:
    server = plant_link(context)
    board = None
    if by_baton(context.scenario):
        board = Baton(os.dup(context.batons["board"]), "virtual Pixhawk")  # one process has all autopilots of a fleet
    return behind(context, open_link(server), board=board)


def plant_link(context: ExchangeContext) -> str:
    """The plant's end of the link: to the autopilot, or to the router that carries it."""
    launch = context.launch
    return launch.plant_links[context.number] if launch.plant_links else launch.vehicle_links[context.number][0]


def by_baton(scenario: AutopilotScenario) -> bool:
    """Whether the autopilot alternates with the plant by a baton, since its samples and answers may be lost or late."""
    return scenario.lockstep and scenario.alternates


def behind(
    context: ExchangeContext,
    bare: Link,
    timing: Timing | None = None,
    board: BoardBaton | None = None,
    settled: Callable[[int], None] | None = None,
    others: Callable[[Frame], None] | None = None,
) -> MavlinkHil:
    """The exchange with the autopilot on this link, in lockstep by its baton or by its answers. `settled` is called at
    each step, and `others` with messages that are not part of HIL."""
    scenario: AutopilotScenario = context.scenario
    imu = scenario.aircraft.aboard.imu
    assert imu is not None
    wire = Wire.plain(bare)
    if board is not None or not scenario.lockstep:
        wire = impaired_wire(
            bare,
            scenario.link,
            lambda: context.vehicle.t_ns,
            scenario.seed + context.number,
            turn=Turn(board, context.number) if board is not None else None,
            cut=MavlinkCutter,
            cut_sent=MavlinkCutter,
        )
    settings = Settings(
        outputs=_outputs(scenario),
        answers_every_sample=scenario.loop != "hil" and scenario.lockstep and board is None,
        notify=context.notify,
        line=wire.faults,
        impaired=wire.is_impaired,
        settled=settled,
        others=others,
        battery=_battery(context),
    )
    rows = HilRows(context.publish, scenario.aircraft.aboard, 0.0 if scenario.loop == "hil" else imu.rate_hz)
    timing = timing or wall_timing(wire.link, wait_first=settings.answers_every_sample)
    return MavlinkHil(context.vehicle, wire.link, timing, settings, rows, bare=wire.bare, barrier=wire.barrier)


def _battery(context: ExchangeContext) -> Callable[[], HilBattery] | None:
    """The monitor of a simulated battery; external autopilots have a battery of their own."""
    battery = context.vehicle.battery
    if battery is None or context.scenario.loop == "hil":
        return None
    return lambda: HilBattery(
        battery.voltage_V, battery.current_A, battery.used_Ah, battery.energy_J, max(0.0, battery.charge)
    )


def _outputs(scenario: AutopilotScenario) -> Outputs:
    if family(scenario.kind).outputs:
        outputs: Outputs = offered(scenario.kind, "outputs", scenario)
        return outputs
    airframe: Airframe = offered(scenario.kind, "airframe", scenario)
    return motor_outputs(airframe.rotors.count, airframe.mix)


def check_capacity(scenario: AutopilotScenario) -> str:
    """Check before the flight whether a serial link can carry the messages; returns a warning, or an empty string."""
    imu, gnss = scenario.aircraft.aboard.imu, scenario.aircraft.aboard.gnss
    assert imu is not None
    url = parse(scenario.link_url, template=True)
    to_board = {"HIL_SENSOR": imu.rate_hz, "HIL_GPS": gnss.rate_hz if gnss else 0.0, "HEARTBEAT": 1.0}
    from_board = {"HIL_ACTUATOR_CONTROLS": HITL_ACTUATORS_HZ, "HEARTBEAT": 1.0}
    serial = url.scheme == "serial"
    on_a_desk = serial or (url.scheme == "udp" and scenario.loop == "hil" and not scenario.lockstep)
    load = link_load(to_board, from_board, url.baud if serial else None)
    if load.refusal:
        raise ConfigError(f"link.url: {url}: {load.refusal}")
    return f"link: {load.warning}" if load.warning and on_a_desk else ""
