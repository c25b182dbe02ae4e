"""The camera process: renders the frames of one aircraft's cameras from its poses, and delivers them.

    READS  poses of `truth`, from the recorder
    WRITES stream `camera`, images for the log, frames on links

In lockstep every frame is made, and its delivery time follows from the scenario. In real time a frame that is late is
delivered late and counted, and frames more than one period behind are left out; the plant never waits.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

from aeroloop.cameras import effects, encoding
from aeroloop.cameras.pinhole import BodyPose, PoseHistory, intrinsics_px
from aeroloop.cameras.schedule import SimulatedClock, newest_number, next_number
from aeroloop.cameras.shots import Image, Shooter, drawn_px, time_ns
from aeroloop.core.camera import Camera
from aeroloop.core.camera_streams import CAMERA_STREAMS
from aeroloop.core.signals import NS
from aeroloop.flight.camera_link import RecorderLink
from aeroloop.flight.frame_server import FrameServer
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.protocols.frames import Coding, Frame, encode
from aeroloop.realtime.topics import Publisher, Topics

LOGGED_HZ, LOGGED_QUALITY = 5.0, 80
IDLE_S = 0.002
KEPT_S = 1.0
"""Poses older than the next frame by this much are forgotten."""


class Station:
    """One camera: its next frame, the frame that waits for its delivery, its counters."""

    def __init__(self, index: int, shooter: Shooter, server: FrameServer | None) -> None:
        self.index, self.shooter, self.server = index, shooter, server
        self.number = self.dropped = 0
        self.held: tuple[Image, float, float] | None = None  # with its time of delivery, and the work it took
        self._logged_s = 0.0

    @property
    def latency_s(self) -> float:
        return self.shooter.model.latency_s

    def newest(self, poses: PoseHistory) -> int:
        return newest_number(poses.newest_s, self.shooter.after_s, self.shooter.model.rate_hz)

    def shoot(self, poses: PoseHistory) -> tuple[Image, float]:
        """The next frame, and the wall time it took."""
        began_s = time.perf_counter()
        image = self.shooter.shoot(self.number, poses.at)
        self.number += 1
        return image, time.perf_counter() - began_s

    def deliver(self, image: Image, delivered_s: float, work_s: float, recorder: RecorderLink, rows: Publisher) -> None:
        model, t_s = self.shooter.model, image.t_ns / NS
        late = delivered_s > t_s + self.latency_s
        rows.send(t_s, model.vehicle, self.index, image.number, delivered_s, late, self.dropped, work_s, image.crc32)
        if self.server is not None:
            self.server.offer(encode(self._frame(image, self.shooter.camera.jpeg_quality, depth=True)))
        if t_s >= self._logged_s - 1e-9:
            self._logged_s = max(self._logged_s + 1.0 / LOGGED_HZ, t_s + 0.5 / LOGGED_HZ)
            recorder.log(self._frame(image, LOGGED_QUALITY, depth=False))
        recorder.alive()

    def _frame(self, image: Image, quality: int, *, depth: bool) -> Frame:
        camera, model = self.shooter.camera, self.shooter.model
        with_depth = depth and image.depth is not None
        return Frame(
            camera=self.index,
            coding=Coding.JPEG_PNG16 if with_depth else Coding.JPEG,
            number=image.number,
            t_ns=image.t_ns,
            size_px=model.size_px,
            intrinsics_px=intrinsics_px(model.focal_px, model.size_px),
            distortion=camera.lens,
            exposure_us=round(camera.exposure_s * 1e6),
            depth_unit_m=effects.DEPTH_UNIT_M if with_depth else 0.0,
            rgb=encoding.jpeg(image.rgb, quality),
            depth=encoding.png16(image.depth) if with_depth and image.depth is not None else b"",
        )


class Cameras:
    """All cameras of the process, with the poses of their aircraft."""

    def __init__(self, stations: Sequence[Station], recorder: RecorderLink, rows: Publisher) -> None:
        self.stations, self._recorder, self._rows = stations, recorder, rows
        self._poses = {station.shooter.model.vehicle: PoseHistory() for station in stations}

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

    def poses(self, station: Station) -> PoseHistory:
        return self._poses[station.shooter.model.vehicle]

    def deliver(self, station: Station, image: Image, delivered_s: float, work_s: float) -> None:
        station.deliver(image, delivered_s, work_s, self._recorder, self._rows)

    def forget(self) -> None:
        for vehicle, history in self._poses.items():
            own = [s for s in self.stations if s.shooter.model.vehicle == vehicle]
            oldest_s = min(time_ns(s.number, s.shooter.model.rate_hz) / NS - s.shooter.after_s for s in own)
            history.forget(oldest_s - KEPT_S)


def run_lockstep(cameras: Cameras, recorder: RecorderLink) -> None:
    """Every frame, in the order of time, until no more poses come."""
    while not stop():
        due = [s for s in cameras.stations if s.newest(cameras.poses(s)) >= s.number]
        if due:
            station = min(due, key=lambda s: (time_ns(s.number, s.shooter.model.rate_hz), s.index))
            image, work_s = station.shoot(cameras.poses(station))
            cameras.deliver(station, image, image.t_ns / NS + station.latency_s, work_s)
            cameras.take(0.0)
        elif recorder.ended:
            return
        else:
            cameras.forget()
            cameras.take(0.1)


def run_paced(cameras: Cameras, recorder: RecorderLink, speed: float) -> None:
    """Frames at their times; late ones are counted, and old ones dropped."""
    clock = SimulatedClock(speed)
    while not (stop() or recorder.ended):
        newest_s = cameras.take(IDLE_S)
        if newest_s is not None:
            clock.see(newest_s, time.monotonic())
        for station in cameras.stations:
            if station.server is not None:
                station.server.step()
            if station.held is not None and clock.now_s(time.monotonic()) >= station.held[1]:
                image, due_s, work_s = station.held
                station.held = None
                cameras.deliver(station, image, due_s, work_s)
            newest = station.newest(cameras.poses(station))
            if station.held is not None or newest < station.number:
                continue
            now_s, rate_hz = clock.now_s(time.monotonic()), station.shooter.model.rate_hz
            number = next_number(station.number, newest, rate_hz, station.latency_s, now_s)
            station.dropped += number - station.number
            station.number = number
            image, work_s = station.shoot(cameras.poses(station))
            due_s, ready_s = image.t_ns / NS + station.latency_s, clock.now_s(time.monotonic())
            if ready_s > due_s:
                cameras.deliver(station, image, ready_s, work_s)
            else:
                station.held = image, due_s, work_s
        cameras.forget()


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    encoding.opencv()
    from aeroloop.cameras import scene
    from aeroloop.cameras.render import Renderer

    scenario = launch.scenario
    largest = largest_px(scenario.cameras)
    renderer = Renderer(scene.of_scenario(scenario), largest)
    shooters = [Shooter(camera, scenario.seed, renderer) for camera in scenario.cameras]
    supervisor.await_message("open")
    stations = [
        Station(
            index, shooter, FrameServer(shooter.camera.link, wait=scenario.lockstep) if shooter.camera.link else None
        )
        for index, shooter in enumerate(shooters)
    ]
    recorder = RecorderLink(socket.socket(fileno=batons["recorder"]))
    topics = Topics(launch.folder_path, wait=scenario.lockstep)
    (stream,) = CAMERA_STREAMS
    cameras = Cameras(stations, recorder, topics.publisher(stream))
    for station in stations:
        if station.server is not None:
            words = f"camera {station.shooter.camera.name}: frames on port {station.server.port}"
            supervisor.send("notice", message=words)
    supervisor.send("ready")
    supervisor.await_message("start")
    try:
        if scenario.lockstep:
            run_lockstep(cameras, recorder)
        else:
            run_paced(cameras, recorder, scenario.speed)
    except ConnectionError:
        return  # the recorder has ended
    finally:
        topics.flush()
        for station in stations:
            if station.server is not None:
                station.server.close()
    supervisor.send("done", driver=renderer.driver())


def largest_px(cameras: Sequence[Camera]) -> tuple[int, int]:
    """Of the ideal images."""
    sizes = [drawn_px(camera) for camera in cameras]
    return max(width for width, _ in sizes), max(height for _, height in sizes)


if __name__ == "__main__":
    run_process(main)
