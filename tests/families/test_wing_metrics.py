"""Numbers of a fixed wing's flight from logs whose numbers are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from log_rows import rows_of
from stream_tables import FIXED_WING

from aeroloop.core.scenario_files import of_table
from aeroloop.core.signals import Event
from aeroloop.core.wing_signals import PlanStatus, Step
from aeroloop.families.fixedwing.analysis.metrics import metrics
from aeroloop.families.fixedwing.analysis.summary import details
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.streams import STREAMS
from aeroloop.planning.cells import Cell
from aeroloop.recording.log import Log

rows = rows_of(FIXED_WING)
CELL_M, HALF_M = 150.0, 4800.0


def with_rows(**rows: np.ndarray) -> Log:
    log = Log.empty(STREAMS)
    return replace(log, rows={**log.rows, **rows})


def scenario() -> FixedWingScenario:
    made = of_table({"name": "test", "vehicle": {"kind": "fixedwing"}}, "test")
    assert isinstance(made.aircraft, FixedWingTables)
    return made


def flight(**streams: np.ndarray) -> dict[str, float]:
    return metrics(with_rows(**streams), scenario())


def test_an_empty_log_has_every_number_and_passes_no_check() -> None:
    empty = metrics(Log.empty(STREAMS), scenario())
    for name in ("arrived", "over_blocked_cells", "outside_channel", "roll_max_deg", "cross_track_rms_m", "flown_s"):
        assert math.isnan(empty[name]), name
    assert empty["diverged"] == empty["plans"] == 0.0


def test_height_speed_and_roll_count_after_the_first_seconds() -> None:
    t_s = np.arange(0.0, 30.0, 0.02)
    truth = rows(
        "truth",
        t_s,
        z_m=np.where(t_s < 10.0, 700.0, 664.0),
        ground_m=600.0,
        airspeed_m_s=np.where(t_s < 10.0, 30.0, 19.0),
        roll_rad=math.radians(-12.0),
    )
    found = flight(truth=truth)
    assert found["altitude_error_max_m"] == found["altitude_error_rms_m"] == pytest.approx(4.0)
    assert found["altitude_error_p99_m"] == found["altitude_error_p95_m"] == pytest.approx(4.0)
    assert found["airspeed_error_max_m_s"] == found["airspeed_error_p99_m_s"] == pytest.approx(1.0)
    assert found["roll_max_deg"] == pytest.approx(12.0)
    assert found["clearance_min_m"] == pytest.approx(64.0)
    assert found["flown_s"] == pytest.approx(29.98)


def test_cross_track_is_the_true_one_while_a_channel_is_followed() -> None:
    """On a circle to the left, 3 m inside it, with the virtual point 8 m behind: 3 m, whatever the board believes."""
    t_s = np.arange(0.0, 20.0, 0.05)
    angle, radius_m = 0.2 * t_s, 100.0
    behind = angle - 0.08
    truth = rows("truth", t_s, x_m=97.0 * np.cos(angle), y_m=97.0 * np.sin(angle), z_m=660.0, airspeed_m_s=20.0)
    guidance = rows(
        "guidance",
        t_s,
        path_x_m=radius_m * np.cos(behind),
        path_y_m=radius_m * np.sin(behind),
        path_psi_rad=behind + math.pi / 2,
        path_kappa_1_m=1 / radius_m,
        cross_m=1.0,
    )
    steps = rows("mission_step", [0.0, 5.0, 15.0], step=[Step.LEAVE, Step.FOLLOW, Step.ARRIVE])
    found = flight(truth=truth, guidance=guidance, mission_step=steps)
    assert found["cross_track_rms_m"] == pytest.approx(3.0, abs=1e-6)
    assert found["cross_track_max_m"] == pytest.approx(3.0, abs=1e-6)
    assert found["cross_track_board_rms_m"] == 1.0
    before = flight(truth=truth, guidance=guidance, mission_step=steps[:1])
    assert math.isnan(before["cross_track_rms_m"])


def cells(plan: int, places: list[tuple[int, int]], t_s: float) -> np.ndarray:
    return rows(
        "plan_cell",
        [t_s] * len(places),
        plan=plan,
        index=range(len(places)),
        level=6,
        col=[col for col, _ in places],
        row=[row for _, row in places],
    )


def test_the_channel_is_the_latest_plans_with_the_one_before() -> None:
    """East along a row of cells at 20 m from its northern edge, and out of it at its end."""
    t_s = np.arange(0.0, 60.0, 0.02)
    west_m, south_m = 30 * CELL_M - HALF_M, 40 * CELL_M - HALF_M
    x_m = west_m + 1.0 + 20.0 * t_s
    y_m = np.full(len(t_s), south_m + CELL_M - 20.0)
    truth = rows("truth", t_s, x_m=x_m, y_m=y_m, z_m=660.0)
    steps = rows("mission_step", [0.0, 0.0], step=[Step.LEAVE, Step.FOLLOW])
    plans = rows("plan", [0.0, 15.0], plan=[0, 1], status=PlanStatus.FOUND, cells=4, fine=[4, 3], began_s=[0, 11.0])
    way = np.concatenate(
        [
            cells(0, [(30, 40), (31, 40), (32, 40), (33, 40)], 0.1),
            cells(1, [(33, 40), (34, 40), (35, 40), (36, 40)], 15.1),
        ]
    )
    found = flight(truth=truth, mission_step=steps, plan=plans, plan_cell=way)
    outside_s = t_s[-1] - (6 * CELL_M - 1.0) / 20.0  # the seventh cell is on the way, but not of the channel
    assert found["outside_channel"] == pytest.approx(outside_s / 0.02, abs=2)
    inside = truth[t_s < 29.0]
    kept = flight(truth=inside, mission_step=steps, plan=plans, plan_cell=way)
    assert kept["outside_channel"] == 0.0
    assert kept["channel_margin_min_m"] == pytest.approx(1.0)
    assert (kept["plans"], kept["plans_failed"], kept["planning_max_s"]) == (2.0, 0.0, 4.0)
    on_circle = rows("mission_step", [0.0], step=[Step.LOITER])
    assert math.isnan(flight(truth=truth, mission_step=on_circle, plan=plans, plan_cell=way)["channel_margin_min_m"])


def test_joints_are_counted_by_the_paths_and_their_length_and_curvature_by_the_guidance() -> None:
    """Circle, channel, channel at a node, channel by a transient, and onto the goal's circle."""
    kinds = [0, 2, 1, 1, 2, 1, 2, 3]
    paths = rows("path", np.repeat(np.arange(8.0), 2), path=np.repeat(range(8), 2), kind=np.repeat(kinds, 2))
    t_s = np.arange(0.0, 30.0, 0.05)
    guidance = rows("guidance", t_s, path_x_m=20.0 * t_s, path_kappa_1_m=np.where(t_s < 10.0, 0.05, -0.01), cross_m=1.0)
    steps = rows("mission_step", [0.0, 10.0, 20.0], step=[Step.LEAVE, Step.TRANSIENT, Step.ARRIVE])
    found = flight(path=paths, guidance=guidance, mission_step=steps)
    assert (found["stitches_transient"], found["stitches_node"]) == (1.0, 1.0)
    assert found["path_curvature_max_1_m"] == pytest.approx(0.01)
    assert found["path_length_m"] == pytest.approx(199.0)
    nothing = flight()
    assert nothing["stitches_transient"] == 0.0 and math.isnan(nothing["path_length_m"])


