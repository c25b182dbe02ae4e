"""Aircraft collide with objects and with one another: events by name, what follows, and nothing else changed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis.collisions import aircraft_names
from aeroloop.analysis.summary import summarise
from aeroloop.api.scenarios import ScenarioPlan
from aeroloop.campaign.definition import rates_of
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Fleet, Plan, parts_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.geodesy import moved
from aeroloop.core.shape import of_scenario as shape_of
from aeroloop.core.signals import Event
from aeroloop.core.streams import streams_of
from aeroloop.families.multirotor import build as multirotor
from aeroloop.flight.inline import InlineFlight, fly_inline
from aeroloop.recording.log import Log, log_sha256
from aeroloop.world.obstacles import Obstacles
from aeroloop.world.placed_objects import of_scenario as objects_of

OUTCOME = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
FLOWN = {
    "tiltrotor": "tiltrotor-spiral",
    "multirotor": "quad-law-hover",
    "fixedwing": "fixedwing-loiter",
    "helicopter": "heli-hover",
}
MEETS_S = 0.3
TILTROTOR_KG, HELICOPTER_KG = 2.087, 8.2


def opened(name: str, *settings: str) -> Plan:
    return load_plan(scenario_files.find(name), ("duration_s=0.6", "checks=[]", *settings))


def collisions(log: Log) -> list[tuple[float, float]]:
    rows = log.rows["event"][log.column("event", "code") == Event.COLLISION]
    return [(row[0], row[3]) for row in rows.tolist()]


def names(plan: Plan, flight: InlineFlight) -> list[str]:
    (log,) = flight.logs
    (scenario,) = parts_of(plan)
    events = summarise(scenario, log, outcome=OUTCOME | {"ended": flight.ended})["events"]
    return [event["value"] for event in events if event["event"] == "COLLISION"]


@pytest.mark.parametrize("family", FLOWN)
def test_every_family_is_hit_by_a_moving_object(family: str) -> None:
    """It comes where the aircraft is after 0.3 s; before, the flight is as without it, to the bit."""
    (plain,) = fly_inline(opened(FLOWN[family])).logs
    t_s, truth = (
        plain.column("truth", "t_s"),
        np.stack([plain.column("truth", axis) for axis in ("x_m", "y_m", "z_m")], 1),
    )
    x, y, z = truth[np.searchsorted(t_s, MEETS_S)].tolist()
    ground_m = float(plain.column("truth", "ground_m")[0]) if family == "fixedwing" else 0.0
    speed_m_s, away_m = 10.0, 10.0 * MEETS_S + 1.0  # of its middle
    begin, end = ([round(x + sign * away_m, 3), round(y, 3), round(z - ground_m - 1.0, 3)] for sign in (1, -1))
    motion = f'{{kind="line",to_m={end},speed_m_s={speed_m_s}}}'
    box = f'[{{name="the lorry",kind="box",at_m={begin},size_m=[2.0,2.0,2.0],motion={motion}}}]'
    plan = opened(FLOWN[family], f"world.objects={box}")
    flight = fly_inline(plan)
    (log,) = flight.logs
    assert names(plan, flight)[0] == "the lorry"
    ((at_s, number), *_) = collisions(log)
    assert number == 0.0 and 0.2 < at_s < MEETS_S + 0.05
    until = t_s < at_s - 1e-9
    flown = np.stack([log.column("truth", axis) for axis in ("x_m", "y_m", "z_m")], 1)[: until.sum()]
    assert flown.tobytes() == truth[until].tobytes()
    if family in ("fixedwing", "helicopter"):
        assert flight.ended == "crashed"
    else:
        assert flight.ended != "crashed" and log.column("truth", "t_s")[-1] > at_s + 0.02, "it flies on"
        assert log.column("truth", "vx_m_s")[-1] < -1.0, "it was pushed"


def test_a_collision_with_a_house_is_an_event_with_its_name() -> None:
    """The tilt-rotor flies into its wall at 1.6 m/s, bounces off, and its verdict is a failure."""
    (plain,) = fly_inline(opened("tiltrotor-spiral")).logs
    x, y, vx, vy = (float(plain.column("truth", name)[0]) for name in ("x_m", "y_m", "vx_m_s", "vy_m_s"))
    ahead_m = 4.0 + 1.0
    heading, speed = math.atan2(vy, vx), math.hypot(vx, vy)
    place = [x + ahead_m * vx / speed, y + ahead_m * vy / speed, 0.0]
    house = f'[{{name="green house",kind="house",at_m={place},yaw_rad={heading + math.pi / 2}}}]'
    plan = opened("tiltrotor-spiral", f"world.objects={house}")
    flight = fly_inline(plan)
    assert flight.ended == "completed" and names(plan, flight) == ["green house"]
    (log,) = flight.logs
    forward = [log.column("truth", axis)[-1] * part for axis, part in (("vx_m_s", vx), ("vy_m_s", vy))]
    assert sum(forward) < 0.0, "it flies away from the wall"
    (scenario,) = parts_of(plan)
    summary = summarise(scenario, log, outcome=OUTCOME)
    assert summary["metrics"]["collisions"] == 1.0 and not summary["ok"]
    assert [check["name"] for check in summary["checks"] if not check["ok"]] == ["collisions"]
    assert log_sha256(fly_inline(plan).logs[0]) == log_sha256(log)


def test_a_multirotor_in_free_air_is_pushed_in_its_compiled_step() -> None:
    """The same impact by the compiled step and by MuJoCo stage by stage, and the accelerometer measures it."""
    tower = 'world.objects=[{name="tower",kind="box",at_m=[3.0,0.0,0.0],size_m=[2.0,2.0,30.0]}]'
    (scenario,) = parts_of(opened("quad-hover", tower))
    met: list[list[tuple[float, ...]]] = []
    for compiled in (True, False):
        events: list[tuple[float, ...]] = []
        rows = Discarded(event=lambda *row, kept=events: kept.append(row))
        vehicle = multirotor.vehicle(scenario, 0, rows, compiled=compiled)  # type: ignore[arg-type]
        vehicle.add_obstacles(Obstacles(objects_of(scenario), shape_of(scenario)))
        motion: Any = vehicle._motion
        motion.reset((0.0, 0.1, 20.0, 1.0, 0.0, 0.0, 0.0, 5.0, *(0.0,) * 11), [600.0] * 4)
        vehicle.read_state()
        hardest = 0.0
        for _ in range(100):
            vehicle.advance(vehicle.t_ns + vehicle.step_ns, exact=False)
            hardest = min(hardest, vehicle.state.accel_W[0])
        assert motion._high is compiled
        assert [row[1:] for row in events] == [(Event.COLLISION, 0.0)]
        assert vehicle.state.vel_W[0] < 0.0 and hardest < -500.0
        met.append([events[0], vehicle.state.pos_W, vehicle.state.vel_W, vehicle.state.rate_B])
    for one, another in zip(*met, strict=True):
        assert one == pytest.approx(another, abs=1e-4)


class Discarded(dict[str, Any]):
    """Rows of all other streams."""

    def __missing__(self, stream: str) -> Any:
        return lambda *row: None


def test_aircraft_of_a_swarm_collide() -> None:
    """A cart pushes the first of two quadrotors into the second; the third stands too far away."""
    swarm = ("vehicle.count=3", "vehicle.spacing_m=0.9", "duration_s=0.7")
    cart = 'world.objects=[{name="cart",kind="box",at_m=[-2.0,0.0,0.0],size_m=[1.0,1.0,1.0],motion='
    plan = opened("quad-hover", *swarm, f'{cart}{{kind="line",to_m=[0.3,0.0,0.0],speed_m_s=6.0}}}}]')
    flight = fly_inline(plan)
    (log,) = flight.logs
    (scenario,) = parts_of(plan)
    events = summarise(scenario, log, outcome=OUTCOME)["events"]
    met = [(event["vehicle"], event["value"]) for event in events if event["event"] == "COLLISION"]
    assert met[0] == (0, "cart") and (0, "vehicle 1") in met and (1, "vehicle 0") in met
    x_m, vehicle = log.column("truth", "x_m"), log.column("truth", "vehicle")
    assert x_m[vehicle == 1][-1] > 0.95, "the first pushed the second"
    far = fly_inline(opened("quad-hover", *swarm, "vehicle.spacing_m=5.0")).logs[0]
    assert not collisions(far)


def beside(name: str, *settings: str, north_m: float = 0.0, east_m: float = 0.0) -> Plan:
    """A scenario whose home is this far from the default home."""
    lat_deg, lon_deg = moved(47.397742, 8.545594, 488.0, east_m, north_m)
    return opened(
        name,
        f"name={name}-{round(10 * (north_m + 7 * east_m)) % 99}",
        f"world.home={{lat_deg={lat_deg!r},lon_deg={lon_deg!r}}}",
        *settings,
    )


def test_aircraft_of_a_fleet_collide_and_nothing_else_changes() -> None:
    """A tilt-rotor at rest is in the way of one that moves."""
    mover = beside("tiltrotor-spiral")
    (plain,) = fly_inline(mover).logs
    x, y, z, vx, vy = (float(plain.column("truth", name)[0]) for name in ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s"))
    ahead_s = 0.8
    rests = ('world.start="rest"', f"world.start_pos_W=[{x},{y},{z}]")
    near = beside("tiltrotor-spiral", *rests, east_m=ahead_s * vx, north_m=ahead_s * vy)
    far = beside("tiltrotor-spiral", *rests, east_m=60.0, north_m=0.0)
    flight = fly_inline(mover, near)
    assert [len(collisions(log)) > 0 for log in flight.logs] == [True, True]
    assert collisions(flight.logs[0])[0][1] == -2.0 and collisions(flight.logs[1])[0][1] == -1.0
    at = round(collisions(flight.logs[0])[0][0] / 0.004)
    lost, got = (np.diff(log.column("truth", "vy_m_s")[at - 1 : at + 2]).sum() for log in flight.logs)
    assert lost < -0.03 and got == pytest.approx(-lost, abs=0.04), "the second has what the first has lost"
    apart = fly_inline(mover, far)
    assert log_sha256(apart.logs[0]) == log_sha256(plain), "as it is alone, while nothing touches"
    assert log_sha256(apart.logs[1]) == log_sha256(fly_inline(far).logs[0])


def test_aircraft_of_two_families_collide() -> None:
    """A tilt-rotor flies into a helicopter that hovers ahead of it."""
    mover = beside("tiltrotor-spiral")
    (plain,) = fly_inline(mover).logs
    x, y, z, vx, vy = (float(plain.column("truth", name)[0]) for name in ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s"))
    hovers = (f"reference.pos_W=[{x},{y},{z}]", "world.start_offset_m=[0.0,0.0,0.0]", "world.wind={}")
    heli = beside("heli-hover", *hovers, east_m=1.2 * vx, north_m=1.2 * vy)
    flight = fly_inline(mover, heli)
    (at_s, other), (also_s, one) = (collisions(log)[0] for log in flight.logs)
    assert also_s == pytest.approx(at_s, abs=0.01) and at_s > 0.2 and (other, one) == (-2.0, -1.0)
    before, after = (np.searchsorted(plain.column("truth", "t_s"), at_s + later_s) for later_s in (-0.004, 0.02))
    lost = np.diff(flight.logs[0].column("truth", "vy_m_s")[[before, after]])[0]
    t_s = flight.logs[1].column("truth", "t_s")
    got = np.diff(np.interp([at_s - 0.004, at_s + 0.02], t_s, flight.logs[1].column("truth", "vy_m_s")))[0]
    assert lost < -0.3
    assert HELICOPTER_KG * got == pytest.approx(-TILTROTOR_KG * lost, rel=0.1), "it has got the momentum"


def test_two_wings_that_collide_crash() -> None:
    """Neither flies on after a collision, so no motion changes; the wind brings one of them up behind the other."""
    calm = ("world.wind={}", "duration_s=0.5")
    ahead = opened("fixedwing-loiter", "name=ahead", *calm)
    behind = opened(
        "fixedwing-loiter",
        "name=behind",
        *calm,
        "world.wind.steady_W=[0.0,20.0,0.0]",
        "world.start_offset_W=[0.0,-6.0,0.0]",
    )
    flight = fly_inline(ahead, behind)
    assert flight.ended == "crashed: ahead"
    (at_s, other), (also_s, one) = (collisions(log)[0] for log in flight.logs)
    assert at_s == also_s > 0.1 and (other, one) == (-2.0, -1.0)
    assert [len(collisions(log)) for log in flight.logs] == [1, 1]
    for plan, log in zip((ahead, behind), flight.logs, strict=True):
        alone, truth = fly_inline(plan).logs[0].rows["truth"], log.rows["truth"]
        assert truth.tobytes() == alone[: len(truth)].tobytes()


def test_fleets_at_one_place_fly_in_worlds_of_their_own() -> None:
    """As before there were collisions: the same scenario twice, at the same place."""
    one, another = beside("tiltrotor-spiral"), beside("tiltrotor-spiral", "seed=2")
    flight = fly_inline(one, another)
    assert [collisions(log) for log in flight.logs] == [[], []]


def test_collisions_in_a_fleet_are_named_and_fail_it() -> None:
    wing: dict[str, Any] = {"name": "wing", "scenario": "fixedwing-loiter"}
    given = {"name": "both", "duration_s": 0.3, "aircraft": [{**wing, "name": "a"}, {**wing, "name": "b"}]}
    fleet = load_plan(Path("both.toml"), (), given)
    assert isinstance(fleet, Fleet)
    log = Log.empty(streams_of(fleet.parts[1]))
    log.rows["event"] = np.array([[0.1, 0.0, float(Event.COLLISION), -1.0]])
    summary = summarise(fleet.parts[1], log, outcome=OUTCOME, aircraft=aircraft_names(fleet))
    (event,) = summary["events"]
    assert event["value"] == "a"
    assert [check["ok"] for check in summary["checks"] if check["name"] == "collisions"] == [False]
    assert "b/collisions" in rates_of(ScenarioPlan(Path("both.toml"), table=given)), "a campaign counts it too"


def test_a_world_of_a_fleet_is_one_place() -> None:
    """Objects at the top of a fleet's file, and of `vehicle.count`, are about the home of the first."""
    wall = {"name": "wall", "kind": "wall", "at_m": [30.0, 5.0, 0.0]}
    entries = [{"scenario": "quad-hover", "name": "a"}, {"scenario": "quad-hover", "name": "b"}]
    lat_deg, lon_deg = moved(47.397742, 8.545594, 488.0, 12.0, -4.0)
    entries[1]["world"] = {"home": {"lat_deg": lat_deg, "lon_deg": lon_deg}}  # type: ignore[assignment]
    fleet = load_plan(Path("f.toml"), (), {"name": "f", "world": {"objects": [wall]}, "aircraft": entries})
    places = [objects_of(part)[0].pose(0.0)[0][:2] for part in parts_of(fleet)]
    assert places[0] == (30.0, 5.0) and places[1] == pytest.approx((18.0, 9.0), abs=1e-3)
    several = opened("quad-law-hover", "vehicle.count=2", "vehicle.spacing_m=7.0", 'world.scene="field"')
    near = [objects_of(part)[0].pose(0.0)[0][0] for part in parts_of(several)]
    assert near[0] - near[1] == pytest.approx(7.0, abs=1e-3)
    with pytest.raises(ConfigError, match=r"f.toml: world: expected a table with scene and objects alone"):
        load_plan(Path("f.toml"), (), {"name": "f", "world": {"step_s": 0.01}, "aircraft": entries})


