"""The board's mission, planner and path generation against the Python ones: whole flights, step for step.

A point moves along whatever path the mission gives, on both sides by itself. The steps, the plans and the cells must be
the same, the paths within centimetres, whatever way that is: the board reckons in single precision.
"""

from __future__ import annotations

import ctypes as ct
import math
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

from aeroloop.core.wing_signals import PlanStatus, Step
from aeroloop.families.fixedwing.autopilot_planning import SlowPlanning
from aeroloop.families.fixedwing.start_and_goal import roomy_cells
from aeroloop.planning import tables_c
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.loiter import Circle, JoinSettings
from aeroloop.planning.mission import TRANSITIONS, Event, Mission, MissionSettings
from aeroloop.planning.mission_messages import Kind
from aeroloop.planning.mission_telemetry import Row
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.planning.tables_c import mission_c, templates_c
from aeroloop.world.terrain_generator import generate
from peers.c_planner import FLAGS, SOURCES, c_settings

PERIOD_S, AHEAD_M = 0.05, 1.0
PIECES = 40
RADIUS_M = 100.0
LONGEST_S = 900.0
SAME_M = 0.05
STREAMS = ("mission_step", "plan", "plan_cell", "path")
SIZES = {"mission_step": 2, "plan": 14, "plan_cell": 5, "path": 7}


class _MissionSettings(ct.Structure):
    _fields_ = (
        *(
            (name, ct.c_float)
            for name in ("budget_s", "speed", "margin", "replan_after", "again_after_s", "told_every")
        ),
        ("told_at_once", ct.c_uint8),
        ("side", ct.c_float),
        ("finest", ct.c_uint8),
    )


class _Row(ct.Structure):
    _fields_ = (("stream", ct.c_uint8), ("count", ct.c_uint8), ("values", ct.c_float * 14))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ct.CDLL:
    return built(tmp_path_factory.mktemp("mission"))


@pytest.fixture(scope="module")
def stitching(tmp_path_factory: pytest.TempPathFactory) -> ct.CDLL:
    return built(tmp_path_factory.mktemp("stitch"), transient_stitch=True)