def test_samples_over_blocked_cells_are_counted() -> None:
    planner = planner_of(scenario())
    high, low = (
        next(c for c in (Cell(6, col, row) for row in range(64) for col in range(64)) if planner.blocked(c) is blocked)
        for blocked in (True, False)
    )
    where = [planner.elevation.centre_m(cell) for cell in (low, high, high, low)]
    truth = rows("truth", range(4), x_m=[x for x, _ in where], y_m=[y for _, y in where], z_m=660.0)
    assert flight(truth=truth)["over_blocked_cells"] == 2.0


def test_arrived_is_what_the_mission_says_at_the_end() -> None:
    there = rows("mission_step", [1.0, 90.0], step=[Step.LOITER, Step.ARRIVED])
    assert flight(mission_step=there)["arrived"] == 1.0
    assert flight(mission_step=there)["arrived_at_s"] == 90.0
    gone = rows("mission_step", [1.0, 90.0, 95.0], step=[Step.LOITER, Step.ARRIVED, Step.PLAN])
    assert flight(mission_step=gone)["arrived"] == 0.0


def test_estimates_are_held_against_the_truth_at_their_time() -> None:
    t_s = np.arange(0.0, 20.0, 0.02)
    yaw = np.angle(np.exp(1j * 0.4 * t_s))
    truth = rows("truth", t_s, x_m=20.0 * t_s, yaw_rad=yaw, airspeed_m_s=20.0)
    told_s = np.arange(0.0, 20.0, 0.05)
    believed = np.angle(np.exp(1j * (0.4 * told_s + 0.01)))
    estimate = rows("estimate", told_s, x_m=20.0 * told_s + 3.0, y_m=4.0, yaw_rad=believed, airspeed_m_s=20.5)
    found = flight(truth=truth, estimate=estimate)
    assert found["est_pos_rms_m"] == pytest.approx(5.0, abs=1e-3)
    assert found["est_yaw_rms_deg"] == pytest.approx(math.degrees(0.01), abs=1e-3)
    assert found["est_airspeed_rms_m_s"] == pytest.approx(0.5, abs=1e-3)


