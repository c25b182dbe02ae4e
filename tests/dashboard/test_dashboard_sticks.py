"""Sticks in a browser: what a page says is checked, what it stops saying counts as let go."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiltrotor_scenarios import tiltrotor

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.dashboard.stick_driver import OWNER, AutopilotDriver
from aeroloop.dashboard.sticks import (
    CENTRED,
    GONE_S,
    RANGES,
    STALE_S,
    HandAxes,
    Hands,
    Shaper,
    hand,
    mapping,
)
from aeroloop.families.tiltrotor import page_sticks
from aeroloop.families.tiltrotor.page_sticks import ReferenceDriver, reference_source
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.ground.config import GroundStationSettings
from aeroloop.ground.lock import claim
from aeroloop.ground.stick import Deflection, deflection_of
from aeroloop.ground.trajectories import REST, Point

HERE = Point((1.0, 2.0, 3.0), 0.0, REST, 0.0)
JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hands(clock: Clock) -> Hands:
    held = Hands(clock)
    held.take("page")
    return held


@settings(max_examples=30)
@given(JUNK)
def test_nothing_a_browser_sends_gets_past_the_checks(told: Any) -> None:
    heard = hand(told)

    if heard is not None:
        assert all(-1.0 <= axis <= 1.0 for axis in heard.axes)
        assert len(heard.axes) == 4 and len(heard.device) <= 60


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        ["pad", 0, 0, 0],
        ["pad", 0, 0, 0, 1.01],
        ["pad", 0, 0, 0, math.nan],
        ["pad", 0, 0, 0, "1"],
        ["pad", 0, 0, 0, True],
        ["pad", 0, 0, 0, 10**400],
        {"device": "pad"},
    ],
)
def test_a_bad_word_is_counted_and_moves_nothing(told: object, hands: Hands) -> None:
    hands.update("page", ["pad", 0.1, 0.2, 0.3, 0.4])
    hands.update("page", told)

    assert hands.refused == 1
    assert hands.axes == (0.1, 0.2, 0.3, 0.4)


def test_the_name_of_a_device_is_cut_and_cleaned(hands: Hands) -> None:
    hands.update("page", ["p\x00a\nd" + "x" * 500, 0, 0, 0, 0])

    assert hands.device == "padx" + "x" * 56


def test_only_the_page_that_has_the_sticks_moves_them(hands: Hands) -> None:
    hands.update("other", ["pad", 1, 1, 1, 1])

    assert hands.axes == CENTRED
    with pytest.raises(ConfigError, match="another page has the sticks"):
        hands.take("other")


def test_a_page_that_falls_silent_has_let_go_and_then_left(hands: Hands, clock: Clock) -> None:
    hands.update("page", ["pad", 1, 0, 0, 0])
    clock.now_s += STALE_S - 0.01
    assert hands.axes == (1, 0, 0, 0)

    clock.now_s += 0.02
    assert hands.axes == CENTRED and not hands.gone

    clock.now_s += GONE_S
    assert hands.gone
    hands.take("other")
    assert hands.holder == "other"


def test_releasing_frees_the_sticks(hands: Hands) -> None:
    hands.release("other")
    assert hands.holder == "page"
    hands.release("page")
    hands.take("other")


def test_axes_speak_only_when_they_move(hands: Hands) -> None:
    axes = HandAxes(hands)
    hands.update("page", ["pad", 0.5, 0, 0, -1])

    assert [(event.axis, event.value) for event in axes.poll(1.0)] == [("ABS_X", 500), ("ABS_RY", -1000)]
    assert axes.poll(2.0) == []


@pytest.mark.parametrize(
    ("axes", "asked"),
    [
        ((0, -1, 0, 0), Deflection(up=1.0)),
        ((-1, 0, 0, 0), Deflection(yaw=1.0)),
        ((0, 0, 0, -1), Deflection(forward=1.0)),
        ((0, 0, -1, 0), Deflection(left=1.0)),
        ((0.05, -0.05, 0.05, -0.05), Deflection()),
    ],
)
def test_mode_2_with_a_dead_zone(axes: tuple[float, ...], asked: Deflection, hands: Hands) -> None:
    hands.update("page", ["pad", *axes])

    assert Shaper(hands).deflection() == pytest.approx(asked)


@settings(max_examples=30)
@given(st.floats(-1.0, 1.0))
def test_shaping_is_that_of_every_other_stick(axis: float) -> None:
    hands = Hands()
    hands.take("page")
    hands.update("page", ["pad", 0, 0, 0, axis])
    channel = mapping().forward

    expected = deflection_of(round(1000 * axis), RANGES[channel.axis], channel)
    assert Shaper(hands).deflection().forward == expected


def test_a_map_of_a_scenario_keeps_its_scales_on_the_axes_of_browsers(tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    channel = 'axis = "ABS_{}"\nscale = {}\n'
    names = ("forward", "left", "up", "yaw")
    text = "".join(f"[{name}]\n" + channel.format(name.upper(), 3 + i) for i, name in enumerate(names))
    file.write_text(text + "[limits]\nceiling_m = 9.0\n")

    own = mapping(str(file))

    assert [channel.scale for channel in own.channels().values()] == [3, 4, 5, 6]
    assert own.limits.ceiling_m == 9.0
    assert {channel.axis for channel in own.channels().values()} == set(RANGES)


def _orders(folder: Path, **scenario: Any) -> LaunchSettings:
    flown = tiltrotor(name="test", ground=GroundStationSettings(source="external"), **{"pace": "real", **scenario})
    link = f"loopback://{folder}/ref.sock"
    return LaunchSettings(
        scenario=flown, folder=str(folder), log="", supervisor_pid=1, core_draw=0, reference_client=link
    )


def test_references_start_where_the_aircraft_is_and_stay_while_the_stick_is_centred(
    hands: Hands, tmp_path: Path
) -> None:
    source = reference_source(hands, _orders(tmp_path), HERE)

    first, later = source(50 * NS), source(51 * NS)

    assert first.pos_W == later.pos_W == HERE.pos_W
    assert later.vel_W == REST


def test_a_stick_forward_moves_the_reference_at_the_scale_of_the_map(hands: Hands, tmp_path: Path) -> None:
    source = reference_source(hands, _orders(tmp_path), HERE)
    source(10 * NS)
    hands.update("page", ["pad", 0, 0, 0, -1])

    flown = source(12 * NS)

    assert flown.pos_W == pytest.approx((1.0 + 2 * mapping().forward.scale, 2.0, 3.0))
    assert flown.vel_W == pytest.approx((mapping().forward.scale, 0.0, 0.0))


def test_a_flight_in_lockstep_is_not_driven(hands: Hands, tmp_path: Path) -> None:
    orders = _orders(tmp_path)
    lockstep = tiltrotor(name="test")
    with pytest.raises(ConfigError, match="lockstep"):
        ReferenceDriver(LaunchSettings(**{**_fields(orders), "scenario": lockstep}), hands, HERE)


def _fields(orders: LaunchSettings) -> dict[str, Any]:
    return {name: getattr(orders, name) for name in orders.__struct_fields__}


def test_a_link_that_another_program_drives_is_refused_with_its_name(
    hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    orders = _orders(tmp_path)
    with claim(orders.reference_client, "joystick"), pytest.raises(ConfigError, match="already used by joystick"):
        ReferenceDriver(orders, hands, HERE)


def test_the_link_is_free_again_when_a_driver_has_ended(
    hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(page_sticks, "JOIN_S", 0.01)
    orders = _orders(tmp_path)
    driver = ReferenceDriver(orders, hands, HERE)  # nobody listens at the other end, so it cannot drive
    driver.start()
    driver._thread.join(10)

    assert driver.failed and driver.ended
    with claim(orders.reference_client, OWNER):
        pass


class Flown:
    """What an autopilot heard."""

    def __init__(self, wanted: int) -> None:
        self.heard: list[Deflection] = []
        self.enough = threading.Event()
        self._wanted = wanted

    def __call__(self, deflection: Deflection) -> None:
        self.heard.append(deflection)
        if len(self.heard) >= self._wanted:
            self.enough.set()


def test_an_autopilot_hears_the_sticks_again_and_again_until_they_are_released(hands: Hands) -> None:
    flown = Flown(3)
    hands.update("page", ["pad", 0, 0, 0, -1])
    driver = AutopilotDriver(flown, hands, lambda: False)
    driver.start()
    assert flown.enough.wait(20)
    driver.stop()

    assert set(flown.heard) == {Deflection(forward=1.0)}
    assert not driver.running and not driver.failed
    assert driver.ended == "released"


def test_a_page_that_stalls_is_a_centred_stick_and_one_that_is_gone_is_silence(hands: Hands, clock: Clock) -> None:
    hands.update("page", ["pad", 0, 0, 0, -1])
    clock.now_s += STALE_S + 0.1
    flown = Flown(2)
    driver = AutopilotDriver(flown, hands, lambda: False)
    driver.start()
    assert flown.enough.wait(20)
    clock.now_s += GONE_S
    driver._thread.join(20)

    assert set(flown.heard) == {Deflection()}
    assert not driver.running
    assert driver.failed and "closed" in driver.ended


def test_sticks_end_with_the_flight(hands: Hands) -> None:
    driver = AutopilotDriver(Flown(1), hands, lambda: True)
    driver.start()
    driver._thread.join(20)

    assert (driver.failed, driver.ended) == (False, "the flight has ended")
