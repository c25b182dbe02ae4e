"""Topics of Foxglove's well-known schemas, derived from a flight's rows, for a log or a live view.

    /aircraft/NAME/tf         FrameTransforms, `world` to `aircraft/NAME`: ENU to FLU
    /aircraft/NAME/attitude   Vector3: roll, pitch and yaw in rad as x, y and z
    /aircraft/NAME/pose       PoseInFrame                /aircraft/NAME/setpoint   PoseInFrame
    /aircraft/NAME/location   LocationFix                /aircraft/NAME/shape      SceneUpdate, once
    /aircraft/NAME/path       SceneUpdate, flown so far  /terrain                  SceneUpdate, once
    /objects                  SceneUpdate: once, and ten times a second those that move
    /log                      Log: events, faults and texts (STATUSTEXT) of all aircraft

Only common streams are read. Times are the wall clock's at the start of the flight plus simulated time. None of this is
part of the log's hash: it is derived from the streams.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import foxglove
from foxglove.channels import (
    FrameTransformsChannel,
    LocationFixChannel,
    LogChannel,
    PoseInFrameChannel,
    SceneUpdateChannel,
    Vector3Channel,
)
from foxglove.messages import (
    FrameTransform,
    FrameTransforms,
    LocationFix,
    Log,
    LogLevel,
    Point3,
    PoseInFrame,
    Timestamp,
    Vector3,
)

from aeroloop.core import geodesy
from aeroloop.core.frames import Quat, Vec3, euler_from_quat, quat_from_euler
from aeroloop.core.shape import Shape
from aeroloop.core.signals import NS, Event, Origin
from aeroloop.core.stream import SETPOINT, Stream, Track
from aeroloop.core.text_rows import text_of
from aeroloop.recording import scene_messages as scene

Row = Sequence[float]
Take = Callable[[Row], None]

WORLD = "world"
LOG_TOPIC, TERRAIN, OBJECTS = "/log", "terrain", "objects"
POSE_HZ, SETPOINT_HZ, LOCATION_HZ, OBJECTS_HZ = 20.0, 10.0, 5.0, 10.0
PATH_POINT_S = 0.2
"""Initial distance between the path's points."""
PATH_POINTS = 512
"""Maximum number of points: then every second one is removed, and the spacing doubled."""
PATH_NEWS, PATH_SHARE = 5, 10
"""Number of new points after which the path is published again; for a long path, a fraction of its points: logs must
not fill up."""
FARTHEST_M = 1e9
"""Maximum extent of figures."""
EVENTS = {"event": "plant", "board_event": "board"}
"""Streams of events, and whose they are."""
TEXTS = "status_text"
"""The stream of autopilot texts."""
SEVERITIES = ((2.0, LogLevel.Fatal), (3.0, LogLevel.Error), (4.0, LogLevel.Warning), (6.0, LogLevel.Info))
"""MAV_SEVERITY up to which a text has a level."""
CALM = frozenset(
    {
        *(Event.STARTED, Event.SENSORS_BACK, Event.REFERENCE_BACK, Event.AUTOPILOT_ANSWERED, Event.AUTOPILOT_BACK),
        *(Event.ARMED, Event.DISARMED, Event.MODE_CHANGED, Event.WAYPOINT_REACHED),
    }
)
_SINGLES = struct.Struct("<3f")
GRAVE = frozenset(
    {
        *(Event.SAFE_COMMAND, Event.DIVERGED, Event.LAW_NOT_FINITE, Event.BOARD_RESTARTED, Event.FAILSAFE),
        Event.COLLISION,
    }
)


@dataclass(frozen=True)
class Described:
    """Description of one part of a flight, for its topics."""

    names: tuple[str, ...]  # of its aircraft, by their numbers
    shape: Shape
    labelled: bool = False  # whether names are drawn: several aircraft fly
    setpoint: Track = SETPOINT
    setpoint_height_m: float = math.nan  # if there is no column
    origin: Origin | None = None  # origin of its world on the earth
    ground: scene.TerrainMesh | None = None  # uneven ground
    frame: str = WORLD
    frame_in_world: tuple[Vec3, Quat] | None = None  # of a part whose world has another origin
    prefix: str = ""
    objects: tuple[scene.Thing, ...] = ()  # of its world
    fault_words: Callable[[Row], str] = lambda row: "fault"  # of the columns after the aircraft's number


