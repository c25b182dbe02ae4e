"""The virtual Pixhawks of a flight: an autopilot for each aircraft, its pilot, and its ground stations."""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import casadi as ca

from aeroloop.boards.cadence import Cadence
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.companion.turns import CompanionTurns, Schedule
from aeroloop.controllers.pixhawk.exchange import by_baton
from aeroloop.controllers.pixhawk.log import PixhawkLog
from aeroloop.controllers.pixhawk.tables import SAME_LINK, AutopilotScenario, AutopilotTables
from aeroloop.controllers.pixhawk.virtual_pixhawk import SYSTEM, VirtualPixhawk, parameters
from aeroloop.core.camera import fitted
from aeroloop.core.errors import LinkError
from aeroloop.core.paths import cache_dir
from aeroloop.core.signals import NS, ResetCause
from aeroloop.core.stream import Publish
from aeroloop.core.streams import streams_of, writes
from aeroloop.core.tables import offered
from aeroloop.exchanges.failing_board import FailingTurns
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.ground import axis_map
from aeroloop.ground.mavlink_pilot import MavlinkPilot
from aeroloop.ground.missions import mission
from aeroloop.ground.stick import Deflection, Stick
from aeroloop.ground.stick_recording import RecordedSource
from aeroloop.links.base import Link
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.lockstep import BEFORE_NS, Baton, Stepped, take_turns
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_lockstep, enter_realtime, share_core
from aeroloop.realtime.topics import Topics, numbered
from aeroloop.world.earth import Earth
from aeroloop.world.magnetic import MagneticModel

READS = ("HIL link of each vehicle", "ground links")
PATIENCE_MS = 200
"""Period of the check for a stop request while waiting for the simulator."""
MOST_FRAMES = 1024
"""Frames of ground stations that wait for the next service; if there are more, the oldest are dropped."""
SERVICE_PERIOD_NS = NS // 100
"""Period of service to pilots and ground stations: short enough for every rate that may be requested."""


class RadioLink:
    """The link of a virtual Pixhawk to the router, and so to ground stations. As with a radio, messages without a
    receiver are lost, and a router that ended may reconnect."""

    def __init__(self, url: str) -> None:
        self._link = LastingServer(url)
        self._parser = MavlinkIn(MavlinkCounters())

    def frames(self) -> list[Frame]:
        try:
            return self._parser.feed(self._link.poll())
        except LinkError:  # no server is listening (yet); the datagram is lost
            return []

    def send(self, data: bytes) -> None:
        with suppress(LinkError):
            self._link.send(data)

    def close(self) -> None:
        self._link.close()


class SameLink:
    """The link to ground stations of a virtual Pixhawk with one link, as a board on USB has it: the HIL link."""

    def __init__(self, pixhawk: VirtualPixhawk, link: int) -> None:
        """`link` is the number of its ground link."""
        self._received: deque[Frame] = deque(maxlen=MOST_FRAMES)
        self.send = pixhawk.serve_on_hil_link(link, self._received.append)

    def frames(self) -> list[Frame]:
        frames = list(self._received)
        self._received.clear()
        return frames

    def close(self) -> None: ...


