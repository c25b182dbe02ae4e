"""The camera process: renders the frames of one aircraft's cameras from its poses, and delivers them.

    READS  poses of `truth` and rows of `fault`, from the recorder
    WRITES stream `camera`, images for the log and for viewers, frames on links

In lockstep every frame is made, and its delivery time follows from the scenario. In real time a frame that is late is
delivered late and counted, and frames more than one period behind are left out; the plant never waits.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from aeroloop.cameras import effects, encoding
from aeroloop.cameras.object_scene import ObjectScene
from aeroloop.cameras.pinhole import BodyPose, Pose, PoseHistory, camera_pose, intrinsics_px
from aeroloop.cameras.schedule import Punctuality, SimulatedClock, newest_number, next_number
from aeroloop.cameras.seen import Place, SeenPoses
from aeroloop.cameras.shots import Image, Shooter, drawn_px, time_ns
from aeroloop.companion.frame_ring import RING, FrameOut
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.camera_streams import CAMERA_STREAMS
from aeroloop.core.faults import SightFaults
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.flight.camera_link import RecorderLink
from aeroloop.flight.frame_impairment import of_camera
from aeroloop.flight.frame_server import FrameServer
from aeroloop.flight.live_view import LiveView
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.protocols.frames import Coding, Frame, encode
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.topics import Publisher, Topics
from aeroloop.world.placed_objects import of_scenario as objects_of

LOGGED_HZ, LOGGED_QUALITY = 5.0, 80
IDLE_S = 0.002
COMPANION_S = 60.0
"""Wall time in which the companion must be done with its last frames, and with what it makes of them."""
RAW_BYTES_PER_PX = 5
"""Colour and depth."""
KEPT_S = 1.0
"""Poses older than the next frame by this much are forgotten."""


class Placed(Protocol):
    """`cameras.pad_scene.PadScene`."""

    def place(self, t_s: float, *, hidden: bool = False, covered: bool = False) -> None: ...


class Station:
    """One camera: its next frame, the frame that waits for its delivery, its counters."""

    def __init__(
        self,
        index: int,
        shooter: Shooter,
        server: FrameServer | None,
        companion: FrameOut | None = None,
        pad: Placed | None = None,
        live: LiveView | None = None,
    ) -> None:
        self.index, self.shooter, self.server, self.companion, self.pad = index, shooter, server, companion, pad
        self._live = live
        self.objects: ObjectScene | None = None  # of the world, if some move
        self.told_first: Callable[[Pose], None] | None = None  # the camera's pose at its first frame, for viewers
        self.number, self.dropped = shooter.model.first, 0
        self.held: tuple[Image, float, float] | None = None  # with its time of delivery, and the work it took
        self.punctuality = Punctuality()
        self._logged_s = 0.0
        self._last: Image | None = None

    @property
    def latency_s(self) -> float:
        return self.shooter.model.latency_s

    def newest(self, poses: SeenPoses) -> int:
        return newest_number(poses.newest_s, self.shooter.after_s, self.shooter.model.rate_hz)

    def shoot(self, poses: SeenPoses, faults: SightFaults) -> tuple[Image, float]:
        """The next frame, and the wall time it took."""
        began_s = time.perf_counter()
        t_ns = time_ns(self.number, self.shooter.model.rate_hz)
        t_s = t_ns / NS
        if self._last is not None and faults.active("camera", "frozen", t_s, self.index):
            image = replace(self._last, number=self.number, t_ns=t_ns)
        elif faults.active("camera", "dark", t_s, self.index):
            image = self.shooter.black(self.number)
        else:
            poses.set_scene(t_s)
            if self.objects is not None:
                self.objects.place(t_s)
            if self.pad is not None:
                hidden, covered = (faults.active("pad", kind, t_s) for kind in ("hide", "cover"))
                self.pad.place(t_s, hidden=hidden, covered=covered)
            if self.number == self.shooter.model.first and self.told_first is not None:
                self.told_first(camera_pose(poses.at(t_s), self.shooter.model))
            image = self.shooter.shoot(self.number, poses.at)
        self._last = image
        self.number += 1
        return image, time.perf_counter() - began_s

    def deliver(self, image: Image, delivered_s: float, work_s: float, recorder: RecorderLink, rows: Publisher) -> str:
        """A warning, or nothing."""
        model, t_s = self.shooter.model, image.t_ns / NS
        late = delivered_s > t_s + self.latency_s
        rows.send(t_s, model.vehicle, self.index, image.number, delivered_s, late, self.dropped, work_s, image.crc32)
        if self.companion is not None:
            self.companion.offer(self._raw(image), stop)
        if self.server is not None:
            data = encode(self._frame(image, self.shooter.camera.jpeg_quality, depth=True))
            self.server.offer(image.number, data, round(delivered_s * NS))
        if t_s >= self._logged_s - 1e-9:
            self._logged_s = max(self._logged_s + 1.0 / LOGGED_HZ, t_s + 0.5 / LOGGED_HZ)
            recorder.log(self._frame(image, LOGGED_QUALITY, depth=False))
        self._show(image)
        recorder.alive()
        words = self.punctuality.see(late=late, dropped=self.dropped)
        return f"camera {model.name}: {words}" if words else ""

    def _show(self, image: Image) -> None:
        """To the pages, if somebody looks; the log has fewer."""
        model, depth = self.shooter.model, image.depth
        if self._live is None:
            return
        self._live.image(model.name, lambda: self._frame(image, LOGGED_QUALITY, depth=False))
        if depth is not None and model.depth is not None:
            coloured = partial(encoding.depth_colours, depth, effects.DEPTH_UNIT_M, model.depth.range_m)
            self._live.image(
                model.name,
                lambda: self._frame(replace(image, rgb=coloured()), LOGGED_QUALITY, depth=False),
                depth=True,
            )

    def _frame(self, image: Image, quality: int, *, depth: bool) -> Frame:
        shown = image.depth if depth else None
        return replace(
            self._bare(image),
            coding=Coding.JPEG if shown is None else Coding.JPEG_PNG16,
            depth_unit_m=0.0 if shown is None else effects.DEPTH_UNIT_M,
            rgb=encoding.jpeg(image.rgb, quality),
            depth=b"" if shown is None else encoding.png16(shown),
        )

    def _raw(self, image: Image) -> Frame:
        """For a reader on this machine."""
        return replace(
            self._bare(image),
            depth_unit_m=0.0 if image.depth is None else effects.DEPTH_UNIT_M,
            rgb=image.rgb.tobytes(),
            depth=b"" if image.depth is None else image.depth.tobytes(),
        )

    def _bare(self, image: Image) -> Frame:
        camera, model = self.shooter.camera, self.shooter.model
        return Frame(
            camera=self.index,
            coding=Coding.RAW,
            number=image.number,
            t_ns=image.t_ns,
            size_px=model.size_px,
            intrinsics_px=intrinsics_px(model.focal_px, model.size_px),
            distortion=camera.lens,
            exposure_us=round(camera.exposure_s * 1e6),
        )


class Cameras:
    """All cameras of the process, with the poses of their aircraft."""

    def __init__(
        self,
        stations: Sequence[Station],
        recorder: RecorderLink,
        rows: Publisher,
        warn: Callable[[str], None],
        place: Place | None = None,
        count: int = 1,
    ) -> None:
        """`place` moves the aircraft in the scene, if there are several."""
        self.stations, self._recorder, self._rows, self._warn = stations, recorder, rows, warn
        self.faults = recorder.faults
        own = {station.shooter.model.vehicle for station in stations}
        self._place = place
        self._poses = {vehicle: PoseHistory() for vehicle in (own if place is None else range(count))}

    def take(self, timeout_s: float) -> float | None:
        """Receive poses; the time of the newest, if any came."""
        newest_s = None
        for t_s, vehicle, x, y, z, *quat in self._recorder.poses(timeout_s):
            newest_s = t_s
            history = self._poses.get(int(vehicle))
            if history is not None:
                w, i, j, k = quat
                history.add(BodyPose(t_s, (x, y, z), (w, i, j, k)))
        return newest_s

    def poses(self, station: Station) -> SeenPoses:
        own = station.shooter.model.vehicle
        others = {vehicle: history for vehicle, history in self._poses.items() if vehicle != own}
        return SeenPoses(self._poses[own], others if self._place else {}, self._place)

    def deliver(self, station: Station, image: Image, delivered_s: float, work_s: float) -> None:
        if words := station.deliver(image, delivered_s, work_s, self._recorder, self._rows):
            self._warn(words)

    def forget(self) -> None:
        oldest_s = min(time_ns(s.number, s.shooter.model.rate_hz) / NS - s.shooter.after_s for s in self.stations)
        for history in self._poses.values():
            history.forget(oldest_s - KEPT_S)


def run_lockstep(cameras: Cameras, recorder: RecorderLink) -> None:
    """Every frame, in the order of time, until no more poses come."""
    while not stop():
        due = [s for s in cameras.stations if s.newest(cameras.poses(s)) >= s.number]
        if due:
            station = min(due, key=lambda s: (time_ns(s.number, s.shooter.model.rate_hz), s.index))
            image, work_s = station.shoot(cameras.poses(station), cameras.faults)
            cameras.deliver(station, image, image.t_ns / NS + station.latency_s, work_s)
            cameras.take(0.0)
        elif recorder.ended:
            return
        else:
            cameras.forget()
            cameras.take(0.1)


def run_paced(cameras: Cameras, recorder: RecorderLink, wall_s: Callable[[], float]) -> None:
    """Frames at their times; late ones are counted, and old ones dropped. `wall_s`: the flight's clock."""
    clock = SimulatedClock(1.0)
    while not (stop() or recorder.ended):
        newest_s = cameras.take(IDLE_S)
        if newest_s is not None:
            clock.see(newest_s, wall_s())
        for station in cameras.stations:
            if station.server is not None:
                station.server.step(clock.now_ns(wall_s()))
            if station.held is not None and clock.now_s(wall_s()) >= station.held[1]:
                image, due_s, work_s = station.held
                station.held = None
                cameras.deliver(station, image, due_s, work_s)
            newest = station.newest(cameras.poses(station))
            if station.held is not None or newest < station.number:
                continue
            now_s, rate_hz = clock.now_s(wall_s()), station.shooter.model.rate_hz
            number = next_number(station.number, newest, rate_hz, station.latency_s, now_s)
            station.dropped += number - station.number
            station.number = number
            image, work_s = station.shoot(cameras.poses(station), cameras.faults)
            due_s, ready_s = image.t_ns / NS + station.latency_s, clock.now_s(wall_s())
            if ready_s > due_s:
                cameras.deliver(station, image, ready_s, work_s)
            else:
                station.held = image, due_s, work_s
        cameras.forget()


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    recorder = RecorderLink(socket.socket(fileno=batons["recorder"]))  # first, as a sign of life
    encoding.opencv()
    from aeroloop.cameras import pad_scene, scene
    from aeroloop.cameras.pad_scene import PadScene
    from aeroloop.cameras.render import Renderer

    scenario = launch.scenario
    largest = largest_px(scenario.cameras)
    spec = scene.of_scenario(scenario)
    if scenario.pad is not None:
        pad_scene.add(spec, scenario.pad)
    renderer = Renderer(spec, largest)
    pad = None if scenario.pad is None else PadScene(scenario.pad, scene.ground_of(scenario), renderer)
    objects = ObjectScene(objects_of(scenario), renderer)
    shooters = [Shooter(camera, scenario.seed, renderer) for camera in scenario.cameras]
    supervisor.await_message("open")
    live = LiveView(launch.folder_path)
    stations = [
        Station(index, shooter, _server(shooter.camera, scenario), pad=pad, live=live)
        for index, shooter in enumerate(shooters)
    ]
    for station in stations:
        station.objects = objects
    if scenario.watched_camera is not None:
        watched = stations[scenario.watched_camera]
        width, height = fitted(watched.shooter.camera).size_px
        end = socket.socket(fileno=batons["companion"])
        ring = launch.folder_path / RING
        watched.companion = FrameOut(end, ring, RAW_BYTES_PER_PX * width * height, wait=scenario.lockstep)
    if scenario.slam is not None and scenario.watched_camera is not None:
        from aeroloop.flight.companion_view import write_origin

        stations[scenario.watched_camera].told_first = partial(write_origin, launch.folder_path)
    topics = Topics(launch.folder_path, wait=scenario.lockstep, stopped=stop)
    (stream,) = CAMERA_STREAMS

    def warn(words: str) -> None:
        for kind in ("notice", "remark"):
            supervisor.send(kind, message=words)

    count = scenario.aircraft.count
    place = renderer.others(count) if count > 1 else None
    cameras = Cameras(stations, recorder, topics.publisher(stream), warn, place, count)
    recorder.name_renderer(renderer.driver())
    for station in stations:
        if station.server is not None:
            words = f"camera {station.shooter.camera.name}: frames on port {station.server.port}"
            supervisor.send("notice", message=words)
    supervisor.send("ready")
    supervisor.await_message("start")
    try:
        for station, begun in zip(stations, recorder.begin(), strict=True):
            station.number, station.dropped = begun
        if scenario.lockstep:
            run_lockstep(cameras, recorder)
        else:
            run_paced(cameras, recorder, ClockIn(launch.folder_path, scenario.speed).now_s)
    except ConnectionError:
        return  # the recorder has ended
    else:
        for station in stations:
            if station.companion is not None:
                station.companion.finish(recorder.alive, COMPANION_S)
    finally:
        topics.flush()
        for station in stations:
            if station.server is not None:
                station.server.close()
            if station.companion is not None:
                station.companion.close()
    supervisor.send("done")


def _server(camera: Camera, scenario: Scenario) -> FrameServer | None:
    if not camera.link:
        return None
    return FrameServer(camera.link, wait=scenario.lockstep, impairment=of_camera(camera, scenario.seed))


def largest_px(cameras: Sequence[Camera]) -> tuple[int, int]:
    """Of the ideal images."""
    sizes = [drawn_px(camera) for camera in cameras]
    return max(width for width, _ in sizes), max(height for _, height in sizes)


if __name__ == "__main__":
    run_process(main)
