"""The stick: shaping, flying a reference with it, live devices, recordings, and the map file."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sticks import CODES, PLAIN, RANGES

from aeroloop.core.errors import ConfigError
from aeroloop.ground import axis_map
from aeroloop.ground.axes import AxisEvent, AxisRange
from aeroloop.ground.axis_map import AxisMap, Channel, Limits
from aeroloop.ground.stick import Deflection, Pilot, Stick, deflection_of, shaped

DOCS = Path(__file__).parents[2] / "docs" / "joystick.md"
dead_zones = st.floats(0.0, 0.9)
expos = st.floats(0.0, 1.0)
deflections = st.floats(-1.0, 1.0)


@settings(deadline=None)
@example(x=0.9999999999999999, dead_zone=0.3201711297766547, expo=0.0)  # the division rounds up to 1
@given(x=deflections, dead_zone=dead_zones, expo=expos)
def test_shaping_is_odd_and_bounded(x: float, dead_zone: float, expo: float) -> None:
    y = shaped(x, dead_zone=dead_zone, expo=expo)
    assert y == -shaped(-x, dead_zone=dead_zone, expo=expo)
    assert abs(y) <= abs(x) <= 1.0
    assert (y == 0.0) if abs(x) <= dead_zone else True


@settings(deadline=None)
@given(dead_zone=dead_zones, expo=expos)
def test_shaping_reaches_exactly_one_at_the_ends(dead_zone: float, expo: float) -> None:
    assert shaped(1.0, dead_zone=dead_zone, expo=expo) == 1.0
    assert shaped(-1.0, dead_zone=dead_zone, expo=expo) == -1.0


@settings(deadline=None)
@given(x=deflections, dx=st.floats(0.0, 0.01), dead_zone=dead_zones, expo=expos)
def test_shaping_is_monotonic_and_continuous(x: float, dx: float, dead_zone: float, expo: float) -> None:
    rise = shaped(min(1.0, x + dx), dead_zone=dead_zone, expo=expo) - shaped(x, dead_zone=dead_zone, expo=expo)
    # steepest at the ends: (1 + 2 expo) / (1 - dead zone)
    assert -1e-12 <= rise <= dx * 3.0 / (1.0 - dead_zone) + 1e-12


def test_expo_softens_the_middle_only() -> None:
    assert shaped(0.5, dead_zone=0.0, expo=0.0) == 0.5
    assert shaped(0.5, dead_zone=0.0, expo=1.0) == 0.125
    assert shaped(0.5, dead_zone=0.0, expo=0.5) == 0.3125
    assert shaped(0.6, dead_zone=0.2, expo=0.0) == pytest.approx(0.5)


@settings(deadline=None)
@given(value=st.integers(-(2**31), 2**31 - 1), low=st.integers(-1000, 0), width=st.integers(1, 70000))
def test_raw_values_use_the_whole_range_and_no_more(value: int, low: int, width: int) -> None:
    span = AxisRange(low, low + width)
    ahead = Channel(axis="ABS_X", scale=1.0, dead_zone=0.0)
    back = Channel(axis="ABS_X", scale=1.0, dead_zone=0.0, invert=True)
    assert deflection_of(span.low, span, ahead) == -1.0
    assert deflection_of(span.high, span, ahead) == 1.0
    y = deflection_of(value, span, ahead)
    assert -1.0 <= y <= 1.0
    assert deflection_of(value, span, back) == -y


def test_a_stick_is_centred_until_moved_and_ignores_other_axes() -> None:
    stick = Stick(PLAIN, {**RANGES, "ABS_X": AxisRange(0, 255), "ABS_Z": AxisRange(0, 255)}, "pad")
    assert stick.deflection == Deflection(0.0, 0.0, 0.0, 0.0)
    stick.feed([AxisEvent(0.0, "ABS_RY", 50), AxisEvent(0.0, "ABS_Z", 255), AxisEvent(0.0, "ABS_X", 0)])
    assert stick.deflection == Deflection(forward=0.5, yaw=-1.0)
    stick.feed([AxisEvent(0.1, "ABS_RY", 10), AxisEvent(0.1, "ABS_RY", -50)])
    assert stick.deflection == Deflection(forward=-0.5, yaw=-1.0)


def test_a_stick_without_a_mapped_axis_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"pad: has no axis ABS_RY, .* forward; it has: ABS_X, ABS_Y"):
        Stick(PLAIN, {"ABS_X": AxisRange(0, 1), "ABS_Y": AxisRange(0, 1)}, "pad")


def pilot_with(**deflection: float) -> tuple[Pilot, Stick]:
    stick = Stick(PLAIN, RANGES, "pad")
    stick.deflection = Deflection(**deflection)
    return Pilot(stick, PLAIN, pos_W=(1.0, 2.0, 3.0), yaw_rad=0.0), stick


def test_a_pilot_starts_where_it_is_told_and_holds_when_released() -> None:
    pilot, stick = pilot_with()
    assert pilot.step(0.02).pos_W == (1.0, 2.0, 3.0)
    stick.feed([AxisEvent(0.0, "ABS_RY", 100), AxisEvent(0.0, "ABS_RX", -50), AxisEvent(0.0, "ABS_Y", 50)])
    for _ in range(50):
        moving = pilot.step(0.02)
    assert moving.pos_W == pytest.approx((3.0, 1.0, 3.5))
    assert moving.vel_W == (2.0, -1.0, 0.5)
    stick.feed([AxisEvent(1.0, axis, 0) for axis in CODES])
    for _ in range(50):
        held = pilot.step(0.02)
    assert held.pos_W == moving.pos_W
    assert (held.vel_W, held.yaw_rate_rad_s) == ((0.0, 0.0, 0.0), 0.0)


def test_forward_follows_the_heading_and_a_turn_closes() -> None:
    pilot, _ = pilot_with(forward=1.0, yaw=1.0)
    turn_s = math.tau / 0.5
    quarter = [pilot.step(turn_s / 1000) for _ in range(250)][-1]
    assert quarter.pos_W == pytest.approx((1.0 + 4.0, 2.0 + 4.0, 3.0), abs=1e-3)  # radius 2 m/s : 0.5 rad/s
    assert quarter.vel_W == pytest.approx((0.0, 2.0, 0.0), abs=1e-9)
    assert quarter.yaw_rad == pytest.approx(math.pi / 2)
    headings = [pilot.step(turn_s / 1000) for _ in range(750)]
    assert headings[-1].pos_W == pytest.approx((1.0, 2.0, 3.0), abs=1e-9)
    assert all(abs(point.yaw_rad) <= math.pi for point in headings)


@settings(deadline=None)
@given(moves=st.lists(st.tuples(*[deflections] * 4), max_size=20), dt_s=st.floats(0.001, 0.1))
def test_feedforward_velocity_is_the_motion_of_the_reference(
    moves: list[tuple[float, float, float, float]], dt_s: float
) -> None:
    pilot, stick = pilot_with()
    last = pilot.step(0.0)
    for move in moves:
        stick.deflection = Deflection(*move)
        point = pilot.step(dt_s)
        assert 1.0 <= point.pos_W[2] <= 5.0
        for before, after, speed in zip(last.pos_W[:2], point.pos_W[:2], point.vel_W[:2], strict=True):
            # the heading turns by at most 0.5 rad/s * dt / 2 between the middle and the end of a step
            assert (after - before) / dt_s == pytest.approx(speed, abs=4.0 * 0.25 * dt_s + 1e-9)
        last = point


def test_floor_and_ceiling_stop_the_reference_and_its_velocity() -> None:
    pilot, stick = pilot_with(up=-1.0)
    for _ in range(30):
        low = pilot.step(0.1)
    assert (low.pos_W[2], low.vel_W[2]) == (1.0, 0.0)
    stick.deflection = Deflection(up=1.0)
    assert pilot.step(0.1).vel_W[2] == 1.0
    for _ in range(60):
        high = pilot.step(0.1)
    assert (high.pos_W[2], high.vel_W[2]) == (5.0, 0.0)


def test_a_start_below_the_floor_does_not_jump() -> None:
    stick = Stick(PLAIN, RANGES, "pad")
    pilot = Pilot(stick, PLAIN, pos_W=(0.0, 0.0, 0.2))
    assert pilot.step(0.1).pos_W[2] == 0.2
    stick.deflection = Deflection(up=-1.0)
    assert pilot.step(0.1).pos_W[2] == 0.2
    stick.deflection = Deflection(up=1.0)
    assert pilot.step(0.1).pos_W[2] == pytest.approx(0.3)


def test_the_shipped_map_is_mode_2() -> None:
    shipped = axis_map.load()
    stick = Stick(shipped, RANGES, "pad")
    ends = {"ABS_RY": "forward", "ABS_RX": "left", "ABS_Y": "up", "ABS_X": "yaw"}
    for axis, quantity in ends.items():  # pushed up or left, which gamepads report as the low end
        stick.feed([AxisEvent(0.0, axis, -100)])
        assert getattr(stick.deflection, quantity) == 1.0


def test_the_page_shows_the_shipped_map_and_every_key() -> None:
    page = DOCS.read_text()
    block = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert block
    assert msgspec.convert(tomllib.loads(block[1]), AxisMap) == axis_map.load()
    for table in (AxisMap, Channel, Limits):
        assert [key for key in table.__struct_fields__ if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "expo = 0.4",
            "exp0 = 0.4",
            "exp0: unknown key (did you mean 'expo'?), expected one of: axis, scale, invert, dead_zone, expo",
        ),
        ("dead_zone = 0.08", "dead_zone = 0.95", "dead_zone: expected `float` <= 0.9"),
        ("dead_zone = 0.08", "dead_zone = nan", "dead_zone: expected `float` >= 0.0"),
        ("scale = 1.5", "scale = 0", "scale: expected `float` > 0.0"),
        ("scale = 1.5", "scale = 'fast'", "scale: expected `float`, got `str`"),
        ('axis = "ABS_RX"', 'axis = "BTN_A"', "left.axis: expected `str` matching regex"),
        ('axis = "ABS_RX"', 'axis = "ABS_RY"', "left.axis: ABS_RY already commands forward"),
        ("floor_m = 0.3", "floor_m = 30", "expected floor_m below ceiling_m (30.0), not 30.0"),
        ("[yaw]", "[rudder]", "rudder: unknown key, expected one of: forward, left, up, yaw, limits"),
        ("[yaw]", "[yaw", "not valid TOML"),
    ],
)
def test_a_bad_map_names_file_and_key(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = axis_map.DEFAULT.read_text()
    assert old in text
    file = tmp_path / "map.toml"
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        axis_map.load(str(file))
    assert str(error.value).startswith(f"{file}: ")
    assert expected in str(error.value)


def test_a_map_may_leave_out_what_has_a_default(tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    file.write_text(
        "".join(
            f"[{q}]\naxis='ABS_{a}'\nscale=1\n" for q, a in zip(("forward", "left", "up", "yaw"), "XYZR", strict=True)
        )
    )
    assert axis_map.load(str(file)).limits == Limits()
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        axis_map.load(str(tmp_path / "none.toml"))