def test_an_object_at_the_start_is_refused() -> None:
    house = 'world.objects=[{name="shed",kind="house",at_m=[1.0,0.0,0.0]}]'
    with pytest.raises(
        ConfigError, match=r"world.objects\[0\]: 'shed' is where the aircraft starts, 0 m east and 0 m nor"
    ):
        fly_inline(opened("quad-hover", house))


def test_a_range_finder_sees_a_roof_and_a_car() -> None:
    fitted = ('sensors.preset="px4"', 'sensors.fitted=["imu","magnetometer","barometer","gnss","rangefinder"]')
    above = ("reference.pos_W=[0.0,0.0,8.0]", "world.start_offset_m=[0.0,0.0,0.0]", "world.wind={}")

    def distances(*more: str) -> np.ndarray:
        return fly_inline(opened("heli-hover", *fitted, *above, *more)).logs[0].column("rangefinder", "distance_m")

    plain = distances()
    table = 'world.objects=[{name="table",kind="box",at_m=[0.0,0.0,0.0],size_m=[6.0,6.0,3.0]}]'
    assert np.abs(plain - distances(table) - 3.0).max() < 0.02
    car = 'world.objects=[{name="car",kind="box",at_m=[-10.0,0.0,0.0],size_m=[2.0,2.0,3.0],motion='
    passing = distances(f'{car}{{kind="line",to_m=[10.0,0.0,0.0],speed_m_s=30.0}}}}]')
    assert 0 < np.count_nonzero(passing < plain - 2.0) < len(plain), "only while it passes below"
