"""Summary, report and comparison of the fixed wing's flights: what scripts and people get to see of them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_tables import FIXED_WING
from test_report import Page

from aeroloop.analysis import compare_page
from aeroloop.analysis.compare import Run, compare
from aeroloop.analysis.drawing import panels
from aeroloop.analysis.report import render_report
from aeroloop.analysis.section import Table
from aeroloop.analysis.summary import summarise
from aeroloop.codegen.image_symbols import Share
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK
from aeroloop.core.scenario_files import of_table
from aeroloop.core.signals import Event
from aeroloop.core.streams import logged
from aeroloop.core.wing_signals import WING_TASKS, PlanStatus, Step
from aeroloop.families.fixedwing.analysis import claims, maps, plots, report
from aeroloop.families.fixedwing.analysis.maps import PlanningTerrain
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.start_and_goal import blocked_cells
from aeroloop.families.fixedwing.streams import STREAMS
from aeroloop.flight import results, run_summary
from aeroloop.recording.log import Log, LogWriter

FLOWN = {"ended": "completed", "wall_s": 2.0, "exit_code": EXIT_OK, "error": None}
BOARD_PICTURES = ("cpu-use", "context-switches", "task-times", "task-shares")
MODES = "short period 7.1 rad/s"
FLOWN_S = 60.0
PLAN_S = (10.0, 30.0)
WEST_M, SOUTH_M = 30 * 150.0 - 4800.0, 40 * 150.0 - 4800.0
STEPS = {0.0: Step.LOITER, 10.0: Step.PLAN, 10.5: Step.LEAVE, 20.0: Step.FOLLOW, 50.0: Step.ARRIVED}


def a_scenario(**changes: Any) -> FixedWingScenario:
    checks = [{"metric": "arrived", "equals": 1.0}]
    table = {"name": "ridge", "duration_s": FLOWN_S, "vehicle": {"kind": "fixedwing"}, "checks": checks}
    made = of_table({**table, **changes}, "test")
    assert isinstance(made.aircraft, FixedWingTables)
    return made


def fill(log: Log, stream: str, t_s: Any, **columns: Any) -> None:
    """Columns that are not named are 0."""
    names = FIXED_WING[stream].names
    log.rows[stream] = np.zeros((len(t_s), len(names)))
    for name, values in {"t_s": t_s, **columns}.items():
        log.rows[stream][:, names.index(name)] = values


def a_log(*, firmware: bool = False, north_m: float = 0.0) -> Log:
    """A minute east along a row of fine cells, with two plans."""
    log = Log.empty(STREAMS)
    t_s, told_s = np.arange(0.0, FLOWN_S + 0.01, 0.02), np.arange(0.0, FLOWN_S, 0.05)
    x_m, y_m = WEST_M + 20.0 * t_s, SOUTH_M + 75.0 + north_m
    fill(log, "truth", t_s, x_m=x_m, y_m=y_m, z_m=661.0, airspeed_m_s=20.5, roll_rad=0.1, ground_m=420.0, qw=1.0)
    fill(log, "effort", t_s, elevator_rad=-0.05, throttle=0.4)
    fill(log, "estimate", told_s, x_m=WEST_M + 20.0 * told_s, y_m=y_m, z_m=660.5)
    fill(log, "guidance", told_s, path_x_m=WEST_M + 20.0 * told_s, path_y_m=y_m, cross_m=0.4, lag_s=1.2)
    fill(log, "command", told_s, throttle=0.4, latency_s=0.002 * firmware)
    fill(log, "mission_step", list(STEPS), step=list(STEPS.values()))
    goal = {"goal_x_m": WEST_M + 1300.0, "goal_y_m": SOUTH_M + 75.0}
    fill(
        log,
        "plan",
        PLAN_S,
        plan=[0, 1],
        status=PlanStatus.FOUND,
        began_s=[9.5, 29.0],
        start_x_m=[WEST_M + 75.0, WEST_M + 525.0],
        start_y_m=SOUTH_M + 75.0,
        **goal,
        leaves=500,
        expanded=90,
        cells=4,
        fine=3,
    )
    places = [(plan, index, 6, 30 + 3 * plan + index, 40) for plan in (0, 1) for index in range(4)]
    names = dict(zip(("plan", "index", "level", "col", "row"), np.array(places).T, strict=True))
    fill(log, "plan_cell", np.repeat(PLAN_S, 4) + 0.1, **names)
    fill(log, "path", [10.5, 10.55], path=0, kind=1, x_m=[WEST_M, WEST_M + 900.0], y_m=SOUTH_M + 75.0)
    fill(log, "link", [FLOWN_S], frames_in=2400, frames_out=1200)
    if firmware:
        seconds = np.arange(1.0, FLOWN_S)
        fill(log, "cpu", seconds, use_pct=40.0, planning_s=0.1, planning_use_pct=99.0, stack_used_B=4000.0)
        tasks = len(WING_TASKS)
        fill(log, "task", np.repeat(seconds, tasks), task=np.tile(range(tasks), len(seconds)), runs=20.0)
    return log


@cache
def ground() -> PlanningTerrain:
    planner = planner_of(a_scenario())
    return PlanningTerrain(planner.elevation, planner.settings, blocked_cells(planner))


@pytest.fixture(autouse=True)
def known_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planner and modes take their time, and are the same in every test."""
    monkeypatch.setattr(report, "ground_of", lambda _scenario: ground())
    monkeypatch.setattr(report, "modes_of", lambda _scenario: MODES)