def test_events_and_the_board_are_counted() -> None:
    events = rows("event", [1.0, 2.0, 3.0], code=[Event.SENSORS_LOST, Event.SENSORS_LOST, Event.GROUND_CONTACT])
    cpu = rows("cpu", [1.0, 2.0], use_pct=[40.0, 100.0], planning_s=[0.5, 1.0], planning_use_pct=[85.0, 100.0])
    command = rows("command", [1.0, 2.0], latency_s=[0.004, 0.006])
    found = flight(event=events, cpu=cpu, command=command)
    assert (found["unanswered_cycles"], found["ground_contacts"], found["diverged"]) == (2.0, 1.0, 0.0)
    assert found["cpu_use_max_pct"] == 100.0
    assert found["cpu_use_planning_pct"] == pytest.approx(95.0)
    assert found["latency_max_s"] == 0.006


def test_why_there_was_no_way_is_said_in_a_sentence() -> None:
    """From what the board told and the map: the start inside an obstacle too."""
    planner = planner_of(scenario())
    inside, free = (
        next(cell for cell in (Cell(6, col, 30) for col in range(64)) if planner.blocked(cell) is blocked)
        for blocked in (True, False)
    )
    ends = [planner.elevation.centre_m(cell) for cell in (inside, free)]
    status = [PlanStatus.FOUND, PlanStatus.UNREACHABLE, PlanStatus.GOAL_OUTSIDE, PlanStatus.TOO_LATE, 99.0]
    told = rows(
        "plan",
        np.arange(5.0),
        plan=np.arange(5.0),
        status=status,
        start_x_m=ends[0][0],
        start_y_m=ends[0][1],
        goal_x_m=[ends[1][0], ends[1][0], 1e6, ends[1][0], math.nan],
        goal_y_m=ends[1][1],
    )
    plans = details(with_rows(plan=told), scenario())["plans"]
    assert [plan["why"] for plan in plans] == [
        "",
        "no plan: every path from the start to the goal is blocked; the start lies inside an obstacle",
        "no plan: the goal lies outside the map; the start lies inside an obstacle",
        "no path: it was ready after its start had been passed; the start lies inside an obstacle",
        "",
    ]
