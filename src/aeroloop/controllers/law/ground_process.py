"""The ground process: the base station or the joystick reader, which sends on the reference link.

It follows the simulation clock: in lockstep the plant's baton, in wall time the `clock` topic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from aeroloop.controllers.law.request_tables import RequestScenario, RequestTables
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS, Reference
from aeroloop.core.stream import Publish, numbered
from aeroloop.core.streams import named
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process, stop
from aeroloop.ground import axis_map
from aeroloop.ground.axes import AxisSource
from aeroloop.ground.axis_map import AxisMap
from aeroloop.ground.config import GroundStationSettings
from aeroloop.ground.evdev_stick import open_stick
from aeroloop.ground.lock import claim
from aeroloop.ground.stick import Pilot, Stick
from aeroloop.ground.stick_recording import RecordedSource, Recorder
from aeroloop.ground.trajectories import Point, as_reference, build, joined, reference_at
from aeroloop.links.base import Link
from aeroloop.links.branched import Branched
from aeroloop.links.open import open_link
from aeroloop.protocols.reference import encode_reference
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.lockstep import Baton, PeerGoneError
from aeroloop.realtime.topics import Subscriber, Topics

READS = ("clock",)
WRITES = ("setpoint",)

CLOCK_PATIENCE_S = 0.2
"""Longest wait for the clock between two checks for a stop request."""

Source = Callable[[int], Reference]
"""Simulated time in ns -> the reference for it."""


class StickSource:
    """A pilot with a stick, or a recording."""

    def __init__(
        self,
        ground: GroundStationSettings,
        scenario: RequestScenario,
        recorder: Path | None = None,
        here: Point | None = None,
        *,
        axes: AxisSource | None = None,
        mapping: AxisMap | None = None,
    ) -> None:
        """`axes` and `mapping` replace the stick and the axis map of the scenario."""
        self._axes: AxisSource
        if axes is not None:
            self._axes = axes
        elif ground.joystick_recording:
            self._axes = RecordedSource(Path(ground.joystick_recording))
        else:
            self._axes = open_stick(ground.joystick_device)
        mapping = mapping or axis_map.load(ground.joystick_map)
        self._stick = Stick(mapping, self._axes.ranges, self._axes.name)
        start = build(ground.trajectory)(0.0)
        pos_W = here.pos_W if here else scenario.aircraft.start_pos_W or start.pos_W
        yaw_rad = here.yaw_rad if here else scenario.aircraft.start_yaw_rad
        self._pilot = Pilot(self._stick, mapping, pos_W=pos_W, yaw_rad=yaw_rad)
        self._recorder = Recorder(recorder, self._axes.ranges) if recorder else None
        self._feedforward = ground.velocity_feedforward
        self._last_ns: int | None = None

    def __call__(self, t_ns: int) -> Reference:
        events = self._axes.poll(t_ns / NS)
        self._stick.feed(events)
        if self._recorder:
            self._recorder.write(events)
        # A source that joins late starts at the aircraft's position.
        since_ns = t_ns if self._last_ns is None else self._last_ns
        point = self._pilot.step(max(0, t_ns - since_ns) / NS)
        self._last_ns = t_ns
        return as_reference(point, t_ns, feedforward=self._feedforward)

    def close(self) -> None:
        self._axes.close()
        if self._recorder:
            self._recorder.close()


def base_station(ground: GroundStationSettings, joins: tuple[Point, float] | None = None) -> Source:
    path = build(ground.trajectory)
    if joins:
        path = joined(path, *joins)
    return lambda t_ns: reference_at(path, t_ns, feedforward=ground.velocity_feedforward)


def build_source(
    scenario: RequestScenario, recorder: Path | None = None, joins: tuple[Point, float] | None = None
) -> Source:
    """`joins`: position of the aircraft and time, if the flight has already started."""
    ground = scenario.controller.ground
    if ground.source == "joystick":
        return StickSource(ground, scenario, recorder, joins[0] if joins else None)
    return base_station(ground, joins)


class Windows:
    """The references of lockstep, window by window.

    A window is logged completely before any of it is sent: otherwise the end of an aborted flight, and with it the log,
    would depend on the machine.
    """

    def __init__(self, source: Source, link: Link, publish: Publish, period_ns: int) -> None:
        self._source, self._link, self._publish, self._period_ns = source, link, publish, period_ns
        self._next_ns = self._sent_bytes = 0

    def grant(self, granted_ns: int) -> Iterator[tuple[int, int]]:
        """Sends the references of all cycles up to a time: the time of each, and the number of bytes sent with it."""
        window = [(t_ns, self._source(t_ns)) for t_ns in range(self._next_ns, granted_ns + 1, self._period_ns)]
        self._next_ns += len(window) * self._period_ns
        for t_ns, reference in window:
            self._publish(t_ns / NS, *reference.row())
        for t_ns, reference in window:
            frame = encode_reference(reference)
            self._link.send(frame)
            self._sent_bytes += len(frame)
            yield t_ns, self._sent_bytes


class InlineGround:
    """The ground's batons, to the plant and to the board."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._sent: deque[tuple[int, int]] = deque()

    def pass_on(self, *numbers: int) -> None:
        self._sent.extend(self._windows.grant(numbers[0]))

    def take(self) -> tuple[int, ...]:
        return self._sent.popleft()

    def close(self) -> None: ...