def topic(name: str, kind: str) -> str:
    return f"/aircraft/{name}/{kind}"


def frame_of(name: str) -> str:
    return f"aircraft/{name}"


class WellKnownTopics:
    """The topics of one part of a flight, in one context, with its sinks (a log, a server)."""

    def __init__(self, context: foxglove.Context, streams: Sequence[Stream], part: Described) -> None:
        self._part = part
        self._epoch_ns = 0
        columns = {stream.name: stream.names for stream in streams}
        self._log = LogChannel(LOG_TOPIC, context=context)
        below = f"/{part.prefix}{TERRAIN}"
        self._terrain = SceneUpdateChannel(below, context=context) if part.ground is not None else None
        self._objects = SceneUpdateChannel(f"/{part.prefix}{OBJECTS}", context=context) if part.objects else None
        self._moving, self._objects_due = [thing for thing in part.objects if thing.moving], _Due(OBJECTS_HZ)
        self._aircraft = [_Aircraft(context, name, part, columns) for name in part.names]
        takers: dict[str, Take | None] = {
            "truth": self._truth_taker() if "x_m" in columns.get("truth", ()) else None,
            part.setpoint.stream: self._each(part.setpoint.stream, _Aircraft.take_setpoint)
            if part.setpoint.east in columns.get(part.setpoint.stream, ())
            else None,
            "fault": self._take_fault,
            TEXTS: self._take_text,
            **{stream: self._event_taker(source) for stream, source in EVENTS.items()},
        }
        self._takers: dict[str, Take] = {
            name: taker for name, taker in takers.items() if taker is not None and name in columns
        }

    def begin(self, epoch_ns: int) -> None:
        """`epoch_ns`: the wall clock's time where simulated time is 0, since 1970."""
        self._epoch_ns = epoch_ns
        self.show()

    def show(self) -> None:
        """Publish the static messages, with the time of the start."""
        part, time = self._part, timestamp(self._epoch_ns)
        if part.ground is not None and self._terrain is not None:
            self._terrain.log(scene.terrain(part.ground, part.frame, time), log_time=self._epoch_ns)
        if self._objects is not None:
            self._objects.log(scene.objects(part.objects, 0.0, part.frame, time), log_time=self._epoch_ns)
        for aircraft in self._aircraft:
            aircraft.show(self._epoch_ns)

    @property
    def topics(self) -> set[str]:
        return {channel.topic() for channel in self._channels()}

    def _channels(self) -> Iterator[Any]:
        own = (channel for aircraft in self._aircraft for channel in aircraft.channels)
        return (channel for channel in (self._log, self._terrain, self._objects, *own) if channel is not None)

    def taker(self, stream: str) -> Take | None:
        """The consumer of the rows of that stream; None if no topic needs them."""
        return self._takers.get(stream)

    def show_again(self) -> None:
        """For a late subscriber: the same, and the path."""
        self.show()
        for aircraft in self._aircraft:
            aircraft.publish_path(again=True)

    def finish(self) -> None:
        """The whole path, at the end."""
        for aircraft in self._aircraft:
            aircraft.publish_path()

    def close(self) -> None:
        """Its topics are removed from the context."""
        for channel in self._channels():
            channel.close()

    def log_message(self, t_s: float, level: LogLevel, name: str, message: str) -> None:
        at_ns = self._epoch_ns + round(t_s * NS)
        self._log.log(Log(timestamp=timestamp(at_ns), level=level, message=message, name=name), log_time=at_ns)

    def _each(self, stream: str, take: Callable[[_Aircraft, Row], None]) -> Take:
        aircraft = self._aircraft

        def to_its_own(row: Row) -> None:
            number = row[1]
            if 0 <= number < len(aircraft):
                take(aircraft[int(number)], row)

        return to_its_own

    def _truth_taker(self) -> Take:
        """Aircraft, and with their times the objects that move."""
        take = self._each("truth", _Aircraft.take_truth)
        if not self._moving:
            return take

        def take_and_move(row: Row) -> None:
            take(row)
            self._move_objects(row[0])

        return take_and_move

    def _move_objects(self, t_s: float) -> None:
        if self._objects is not None and self._objects_due.is_due(t_s):
            at_ns = self._epoch_ns + round(t_s * NS)
            moved = scene.objects(self._moving, t_s, self._part.frame, timestamp(at_ns))
            self._objects.log(moved, log_time=at_ns)

    def _value_words(self, event: Event, value: float) -> str:
        """The value of an event; of a collision the name of the object, if it was one."""
        objects = self._part.objects
        named = event is Event.COLLISION and 0 <= value < len(objects)
        return objects[int(value)].name if named else f"{value:g}"

    def _name(self, vehicle: float) -> str:
        names = self._part.names
        return names[int(vehicle)] if 0 <= vehicle < len(names) else f"{vehicle:g}"

    def _event_taker(self, source: str) -> Take:
        def take(row: Row) -> None:
            t_s, vehicle, code, value = row[:4]
            try:
                event = Event(int(code))
            except (ValueError, OverflowError):  # an external family may have its own events
                self.log_message(
                    t_s, LogLevel.Warning, f"{self._name(vehicle)}/{source}", f"event {code:g} ({value:g})"
                )
                return
            level = LogLevel.Info if event in CALM else LogLevel.Error if event in GRAVE else LogLevel.Warning
            words = event.name.lower().replace("_", " ")
            self.log_message(
                t_s, level, f"{self._name(vehicle)}/{source}", f"{words} ({self._value_words(event, value)})"
            )

        return take

    def _take_text(self, row: Row) -> None:
        t_s, vehicle, severity, *numbers = row
        level = next((level for most, level in SEVERITIES if severity <= most), LogLevel.Debug)
        self.log_message(t_s, level, f"{self._name(vehicle)}/autopilot", text_of(numbers))

    def _take_fault(self, row: Row) -> None:
        self.log_message(row[0], LogLevel.Warning, f"{self._name(row[1])}/fault", self._part.fault_words(row[2:]))


