"""The recorder process: writes every logged stream to one MCAP file and to the live feed, and reports progress to the
supervisor.

Besides the streams it writes topics of Foxglove's well-known schemas, derived from them.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from aeroloop.analysis import landing_metrics
from aeroloop.core.camera_streams import RENDERER, RENDERER_METADATA
from aeroloop.core.companion import landing_camera
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream
from aeroloop.core.streams import logged, streams_of
from aeroloop.flight.camera_link import CameraLink
from aeroloop.flight.described import described, names
from aeroloop.flight.flightgear_view import FlightGearView, opened
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, launch_settings_of_parts, run_process, stop
from aeroloop.realtime.feed import FeedOut, publish_epoch
from aeroloop.realtime.topics import Subscriber, Topics
from aeroloop.recording.camera_images import CameraImages
from aeroloop.recording.descent_images import DescentImages
from aeroloop.recording.log import LogWriter
from aeroloop.recording.map_cloud import MapCloud
from aeroloop.recording.well_known import Take, WellKnownTopics

IDLE_S = 0.002
FLUSH_PERIOD_NS = NS // 4
"""After `kill -9` the file ends at the last flush, less than a second before."""
PROGRESS_PERIOD_NS = NS // 10
CAMERA_GRACE_S = 8.0
"""Time for a camera process to make its next frame at the end; then the log ends without it. In lockstep a frame waits
up to 5 s for a reader (`flight/frame_server.py`)."""


Logged = Callable[[int, int, bytes], None]
"""Camera, time in ns, JPEG."""


class Recording:
    """The streams of one part of a flight: from its topics to the log and the live feed."""

    def __init__(
        self,
        topics: Topics,
        log: LogWriter,
        feed: FeedOut,
        streams: tuple[Stream, ...],
        prefix: str = "",
        takers: Sequence[Callable[[str], Take | None]] = (),
    ) -> None:
        """`prefix` begins the names of the log's channels; `takers` return further consumers of a stream's rows."""
        self._log, self._feed = log, feed
        self._takes = {
            stream.name: tuple(take for taker in takers if (take := taker(stream.name)) is not None)
            for stream in streams
        }
        # Faults last: so none is still to be read that is older than the poses read before, which go to a camera.
        ordered = sorted(streams, key=lambda stream: stream.name == "fault")
        self._subscribers: list[Subscriber] = [topics.subscriber(stream) for stream in ordered]
        self._channels = {stream.name: replace(stream, name=f"{prefix}{stream.name}") for stream in streams}
        self.flown_s = 0.0

    def drain(self) -> int:
        """Write everything that has arrived; returns the number of records."""
        written = 0
        for subscriber in self._subscribers:
            stream, record = subscriber.stream, None
            channel, takes = self._channels[stream.name], self._takes[stream.name]
            for record in subscriber.records():
                row = stream.packing.unpack(record)
                self._log.write(channel, row)
                self._feed.offer(stream, record)
                for take in takes:
                    take(row)
                written += 1
            if record is not None and stream.simulated and stream.producer == "plant":
                self.flown_s = max(self.flown_s, row[0])
        return written

    @property
    def lost(self) -> int:
        return sum(subscriber.lost for subscriber in self._subscribers)


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    def remark(words: str) -> None:
        supervisor.send("remark", message=words)

    parts = launch_settings_of_parts(launch)  # with shapes, which take time; done while the other processes start
    about = described([(part.scenario, part.prefix) for part in parts], remark)
    supervisor.await_message("open")
    streams = [logged(streams_of(part.scenario)) for part in parts]
    channels = [
        replace(s, name=f"{part.prefix}{s.name}") for part, own in zip(parts, streams, strict=True) for s in own
    ]
    log = LogWriter(Path(launch.log), channels)
    feeds, recordings, well_known = [], [], []
    views: list[FlightGearView] = []
    cameras: list[CameraLink] = []
    images: list[CameraImages] = []
    descents: list[DescentImages] = []
    maps: list[MapCloud] = []
    before = 0  # aircraft of the parts so far
    for part, own, known in zip(parts, streams, about, strict=True):
        feeds.append(FeedOut(part.folder_path, own))
        topics = Topics(part.folder_path, wait=part.scenario.lockstep)
        well_known.append(WellKnownTopics(log.context, own, known))
        takers = [well_known[-1].taker]
        view = opened(part.scenario, own, before, remark)
        if view is not None:
            views.append(view)
            takers.append(view.taker)
        if part.scenario.cameras:
            images.append(
                CameraImages(log.context, part.scenario.cameras, names(part.prefix, part.scenario.aircraft.count))
            )
            descent = _descent_images(own, part.scenario)
            if descent is not None:
                descents.append(descent)
                takers.append(descent.taker)
            consumers = [each.take for each in (images[-1], descent) if each is not None]
            camera = _camera_link(batons[f"{part.prefix}camera"], own, consumers, part.scenario)
            cameras.append(camera)
            takers.append(camera.taker)
        if part.scenario.slam is not None:
            maps.append(MapCloud(log.context, names(part.prefix, part.scenario.aircraft.count)))
            takers.append(maps[-1].taker)
        before += part.scenario.aircraft.count
        recordings.append(Recording(topics, log, feeds[-1], own, part.prefix, takers))

    def drain() -> int:
        busy = sum(camera.step() for camera in cameras)
        if any(camera.full for camera in cameras):
            return busy
        return busy + sum(recording.drain() for recording in recordings)

    def feed() -> None:
        now_ns = time.monotonic_ns()
        for feed_out in feeds:
            feed_out.step(now_ns)

    def flown_s() -> float:
        return max(recording.flown_s for recording in recordings)

    def tell_progress() -> None:
        supervisor.send("progress", flown_s=flown_s())

    supervisor.send("ready")
    supervisor.await_message("start")
    epoch_ns = time.time_ns()
    log.begin(epoch_ns)
    for each in well_known:
        each.begin(epoch_ns)
    for image in images:
        image.begin(epoch_ns)
    for cloud in maps:
        cloud.begin(epoch_ns)
    for part in parts:
        publish_epoch(part.folder_path, epoch_ns)
    drain()  # connects to every publisher; of one that has ended before, nothing could be read
    supervisor.send("begun")
    flushed_ns = told_ns = time.monotonic_ns()
    while not stop():
        if not drain():
            time.sleep(IDLE_S)
        feed()
        now_ns = time.monotonic_ns()
        if now_ns - flushed_ns > FLUSH_PERIOD_NS:
            flushed_ns = now_ns
            log.flush()
        if now_ns - told_ns > PROGRESS_PERIOD_NS:
            told_ns = now_ns
            tell_progress()
    while drain() or any(camera.full for camera in cameras):
        feed()
        tell_progress()  # waits as long as there are more rows

    def work() -> None:
        drain()
        feed()
        tell_progress()

    _await_cameras(cameras, work)
    for feed_out in feeds:
        feed_out.close()
    for each in well_known:
        each.finish()
    for shown in views:
        shown.finish()
    for cloud in maps:
        cloud.finish()
    for image in images:
        log.write_metadata(*image.kept())
    for descent in descents:
        log.write_metadata(*descent.kept())
    if renderers := [camera.renderer for camera in cameras if camera.renderer]:
        log.write_metadata(RENDERER_METADATA, {RENDERER: renderers[0]})  # of the machine
    lost = sum(recording.lost for recording in recordings)
    log.write_metadata("recorder", {"lost_rows": str(lost)})
    log.close()
    supervisor.send("done", lost=lost, flown_s=flown_s())


def _descent_images(streams: Sequence[Stream], scenario: Scenario) -> DescentImages | None:
    """Of the camera that looks for the pad; None without one."""
    landing, pad = scenario.landing, scenario.pad
    if landing is None or pad is None or (index := landing_camera(scenario.cameras, landing)) is None:
        return None
    truth = next(stream for stream in streams if stream.name == "truth")
    height_m = landing_metrics.pad_height_m(scenario)
    return DescentImages(index, scenario.cameras[index].vehicle, lambda t_s: (*pad.at(t_s)[:2], height_m), truth.names)


def _camera_link(fd: int, streams: Sequence[Stream], consumers: Sequence[Logged], scenario: Scenario) -> CameraLink:
    def logged(camera: int, t_ns: int, jpeg: bytes) -> None:
        for take in consumers:
            take(camera, t_ns, jpeg)

    truth = next(stream for stream in streams if stream.name == "truth")
    end = socket.socket(fileno=fd)
    return CameraLink(end, truth, scenario.cameras, wait=scenario.lockstep, logged=logged)


def _await_cameras(cameras: Sequence[CameraLink], work: Callable[[], None]) -> None:
    """Until they have made the frames of all poses; one that makes none is not waited for."""
    for camera in cameras:
        camera.end()
    made, since_s = -1, time.monotonic()
    while any(not camera.closed for camera in cameras) and time.monotonic() - since_s < CAMERA_GRACE_S:
        work()
        time.sleep(IDLE_S)
        if (packets := sum(camera.packets for camera in cameras)) != made:
            made, since_s = packets, time.monotonic()
    work()


if __name__ == "__main__":
    run_process(main)