def summary_of(scenario: FixedWingScenario, log: Log) -> dict[str, Any]:
    return summarise(scenario, log, outcome=FLOWN)


def page(scenario: FixedWingScenario, log: Log) -> str:
    return render_report(scenario, log, summary_of(scenario, log))


def text_of(html: str) -> str:
    bare = re.sub(r"<(svg|style).*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def pictures(html: str) -> list[str]:
    return re.findall(r'<figure id="([\w-]+)">', html)


def test_summary_holds_the_contract_and_what_only_this_aircraft_has() -> None:
    summary = summary_of(a_scenario(), a_log())
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert set(run_summary.KEYS) - {"exit_code"} <= summary.keys()
    assert (summary["ok"], summary["board"], summary["timing"]["missed_deadlines"]) == (True, None, None)
    first, second = summary["plans"]
    assert (first["plan"], first["status"], first["fine"], first["reaches_goal"]) == (0, "FOUND", 3, False)
    assert (first["took_s"], second["took_s"]) == (0.5, 1.0)
    assert summary["links"]["link"]["frames_in"] == 2400
    steps = [event for event in summary["events"] if event["source"] == "mission"]
    assert [event["event"] for event in steps] == [f"STEP_{step.name}" for step in STEPS.values()]


def test_summary_tells_of_the_boards_processor_on_pil() -> None:
    board = summary_of(a_scenario(loop="pil"), a_log(firmware=True))["board"]
    assert board["instructions_per_s"] == 31.25e6
    assert board["cpu_use_planning_pct"] == pytest.approx(99.0)
    assert [task["name"] for task in board["tasks"]] == [task.name for task in WING_TASKS]


def test_codes_that_nobody_knows_are_told_as_numbers() -> None:
    log = a_log()
    log.rows["mission_step"][1, 2] = 77
    log.rows["plan"][1, FIXED_WING["plan"].names.index("status")] = 55
    summary = summary_of(a_scenario(), log)
    assert "STEP_77" in {event["event"] for event in summary["events"]}
    assert summary["plans"][1]["status"] == "STATUS_55"
    assert [plan.number for plan in maps.plans(log)] == [0]


def test_report_has_the_map_and_a_picture_of_each_plan() -> None:
    html = page(a_scenario(), a_log())
    Page(html)
    drawn = pictures(html)
    assert len(drawn) == len(set(drawn))
    assert {"map", "plan-0", "plan-1", "following", "height-and-speed", "surfaces", "estimation"} <= set(drawn)
    text = text_of(html)
    assert "Passed" in text and MODES in text
    assert "Plan 1, done at 30.0 s" in text
    assert "Processor load of the board" not in text and "not reached" not in text
    assert not re.search(r"\bnan\b|\binf\b", text, re.IGNORECASE)
    assert html == page(a_scenario(), a_log()), "equal input, equal text"


@pytest.mark.parametrize("flown_s", [0.0, 9.0, 10.05])
def test_a_flight_cut_short_has_a_report(flown_s: float) -> None:
    """As of a log that ends anywhere: also between a plan and its cells."""
    whole = a_log(firmware=True)
    rows = {name: rows[rows[:, 0] < flown_s] for name, rows in whole.rows.items()}
    html = page(a_scenario(loop="pil"), replace(whole, rows=rows, truncated=True))
    Page(html)
    text = text_of(html)
    assert "Failed" in text
    assert ("No plan was requested." in text) == (flown_s <= 10.0)
    assert ("The goal was not reached." in text) == (flown_s > 10.0)
    assert not re.search(r"\bnan\b|\binf\b", text, re.IGNORECASE)


def test_a_goal_that_is_not_reached_is_said_with_how_it_went() -> None:
    log = a_log()
    fill(log, "mission_step", [0.0, 10.0, 11.0], step=[Step.LOITER, Step.PLAN, Step.STRANDED])
    log.rows["plan"][:, FIXED_WING["plan"].names.index("status")] = PlanStatus.UNREACHABLE
    fill(log, "event", [12.0], code=Event.GROUND_CONTACT)
    summary = summary_of(a_scenario(), log)
    assert (summary["exit_code"], summary["metrics"]["stranded"]) == (EXIT_CHECK_FAILED, 1.0)
    html = page(a_scenario(), log)
    text = text_of(html)
    assert "The goal was not reached. The aircraft was stranded" in text
    assert "2 of 2 searches found no path" in text
    assert not any(name.startswith("plan-") for name in pictures(html))


def test_of_many_plans_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    log = a_log()
    log.rows["plan"] = np.repeat(log.rows["plan"][:1], 40, axis=0)
    log.rows["plan"][:, 2] = range(40)
    monkeypatch.setattr(maps, "picture", lambda name, *_: name)  # drawing them takes its time
    shown = list(map(str, maps.plan_pictures(log, ground())))
    assert len(shown) == maps.MOST_PLANS
    assert (shown[0], shown[-1]) == ("plan-0", "plan-39")


def test_a_plan_is_drawn_with_the_path_that_came_of_it() -> None:
    """A path is told when the aircraft takes it up, which may be half a minute after its plan."""
    log = a_log()
    told_s = [1.0, 1.1, 25.0, 25.1, 45.0, 45.1]  # plans are done at 10 and 30 s
    fill(log, "path", told_s, path=[0, 0, 1, 1, 2, 2], x_m=[0.0, 1.0, 10.0, 11.0, 20.0, 21.0])
    first, second = maps.plans(log)
    for plan, next_s, wanted in ((first, second.t_s, [10.0, 11.0]), (second, np.inf, [20.0, 21.0])):
        near = maps._plan(log, ground(), plan, next_s).axes[1]
        drawn = [line.get_xdata() for line in near.get_lines() if line.get_label() == "reference"]
        assert [np.asarray(x_m).tolist() for x_m in drawn] == [wanted]


def test_lines_of_every_panel_have_a_name() -> None:
    figure = plots._legends(panels(plots._estimation_errors(a_log())))
    legends = [panel.get_legend() for panel in figure.axes]
    named = [[text.get_text() for text in legend.get_texts()] for legend in legends if legend is not None]
    assert named == [["x", "y", "z"], ["roll", "pitch"]]


def test_a_run_is_reported_from_its_folder_with_the_processor_on_pil(tmp_path: Path) -> None:
    scenario = a_scenario(loop="pil")
    folder, log = tmp_path / "run", a_log(firmware=True)
    results.make_folder(folder, scenario)
    writer = LogWriter(folder / results.LOG, logged(STREAMS))
    for stream in STREAMS:
        for row in log.rows.get(stream.name, ()):
            writer.write(stream, stream.packing.pack(*row))
    writer.close()
    results.write_summary(folder, scenario, results.read_log(folder, scenario), FLOWN)
    html = results.report_again(folder).read_text(encoding="utf-8")
    text = text_of(html)
    assert "Processor load of the board" in text
    assert all(task.name in text for task in WING_TASKS)
    assert {"plan-0", "plan-1", *BOARD_PICTURES} <= set(pictures(html))


def test_the_papers_claims_stand_beside_a_flight_of_the_firmware() -> None:
    log = a_log(firmware=True)
    names = FIXED_WING["cpu"].names
    log.rows["cpu"][:40, names.index("planning_s")] = 0.0
    log.rows["cpu"][:40, names.index("use_pct")] = 33.0
    log.rows["cpu"][:, names.index("switches_per_s")] = 360.0
    log.rows["task"][:, FIXED_WING["task"].names.index("exec_s")] = 0.001
    text = text_of(page(a_scenario(loop="pil"), log))
    assert "no planning about 40 % 33 %" in text and "while planning nearly 100 % 99 %" in text
    assert "about 7 15 as the paper's kernel counts, 18 as ours does" in text, "13 runs, one end, one preemption"
    assert "at most 13 ms" in text
    cooperative = a_scenario(loop="pil", board={"scheduler": "cooperative"})
    assert claims.sections(a_scenario(loop="pil"), log, summary_of(a_scenario(loop="pil"), log)["board"])
    assert claims.sections(cooperative, log, summary_of(cooperative, log)["board"]) == []
    assert claims.sections(a_scenario(), a_log(), summary_of(a_scenario(), a_log())["board"]) == []


def test_the_kernels_share_of_the_code_is_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(claims, "kept_image", lambda generated, name: kept.append(name))
    scenario, log = a_scenario(loop="pil"), a_log(firmware=True)
    assert kernel_row(scenario, log) == ("Kernel in the code", "5 to 10 kB of 190 kB, 5.26 %", "-")
    assert kept == ["wing-lockstep-qemu"]
    monkeypatch.setattr(claims, "kept_image", lambda generated, name: Path("wing.elf"))
    monkeypatch.setattr(claims, "share", lambda elf, file, prefix: Share(604, 100_732))
    assert kernel_row(scenario, log)[2] == "604 B of 100.7 kB, 0.60 %"
    assert claims.kernel_share(a_scenario()) is None, "a flight without an image"


def kernel_row(scenario: FixedWingScenario, log: Log) -> tuple[str, ...]:
    [section] = claims.sections(scenario, log, summary_of(scenario, log)["board"])
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    return tuple(table.rows[-1])


def test_two_flights_are_compared() -> None:
    runs = []
    for name, loop, north_m in (("a", "mil", 0.0), ("b", "pil", 0.028)):
        scenario, log = a_scenario(loop=loop), a_log(firmware=loop == "pil", north_m=north_m)
        runs.append(Run(name, scenario, log, summary_of(scenario, log)))
    comparison = compare(runs)
    [found] = comparison["differences"]
    assert found["position_max_m"] == pytest.approx(0.028)
    assert found["throttle_max_ratio"] == 0.0
    html = compare_page.render(runs, comparison)
    Page(html)
    assert not re.search(r"\bnan\b", text_of(html), re.IGNORECASE)
    assert math.isfinite(found["yaw_max_deg"])
