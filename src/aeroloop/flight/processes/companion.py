"""The companion computer: gets the frames of one camera and the autopilot's MAVLink, and sends MAVLink.

    READS  frames of its camera (shared memory), telemetry
    WRITES stream `landing` and messages to the autopilot, or the streams of SLAM

In lockstep it takes turns with the autopilot, one for each frame. At a wall-clock pace its MAVLink goes through the
flight's router, as that of any companion, and the newest frame wins.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from aeroloop.cameras.schedule import SimulatedClock
from aeroloop.cameras.shots import time_ns
from aeroloop.companion.frame_ring import RING, FrameIn
from aeroloop.companion.landing import LandingCompanion, Look
from aeroloop.companion.slam import SlamCompanion, final
from aeroloop.companion.turns import AutopilotTurns
from aeroloop.core.camera import fitted
from aeroloop.core.companion_streams import LANDING_STREAMS, SLAM, SLAM_LOOP, SLAM_MAP, SLAM_PATH, SLAM_STREAMS
from aeroloop.core.errors import LinkError
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.core.stream import Publish
from aeroloop.flight.companion_view import map_layer, overlay_of, read_origin
from aeroloop.flight.live_view import LiveView
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.perception.opencv import opencv
from aeroloop.perception.pad_detector import Outcome
from aeroloop.perception.slam.files import write
from aeroloop.perception.slam.run import summary
from aeroloop.protocols.frames import Frame
from aeroloop.protocols.layers import MOST_POINTS, Layer, layer
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.topics import Publisher, Topics

PERIOD_S = 0.02
"""Between two looks at the link at a wall-clock pace."""
FRAME_WAIT_MS = 200
MAP_PERIOD_S = 1.0
LAYERS = {"map": True, "map-odometry": False}
"""Layers of the 3D view, and whether with loops."""
ROWS_PER_REPORT = 2000
OUTCOMES = tuple(Outcome)


class Companion:
    """The landing companion with its log."""

    def __init__(self, scenario: Scenario, system: int, rows: Publisher, live: LiveView) -> None:
        index = scenario.watched_camera
        assert index is not None and scenario.landing is not None and scenario.pad is not None
        camera = scenario.cameras[index]
        self._live, self._camera = live, camera.name
        self._vehicle, self._rows, self._rate_hz = camera.vehicle, rows, fitted(camera).rate_hz
        self.landing = LandingCompanion(
            camera,
            scenario.landing,
            scale=scenario.pad.scale,
            moving=scenario.pad.speed_m_s > 0.0,
            system=system,
            one_clock=scenario.lockstep,
        )

    def frame_ns(self, number: int) -> int:
        return time_ns(number, self._rate_hz)

    def look(self, frame: Frame, sent_s: float) -> None:
        began_s = time.perf_counter()
        look = self.landing.look(frame)
        self._log(look, sent_s, time.perf_counter() - began_s)
        self._live.overlay(self._camera, lambda: overlay_of(look))

    def _log(self, look: Look, sent_s: float, work_s: float) -> None:
        self._rows.send(
            look.t_s,
            self._vehicle,
            look.number,
            OUTCOMES.index(look.outcome),
            look.markers,
            look.residual_px,
            *look.pad_W,
            *look.estimate_W,
            look.innovation_m,
            look.accepted,
            look.distance_m,
            look.landing,
            look.state,
            sent_s,
            work_s,
            *look.own_W,
        )


def _layer(slam: SlamCompanion, origin: Vec, *, optimised: bool) -> Layer:
    shown = slam.shown(MOST_POINTS, optimised=optimised)
    return layer() if shown is None else map_layer(shown, origin)


class MapView:
    """The map in the 3D view, about once a second; made only if somebody looks."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._live = folder, LiveView(folder)
        self._next_s = 0.0

    def show(self, slam: SlamCompanion) -> None:
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + MAP_PERIOD_S
        origin = read_origin(self._folder)
        if origin is not None:
            for name, optimised in LAYERS.items():
                self._live.layer(name, partial(_layer, slam, origin, optimised=optimised))


