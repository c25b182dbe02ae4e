"""The virtual Pixhawks of a flight: an autopilot for each aircraft, its pilot, and its ground stations."""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping
from pathlib import Path

import casadi as ca

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.controllers.pixhawk.log import PixhawkLog
from aeroloop.controllers.pixhawk.tables import AutopilotScenario, AutopilotTables
from aeroloop.controllers.pixhawk.virtual_pixhawk import SYSTEM, VirtualPixhawk, parameters
from aeroloop.core.errors import LinkError
from aeroloop.core.paths import cache_dir
from aeroloop.core.signals import NS
from aeroloop.core.stream import Publish, numbered
from aeroloop.core.streams import streams_of, writes
from aeroloop.core.tables import offered
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.ground import axis_map
from aeroloop.ground.mavlink_pilot import MavlinkPilot
from aeroloop.ground.missions import mission
from aeroloop.ground.stick import Deflection, Stick
from aeroloop.ground.stick_recording import RecordedSource
from aeroloop.links.base import Link
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_lockstep, enter_realtime, share_core
from aeroloop.realtime.topics import Topics
from aeroloop.world.earth import Earth
from aeroloop.world.magnetic import MagneticModel

READS = ("HIL link of each vehicle", "ground links")
PATIENCE_MS = 200
"""How often a process that waits for its simulator looks whether it should stop."""
SERVICE_PERIOD_NS = NS // 100
"""How often pilots and ground stations are served: often enough for every rate that one may ask for."""


class Ground:
    """The link of a virtual Pixhawk to the router, and so to ground stations. Like on a radio, what nobody hears is
    lost, and a router that went away may come back."""

    def __init__(self, url: str) -> None:
        self.link = LastingServer(url)
        self.parser = MavlinkIn(MavlinkCounters())


class Aircraft:
    """A virtual Pixhawk with all that is connected to it."""

    def __init__(
        self,
        scenario: AutopilotScenario,
        number: int,
        hil: Link,
        publish: Mapping[str, Publish],
        remark: Callable[[str], None],
        ground: str = "",
    ) -> None:
        imu, gnss = scenario.aircraft.aboard.imu, scenario.aircraft.aboard.gnss
        assert imu is not None
        self.hil = hil
        self.pilot = build_pilot(scenario, number) if scenario.controller.pilot.source == "orders" else None
        self.grounds = [Ground(ground)] if ground else []
        home = scenario.aircraft.home
        self.pixhawk = VirtualPixhawk(
            offered(scenario.kind, "airframe", scenario),
            parameters(scenario.controller.autopilot.parameters),
            number=number,
            period_s=imu.period_s,
            runner=runner(scenario.loop),
            field_at=MagneticModel(home.date).field_T,
            lockstep=scenario.lockstep,
            ground_links=len(self.grounds) + (self.pilot is not None),
        )
        self._pilot_parser = MavlinkIn(MavlinkCounters())
        self._log = PixhawkLog(
            number, self.pixhawk, Earth(home), imu.rate_hz, gnss.rate_hz if gnss else 0.0, publish, remark
        )
        self._served_ns = 0

    def serve(self) -> None:
        """Answer what the simulator has sent."""
        answers = self.pixhawk.receive(self.hil.poll(), self._step)
        if answers:
            self.hil.send(answers)

    def _step(self, t_ns: int) -> None:
        if t_ns >= self._served_ns:
            self._served_ns += SERVICE_PERIOD_NS
            self._serve_grounds(t_ns)
        self._log.note(t_ns)

    def _serve_grounds(self, t_ns: int) -> None:
        services, pilot, first = self.pixhawk.services, self.pilot, 0
        replies = [b""] * len(services.links)
        if pilot is not None:
            first = 1
            for frame in self._pilot_parser.feed(pilot.step(t_ns)):
                replies[0] += services.receive(0, frame, t_ns)
        for index, ground in enumerate(self.grounds, start=first):
            try:
                chunk = ground.link.poll()
            except LinkError:  # nobody listens there (yet); a datagram more or less
                continue
            for frame in ground.parser.feed(chunk):
                replies[index] += services.receive(index, frame, t_ns)
        for index, due in enumerate(services.step(t_ns)):
            replies[index] += due
        if pilot is not None and (replies[0] or pilot.given_up):
            pilot.receive(replies[0], t_ns)
            self._log.note_pilot(t_ns, pilot)
        for index, ground in enumerate(self.grounds, start=first):
            if replies[index]:
                try:
                    ground.link.send(replies[index])
                except LinkError:
                    continue

    def close(self) -> None:
        self._log.close()
        self.hil.close()
        for ground in self.grounds:
            ground.link.close()


def runner(rung: str) -> Callable[[ca.Function], Evaluator]:
    """How functions run on a rung: interpreted by CasADi, or as C."""
    if rung == "sil":
        return lambda function: Evaluator(compiled(function, cache_dir()))
    return Evaluator


def build_pilot(scenario: AutopilotScenario, number: int) -> MavlinkPilot:
    earth, (x_m, y_m) = Earth(scenario.aircraft.home), scenario.aircraft.start_m(number)

    def geodetic(pos_m: tuple[float, float, float]) -> tuple[float, float]:
        lat_deg, lon_deg, _ = earth.geodetic((x_m + pos_m[0], y_m + pos_m[1], pos_m[2]))
        return lat_deg, lon_deg

    deflection = None
    if scenario.controller.pilot.stick_recording:
        deflection = recorded_stick(Path(scenario.controller.pilot.stick_recording))
    return MavlinkPilot(
        scenario.controller.pilot, mission(scenario.controller.pilot, geodetic), SYSTEM + number, deflection
    )


def recorded_stick(path: Path) -> Callable[[float], Deflection]:
    source = RecordedSource(path)
    stick = Stick(axis_map.load(), source.ranges, source.name)

    def deflection(t_s: float) -> Deflection:
        stick.feed(source.poll(t_s))
        return stick.deflection

    return deflection


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    scenario: AutopilotScenario = orders.flown_by(AutopilotTables)
    topics = Topics(orders.folder_path, wait=scenario.lockstep)
    publish = {
        stream.name: topics.publisher(stream).send for stream in writes("board", streams_of(scenario), scenario.loop)
    }
    if scenario.lockstep:
        share_core(orders.core_draw)  # with the plant, which waits while we work
    line.await_order("open")

    def remark(words: str) -> None:
        line.tell("say", message=words)

    grounds = orders.ground_links or ("",) * len(orders.vehicle_links)
    fleet = [
        Aircraft(scenario, number, open_link(client), numbered(publish, number), remark, ground)
        for number, ((_, client), ground) in enumerate(zip(orders.vehicle_links, grounds, strict=True))
    ]
    line.tell("ready")
    line.await_order("start")
    if scenario.lockstep:
        enter_lockstep()
    else:
        for refused in enter_realtime(BOARD_PRIORITY):
            line.tell("say", message=f"pixhawk: {refused}")
    try:
        for aircraft in fleet:
            aircraft.hil.send(aircraft.pixhawk.greet())
        by_descriptor = {aircraft.hil.fileno(): aircraft for aircraft in fleet}
        poller = select.poll()
        for descriptor in by_descriptor:
            poller.register(descriptor, select.POLLIN)
        while not stop():
            for descriptor, _ in poller.poll(PATIENCE_MS):
                by_descriptor[descriptor].serve()
    finally:
        for aircraft in fleet:
            aircraft.close()
        topics.flush()
    line.tell("done")


if __name__ == "__main__":
    run_process(main)
