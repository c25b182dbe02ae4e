"""Missions of the virtual Pixhawk: what is accepted, and how each item is flown."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixhawk_follower import NAN, ORIGIN, Follower, item

from aeroloop.controllers.pixhawk.limits import MAX_ITEMS
from aeroloop.controllers.pixhawk.mission import SKIPPED, check
from aeroloop.controllers.pixhawk.types import FlightMode, Landed, MissionItem

OPEN = (NAN, NAN, NAN, NAN)


def start(*items: MissionItem, sim: Follower | None = None) -> Follower:
    """Armed, in mission mode, still on the ground."""
    sim = sim or Follower()
    assert sim.logic.set_mission(items) is None
    sim.fly(0.1)
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    assert sim.logic.arm() is None
    return sim


def finish(sim: Follower, seconds: float = 120.0) -> float:
    return sim.until(lambda: sim.logic.status.mission_finished, seconds)


def current_is(sim: Follower, number: int) -> None:
    sim.until(lambda: sim.logic.status.mission_current == number, 60.0)


def test_a_whole_mission_is_flown_item_by_item_and_lands() -> None:
    away = [item(16, 30.0, 0.0), item(16, 30.0, 30.0, 15.0), item(19, 0.0, 30.0, 12.0, (2.0, 0.0, 0.0, NAN))]
    sim = start(item(22), *away, item(21, 0.0, 10.0, 0.0))
    reached = []
    corners = []
    while sim.logic.status.armed and sim.t_ns < 200e9:
        sim.step()
        if sim.logic.status.mission_reached not in (-1, *reached):
            reached.append(sim.logic.status.mission_reached)
            corners.append(sim.pos)
    assert reached == [0, 1, 2, 3, 4]
    assert sim.logic.status.mission_finished
    assert math.dist(corners[1], (30.0, 0.0, 10.0)) < 2.0
    assert math.dist(corners[2], (30.0, 30.0, 15.0)) < 2.0
    assert math.dist(corners[3], (0.0, 30.0, 12.0)) < 0.3
    assert math.dist(sim.pos, (0.0, 10.0, 0.0)) < 0.7
    assert not sim.logic.status.armed


def test_the_path_is_smooth_near_its_legs_and_the_aircraft_near_the_path() -> None:
    sim = start(item(22), item(16, 40.0, 0.0), item(16, 40.0, 40.0), item(16, 0.0, 40.0))
    current_is(sim, 1)
    last, worst, apart = sim.setpoint, 0.0, 0.0
    while not sim.logic.status.mission_finished:
        now = sim.step()
        assert now is not None and last is not None
        assert math.dist(now.vel_W, last.vel_W) <= 2.0 * sim.dt_s * 1.01
        x, y, _ = now.pos_W
        legs = [math.hypot(max(0.0, -x, x - 40.0), y), math.hypot(x - 40.0, max(0.0, -y, y - 40.0))]
        legs.append(math.hypot(max(0.0, -x, x - 40.0), y - 40.0))
        worst, apart, last = max(worst, min(legs)), max(apart, math.dist(now.pos_W, sim.pos)), now
    assert worst < 1.0
    assert apart < 0.2


def test_a_straight_waypoint_is_passed_at_speed_and_one_with_a_hold_is_not() -> None:
    slowest = {}
    for hold in (0.0, 1.5):
        sim = start(item(22), item(16, 0.0, 40.0, params=(hold, 0.0, 0.0, NAN)), item(16, 0.0, 80.0))
        current_is(sim, 1)
        sim.until(lambda sim=sim: sim.pos[1] > 30.0, 20.0)  # type: ignore[misc]
        speeds = []
        while sim.pos[1] < 50.0:
            sim.step()
            speeds.append(sim.vel[1])
        slowest[hold] = min(speeds)
    assert slowest[0.0] > 4.9
    assert slowest[1.5] < 0.2


def test_the_hold_lasts_as_long_as_it_says() -> None:
    times = []
    for hold in (0.0, 4.0):
        sim = start(item(22), item(16, 0.0, 20.0, params=(hold, 0.0, 0.0, NAN)))
        times.append(finish(sim))
    assert times[1] - times[0] == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize(("heading", "yaw"), [(0.0, math.pi / 2), (90.0, 0.0), (180.0, -math.pi / 2), (NAN, math.pi)])
def test_the_nose_points_where_the_item_says_or_along_the_leg(heading: float, yaw: float) -> None:
    sim = start(item(22), item(16, -30.0, 0.0, params=(3.0, 0.0, 0.0, heading)))
    finish(sim)
    assert math.remainder(sim.yaw - yaw, math.tau) == pytest.approx(0.0, abs=0.03)


def test_heights_count_from_home_or_from_the_sea() -> None:
    for frame, height in [(3, 9.0), (6, 9.0), (0, 497.0), (5, 497.0)]:
        sim = start(item(22, height_m=height, frame=frame), item(16, 5.0, 0.0, height, frame=frame))
        finish(sim)
        assert sim.fly(4.0).height == pytest.approx(9.0, abs=0.1)


def test_a_mission_without_a_take_off_climbs_first() -> None:
    sim = start(item(16, 20.0, 0.0, 8.0))
    sim.until(lambda: sim.height > 1.9, 10.0)
    assert math.hypot(*sim.pos[:2]) < 0.1
    finish(sim)


def test_a_take_off_item_in_the_air_does_not_come_down() -> None:
    sim = Follower().airborne(20.0)
    sim.logic.set_mission((item(22, height_m=5.0), item(16, 20.0, 0.0, 20.0)))
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    current_is(sim, 1)
    assert sim.height > 19.0


def test_speed_changes_and_is_forgotten_by_the_next_mission() -> None:
    slow = item(178, params=(1.0, 2.0, -1.0, 0.0), frame=2)
    sim = start(item(22), slow, item(16, 0.0, 20.0), item(178, params=(1.0, -2.0, 0.0, 0.0)), item(16, 0.0, 80.0))
    current_is(sim, 2)
    sim.fly(4.0)
    assert sim.vel[1] == pytest.approx(2.0, rel=0.02)
    current_is(sim, 4)
    assert sim.fly(4.0).vel[1] == pytest.approx(5.0, rel=0.02)
    sim.logic.set_current(1)
    sim.fly(3.0)
    assert sim.logic._mission.speed_m_s == 2.0
    sim.logic.set_mission((item(16, 0.0, 0.0),))
    assert sim.logic._mission.speed_m_s is None


def test_jumps_are_repeated_as_often_as_they_say() -> None:
    sim = start(item(22), item(16, 5.0, 0.0), item(16, 0.0, 5.0), item(177, params=(1.0, 2.0, 0.0, 0.0), frame=2))
    visits, last = 0, -1
    while not sim.logic.status.mission_finished:
        sim.step()
        now = sim.logic.status.mission_current
        visits += now == 1 and last != 1
        last = now
    assert visits == 3


def test_jumps_without_anything_between_them_come_to_an_end() -> None:
    circle = [item(177, params=(1.0, -1.0, 0.0, 0.0)), item(177, params=(0.0, 1000.0, 0.0, 0.0))]
    sim = Follower().airborne()
    assert sim.logic.set_mission(tuple(circle)) is None
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    sim.fly(0.1)
    assert sim.logic.status.mission_finished
    assert sim.mode is FlightMode.HOLD
    assert min(sim.logic._mission._jumps_left.values()) > 990  # given up, not worked off within one step


def test_delay_waits_and_what_is_for_a_camera_is_skipped() -> None:
    camera = [item(command, frame=2, params=OPEN) for command in sorted(SKIPPED)]
    plain = finish(start(item(22), item(16, 10.0, 0.0)))
    sim = start(item(22), item(16, 10.0, 0.0), *camera, item(93, params=(3.0, -1.0, -1.0, -1.0)))
    assert finish(sim) - plain == pytest.approx(3.0, abs=0.2)
    assert sim.logic.status.mission_reached == 2 + len(camera)


def test_return_to_launch_ends_the_mission_at_home() -> None:
    sim = start(item(22), item(16, 20.0, 0.0), item(20, params=OPEN))
    finish(sim)
    assert sim.mode is FlightMode.RETURN
    assert sim.logic.status.mission_reached == 2
    sim.until(lambda: not sim.logic.status.armed, 120.0)
    assert math.hypot(*sim.pos[:2]) < 0.7


def test_a_loiter_without_end_stays() -> None:
    sim = start(item(22), item(17, 10.0, 0.0), item(16, 30.0, 0.0))
    sim.fly(60.0)
    assert sim.logic.status.mission_current == 1
    assert math.dist(sim.pos, (10.0, 0.0, 10.0)) < 0.1


def test_a_finished_mission_holds_and_begins_anew_when_asked() -> None:
    sim = start(item(22), item(16, 10.0, 0.0))
    finish(sim)
    sim.fly(3.0)
    assert sim.mode is FlightMode.HOLD
    assert "Mission finished: holding" in sim.texts
    assert math.dist(sim.pos, (10.0, 0.0, 10.0)) < 0.5
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    assert (sim.logic.status.mission_current, sim.logic.status.mission_finished) == (0, False)
    finish(sim)


def test_a_pause_keeps_the_place() -> None:
    sim = start(item(22), item(16, 40.0, 0.0), item(16, 40.0, 40.0))
    current_is(sim, 2)
    sim.fly(3.0)
    assert sim.logic.set_mode(FlightMode.HOLD) is None
    sim.fly(5.0)
    there = sim.pos
    sim.fly(5.0)
    assert math.dist(sim.pos, there) < 0.05
    assert sim.logic.status.mission_current == 2
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    finish(sim)
    assert math.dist(sim.pos, (40.0, 40.0, 10.0)) < 2.0


def test_an_item_that_does_not_continue_waits_for_the_pilot() -> None:
    sim = start(item(22), replace(item(16, 10.0, 0.0), autocontinue=False), item(16, 20.0, 0.0))
    sim.until(lambda: sim.mode is FlightMode.HOLD, 30.0)
    assert sim.logic.status.mission_current == 2
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    finish(sim)


def test_set_current_goes_on_from_there() -> None:
    sim = start(item(22), item(16, 40.0, 0.0), item(16, 0.0, 40.0))
    current_is(sim, 1)
    assert sim.logic.set_current(2) is None
    finish(sim)
    assert math.dist(sim.pos, (0.0, 40.0, 10.0)) < 2.0
    for number in (-1, 3, 10**9):
        assert sim.logic.set_current(number) is not None


def test_landing_in_the_middle_starts_again() -> None:
    sim = start(item(22), item(21), item(22), item(16, 10.0, 0.0))
    sim.until(lambda: sim.logic.status.landed is Landed.LANDING, 30.0)
    sim.until(lambda: sim.logic.status.mission_current == 2, 30.0)
    assert sim.height < 0.1
    finish(sim)
    assert sim.pos[0] > 8.0


BAD = [
    item(16, 0.0, 0.0, height_m=NAN),
    item(16, 0.0, 0.0, height_m=1e9),
    item(16, 0.0, 0.0, params=(-1.0, 0.0, 0.0, 0.0)),
    item(16, 0.0, 0.0, params=(math.inf, 0.0, 0.0, 0.0)),
    item(16, 0.0, 0.0, params=(0.0, math.inf, 0.0, 0.0)),
    item(16, 0.0, 0.0, params=(0.0, 0.0, 0.0, math.inf)),
    item(16, 0.0, 0.0, frame=1),
    item(22, frame=10),
    MissionItem(16, 6, OPEN, 91.0, 0.0, 10.0),
    MissionItem(16, 6, OPEN, 0.0, math.inf, 10.0),
    item(177, params=(7.0, 1.0, 0.0, 0.0)),
    item(177, params=(0.0, 1.0, 0.0, 0.0)),  # to itself
    item(177, params=(NAN, 1.0, 0.0, 0.0)),
    item(177, params=(1.0, 1e9, 0.0, 0.0)),
    item(178, params=(1.0, 0.0, 0.0, 0.0)),
    item(178, params=(1.0, NAN, 0.0, 0.0)),
    item(178, params=(1.0, 1e9, 0.0, 0.0)),
    item(93, params=(1e9, 0.0, 0.0, 0.0)),
    item(82),
    item(179),
    item(-5),
]


@pytest.mark.parametrize("bad", BAD, ids=[f"{n}-{i.command}" for n, i in enumerate(BAD)])
def test_bad_items_are_refused_and_the_old_mission_stays(bad: MissionItem) -> None:
    sim = Follower()
    good = (item(22), item(16, 1.0, 1.0))
    assert sim.logic.set_mission(good) is None
    refusal = sim.logic.set_mission((bad, item(16, 1.0, 1.0)))
    assert refusal is not None
    assert refusal.reason.startswith("Item 0: ")
    assert len(refusal.reason) <= 50
    assert refusal.supported == (bad.command not in (82, 179, -5))
    assert sim.logic.mission == good


def test_too_many_items_and_too_far_places_are_refused() -> None:
    assert check((item(22),) * (MAX_ITEMS + 1)) is not None
    sim = Follower().fly(0.1)
    for far in (1000.0, 50000.0):
        assert sim.logic.set_mission((item(22), item(16, far, 0.0))) is None
        refusal = sim.logic.set_mode(FlightMode.MISSION)
        assert refusal is not None and "from home" in refusal.reason
    sim.logic.parameters.set("MIS_DIST_1WP", 0.0)
    assert sim.logic.set_mode(FlightMode.MISSION) is not None


anything = st.floats(allow_nan=True, allow_infinity=True)
any_item = st.builds(
    MissionItem,
    st.sampled_from([16, 17, 19, 20, 21, 22, 93, 177, 178, 205, 530, 2000]),
    st.sampled_from([0, 2, 3, 5, 6]),
    st.tuples(anything, anything, anything, anything),
    st.one_of(anything, st.just(ORIGIN.lat_deg)),
    st.one_of(anything, st.just(ORIGIN.lon_deg)),
    st.one_of(anything, st.floats(1.0, 20.0)),
    st.booleans(),
)


@given(st.lists(any_item, max_size=6).map(tuple))
def test_whatever_is_uploaded_is_refused_or_flown_with_numbers(items: tuple[MissionItem, ...]) -> None:
    sim = Follower(dt_s=0.1)
    if sim.logic.set_mission(items) is not None:
        return
    sim.fly(0.2)
    if sim.logic.set_mode(FlightMode.MISSION) is None and sim.logic.arm() is None:
        for _ in range(60):
            setpoint = sim.step()
            assert setpoint is None or math.isfinite(sum(setpoint.row()))