class _Aircraft:
    """The topics of one aircraft."""

    def __init__(
        self, context: foxglove.Context, name: str, part: Described, columns: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._name, self._part, self._frame = name, part, frame_of(name)
        self._epoch_ns = 0
        self._tf = FrameTransformsChannel(topic(name, "tf"), context=context)
        self._shape = SceneUpdateChannel(topic(name, "shape"), context=context)
        self._pose = self._attitude = self._path = self._location = self._setpoint = None
        self._pose_due, self._location_due = _Due(POSE_HZ), _Due(LOCATION_HZ)
        self._setpoint_due, self._path_due = _Due(SETPOINT_HZ), _Due(1 / PATH_POINT_S)
        self._points: list[Point3] = []
        self._unpublished = 0
        self._t_s = 0.0
        truth, setpoint = columns.get("truth", ()), columns.get(part.setpoint.stream, ())
        if "x_m" in truth:
            self._pose = PoseInFrameChannel(topic(name, "pose"), context=context)
            self._attitude = Vector3Channel(topic(name, "attitude"), context=context)
            self._path = SceneUpdateChannel(topic(name, "path"), context=context)
            self._pos_of = itemgetter(*map(truth.index, ("x_m", "y_m", "z_m")))
            self._quat_of = itemgetter(*map(truth.index, ("qw", "qx", "qy", "qz"))) if "qw" in truth else None
            if part.origin is not None:
                self._location = LocationFixChannel(topic(name, "location"), context=context)
        if part.setpoint.east in setpoint:
            self._setpoint = PoseInFrameChannel(topic(name, "setpoint"), context=context)
            self._place_of = itemgetter(setpoint.index(part.setpoint.east), setpoint.index(part.setpoint.north))
            height = part.setpoint.height
            self._height_of = itemgetter(setpoint.index(height)) if height in setpoint else None
            self._yaw_of = itemgetter(setpoint.index("yaw_rad")) if "yaw_rad" in setpoint else None

    @property
    def channels(self) -> tuple[Any, ...]:
        return self._tf, self._shape, self._pose, self._attitude, self._path, self._location, self._setpoint

    def show(self, epoch_ns: int) -> None:
        self._epoch_ns = epoch_ns
        part, time = self._part, timestamp(epoch_ns)
        label = self._name if part.labelled else ""
        self._shape.log(scene.aircraft(part.shape, self._frame, time, label), log_time=epoch_ns)
        if part.frame_in_world is not None:
            pos_m, quat = part.frame_in_world
            self._tf.log(_transforms(time, WORLD, part.frame, pos_m, quat), log_time=epoch_ns)

    def take_truth(self, row: Row) -> None:
        t_s = row[0]
        if not self._pose_due.is_due(t_s) or self._pose is None or self._attitude is None or self._path is None:
            return
        pos_m: Vec3 = self._pos_of(row)
        quat: Quat = self._quat_of(row) if self._quat_of is not None else scene.LEVEL
        if not all(-FARTHEST_M < value < FARTHEST_M for value in (*pos_m, *quat)):  # NaN neither
            return
        self._t_s = t_s
        at_ns = self._epoch_ns + round(t_s * NS)
        time = timestamp(at_ns)
        self._tf.log(_transforms(time, self._part.frame, self._frame, pos_m, quat), log_time=at_ns)
        self._pose.log(
            PoseInFrame(timestamp=time, frame_id=self._part.frame, pose=scene.pose(pos_m, quat)), log_time=at_ns
        )
        roll, pitch, yaw = euler_from_quat(quat)  # for plots, which show fields of messages
        self._attitude.log(Vector3(x=roll, y=pitch, z=yaw), log_time=at_ns)
        if self._location is not None and self._location_due.is_due(t_s) and self._part.origin is not None:
            lat_deg, lon_deg, alt_m = geodesy.geodetic(self._part.origin, pos_m)
            fix = LocationFix(timestamp=time, frame_id=self._frame, latitude=lat_deg, longitude=lon_deg, altitude=alt_m)
            self._location.log(fix, log_time=at_ns)
        if self._path_due.is_due(t_s):
            self._add_to_path(pos_m)

    def take_setpoint(self, row: Row) -> None:
        t_s = row[0]
        if not self._setpoint_due.is_due(t_s) or self._setpoint is None:
            return
        east_m, north_m = self._place_of(row)
        height_m = self._height_of(row) if self._height_of is not None else self._part.setpoint_height_m
        if not all(map(math.isfinite, (east_m, north_m, height_m))):
            return
        yaw_rad = self._yaw_of(row) if self._yaw_of is not None else 0.0
        quat = quat_from_euler(0.0, 0.0, yaw_rad if math.isfinite(yaw_rad) else 0.0)
        at_ns = self._epoch_ns + round(t_s * NS)
        wanted = scene.pose((east_m, north_m, height_m), quat)
        self._setpoint.log(
            PoseInFrame(timestamp=timestamp(at_ns), frame_id=self._part.frame, pose=wanted), log_time=at_ns
        )

    def publish_path(self, *, again: bool = False) -> None:
        if self._path is None or not (self._unpublished or (again and self._points)):
            return
        self._unpublished = 0
        at_ns = self._epoch_ns + round(self._t_s * NS)
        self._path.log(scene.path(self._points, self._part.frame, timestamp(at_ns)), log_time=at_ns)

    def _add_to_path(self, pos_m: Vec3) -> None:
        x, y, z = _SINGLES.unpack(_SINGLES.pack(*pos_m))  # enough for a picture, and smaller when it is compressed
        if len(self._points) == PATH_POINTS:
            self._points = self._points[::2]
            self._path_due.slow_down()
        self._points.append(Point3(x=x, y=y, z=z))
        self._unpublished += 1
        if self._unpublished >= max(PATH_NEWS, len(self._points) // PATH_SHARE):
            self.publish_path()


class _Due:
    """Thins rows to a rate, in simulated time."""

    def __init__(self, rate_hz: float) -> None:
        self._period_s = 1 / rate_hz
        self._due_s = -math.inf

    def is_due(self, t_s: float) -> bool:
        if t_s < self._due_s - 1e-9:
            return False
        self._due_s = (self._due_s if t_s < self._due_s + self._period_s else t_s) + self._period_s
        return True

    def slow_down(self) -> None:
        self._period_s *= 2


def timestamp(at_ns: int) -> Timestamp:
    return Timestamp(*divmod(at_ns, NS))


def _transforms(time: Timestamp, parent: str, child: str, pos_m: Vec3, quat: Quat) -> FrameTransforms:
    x, y, z = pos_m
    return FrameTransforms(
        transforms=[
            FrameTransform(
                timestamp=time,
                parent_frame_id=parent,
                child_frame_id=child,
                translation=Vector3(x=x, y=y, z=z),
                rotation=scene.quaternion(quat),
            )
        ]
    )
