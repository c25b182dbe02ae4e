"""Objects of the world: their settings, paths, ready-made kinds, distances and impacts."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load, of_table
from aeroloop.core.shape import box
from aeroloop.world.impact import Struck, closing_m_s, separate
from aeroloop.world.object_kinds import parts_of, scene_objects
from aeroloop.world.objects import MOST_OBJECTS, SIZES_M, Circle, ToAndFro, Way, WorldObject
from aeroloop.world.obstacles import Obstacles
from aeroloop.world.placed_objects import of_scenario
from aeroloop.world.solids import Contact

NS = 1_000_000_000
LEVEL = (1.0, 0.0, 0.0, 0.0)
WALL = {"name": "wall", "kind": "wall", "at_m": [10.0, 0.0, 0.0]}
KINDS = [kind for kind in SIZES_M if kind != "mesh"]


def scenario(*objects: dict[str, object], **world: object) -> Scenario:
    table = {"name": "x", "vehicle": {"kind": "quadrotor"}, "world": {"objects": list(objects), **world}}
    return of_table(table, "x.toml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "rock"}, "world.objects[0].kind: invalid enum value 'rock', expected one of: box,"),
        ({"size_m": [0.0, 1.0, 1.0]}, "world.objects[0].size_m[0]: expected `float` >= 0.01"),
        ({"at_m": [math.nan, 0.0, 0.0]}, "world.objects[0].at_m[0]"),
        ({"at_m": [math.inf, 0.0, 0.0]}, "world.objects[0].at_m[0]"),
        ({"kind": "sphere", "size_m": [1.0, 1.0, 2.0]}, "world.objects[0]: size_m: a sphere has three equal sizes"),
        ({"kind": "cylinder", "size_m": [1.0, 2.0, 2.0]}, "size_m: a cylinder has equal length and width"),
        ({"kind": "mesh"}, "world.objects[0]: file: expected the file of its mesh"),
        ({"kind": "mesh", "file": "a.exe"}, "file: expected a mesh that ends with .stl or .obj"),
        ({"file": "a.stl"}, "file: a wall has none"),
        ({"colour": "red"}, "world.objects[0].colour"),
        ({"motion": {"kind": "line", "to_m": [10.0, 0.0, 0.0]}}, "motion: two points of its path are the same"),
        ({"motion": {"kind": "circle", "radius_m": 0.0}}, "world.objects[0].motion.radius_m"),
        ({"motion": {"kind": "way", "points_m": []}}, "world.objects[0].motion.points_m"),
        ({"motion": {"kind": "swing"}}, "world.objects[0].motion"),
        ({"colours": 1}, "world.objects[0].colours: unknown key"),
    ],
)
def test_a_bad_object_is_refused_in_one_sentence(change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scenario(WALL | change)
    assert str(refused.value).startswith("x.toml: world") and words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_names_are_unique_and_objects_are_bounded() -> None:
    with pytest.raises(ConfigError, match=r"world: objects\[1\].name: 'wall' is the name of objects\[0\] too"):
        scenario(WALL, WALL)
    with pytest.raises(ConfigError, match=r"objects\[0\].name: 'tree-1' is the name of scene too"):
        scenario(WALL | {"name": "tree-1"}, scene="field")
    with pytest.raises(ConfigError, match=r"world.objects: expected `array` of length <= 500"):
        scenario(*(WALL | {"name": f"wall {i}"} for i in range(MOST_OBJECTS + 1)))
    with pytest.raises(ConfigError, match=r"objects: 509 objects; expected 500 at most"):
        scenario(*(WALL | {"name": f"wall {i}"} for i in range(MOST_OBJECTS - 4)), scene="hall")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_fills_its_size(kind: str) -> None:
    """Its parts reach as far as its length, width and height, and stand on its foot."""
    thing = WorldObject(name="a", kind=kind, at_m=(0.0, 0.0, 0.0))  # type: ignore[arg-type]
    (placed,) = of_scenario(scenario({"name": "a", "kind": kind, "at_m": [0.0, 0.0, 0.0]}))
    obstacles = Obstacles([placed], box())
    assert len(parts_of(thing)) == len(placed.parts)
    length, width, height = SIZES_M[thing.kind]

    def hit_m(start: tuple[float, float, float], direction: tuple[float, float, float]) -> float:
        return obstacles.beam_m(0, start, direction, 200.0)

    above = [hit_m((x, y, 50.0), (0.0, 0.0, -1.0)) for x in (0.0, 0.01) for y in (0.0, 0.01)]
    assert 50.0 - min(above) == pytest.approx(height, rel=0.04)
    low = [
        hit_m((-50.0, y, z), (1.0, 0.0, 0.0)) for y in (0.0, 0.45 * width) for z in np.linspace(0.05, 0.95, 10) * height
    ]
    assert 50.0 - min(low) == pytest.approx(length / 2, rel=0.06)
    below = [
        hit_m((x, y, -1.0), (0.0, 0.0, 1.0)) for x in np.linspace(-0.5, 0.5, 41) * length for y in (0.0, 0.44 * width)
    ]
    assert min(below) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(("scene", "most"), [("field", 30), ("street", 40), ("hall", 15)])
def test_ready_worlds_leave_their_origin_free(scene: str, most: int) -> None:
    things = scene_objects(scene)  # type: ignore[arg-type]
    assert 5 < len(things) <= most
    obstacles = Obstacles(of_scenario(scenario(scene=scene)), box())
    for t_s in np.arange(0.0, 30.0, 0.5):
        for height_m in (0.2, 2.0, 10.0):
            assert not obstacles.touches(round(t_s * NS), (0.0, 0.0, height_m), LEVEL)


@given(
    t_s=st.floats(0.0, 1e5),
    points=st.lists(
        st.tuples(*[st.integers(-1000, 1000)] * 2, st.integers(0, 50)), min_size=1, max_size=6, unique=True
    ),
)
@settings(max_examples=60, deadline=None)
def test_paths_have_their_speed_and_return(t_s: float, points: list[tuple[int, int, int]]) -> None:
    places = [(float(x) + 0.5, float(y), float(z)) for x, y, z in points]
    for motion in (
        Circle(radius_m=5.0, speed_m_s=3.0),
        ToAndFro(to_m=places[0], speed_m_s=3.0),
        Way(points_m=tuple(places), speed_m_s=3.0),
    ):
        path = WorldObject(name="a", kind="car", at_m=(0.0, 0.0, 0.0), motion=motion).path
        before, after = path(t_s)[0], path(t_s + 0.01)[0]
        assert math.dist(before, after) <= 0.03 + 1e-6
        assert all(map(math.isfinite, before))
    assert path(0.0)[0] == (0.0, 0.0, 0.0)


def test_a_way_visits_its_points() -> None:
    path = WorldObject(
        name="a",
        kind="car",
        at_m=(0.0, 0.0, 0.0),
        motion=Way(points_m=((10.0, 0.0, 0.0), (10.0, 10.0, 0.0)), speed_m_s=2.0),
    ).path
    assert path(5.0) == ((10.0, 0.0, 0.0), pytest.approx(math.pi / 2))
    assert path(7.5) == ((10.0, 5.0, 0.0), pytest.approx(math.pi / 2))
    assert path(10.0 + math.hypot(10.0, 10.0) / 4)[0] == pytest.approx((5.0, 5.0, 0.0))


def test_objects_stand_on_the_ground() -> None:
    slope = {"kind": "slope", "east": 0.1}
    (placed,) = of_scenario(scenario(WALL | {"at_m": [20.0, 5.0, 1.0]}, terrain=slope))
    assert placed.pose(0.0)[0][2] == pytest.approx(20.0 * 0.1 + 1.0)
    (moved,) = of_scenario(scenario(WALL, objects_origin_m=[-3.0, 4.0]))
    assert moved.pose(0.0)[0] == (7.0, 4.0, 0.0)


def test_free_flight_among_a_hundred_trees_searches_rarely() -> None:
    """The broad phase: a flight at 5 m/s past 100 trees compares them with the aircraft in few of its steps."""
    trees = [
        {"name": f"tree {i}", "kind": "tree", "at_m": [10.0 * (i % 10) - 45.0, 10.0 * (i // 10) - 45.0, 0.0]}
        for i in range(100)
    ]
    obstacles = Obstacles(of_scenario(scenario(*trees)), box())
    steps = 4000
    for step in range(steps):
        t_s = 0.004 * step
        assert not obstacles.touches(round(t_s * NS), (5.0 * t_s - 40.0, 0.0, 5.0), LEVEL)
    assert 0 < obstacles.searches < 0.02 * steps


def test_a_moving_object_reaches_an_aircraft_that_stands() -> None:
    car = {
        "name": "car",
        "kind": "car",
        "at_m": [-20.0, 0.0, 0.0],
        "motion": {"kind": "line", "to_m": [20.0, 0.0, 0.0]},
    }
    obstacles = Obstacles(of_scenario(scenario(car | {"motion": car["motion"] | {"speed_m_s": 10.0}})), box())  # type: ignore[operator]
    touched = [t_s for t_s in np.arange(0.0, 4.0, 0.01) if obstacles.touches(round(t_s * NS), (0.0, 0.0, 0.5), LEVEL)]
    assert touched[0] == pytest.approx((20.0 - 2.2 - 0.25) / 10.0, abs=0.02), "its front at the box's side"
    (touch, *_) = obstacles.touches(round(touched[0] * NS), (0.0, 0.0, 0.5), LEVEL)
    assert touch.number == 0 and touch.vel_W == pytest.approx([10.0, 0.0, 0.0]) and touch.contact.normal_W[0] > 0.9


def test_a_beam_sees_what_stands_and_what_moves() -> None:
    (placed,) = of_scenario(scenario(WALL | {"motion": {"kind": "line", "to_m": [10.0, 8.0, 0.0], "speed_m_s": 1.0}}))
    obstacles = Obstacles([placed], box())
    assert obstacles.beam_m(0, (10.0, 0.0, 10.0), (0.0, 0.0, -1.0), 20.0) == pytest.approx(7.5)
    assert obstacles.beam_m(8 * NS, (10.0, 4.0, 10.0), (0.0, 0.0, -1.0), 20.0) == pytest.approx(7.5), (
        "10 m long, along y"
    )
    assert obstacles.beam_m(8 * NS, (10.0, 0.0, 10.0), (0.0, 0.0, -1.0), 20.0) == math.inf, "it has moved on"


def test_an_impact_keeps_momentum_and_takes_energy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        inertia = np.diag([0.01, 0.02, 0.03])
        one = Struck(np.zeros(3), rng.normal(size=3), rng.normal(size=3), 1.5, inertia)
        other = Struck(np.array([0.5, 0.0, 0.0]), rng.normal(size=3), rng.normal(size=3), 0.7, inertia)
        bodies = (one, other)
        contact = Contact(np.array([0.25, 0.02, 0.03]), np.array([1.0, 0.0, 0.0]), 0.01)

        def momentum() -> np.ndarray:
            return sum((b.mass_kg * b.vel_W for b in bodies), np.zeros(3))  # noqa: B023

        def energy() -> float:
            return sum(0.5 * b.mass_kg * b.vel_W @ b.vel_W + 0.5 * b.rate_W @ inertia @ b.rate_W for b in bodies)  # noqa: B023

        before, spent = momentum(), energy()
        separate([contact], one, other)
        assert momentum() == pytest.approx(before) and energy() <= spent + 1e-12
        assert closing_m_s([contact], one, other) <= 1e-9
        assert other.pos_W[0] - one.pos_W[0] == pytest.approx(0.51)


def _stl(path: Path, scale: float) -> Path:
    """A tetrahedron as a binary STL file."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float) * scale
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces)
    path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + rows)
    return path


