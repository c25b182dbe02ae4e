"""Objects of the world are seen: by cameras, in films, on pages and maps, in Foxglove topics and in the report."""

from __future__ import annotations

from typing import Any

import foxglove
import mujoco
import numpy as np
import pytest

from aeroloop.analysis import world_section
from aeroloop.analysis.collisions import name_of
from aeroloop.analysis.section import Figures, Table
from aeroloop.cameras import object_scene, scene
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import of_table
from aeroloop.core.signals import Event
from aeroloop.core.stream import Stream
from aeroloop.core.streams import streams_of
from aeroloop.dashboard import event_words, world_objects
from aeroloop.dashboard.map import View
from aeroloop.flight.described import described
from aeroloop.recording import scene_messages
from aeroloop.recording.log import Log
from aeroloop.recording.well_known import WellKnownTopics, timestamp
from aeroloop.world.footprints import footprint, outline_W
from aeroloop.world.placed_objects import of_scenario

SHUTTLE = {"kind": "line", "to_m": [20.0, 10.0, 0.0], "speed_m_s": 10.0}
THINGS: list[dict[str, Any]] = [
    {"name": "the house", "kind": "house", "at_m": [20.0, 0.0, 0.0]},
    {"name": "a tree", "kind": "tree", "at_m": [0.0, 12.0, 0.0]},
    {"name": "shuttle", "kind": "car", "at_m": [0.0, 10.0, 0.0], "motion": SHUTTLE},
]


def flight(*things: dict[str, Any], **world: Any) -> Scenario:
    table = {"name": "x", "vehicle": {"kind": "quadrotor"}, "world": {"objects": list(things), **world}}
    return of_table(table, "x.toml")


class Drawn:
    """A compiled scene without OpenGL."""

    def __init__(self, spec: mujoco.MjSpec) -> None:
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.update()

    def move(self, name: str, pos_W: Any, quat_W: Any) -> None:
        index = self.model.body(name).mocapid[0]
        self.data.mocap_pos[index], self.data.mocap_quat[index] = pos_W, quat_W

    def update(self) -> None:
        mujoco.mj_kinematics(self.model, self.data)


@pytest.mark.parametrize("ready", ["", "field", "street", "hall"])
def test_a_camera_sees_objects_where_they_are(ready: str) -> None:
    scenario = flight(*THINGS, scene=ready)
    drawn = Drawn(scene.of_scenario(scenario))
    objects = of_scenario(scenario)
    moves = object_scene.ObjectScene(objects, drawn)
    for t_s in (0.0, 1.3):
        moves.place(t_s)
        for thing in objects:
            body = drawn.model.body(object_scene.body_name(thing)).id
            assert drawn.data.xpos[body] == pytest.approx(thing.pose(t_s)[0])
            assert np.count_nonzero(drawn.model.geom_bodyid == body) == len(thing.parts)


def test_pages_draw_what_stands_as_one_shape_and_what_moves_alone() -> None:
    objects = of_scenario(flight(*THINGS))
    shape = world_objects.standing(objects)
    assert shape is not None and len(shape.parts) == sum(len(each.parts) for each in objects if not each.moving)
    assert world_objects.standing([each for each in objects if each.moving]) is None
    assert len(world_objects.moving(objects[2]).parts) == len(objects[2].parts)
    assert world_objects.of_scenario(None) == world_objects.of_scenario(flight()) == ()


def test_the_map_has_their_outlines() -> None:
    objects, view = of_scenario(flight(*THINGS)), View(m_per_px=0.1)
    svg = world_objects.on_map(view, objects, 0.0)
    assert svg.count("<polygon") == 3 and all(f"map-{kind}" in svg for kind in ("house", "tree", "car"))
    assert world_objects.on_map(view, objects[2:], 1.0) != world_objects.on_map(view, objects[2:], 0.0)
    assert not world_objects.on_map(view.centred(5000.0, 0.0), objects, 0.0)
    wide = np.ptp(np.array(footprint(objects[0].parts)), axis=0)
    assert wide == pytest.approx([10.0, 8.0], abs=0.2)
    assert np.array(outline_W(objects[0], 0.0)).mean(axis=0) == pytest.approx([20.0, 0.0], abs=0.3)


def test_foxglove_topics_have_an_entity_for_each() -> None:
    scenario = flight(*THINGS)
    (part,) = described([(scenario, "")])
    topics = WellKnownTopics(foxglove.Context(), streams_of(scenario), part)
    assert "/objects" in topics.topics
    (plain,) = described([(flight(), "")])
    assert "/objects" not in WellKnownTopics(foxglove.Context(), streams_of(scenario), plain).topics
    at_start, update = (scene_messages.objects(part.objects, t_s, "world", timestamp(0)) for t_s in (0.0, 1.0))
    sent = update.encode()
    places = [sent.index(name) for name in (b"the house", b"a tree", b"shuttle")]
    assert places == sorted(places) and update.encode() != at_start.encode(), "the car has moved"
    taken = []
    topics.log_message = lambda *words: taken.append(words)  # type: ignore[method-assign]
    take = topics.taker("event")
    assert take is not None
    take((1.0, 0.0, float(Event.COLLISION), 0.0))
    assert taken[0][3] == "collision (the house)"


def test_events_name_what_was_touched() -> None:
    (stream,) = (each for each in streams_of(flight()) if each.name == "event")
    assert isinstance(stream, Stream)

    def words(value: float) -> str:
        row = (1.0, 0.0, float(Event.COLLISION), value)
        told = event_words.description(stream, row, several=False, objects=("the house",))
        assert told is not None and told[0] == "bad"
        return told[1]

    assert words(0.0) == "collision with the house"
    assert words(1.0) == "collision with an object" and words(-2.0) == "collision with another aircraft"
    assert name_of(7.0, ["a"], []) == "object 7" and name_of(-3.0, [], ["a", "b", "c"]) == "c"
    assert name_of(float("nan"), ["a"], []) == "nan"


def test_the_report_shows_objects_around_the_track() -> None:
    scenario = flight(*THINGS)
    log = Log.empty(streams_of(scenario))
    names = log.columns["truth"]
    rows = np.zeros((50, len(names)))
    rows[:, 0], rows[:, names.index("x_m")] = np.linspace(0.0, 5.0, 50), np.linspace(0.0, 15.0, 50)
    rows[:, names.index("qw")] = 1.0
    log.rows["truth"] = rows
    hit = {"t_s": 4.9, "source": "plant", "vehicle": 0, "event": "COLLISION", "value": "the house"}
    (section,) = world_section.sections(scenario, log, {"events": [hit]})
    assert section.title == "Objects of the world"
    (figures,) = (block for block in section.blocks if isinstance(block, Figures))
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    assert table.rows == [("4.900", "0", "the house")] and "<svg" in figures.pictures[0].svg
    assert world_section.sections(flight(), log, {"events": []}) == []
