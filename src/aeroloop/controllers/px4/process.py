"""The telemetry process of external autopilots: logs their reports, and sends the pilot's commands.

The plant sends it the time and does not depend on it otherwise. In lockstep with a pilot it answers, so that simulated
time stops until the commands of that time are sent.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.process import build_pilot
from aeroloop.controllers.pixhawk.tables import GROUND_URL, SAME_LINK, AutopilotScenario, AutopilotTables
from aeroloop.controllers.pixhawk.virtual_pixhawk import SYSTEM
from aeroloop.controllers.px4.autopilot_clock import AutopilotClock
from aeroloop.controllers.px4.message_requests import MessageRequests
from aeroloop.controllers.px4.reported import Reported
from aeroloop.controllers.px4.telemetry_link import SimulatorLink, TelemetryLink, open_telemetry
from aeroloop.controllers.px4.time_link import TimeIn
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS, Event
from aeroloop.core.stream import Publish, numbered
from aeroloop.core.streams import streams_of, writes
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.ground.mavlink_pilot import GROUND_COMPONENT, GROUND_SYSTEM, MavlinkPilot
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkOut
from aeroloop.realtime.topics import Topics
from aeroloop.world.earth import Earth

READS = ("telemetry of each autopilot", "time of the plant")
WRITES = ("estimate", "setpoint", "autopilot_state", "board_event", "status_text", "telemetry_count")
PATIENCE_MS = 100
"""Period of the check for a stop request."""
AUTOPILOT = dialect.MAV_COMP_ID_AUTOPILOT1


class Aircraft:
    """One external autopilot: its telemetry, and the commands of its pilot."""

    def __init__(
        self,
        system: int,
        reported: Reported,
        link: TelemetryLink,
        pilot: MavlinkPilot | None,
        requests: MessageRequests | None,
        remark: Callable[[str], None],
    ) -> None:
        self.system, self.reported, self.link = system, reported, link
        self._pilot, self._requests, self._remark = pilot, requests, remark
        self._out = MavlinkOut(MavlinkCounters(), GROUND_SYSTEM, GROUND_COMPONENT)

    def handle(self, frame: Frame, now_ns: int) -> None:
        self.reported.take(frame, now_ns)
        if self._requests is not None:
            self._requests.count(frame.msg_id, now_ns)
        if self._pilot is not None:
            try:
                self._pilot.handle(frame, now_ns)
            except dialect.MAVError:
                return

    def step(self, t_ns: int) -> None:
        """The messages to send at this time."""
        self.reported.step()
        out = b""
        if self._requests is not None:
            out = b"".join(map(self._out.pack, self._requests.step(t_ns)))
        if self._pilot is not None:
            out += self._pilot.step(t_ns)
            self._note(t_ns, self._pilot)
        if out:
            self.link.send(self.system, out)

    def _note(self, t_ns: int, pilot: MavlinkPilot) -> None:
        for done in pilot.done_so_far:
            self.reported.note(done.t_ns, done.event, done.number)
        for given_up in pilot.given_up:
            self.reported.note(t_ns, Event.COMMAND_REFUSED, given_up.number)
            command = f"command {given_up.number} ({given_up.pilot_command.do})"
            self._remark(f"system {self.system}: the pilot aborted {command} at {t_ns / NS:.1f} s: {given_up.reason}")
        pilot.done_so_far.clear()
        pilot.given_up.clear()


def links_of(
    launch: LaunchSettings, plant: TimeIn, remark: Callable[[str], None], *, commanded: bool
) -> list[TelemetryLink | None]:
    """The link of each aircraft; None if another program uses the default port and there are no commands."""
    opened: dict[str, TelemetryLink | None] = {}
    for url in launch.telemetry_links:
        url = url or launch.dash_link
        if url in opened:
            continue
        if url == SAME_LINK:
            opened[url] = SimulatorLink(plant, launch.vehicle_links[0][0])
            continue
        try:
            opened[url] = open_telemetry(url)
        except LinkError as error:
            if commanded or url != GROUND_URL:
                raise
            opened[url] = None
            remark(
                f"telemetry is not read, since a ground station may have its port: {error}; name another link in "
                "telemetry.url, for example udp://127.0.0.1:14540?listen"
            )
    return [opened[url or launch.dash_link] for url in launch.telemetry_links]


def fleet_of(
    launch: LaunchSettings,
    scenario: AutopilotScenario,
    plant: TimeIn,
    publish: Mapping[str, Publish],
    remark: Callable[[str], None],
) -> list[Aircraft]:
    imu = scenario.aircraft.aboard.imu
    assert imu is not None
    earth, fleet = Earth(scenario.aircraft.home), []
    for number, link in enumerate(links_of(launch, plant, remark, commanded=scenario.controller.commanded)):
        if link is None:
            continue
        system = SYSTEM + launch.aircraft_before + number
        clock = AutopilotClock(round(imu.period_s * NS), lockstep=scenario.lockstep)
        reported = Reported(earth, clock.simulated_ns, numbered(publish, number))
        pilot = build_pilot(scenario, number, launch.aircraft_before) if scenario.controller.commanded else None
        # Not through a router, where it would affect other clients: there an autopilot sends the rates that they
        # request.
        requests = MessageRequests(system) if launch.telemetry_links[number] else None
        fleet.append(Aircraft(system, reported, link, pilot, requests, remark))
    return fleet


def read(fleet: list[Aircraft], now_ns: int) -> None:
    """Everything that has arrived."""
    by_system = {aircraft.system: aircraft for aircraft in fleet}
    for link in {id(aircraft.link): aircraft.link for aircraft in fleet}.values():
        for frame in link.frames():
            aircraft = by_system.get(frame.system)
            if aircraft is not None and frame.component == AUTOPILOT:
                aircraft.handle(frame, now_ns)


def serve(fleet: list[Aircraft], clock: TimeIn, stopped: Callable[[], bool], *, awaited: bool) -> None:
    """Run until requested to stop. A process that is waited for reads only when the plant sends the time, so that the
    pilot receives an answer at the same time in every flight."""
    poller, now_ns = select.poll(), 0
    links = set() if awaited else {aircraft.link.fileno() for aircraft in fleet}
    for descriptor in {clock.fileno(), *links}:
        poller.register(descriptor, select.POLLIN)
    while not stopped():
        for descriptor, event in poller.poll(PATIENCE_MS):
            if event & ~select.POLLIN:  # its peer has ended: polled with the others, and not waited for
                poller.unregister(descriptor)
        times_ns = clock.poll()
        now_ns = times_ns[-1] if times_ns else now_ns
        if times_ns or not awaited:
            read(fleet, now_ns)
        if times_ns:
            for aircraft in fleet:
                aircraft.step(now_ns)
            clock.answer(now_ns)
    read(fleet, now_ns)


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    scenario: AutopilotScenario = launch.flown_by(AutopilotTables)
    topics = Topics(launch.folder_path, wait=scenario.lockstep, stopped=stop)
    written = writes("board", streams_of(scenario), scenario.loop)
    publish = {stream.name: topics.publisher(stream).send for stream in written}
    supervisor.await_message("open")

    def remark(words: str) -> None:
        supervisor.send("remark", message=words)

    clock = TimeIn(batons["plant"])
    fleet = fleet_of(launch, scenario, clock, publish, remark)
    supervisor.send("ready")
    supervisor.await_message("start")
    try:
        serve(fleet, clock, stop, awaited=scenario.lockstep and scenario.controller.commanded)
    finally:
        for aircraft in fleet:
            aircraft.reported.close()
        topics.flush()
        for aircraft in fleet:
            aircraft.link.close()
            if not aircraft.reported.frames:
                remark(
                    f"system {aircraft.system}: no telemetry was received on {aircraft.link.url}, so its "
                    "estimate, setpoints and modes are not known"
                )
        clock.close()
    supervisor.send("done")


if __name__ == "__main__":
    run_process(main)