def test_a_mesh_is_read_and_scaled(tmp_path: Path) -> None:
    rock = WALL | {"name": "rock", "kind": "mesh", "file": "rock.stl"}
    _stl(tmp_path / "rock.stl", 2.0)
    file = tmp_path / "x.toml"
    file.write_text(
        'name = "x"\nsummary = ""\n[vehicle]\nkind = "quadrotor"\n'
        '[[world.objects]]\nname = "rock"\nkind = "mesh"\nfile = "rock.stl"\nat_m = [10.0, 0.0, 0.0]\n'
    )
    (placed,) = of_scenario(load(file))
    points = np.array(placed.parts[0].vertices_m).reshape(-1, 3)
    assert np.ptp(points, axis=0) == pytest.approx([2.0, 2.0, 2.0]) and points[:, 2].min() == pytest.approx(0.0)
    sized = scenario(rock | {"file": str(tmp_path / "rock.stl"), "size_m": [4.0, 2.0, 1.0]})
    points = np.array(of_scenario(sized)[0].parts[0].vertices_m).reshape(-1, 3)
    assert np.ptp(points, axis=0) == pytest.approx([4.0, 2.0, 1.0])
    obstacles = Obstacles(of_scenario(load(file)), box())
    assert obstacles.touches(0, (9.3, -0.7, 0.4), quat_from_euler(0.0, 0.0, 0.3))
    assert not obstacles.touches(0, (9.3, -0.7, 3.0), LEVEL)


@given(content=st.binary(max_size=400))
@settings(max_examples=40, deadline=None)
def test_any_mesh_file_is_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    for ending in (".stl", ".obj"):
        path = tmp_path_factory.mktemp("mesh") / f"a{ending}"
        path.write_bytes(content)
        try:
            of_scenario(scenario(WALL | {"kind": "mesh", "file": str(path)}))
        except ConfigError as error:
            assert f"world.objects[0].file: {path}" in str(error) and "\n" not in str(error)


def test_a_mesh_that_is_missing_or_in_millimetres_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"world.objects\[0\].file: .*none.stl: cannot be read: No such file"):
        of_scenario(scenario(WALL | {"kind": "mesh", "file": str(tmp_path / "none.stl")}))
    path = _stl(tmp_path / "mm.stl", 5000.0)
    with pytest.raises(ConfigError, match=r"size_m: .*mm.stl is 5000 m large, expected 1000 at most; its numbers"):
        of_scenario(scenario(WALL | {"kind": "mesh", "file": str(path)}))
