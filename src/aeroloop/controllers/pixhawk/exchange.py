"""The plant's end of a MAVLink HIL link, to the virtual Pixhawk or to an external autopilot."""

from __future__ import annotations

from aeroloop.controllers.pixhawk.flight_law import Airframe
from aeroloop.controllers.pixhawk.hil_rows import HilRows
from aeroloop.controllers.pixhawk.tables import AutopilotScenario
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import offered
from aeroloop.exchanges.line_faults import LineFaults
from aeroloop.exchanges.mavlink_hil import MavlinkHil, Settings, Timing, wall_timing
from aeroloop.flight.seat import Seat
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.links.url import parse
from aeroloop.protocols.hil_rates import link_load
from aeroloop.protocols.mavlink_cutter import MavlinkCutter

HITL_ACTUATORS_HZ = 200.0
"""How often PX4 sends actuators on a line without lockstep."""


def exchange(seat: Seat) -> MavlinkHil:
    server, _ = seat.orders.vehicle_links[seat.number]
    external = seat.scenario.loop == "hil"
    return behind(seat, LastingServer(server) if external else open_link(server))


def behind(seat: Seat, bare: Link, timing: Timing | None = None) -> MavlinkHil:
    """The autopilot behind this link."""
    scenario: AutopilotScenario = seat.scenario
    airframe: Airframe = offered(scenario.kind, "airframe", scenario)
    imu = scenario.aircraft.aboard.imu
    assert imu is not None
    link, impaired = bare, None
    if not scenario.lockstep:
        link = impaired = Impaired(
            bare,
            inbound=scenario.link.to_plant,
            outbound=scenario.link.to_board,
            clock_ns=lambda: seat.vehicle.t_ns,
            seed=scenario.seed + seat.number,
            cut=MavlinkCutter,
            cut_sent=MavlinkCutter,
        )
    settings = Settings(
        rotors=airframe.rotors.count,
        mix=airframe.mix,
        answers_every_sample=scenario.loop != "hil" and scenario.lockstep,
        notify=seat.notify,
        line=LineFaults(impaired, scenario.link) if impaired is not None else None,
        impaired=(lambda: impaired.worn) if impaired is not None else (lambda: False),
    )
    rows = HilRows(seat.publish, scenario.aircraft.aboard, 0.0 if scenario.loop == "hil" else imu.rate_hz)
    return MavlinkHil(seat.vehicle, link, timing or wall_timing(link), settings, rows, bare=bare)


def check_capacity(scenario: AutopilotScenario) -> str:
    """Whether a serial line can carry what is to cross it, said before the flight: a warning, or nothing."""
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
