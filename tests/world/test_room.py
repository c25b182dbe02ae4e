"""The room as the world of a flight: its keys, what an aircraft touches, and where its surfaces are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Air
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.scenario import Outdoors
from aeroloop.world.room import room
from aeroloop.world.room_layout import BLOCK_M, RoomConfig
from aeroloop.world.terrain import Flat

STEP_NS = 4_000_000


@given(st.integers(0, 1000), st.tuples(st.floats(-3.2, 3.2), st.floats(-2.4, 2.4)))
def test_a_moved_room_is_the_same_room(seed: int, centre_m: tuple[float, float]) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform((-5, -4, 0), (5, 4, 3), (50, 3))
    middle = RoomConfig(seed=seed, centre_m=(0.0, 0.0)).layout
    moved = RoomConfig(seed=seed, centre_m=centre_m).layout
    assert np.allclose(moved.distance_m(points + np.array([*centre_m, 0.0])), middle.distance_m(points))


def test_textures_are_drawn_where_the_layout_says() -> None:
    config = RoomConfig(seed=4)
    drawn = room(config.seed, config.size_m, config.centre_m, texture_px=16)
    assert drawn.layout == config.layout
    assert drawn.layout != RoomConfig(seed=5).layout
    assert len(drawn.assets) == drawn.xml.count("<texture ")


def test_home_is_on_the_ellipse_and_free() -> None:
    assert RoomConfig().is_free(0.0, 0.0)
    middle = RoomConfig(centre_m=(0.0, 0.0))
    assert not middle.is_free(0.0, 0.0)  # in the block
    assert not middle.is_free(BLOCK_M[0] / 2 + 0.4, 0.0)
    assert not middle.is_free(7.0, 0.0)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"room": {"centre_m": [0.0, 0.0]}}, "room.centre_m: home is outside the room, or nearer than 0.5 m"),
        ({"room": {"centre_m": [9.0, 0.0]}}, "room.centre_m: home is outside the room, or nearer than 0.5 m"),
        ({"room": {"size_m": [4.0, 8.0, 3.0]}}, "size_m: expected length and width of 6 to 60 m"),
        ({"room": {}, "terrain": {"kind": "slope", "east": 0.1}}, "room: its floor is level"),
        ({"room": {"wallpaper": 1}}, "wallpaper"),
    ],
)
def test_a_bad_room_is_one_sentence(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        convert(table, Outdoors, "test.toml")
    assert words in str(error.value)


def thrown(config: RoomConfig | None, vel_W: Vec3, seconds: float) -> Vec3:
    """Where the iris is after a throw from 1.2 m above home, without thrust and gravity."""
    iris = airframes.load("iris")
    body = airframes.world(iris, 0.004, terrain=Flat(), room=None if config is None else config.layout)
    body.reset((0.0, 0.0, 1.2), (1.0, 0.0, 0.0, 0.0), vel_W=vel_W)
    stopped = RotorEffort((0.0,) * iris.rotors.count, (0.0,) * iris.rotors.count, False, False)
    for _ in range(round(seconds * 1e9 / STEP_NS)):
        body.step(stopped, Air((0.0, 0.0, 0.0), 101325.0, 288.15, 1.225), 0.0, STEP_NS)
    return body.state(0).pos_W


@pytest.mark.parametrize("vel_W", [(6.0, 0.0, 0.0), (-6.0, 0.0, 0.0), (0.0, 6.0, 0.0), (0.0, -6.0, 0.0)])
def test_an_aircraft_stops_at_walls_and_block(vel_W: Vec3) -> None:
    """South is a wall 1.6 m away, north the block 1.6 m away, east and west walls at 5 m."""
    limits_m = {6.0: 5.0, -6.0: 5.0} if vel_W[0] else {6.0: 1.6, -6.0: 1.6}
    axis = 0 if vel_W[0] else 1
    open_air, in_room = thrown(None, vel_W, 1.1), thrown(RoomConfig(seed=1), vel_W, 1.1)
    assert abs(open_air[axis]) > 5.3
    assert abs(in_room[axis]) < limits_m[vel_W[axis]]
    assert RoomConfig(seed=1).layout.obstacle_m(np.array([in_room]))[0] > 0.02