def setpoint_publisher(topics: Topics, scenario: Scenario) -> Publish:
    """The position of the flight's only aircraft."""
    return numbered({"setpoint": topics.publisher(named(scenario)["setpoint"]).send}, 0)["setpoint"]


def run_lockstep(windows: Windows, plant: Baton, boards: Sequence[Baton]) -> None:
    """Run until the plant ends, or the last board, not until SIGTERM."""
    present = list(boards)
    while present:
        try:
            granted_ns, *_ = plant.take()
        except PeerGoneError:
            return
        for sent in windows.grant(granted_ns):
            for board in tuple(present):
                try:
                    board.pass_on(*sent)
                except PeerGoneError:
                    present.remove(board)


def run_wall(
    source: Source, link: Link, publish: Publish, clock: Subscriber, *, over: Callable[[], bool] = stop
) -> None:
    while not over():
        clock.wait(CLOCK_PATIENCE_S)
        newest = clock.latest()
        if newest is not None and newest[0] > 0.0:  # the reference for the start has been sent
            t_ns = round(newest[0] * NS)
            _send(source(t_ns), t_ns, link, publish)


def _send(reference: Reference, t_ns: int, link: Link, publish: Publish) -> None:
    link.send(encode_reference(reference))
    publish(t_ns / NS, *reference.row())


def reference_link(launch: LaunchSettings) -> Link:
    """To the board, or to each of several."""
    first = open_link(launch.reference_client)
    others = [open_link(reference_client) for *_, reference_client in launch.board_links]
    return Branched([first, *others]) if others else first


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    scenario: RequestScenario = launch.flown_by(RequestTables)
    source = build_source(scenario)
    supervisor.await_message("open")
    topics = Topics(launch.folder_path, wait=scenario.lockstep, stopped=stop)
    publish = setpoint_publisher(topics, scenario)
    clock = topics.subscriber(named(scenario)["clock"]) if not scenario.lockstep else None
    with claim(launch.reference_client, scenario.controller.ground.source):
        link = reference_link(launch)
        if clock is not None:
            _send(source(0), 0, link, publish)  # received before the board's first cycle
        supervisor.send("ready")
        supervisor.await_message("start")
        try:
            if clock is None:
                plant = Baton(batons["plant"], "plant", ClockIn(launch.folder_path).held)
                boards = [Baton(batons[name], name) for name in scenario.controller.board_processes]
                windows = Windows(source, link, publish, round(scenario.controller.control.period_s * NS))
                run_lockstep(windows, plant, boards)
            else:
                run_wall(source, link, publish, clock)
            supervisor.send("done")
        finally:
            topics.flush()
            link.close()


if __name__ == "__main__":
    run_process(main)
