"""The fixed wing's board on the host: from sensors to servos, and a whole flight from circle to circle."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pymap3d
import pytest

from aeroloop.boards.config import Computer
from aeroloop.core.scenario_files import of_table
from aeroloop.core.stream import numbered
from aeroloop.core.wing_signals import PlanStatus, Step, WingSensors
from aeroloop.families.fixedwing.autopilot import Autopilot, autopilot_of
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.streams import STREAMS
from aeroloop.protocols.wing import BoardEnd, Done, Goal, Servos
from peers.wing_craft import WingCraft

COLUMNS = {stream.name: stream.names for stream in STREAMS}


def scenario(**changes: Any) -> FixedWingScenario:
    sensors = {"imu": {"rate_hz": 100.0}, "gnss": {"start_s": 0.0}}
    table = {"name": "test", "vehicle": {"kind": "fixedwing"}, "world": {"step_s": 0.01}, "sensors": sensors}
    made = of_table({**table, "duration_s": 300.0, **changes}, "the test")
    assert isinstance(made.aircraft, FixedWingTables)
    return made


class Direct:
    """A link with the autopilot at its other end."""

    url = "direct"

    def __init__(self, autopilot: Autopilot) -> None:
        self.autopilot = autopilot
        self.heard: list[WingSensors] = []
        self._end = BoardEnd()
        self._waiting = b""

    def fileno(self) -> int:
        return 0

    def send(self, data: bytes) -> None:
        goals = []
        for message in self._end.receive(data):
            if isinstance(message, Goal):
                goals.append((message.x_m, message.y_m))
                continue
            self.heard.append(message)
            command, told = self.autopilot.step(message, goals)
            self._waiting += self._end.servos(Servos(message.cycle, command, 0.0))
            self._waiting += b"".join(self._end.report(stream, row) for stream, row in told)
            self._waiting += self._end.done(Done(message.cycle, 0.0))

    def poll(self) -> bytes:
        waiting, self._waiting = self._waiting, b""
        return waiting

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None: ...


class Flight:
    def __init__(self, flown: FixedWingScenario, **changes: Any) -> None:
        self.rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        self.link = Direct(autopilot_of(flown, **changes))
        publish = {stream.name: lambda *row, name=stream.name: self.rows[name].append(row) for stream in STREAMS}
        self.ended = WingCraft(flown, self.link, numbered(publish, 0)).fly()

    def column(self, stream: str, name: str) -> np.ndarray:
        return np.array([row[COLUMNS[stream].index(name)] for row in self.rows[stream]])


def test_a_whole_flight() -> None:
    """Round a ridge to a goal 2 km away, in still air."""
    flown = scenario(seed=3, mission={"apart_m": 1500.0, "command_at_s": 2.0, "linger_s": 5.0})
    flight = Flight(flown)
    assert flight.ended == "completed"
    steps = [Step(int(step)) for step in flight.column("mission_step", "step")]
    assert steps[:3] == [Step.LOITER, Step.PLAN, Step.LEAVE]
    assert steps[-3:] == [Step.APPROACH, Step.ARRIVE, Step.ARRIVED]
    assert Step.STRANDED not in steps
    assert set(flight.column("plan", "status")) == {PlanStatus.FOUND}
    assert abs(flight.column("guidance", "cross_m")).max() < 3.0
    assert abs(flight.column("truth", "roll_rad")).max() < math.radians(30.0)
    planner = planner_of(flown)
    places = zip(flight.column("truth", "x_m")[::5], flight.column("truth", "y_m")[::5], strict=True)
    assert not any(planner.blocked(planner.elevation.cell_at(6, x, y)) for x, y in places)
    assert "cpu" not in flight.rows
    _told_as_flown(flight)


def _told_as_flown(flight: Flight) -> None:
    """Each period one estimate and one guidance, and the point told is that of its path."""
    since_fix = next(index for index, sensors in enumerate(flight.link.heard) if sensors.fix)
    periods = len(flight.link.heard) - since_fix
    assert len(flight.rows["estimate"]) == len(flight.rows["guidance"]) == periods
    x, y = (flight.column("guidance", name) for name in ("path_x_m", "path_y_m"))
    assert np.hypot(np.diff(x), np.diff(y)).max() < 1.5
    truth = {round(row[0] * 1000): row for row in flight.rows["truth"]}
    for row in flight.rows["estimate"][::20]:
        real = truth.get(round(row[0] * 1000))
        assert real is None or math.dist(row[2:5], real[2:5]) < 5.0


def test_before_the_first_fix_it_holds_the_trim_and_says_nothing() -> None:
    autopilot = autopilot_of(scenario())
    silent = WingSensors(
        0, 0, (0.0,) * 3, (0.0, 0.0, 9.81), (1e-5, 2e-5, -4e-5), 95e3, 240.0, False, 0.0, 0.0, 0.0, (0.0,) * 3
    )
    trim, rows = autopilot.step(silent)
    assert rows == [] and trim[0] == trim[2] == 0.0 and 0.0 < trim[3] < 1.0
    # A goal that came meanwhile is not lost.
    autopilot.step(replace(silent, cycle=1), [(100.0, 200.0)])
    home = scenario().aircraft.world.home
    fix = replace(
        silent, cycle=2, fix=True, lat_deg=home.lat_deg, lon_deg=home.lon_deg, alt_m=660.0, vel_W=(20.0, 0.0, 0.0)
    )
    _, rows = autopilot.step(fix)
    assert autopilot.mission is not None and autopilot.mission.state == Step.PLAN
    assert autopilot.mission.order is not None and autopilot.mission.order.goal_m == (100.0, 200.0)


@pytest.mark.parametrize(("east_m", "north_m"), [(5000.0, 0.0), (0.0, -5000.0), (4800.0, 4800.0), (-4800.0, 3000.0)])
def test_where_the_receiver_says_is_where_it_believes_to_be(east_m: float, north_m: float) -> None:
    home = scenario().aircraft.world.home
    lat, lon, alt = pymap3d.enu2geodetic(east_m, north_m, 660.0, home.lat_deg, home.lon_deg, 0.0)
    place = float(lat), float(lon), float(alt)
    still = (0.0, 0.0, 0.0), (0.0, 0.0, 9.81), (1e-5, 2e-5, -4e-5), 95e3, 240.0
    # Across the flight: along it the estimate is ahead of the fix, which is late.
    for vel_W, axis, expected_m in (((20.0, 0.0, 0.0), 1, north_m), ((0.0, 20.0, 0.0), 0, east_m)):
        _, rows = autopilot_of(scenario()).step(WingSensors(0, 0, *still, True, *place, vel_W))
        assert dict(rows)["estimate"][axis] == pytest.approx(expected_m, abs=0.1)


def test_the_inner_loops_fly_the_roll_of_the_period_before() -> None:
    flight = Flight(scenario(seed=3, duration_s=1.0))
    cntr = flight.link.autopilot._cntr
    asked = flight.column("guidance", "roll_command_rad")
    assert cntr.inputs[1][0] == pytest.approx(asked[-2], abs=1e-6)
    assert asked[-1] != pytest.approx(asked[-2], abs=1e-9)


@pytest.mark.parametrize(
    ("computer", "pieces"),
    [
        (Computer(routine_s=0.010, piece_s=0.0005, scheduler="preemptive"), 80),
        (Computer(routine_s=0.010, piece_s=0.0005, scheduler="cooperative", slice_s=0.010), 20),
        (Computer(routine_s=0.039, piece_s=0.020), 1),
        (Computer(piece_s=0.0), None),
    ],
)
def test_planning_has_what_time_the_scheduler_gives_it(computer: Computer, pieces: int | None) -> None:
    assert computer.pieces_each_period == pieces


def test_a_cooperative_scheduler_plans_longer() -> None:
    """By the factor of idle time and slice: 40 ms against 10."""
    taken = {}
    for kind in ("preemptive", "cooperative"):
        board = {"scheduler": kind, "piece_s": 0.001, "routine_s": 0.010, "slice_s": 0.010}
        flight = Flight(scenario(seed=3, duration_s=20.0, mission={"command_at_s": 1.0}, board=board))
        taken[kind] = flight.column("plan", "t_s")[0] - flight.column("plan", "began_s")[0]
    assert taken["cooperative"] / taken["preemptive"] == pytest.approx(4.0, rel=0.1)