def built(folder: Path, *, transient_stitch: bool = False) -> ct.CDLL:
    for name, text in (templates_c() | mission_c(transient_stitch=transient_stitch)).items():
        (folder / name).write_text(text, encoding="utf-8")
    names = ("planner", "pathgen", "transient", "country", "pgen", "mission")
    sources = [str(SOURCES / f"{name}.c") for name in names]
    sources += [str(folder / "templates.c"), str(Path(__file__).with_name("mission_host.c"))]
    made = folder / "mission.so"
    options = ["-O1", "-ffp-contract=off", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-fPIC", "-shared"]
    command = [*shlex.split(os.environ.get("CC") or "cc"), *FLAGS, *options, f"-I{SOURCES}", f"-I{folder}"]
    subprocess.run([*command, "-o", str(made), *sources, "-lm"], check=True, capture_output=True)
    loaded = ct.CDLL(str(made))
    loaded.host_open.restype = ct.c_bool
    return loaded


@dataclass
class Told:
    """What a machine has said and where its point was."""

    rows: list[Row] = field(default_factory=list)
    states: list[tuple[float, ...]] = field(default_factory=list)

    def of(self, stream: str) -> list[tuple[float, ...]]:
        return [values for name, values in self.rows if name == stream]


class Board:
    """The C."""

    def __init__(
        self, library: ct.CDLL, planner: Planner, settings: MissionSettings, start_m: tuple[float, float], pieces: int
    ) -> None:
        self._library, self._pieces = library, pieces
        elevation, chosen = planner.elevation, planner.settings
        self._map = np.ascontiguousarray(elevation.values, dtype=np.int16)
        self._settings = c_settings(self._map, elevation.order, chosen)
        wanted = _MissionSettings(
            settings.budget_s,
            settings.speed_m_s,
            settings.margin_m,
            settings.replan_after_m,
            settings.again_after_s,
            settings.told_every_m,
            settings.told_at_once,
            elevation.side_m,
            chosen.resolution.finest,
        )
        j = JoinSettings()
        numbers: tuple[float, ...] = (elevation.side_m, RADIUS_M, *start_m)
        numbers += (j.least_radius_m, j.bend_rate_1_m2, j.leave_every_m, j.join_every_m, j.reach_m)
        given = (ct.c_float * len(numbers))(*numbers)
        assert library.host_open(ct.byref(self._settings), ct.byref(wanted), given)
        self._state, self._rows = (ct.c_float * 7)(), (_Row * 16)()
        self.told = Told()

    def command(self, goal_m: tuple[float, float]) -> None:
        self._library.host_command(*map(ct.c_float, goal_m))

    def period(self, now_s: float) -> None:
        s_m = ct.c_float(self._state[0] + AHEAD_M)
        count = self._library.host_step(ct.c_float(now_s), s_m, self._pieces, self._state, self._rows)
        assert count >= 0, "points that are used were written over"
        for row in self._rows[:count]:
            name = STREAMS[row.stream]
            assert row.count == SIZES[name]
            self.told.rows.append((name, tuple(row.values[: row.count])))
        self.told.states.append(tuple(self._state))


class Host:
    """The Python."""

    def __init__(self, planner: Planner, settings: MissionSettings, start_m: tuple[float, float], pieces: int) -> None:
        planner.forget()
        finest = planner.settings.resolution.finest
        self._mission = Mission(
            settings, Circle(*start_m, RADIUS_M), lambda x, y: planner.elevation.cell_at(finest, x, y)
        )
        self._planning = SlowPlanning(planner, RADIUS_M, pieces)
        self._result = None
        self.told = Told()

    def command(self, goal_m: tuple[float, float]) -> None:
        self._mission.command(goal_m)

    def period(self, now_s: float) -> None:
        mission = self._mission
        self.told.rows += mission.step(now_s, mission.s_m + AHEAD_M, self._result)
        self._result = self._planning.work(mission.order)
        point = mission.reference.at(mission.s_m)
        self.told.states.append((mission.s_m, mission.path_number, mission.state, *point))


def flown(
    library: ct.CDLL,
    planner: Planner,
    start_m: tuple[float, float],
    goals: dict[float, tuple[float, float]],
    *,
    pieces: int = PIECES,
    **changes: float,
) -> tuple[Told, Told]:
    """Both machines' flight, with goals by the time of their command; over when it has loitered at the last one."""
    settings = MissionSettings(**changes)
    machines = Host(planner, settings, start_m, pieces), Board(library, planner, settings, start_m, pieces)
    waiting = sorted(goals.items())
    for index in range(round(LONGEST_S / PERIOD_S)):
        now_s = index * PERIOD_S
        for machine in machines:
            if waiting and now_s >= waiting[0][0]:
                machine.command(waiting[0][1])
            machine.period(now_s)
        if waiting and now_s >= waiting[0][0]:
            waiting.pop(0)
        if not waiting and all(machine.told.states[-1][2] == Step.ARRIVED for machine in machines):
            break
    return machines[0].told, machines[1].told


def compare(host: Told, board: Told) -> None:
    assert len(host.states) == len(board.states)
    assert [row[0] for row in board.of("mission_step")] == [row[0] for row in host.of("mission_step")]
    assert board.of("plan_cell") == host.of("plan_cell")
    for mine, other in zip(host.of("plan"), board.of("plan"), strict=True):
        assert mine[:2] == other[:2] and mine[7:] == pytest.approx(other[7:], rel=1e-6)
        assert mine[2:7] == pytest.approx(other[2:7], abs=0.06)
    for mine, other in zip(host.states, board.states, strict=True):
        assert mine[1:3] == other[1:3]
        assert math.hypot(mine[3] - other[3], mine[4] - other[4]) < SAME_M
        assert abs(math.remainder(mine[5] - other[5], 2 * math.pi)) < 1e-3
    for mine, other in zip(host.of("path"), board.of("path"), strict=True):
        assert mine[:2] == other[:2] and mine[2:5] == pytest.approx(other[2:5], abs=SAME_M)


def pairs(planner: Planner, count: int, seed: int) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    rooms = roomy_cells(planner, RADIUS_M + 40.0)
    rng = np.random.default_rng(seed)
    whole = Planner(planner.elevation, planner.settings.full_grid())
    while count:
        start_m, goal_m = (planner.elevation.centre_m(rooms[int(rng.integers(len(rooms)))]) for _ in range(2))
        if 1500.0 < math.dist(start_m, goal_m) < 4000.0 and whole.plan(start_m, goal_m).found:
            count -= 1
            yield start_m, goal_m


@pytest.fixture(scope="module")
def planner() -> Planner:
    settings = PlannerSettings(safe_m=350, highest_m=550, blocked_above_m=550)
    return Planner(Elevation(generate(128, 11), 75.0), settings)


def test_the_board_s_machine_is_the_python_table(
    library: ct.CDLL, planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one of its transitions, neither the header nor the board's machine has it."""
    start_m, goal_m = next(pairs(planner, 1, 1))
    steps = []
    for machine in (library, None):
        if machine is None:
            # On a copy: put back, it would be the last, and images of other tests would have another order.
            fewer = {key: after for key, after in TRANSITIONS.items() if key != (Step.LOITER, Event.GOAL)}
            monkeypatch.setattr(tables_c, "TRANSITIONS", fewer)
            machine = built(tmp_path)
        rows = re.findall(r"{STEP_(\w+), MISSION_EVENT_(\w+), STEP_(\w+)}", mission_c()["mission_table.h"])
        assert {(Step[step], Event[event]): Step[after] for step, event, after in rows} == tables_c.TRANSITIONS
        board = Board(machine, planner, MissionSettings(), start_m, PIECES)
        board.command(goal_m)
        board.period(0.0)
        steps.append(board.told.states[-1][2])
    assert steps == [Step.PLAN, Step.LOITER]


def test_flights_from_circle_to_circle(library: ct.CDLL, planner: Planner) -> None:
    for start_m, goal_m in pairs(planner, 4, 1):
        host, board = flown(library, planner, start_m, {1.0: goal_m})
        compare(host, board)
        assert host.states[-1][2] == Step.ARRIVED
        assert len(host.of("plan")) >= 2
        level = planner.settings.resolution.finest
        over = {planner.elevation.cell_at(level, state[3], state[4]) for state in board.states}
        assert not any(map(planner.blocked, over))


def test_another_goal_on_the_way_and_a_near_one_at_the_end(library: ct.CDLL, planner: Planner) -> None:
    (start_m, goal_m), (_, other_m) = pairs(planner, 2, 2)
    near_m = start_m[0] + 350.0, start_m[1]
    host, board = flown(library, planner, start_m, {1.0: other_m, 60.0: goal_m, 90.0: start_m, 800.0: near_m})
    compare(host, board)
    assert host.states[-1][2] == Step.ARRIVED


@pytest.fixture(scope="module")
def stitcher(planner: Planner) -> Planner:
    return Planner(planner.elevation, msgspec.structs.replace(planner.settings, stitch="transient"))


def joints(told: Told) -> tuple[int, int]:
    """How many new channels were reached by a transient from the one before, and how many at its node."""
    kinds = [Kind(int(row[1])) for row in told.of("path") if row[2] == 0.0]
    by_transient = (Kind.CHANNEL, Kind.TRANSIENT, Kind.CHANNEL)
    triples = zip(kinds, kinds[1:], kinds[2:], strict=False)
    return sum(each == by_transient for each in triples), list(pairwise(kinds)).count((Kind.CHANNEL, Kind.CHANNEL))


def test_flights_with_transients_from_path_to_path(stitching: ct.CDLL, stitcher: Planner) -> None:
    for start_m, goal_m in pairs(stitcher, 2, 1):
        host, board = flown(stitching, stitcher, start_m, {1.0: goal_m})
        compare(host, board)
        assert host.states[-1][2] == Step.ARRIVED
        assert joints(host) == joints(board) and joints(host)[0] >= 2


def test_a_plan_too_late_for_its_transient_is_joined_at_the_node(stitching: ct.CDLL, stitcher: Planner) -> None:
    start_m, goal_m = next(pairs(stitcher, 1, 1))
    changes = {"budget_s": 0.2, "margin_m": 20.0}
    host, board = flown(stitching, stitcher, start_m, {1.0: goal_m}, pieces=10, **changes)
    compare(host, board)
    assert joints(host)[1] > 0, "no plan came between the transient's beginning and the node"


def test_no_way_and_too_late(library: ct.CDLL, planner: Planner) -> None:
    """A budget that planning does not keep, and a goal off the map: both end in a haven, and try again."""
    (start_m, goal_m), *_ = pairs(planner, 1, 3)
    host, board = flown(
        library,
        planner,
        start_m,
        {1.0: goal_m, 150.0: (9000.0, 0.0), 300.0: goal_m},
        pieces=2,
        budget_s=0.2,
        margin_m=0.0,
    )
    compare(host, board)
    statuses = {PlanStatus(int(row[1])) for row in host.of("plan")}
    assert {PlanStatus.FOUND, PlanStatus.TOO_LATE, PlanStatus.GOAL_OUTSIDE} <= statuses
    assert Step.STRANDED in {row[0] for row in host.of("mission_step")}