def run_lockstep(companion: Companion, frames: FrameIn, autopilot: AutopilotTurns, delay_s: float) -> None:
    while (turn := autopilot.following(stop)) is not None:
        companion.landing.receive(turn.telemetry, turn.t_ns)
        frame = frames.numbered(turn.number, stop)
        if frame is not None:
            companion.look(frame, frame.t_ns / NS + delay_s)
        sent_ns = companion.frame_ns(turn.number) + round(delay_s * NS)
        autopilot.answer(turn, companion.landing.step(turn.t_ns, sent_ns))


def run_paced(companion: Companion, frames: FrameIn, link: Link, wall_s: Callable[[], float], latency_s: float) -> None:
    """The clock of the frames is known from their arrivals and the flight's clock, `wall_s`, alone."""
    clock = SimulatedClock(1.0)
    poller = select.poll()
    poller.register(frames, select.POLLIN)
    poller.register(link, select.POLLIN)
    ended = False  # the camera has
    while not stop():
        poller.poll(1000 * PERIOD_S)
        frame = frames.newest()
        if frame is not None:
            clock.see(frame.t_ns / NS + latency_s, wall_s())
        elif frames.closed and not ended:
            ended = True
            poller.unregister(frames)
        now_s = clock.now_s(wall_s())
        if now_s < 0.0:  # no frame yet
            link.poll()
            continue
        now_ns = round(now_s * NS)
        companion.landing.receive(link.poll(), now_ns)
        if frame is not None:
            companion.look(frame, now_ns / NS)
        out = companion.landing.step(now_ns)
        if out:
            link.send(out)


def run_slam(
    slam: SlamCompanion,
    frames: FrameIn,
    vehicle: int,
    publish: Mapping[str, Publish],
    show: Callable[[SlamCompanion], None],
    out: Path,
) -> None:
    """Until the camera ends; then the path and the map as they are known at the end."""
    while not stop():
        frame = frames.following(FRAME_WAIT_MS)
        if frame is not None:
            t_s, *values = slam.frame(frame)
            publish[SLAM.name](t_s, vehicle, *values)
            show(slam)
        elif frames.closed:  # and none of its frames waits any more
            break
    result = slam.result()
    if result is None:
        return
    frames.working()
    out.mkdir(exist_ok=True)
    write(out, result, summary(result))
    rows = final(result)
    for stream, own in ((SLAM_PATH, rows.path), (SLAM_LOOP, rows.loops), (SLAM_MAP, rows.map)):
        for index, (t_s, *values) in enumerate(own):
            if index % ROWS_PER_REPORT == 0:
                frames.working()
            publish[stream.name](t_s, vehicle, *values)


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    opencv().setNumThreads(1)
    scenario = launch.scenario
    index = scenario.watched_camera
    assert index is not None
    camera = scenario.cameras[index]
    supervisor.await_message("open")
    topics = Topics(launch.folder_path, wait=scenario.lockstep, stopped=stop)
    if scenario.slam is not None:
        publish = {stream.name: topics.publisher(stream).send for stream in SLAM_STREAMS}
        frames = FrameIn(socket.socket(fileno=batons["camera"]), launch.folder_path / RING)
        supervisor.send("ready")
        supervisor.await_message("start")
        try:
            out = Path(launch.log).parent / "slam"
            show = MapView(launch.folder_path).show
            run_slam(SlamCompanion(scenario.slam, scenario.seed), frames, camera.vehicle, publish, show, out)
        finally:
            topics.flush()
            frames.close()
        supervisor.send("done")
        return
    assert scenario.landing is not None
    (stream,) = LANDING_STREAMS
    frames = FrameIn(socket.socket(fileno=batons["camera"]), launch.folder_path / RING)
    companion = Companion(
        scenario, 1 + launch.aircraft_before + camera.vehicle, topics.publisher(stream), LiveView(launch.folder_path)
    )
    link = None if scenario.lockstep else open_link(launch.companion_link)
    supervisor.send("ready")
    supervisor.await_message("start")
    try:
        if link is None:
            peer = "plant" if scenario.inline else "board"
            delay_s = camera.latency_s + scenario.landing.compute_s
            run_lockstep(companion, frames, AutopilotTurns(socket.socket(fileno=batons[peer])), delay_s)
        else:
            wall_s = ClockIn(launch.folder_path, scenario.speed).now_s
            run_paced(companion, frames, link, wall_s, camera.latency_s)
    except LinkError:
        if not stop():
            raise
    finally:
        topics.flush()
    supervisor.send("done", sent=companion.landing.sent)


if __name__ == "__main__":
    run_process(main)
