"""The topics of Foxglove's schemas: a reader that is not ours decodes them, with the published definitions too."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from pathlib import Path
from typing import Any

import foxglove
import numpy as np
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from mcap.reader import make_reader
from scipy.spatial.transform import Rotation
from well_known_logs import EPOCH_NS, Told, short_plan, well_known, write_flight

from aeroloop.core.common_streams import common
from aeroloop.core.shape import Body, Part, Rotor, Shape, box
from aeroloop.core.signals import NS, Event, Origin
from aeroloop.core.stream import Stream, fields
from aeroloop.core.text_rows import TEXT_COLUMNS, numbers_of
from aeroloop.flight.export import FlownPart
from aeroloop.recording.log import LogWriter, log_sha256, read
from aeroloop.recording.scene_messages import aircraft
from aeroloop.recording.well_known import PATH_POINTS, Described, WellKnownTopics, timestamp
from aeroloop.world.earth import Earth

TEXTS = Stream(
    "status_text",
    "board",
    0.0,
    False,
    True,
    "texts of an autopilot",
    fields(("severity", "-", "MAV_SEVERITY"), *((name, "-", "six bytes") for name in TEXT_COLUMNS)),
)
STREAMS = (common("truth"), common("setpoint"), common("event"), common("board_event"), common("fault"), TEXTS)
TRUTH = STREAMS[0]


class Flight:
    def __init__(self, path: Path, *plan: Any) -> None:
        self.path = path
        self.parts: list[FlownPart] = write_flight(path, short_plan(*plan))
        self.told = list(well_known(path))

    def of(self, topic: str) -> list[Told]:
        return [told for told in self.told if told.topic == topic]

    @property
    def schemas(self) -> dict[str, str]:
        return {told.topic: told.schema for told in self.told}


@pytest.fixture(scope="module")
def quad(tmp_path_factory: pytest.TempPathFactory) -> Flight:
    return Flight(tmp_path_factory.mktemp("quad") / "flight.mcap", "quad-terrain", 2.0)


@pytest.fixture(scope="module")
def sled(tmp_path_factory: pytest.TempPathFactory) -> Flight:
    """A family in a folder, without shape, page, earth or setpoint."""
    fault = 'faults=[{target="rotor",kind="dead",from_s=0.5}]'
    return Flight(tmp_path_factory.mktemp("sled") / "flight.mcap", "aircraft/sled.toml", 1.0, fault)


def published(schema: str) -> Any:
    """The message class of the package that Foxglove publishes."""
    name = schema.removeprefix("foxglove.")
    return getattr(importlib.import_module(f"foxglove_schemas_protobuf.{name}_pb2"), name)


def same_fields(ours: Descriptor, theirs: Descriptor, seen: set[str]) -> None:
    """Every field that both have means the same on the wire; what is published is all there."""
    if ours.full_name in seen:
        return
    seen.add(ours.full_name)
    for field in theirs.fields:
        own = ours.fields_by_name[field.name]
        assert (own.number, own.type, own.is_repeated) == (field.number, field.type, field.is_repeated), field.full_name
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            assert own.message_type.full_name == field.message_type.full_name
            same_fields(own.message_type, field.message_type, seen)


def test_every_topic_has_the_published_schema_and_decodes_with_it(quad: Flight) -> None:
    seen: set[str] = set()
    for schema in set(quad.schemas.values()):
        first = next(told for told in quad.told if told.schema == schema)
        same_fields(first.message.DESCRIPTOR, published(schema).DESCRIPTOR, seen)
    assert {"foxglove.FrameTransforms", "foxglove.SceneEntity", "foxglove.Pose", "foxglove.Quaternion"} <= seen
    for told in quad.told:
        message = published(told.schema)()
        assert message.ParseFromString(told.data) == len(told.data)
        assert message.SerializeToString(deterministic=True) == told.message.SerializeToString(deterministic=True)


def test_topics_of_one_aircraft_that_has_no_setpoint_yet(quad: Flight) -> None:
    assert quad.schemas == {
        "/aircraft/0/tf": "foxglove.FrameTransforms",
        "/aircraft/0/pose": "foxglove.PoseInFrame",
        "/aircraft/0/attitude": "foxglove.Vector3",
        "/aircraft/0/location": "foxglove.LocationFix",
        "/aircraft/0/shape": "foxglove.SceneUpdate",
        "/aircraft/0/path": "foxglove.SceneUpdate",
        "/terrain": "foxglove.SceneUpdate",
        "/log": "foxglove.Log",
    }


def test_the_transform_is_the_truth_from_east_north_up_to_forward_left_up(quad: Flight) -> None:
    log = quad.parts[0].log
    by_time = {round(row[0] * NS): row for row in log.rows["truth"].tolist()}
    columns = log.columns["truth"]
    for told, posed in zip(quad.of("/aircraft/0/tf"), quad.of("/aircraft/0/pose"), strict=True):
        (transform,) = told.message.transforms
        assert (transform.parent_frame_id, transform.child_frame_id) == ("world", "aircraft/0")
        row = dict(zip(columns, by_time[told.log_time - EPOCH_NS], strict=True))
        moved, turned = transform.translation, transform.rotation
        assert (moved.x, moved.y, moved.z) == (row["x_m"], row["y_m"], row["z_m"])
        assert (turned.w, turned.x, turned.y, turned.z) == (row["qw"], row["qx"], row["qy"], row["qz"])
        assert transform.timestamp.ToNanoseconds() == told.log_time == posed.log_time
        assert posed.message.frame_id == "world"
        assert posed.message.pose.position.z == moved.z
    assert len(quad.of("/aircraft/0/tf")) == pytest.approx(20 * 2, abs=2)


def test_the_location_is_that_of_the_earth_under_the_flight(quad: Flight) -> None:
    part = quad.parts[0]
    earth = Earth(part.scenario.aircraft.world.home)
    poses = {told.log_time: told.message.pose.position for told in quad.of("/aircraft/0/pose")}
    fixes = quad.of("/aircraft/0/location")
    assert len(fixes) == pytest.approx(5 * 2, abs=2)
    for told in fixes:
        at = poses[told.log_time]
        lat_deg, lon_deg, alt_m = earth.geodetic((at.x, at.y, at.z))
        assert told.message.latitude == pytest.approx(lat_deg, abs=1e-9)
        assert told.message.longitude == pytest.approx(lon_deg, abs=1e-9)
        assert told.message.altitude == pytest.approx(alt_m, abs=1e-3)


def test_what_never_changes_is_told_once_at_the_start(quad: Flight) -> None:
    for topic in ("/aircraft/0/shape", "/terrain"):
        (told,) = quad.of(topic)
        assert told.log_time == EPOCH_NS
    (shape,) = quad.of("/aircraft/0/shape")
    (entity,) = shape.message.entities
    assert (entity.frame_id, entity.frame_locked) == ("aircraft/0", True)
    assert len(entity.cylinders) >= 4  # a disc for each rotor
    assert not entity.texts  # no name where one flies alone
    (ground,) = quad.of("/terrain")[0].message.entities
    (mesh,) = ground.triangles
    assert len(mesh.points) == len(mesh.colors) == 64 * 64
    assert len(mesh.indices) == 6 * 63 * 63 and max(mesh.indices) == 64 * 64 - 1


def test_events_and_faults_are_log_messages(quad: Flight, sled: Flight) -> None:
    events = quad.parts[0].log.rows["event"], quad.parts[0].log.rows["board_event"]
    assert len(quad.of("/log")) == sum(map(len, events)) > 0
    assert {told.message.name for told in quad.of("/log")} <= {"0/plant", "0/board"}
    (fault,) = (told for told in sled.of("/log") if told.message.name == "0/fault")
    assert "propeller" in fault.message.message and "dead" in fault.message.message
    assert fault.log_time == EPOCH_NS + NS // 2


def test_a_family_in_a_folder_gets_its_topics_too(sled: Flight) -> None:
    assert {"/aircraft/0/tf", "/aircraft/0/pose", "/aircraft/0/shape", "/aircraft/0/path"} <= set(sled.schemas)
    (entity,) = sled.of("/aircraft/0/shape")[0].message.entities
    assert len(entity.cubes) == 1  # nobody says how it looks


def test_a_folder_that_names_its_shape_is_drawn_so(tmp_path: Path) -> None:
    rocket = Flight(tmp_path / "flight.mcap", "aircraft/rocket-hop.toml", 0.2)
    (entity,) = rocket.of("/aircraft/0/shape")[0].message.entities
    assert entity.cylinders and entity.spheres and not entity.cubes
    assert "/aircraft/0/setpoint" in rocket.schemas


def test_the_setpoint_of_a_fixed_wing_is_where_its_row_says(tmp_path: Path) -> None:
    wing = Flight(tmp_path / "flight.mcap", "fixedwing-loiter", 1.0)
    heights = {told.message.pose.position.z for told in wing.of("/aircraft/0/setpoint")}
    assert heights == {wing.parts[0].scenario.aircraft.mission.height_m}
    assert "/terrain" in wing.schemas


def test_several_aircraft_of_one_part_have_topics_of_their_own(tmp_path: Path) -> None:
    two = Flight(tmp_path / "flight.mcap", "quad-hover", 0.5, "vehicle.count=2")
    for number in (0, 1):
        assert f"/aircraft/{number}/pose" in two.schemas
        (entity,) = two.of(f"/aircraft/{number}/shape")[0].message.entities
        assert [text.text for text in entity.texts] == [str(number)]
    rows = two.parts[0].log.rows["truth"]
    for number in (0, 1):
        first = two.of(f"/aircraft/{number}/pose")[0].message.pose.position
        assert first.x == rows[rows[:, 1] == number][0, 2]


def test_parts_of_a_fleet_are_called_by_their_names(tmp_path: Path) -> None:
    fleet = Flight(tmp_path / "flight.mcap", "mixed-fleet", 0.1)
    named = {topic.split("/")[2] for topic in fleet.schemas if topic.startswith("/aircraft/")}
    assert named == {part.prefix.rstrip("/") for part in fleet.parts} and len(named) > 1
    with fleet.path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    topics = {channel.topic for channel in summary.channels.values()}
    assert {f"{part.prefix}truth" for part in fleet.parts} <= topics  # our own streams too


def test_the_hash_is_that_of_the_flight_and_times_do_not_count(quad: Flight, tmp_path: Path) -> None:
    log = read(quad.path)
    assert log_sha256(log) == log_sha256(quad.parts[0].log)
    assert log.epoch_ns == EPOCH_NS
    assert not any(name.startswith("/") for name in log.rows)
    with quad.path.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages(topics=["truth"]):
            assert schema is not None and channel.message_encoding == "json"
            assert message.log_time >= EPOCH_NS
            break


def test_the_same_flight_and_epoch_are_the_same_bytes(tmp_path: Path) -> None:
    plan = "aircraft/sled.toml", 0.2
    one, other = (Flight(tmp_path / name, *plan).path.read_bytes() for name in ("one.mcap", "other.mcap"))
    assert one == other


def written(tmp_path: Path, part: Described, rows: list[tuple[str, tuple[float, ...]]]) -> list[Told]:
    path = tmp_path / "flight.mcap"
    writer = LogWriter(path, STREAMS)
    topics = WellKnownTopics(writer.context, STREAMS, part)
    writer.begin(EPOCH_NS)
    topics.begin(EPOCH_NS)
    for stream, row in rows:
        take = topics.taker(stream)
        assert take is not None
        take(row)
    topics.finish()
    writer.close()
    return list(well_known(path))


def truth(t_s: float, x_m: float = 0.0, vehicle: float = 0.0) -> tuple[str, tuple[float, ...]]:
    return "truth", (t_s, vehicle, x_m, 0.0, 1.0, *(0.0,) * 3, 1.0, *(0.0,) * 6)


def test_the_attitude_is_roll_pitch_and_yaw_in_rad(tmp_path: Path) -> None:
    x, y, z, w = Rotation.from_euler("ZYX", (2.0, -0.4, 0.3)).as_quat()
    rows = [("truth", (0.1 * step, 0.0, 1.0, 2.0, 3.0, *(0.0,) * 3, w, x, y, z, *(0.0,) * 3)) for step in range(3)]
    told = [each for each in written(tmp_path, Described(("0",), box()), rows) if each.topic == "/aircraft/0/attitude"]
    assert [each.log_time - EPOCH_NS for each in told] == [0, NS // 10, NS // 5]
    for each in told:
        assert (each.message.x, each.message.y, each.message.z) == pytest.approx((0.3, -0.4, 2.0), abs=1e-9)


def test_the_path_of_a_long_flight_is_bounded_and_whole(tmp_path: Path) -> None:
    rows = [truth(0.4 * step, 0.4 * step) for step in range(9_000)]  # an hour, at 1 m/s
    told = [t for t in written(tmp_path, Described(("0",), box()), rows) if t.topic == "/aircraft/0/path"]
    lines = [entity.lines[0].points for each in told for entity in each.message.entities]
    assert max(map(len, lines)) <= PATH_POINTS
    assert lines[-1][0].x == 0.0
    assert lines[-1][-1].x == pytest.approx(3600.0, abs=2 * 3600 / (PATH_POINTS / 2))
    assert sum(map(len, lines)) < 60 * PATH_POINTS * math.log2(9_000 / PATH_POINTS)


def test_what_is_no_number_or_of_nobody_is_left_out(tmp_path: Path) -> None:
    rows = [
        truth(0.0, math.nan),
        truth(0.1, math.inf),
        truth(0.15, 1e300),
        truth(0.2, 1.0, vehicle=7.0),
        truth(0.3, 1.0, vehicle=math.nan),
    ]
    rows += [("setpoint", (0.0, 0.0, math.nan, 0.0, 0.0)), ("event", (0.0, 3.0, 99.0, 1.5))]
    told = written(tmp_path, Described(("0",), box()), rows)
    assert Counter(each.topic for each in told) == {"/aircraft/0/shape": 1, "/log": 1}
    assert next(each for each in told if each.topic == "/log").message.message == "event 99 (1.5)"


@pytest.mark.parametrize(
    ("event", "level"), [(Event.ARMED, "INFO"), (Event.GROUND_CONTACT, "WARNING"), (Event.DIVERGED, "ERROR")]
)
def test_the_level_of_an_event(tmp_path: Path, event: Event, level: str) -> None:
    (told,) = (
        t for t in written(tmp_path, Described(("0",), box()), [("event", (1.0, 0.0, event, 2.0))]) if t.topic == "/log"
    )
    enum = told.message.DESCRIPTOR.fields_by_name["level"].enum_type
    assert enum.values_by_number[told.message.level].name == level
    assert told.message.message == f"{event.name.lower().replace('_', ' ')} (2)"


@pytest.mark.parametrize(
    ("severity", "level"),
    [(0, "FATAL"), (2, "FATAL"), (3, "ERROR"), (4, "WARNING"), (5, "INFO"), (6, "INFO"), (7, "DEBUG")],
)
def test_texts_of_an_autopilot_are_log_messages(tmp_path: Path, severity: int, level: str) -> None:
    row = 1.5, 0.0, float(severity), *numbers_of("arming denied: no GNSS fix")
    (told,) = (t for t in written(tmp_path, Described(("wing",), box()), [("status_text", row)]) if t.topic == "/log")
    enum = told.message.DESCRIPTOR.fields_by_name["level"].enum_type
    assert enum.values_by_number[told.message.level].name == level
    assert (told.message.name, told.message.message) == ("wing/autopilot", "arming denied: no GNSS fix")
    assert told.log_time == EPOCH_NS + 3 * NS // 2


def test_a_world_that_begins_elsewhere_is_placed_in_the_first(tmp_path: Path) -> None:
    from aeroloop.core import geodesy
    from aeroloop.core.frames import rotated
    from aeroloop.flight.described import _placed

    first, other = Origin(47.0, 8.0, 400.0), Origin(47.3, 8.9, 900.0)
    place_m, quat = _placed(first, other)
    for point_m in ((0.0, 0.0, 0.0), (1000.0, 0.0, 0.0), (0.0, 500.0, 200.0)):
        there = np.array(place_m) + rotated(quat, point_m)
        assert there == pytest.approx(np.array(geodesy.local(first, *geodesy.geodetic(other, point_m))), abs=1e-3)
    told = written(tmp_path, Described(("wing",), box(), frame="wing/world", frame_in_world=(place_m, quat)), [])
    (transform,) = next(each for each in told if each.topic == "/aircraft/wing/tf").message.transforms
    assert (transform.parent_frame_id, transform.child_frame_id) == ("world", "wing/world")


def test_every_kind_of_part_is_drawn_where_its_bodies_put_it() -> None:
    quarter = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # about z
    bodies = (
        Body("frame", -1, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
        Body("pod", 0, (1.0, 0.0, 0.0), quarter),
    )
    level, grey = (1.0, 0.0, 0.0, 0.0), (0.5, 0.5, 0.5, 1.0)
    kinds = ("box", "sphere", "ellipsoid", "capsule", "cylinder")
    parts = [Part(1, kind, (0.1, 0.2, 0.3), (2.0, 0.0, 0.0), level, grey) for kind in kinds]
    parts.append(Part(1, "mesh", (0.0, 0.0, 0.0), (2.0, 0.0, 0.0), level, grey, (0.0,) * 9, (0, 1, 2)))
    rotor = Rotor(1, (2.0, 0.0, 0.0), level, 0.4, 1.0, grey, ())
    update = aircraft(Shape(bodies, tuple(parts), (rotor,), 1.0, 1.0), "aircraft/0", timestamp(0), "me")
    message = published("foxglove.SceneUpdate")()
    message.ParseFromString(update.encode())
    (entity,) = message.entities
    assert [len(each) for each in (entity.cubes, entity.spheres, entity.cylinders, entity.triangles)] == [1, 4, 3, 1]
    for drawn in (*entity.cubes, *entity.cylinders, *entity.triangles):
        at, turned = drawn.pose.position, drawn.pose.orientation
        assert (at.x, at.y, at.z) == pytest.approx((1.0, 2.0, 0.0))
        assert (turned.w, turned.z) == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))
    assert (entity.cubes[0].size.x, entity.cubes[0].size.z) == pytest.approx((0.2, 0.6))
    assert sorted(sphere.pose.position.z for sphere in entity.spheres) == pytest.approx([-0.2, 0.0, 0.0, 0.2])
    assert [text.text for text in entity.texts] == ["me"]


def test_topics_are_gone_when_they_are_closed() -> None:
    context = foxglove.Context()
    topics = WellKnownTopics(context, STREAMS, Described(("0",), box(), origin=Origin(1.0, 2.0, 3.0)))
    channels = [channel for one in topics._aircraft for channel in one.channels]
    assert all(channel is not None for channel in channels)
    topics.begin(0)
    topics.close()
    topics.close()