class Aircraft:
    """A virtual Pixhawk with everything that is connected to it."""

    def __init__(
        self,
        scenario: AutopilotScenario,
        number: int,
        hil: Link,
        publish: Mapping[str, Publish],
        remark: Callable[[str], None],
        ground: str = "",
        before: int = 0,
        companion: CompanionTurns | None = None,
    ) -> None:
        """`before`: number of aircraft of a fleet before those of its scenario, for a unique MAVLink system ID."""
        imu, gnss = scenario.aircraft.aboard.imu, scenario.aircraft.aboard.gnss
        assert imu is not None
        self.hil = hil
        self.pilot = build_pilot(scenario, number, before) if scenario.controller.pilot.source == "commands" else None
        self.companion = companion
        home, piloted = scenario.aircraft.home, self.pilot is not None
        self._powered_on = partial(
            VirtualPixhawk,
            offered(scenario.kind, "airframe", scenario),
            number=before + number,
            period_s=imu.period_s,
            runner=runner(scenario.loop),
            field_at=MagneticModel(home.date).field_T,
            lockstep=scenario.lockstep,
            ground_links=bool(ground) + piloted + (companion is not None),
        )
        self._changed = scenario.controller.autopilot.parameters
        self.pixhawk = self._powered_on(parameters(self._changed))
        self.grounds: list[RadioLink | SameLink] = []
        if ground:
            self.grounds.append(SameLink(self.pixhawk, int(piloted)) if ground == SAME_LINK else RadioLink(ground))
        self._pilot_parser, self._companion_parser = MavlinkIn(MavlinkCounters()), MavlinkIn(MavlinkCounters())
        self._companion_answers = b""
        self._log = PixhawkLog(
            number, self.pixhawk, Earth(home), imu.rate_hz, gnss.rate_hz if gnss else 0.0, publish, remark
        )
        self._served_ns = 0
        self._samples = 0  # since its last step, if it has its own clock

    def serve(self) -> None:
        """Answer the simulator's messages."""
        answers = self.pixhawk.receive(self.hil.poll(), self._step)
        if answers:
            self.hil.send(answers)

    def turn(self, cadence: Cadence, t_ns: int) -> int:
        """A turn by the baton, on its own clock; returns the time of the next."""
        if t_ns == BEFORE_NS:
            self.hil.send(self.pixhawk.first_messages())
        self.skip_samples()
        if cadence.due(t_ns, sampled=self._samples > 0):
            self.hil.send(self.pixhawk.run(t_ns))
            self._step(t_ns, self._samples)
            self._samples = 0
        return cadence.wake_ns(sampled=self._samples > 0)

    def skip_samples(self) -> None:
        """The estimator takes each sample at its time."""
        self._samples += self.pixhawk.take(self.hil.poll())

    def fail(self, kind: str) -> bool:
        """Its failures are played."""
        return False

    def restart(self, t_ns: int, cause: ResetCause) -> None:
        """Parameters are kept, as in flash; estimate, mission and mode are not."""
        store, kept = parameters(self._changed), self.pixhawk.parameters
        for name in kept.names:
            store.set(name, kept.get(name))
        self.pixhawk = self._powered_on(store)
        self.pixhawk.decided_ns, self._samples = t_ns, 0
        self._log.follow(self.pixhawk)
        self.hil.send(self.pixhawk.first_messages())

    def _step(self, t_ns: int, samples: int = 1) -> None:
        if t_ns >= self._served_ns:
            self._served_ns += SERVICE_PERIOD_NS
            self._serve_grounds(t_ns)
        self._log.note(t_ns, samples)

    def _serve_grounds(self, t_ns: int) -> None:
        services, pilot, first = self.pixhawk.services, self.pilot, 0
        replies = [b""] * len(services.links)
        if pilot is not None:
            first = 1
            for frame in self._pilot_parser.feed(pilot.step(t_ns)):
                replies[0] += services.receive(0, frame, t_ns)
        for index, ground in enumerate(self.grounds, start=first):
            for frame in ground.frames():
                replies[index] += services.receive(index, frame, t_ns)
        for index, due in enumerate(services.step(t_ns)):
            replies[index] += due
        if pilot is not None and (replies[0] or pilot.given_up):
            pilot.receive(replies[0], t_ns)
            self._log.note_pilot(t_ns, pilot)
        for index, ground in enumerate(self.grounds, start=first):
            if replies[index]:
                ground.send(replies[index])
        if self.companion is not None:
            self._serve_companion(self.companion, t_ns, replies[-1])

    def _serve_companion(self, companion: CompanionTurns, t_ns: int, telemetry: bytes) -> None:
        """Answers to its messages go with the next telemetry."""
        services, link = self.pixhawk.services, len(self.pixhawk.services.links) - 1
        told, self._companion_answers = self._companion_answers + telemetry, b""
        for frame in self._companion_parser.feed(companion.exchange(t_ns, told)):
            self._companion_answers += services.receive(link, frame, t_ns)

    def close(self) -> None:
        self._log.close()
        self.hil.close()
        for ground in self.grounds:
            ground.close()
        if self.companion is not None:
            self.companion.close()


def companion_turns(
    scenario: AutopilotScenario, number: int, batons: Mapping[str, int], notify: Callable[[str], None]
) -> CompanionTurns | None:
    """The companion of one aircraft in lockstep; None if it has none, or it is connected to the router."""
    watched = scenario.watched_camera
    if not scenario.lockstep or scenario.landing is None or watched is None or "companion" not in batons:
        return None
    camera = fitted(scenario.cameras[watched])
    if camera.vehicle != number:
        return None
    schedule = Schedule(camera.rate_hz, camera.latency_s, scenario.landing.compute_s, camera.first)
    return CompanionTurns(socket.socket(fileno=batons["companion"]), schedule, notify, stop)


def runner(rung: str) -> Callable[[ca.Function], Evaluator]:
    """How functions run on a rung: interpreted by CasADi, or as C."""
    if rung == "sil":
        return lambda function: Evaluator(compiled(function, cache_dir()))
    return Evaluator


def build_pilot(scenario: AutopilotScenario, number: int, before: int = 0) -> MavlinkPilot:
    earth, (x_m, y_m) = Earth(scenario.aircraft.home), scenario.aircraft.start_m(number)

    def geodetic(pos_m: tuple[float, float, float]) -> tuple[float, float]:
        lat_deg, lon_deg, _ = earth.geodetic((x_m + pos_m[0], y_m + pos_m[1], pos_m[2]))
        return lat_deg, lon_deg

    deflection = None
    if scenario.controller.pilot.stick_recording:
        deflection = recorded_stick(Path(scenario.controller.pilot.stick_recording))
    config, landing, pad = scenario.controller.pilot, scenario.landing, scenario.pad
    precise = landing is not None and landing.precise
    land_m = None
    if landing is not None and pad is not None and pad.speed_m_s == 0.0:  # its coordinates are known
        land_m = pad.pos_m[0] - x_m, pad.pos_m[1] - y_m, 0.0
    places = {
        index: earth.geodetic((x_m + command.pos_m[0], y_m + command.pos_m[1], command.pos_m[2]))
        for index, command in enumerate(config.commands)
        if command.pos_m is not None
    }
    items = mission(config, geodetic, precision=precise, land_m=land_m)
    return MavlinkPilot(config, items, SYSTEM + before + number, deflection, places)


def recorded_stick(path: Path) -> Callable[[float], Deflection]:
    source = RecordedSource(path)
    stick = Stick(axis_map.load(), source.ranges, source.name)

    def deflection(t_s: float) -> Deflection:
        stick.feed(source.poll(t_s))
        return stick.deflection

    return deflection


def turns_of(scenario: AutopilotScenario, link: Stepped, make: Callable[[Link], Aircraft]) -> FailingTurns[Aircraft]:
    """Serve an autopilot by a baton."""
    imu = scenario.aircraft.aboard.imu
    assert imu is not None
    return FailingTurns(link, round(imu.period_s * NS), make)


def answer_samples(fleet: Sequence[Aircraft]) -> None:
    """Serve until requested to stop."""
    for aircraft in fleet:
        aircraft.hil.send(aircraft.pixhawk.first_messages())
    by_descriptor = {aircraft.hil.fileno(): aircraft for aircraft in fleet}
    poller = select.poll()
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    while not stop():
        for descriptor, _ in poller.poll(PATIENCE_MS):
            by_descriptor[descriptor].serve()


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    scenario: AutopilotScenario = launch.flown_by(AutopilotTables)
    topics = Topics(launch.folder_path, wait=scenario.lockstep, stopped=stop)
    publish = {stream.name: topics.publisher(stream) for stream in writes("board", streams_of(scenario), scenario.loop)}
    if scenario.lockstep:
        share_core(launch.core_draw)  # with the plant, which waits during our work
    supervisor.await_message("open")

    def remark(words: str) -> None:
        supervisor.send("remark", message=words)

    grounds = launch.ground_links or ("",) * len(launch.vehicle_links)
    links: list[Link] = [open_link(client) for _, client in launch.vehicle_links]

    def fitted_to(number: int, ground: str, link: Link) -> Aircraft:
        companion = companion_turns(scenario, number, batons, remark)
        own, before = numbered(publish, number), launch.aircraft_before
        return Aircraft(scenario, number, link, own, remark, ground, before, companion)

    made = [
        (link, partial(fitted_to, number, ground))
        for number, (link, ground) in enumerate(zip(links, grounds, strict=True))
    ]
    turns = [turns_of(scenario, link, make) for link, make in made] if by_baton(scenario) else []
    fleet = [turn.board for turn in turns] or [make(link) for link, make in made]
    supervisor.send("ready")
    supervisor.await_message("start")
    if scenario.lockstep:
        enter_lockstep()
    else:
        for refused in enter_realtime(BOARD_PRIORITY):
            supervisor.send("remark", message=f"pixhawk: {refused}")
    try:
        if turns:
            take_turns(Baton(batons["plant"], "plant", ClockIn(launch.folder_path).held), turns, stop)
        else:
            answer_samples(fleet)
    finally:
        for aircraft in fleet:
            aircraft.close()
        topics.flush()
    supervisor.send("done")


if __name__ == "__main__":
    run_process(main)
