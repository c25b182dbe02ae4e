"""A measured joint angle that is NaN: on every rung the board holds its torques for that sample, starts its law with a
memory of zeros, and says so; the run fails a check with time and pose."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.core import scenario_files
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Event
from aeroloop.families.rrr import build, law
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256
from helpers.synchronised_axes import Stepped

COMPLETED = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
BAD_S, JOINT = 0.25, 1
SHORT = ("duration_s=0.3", "checks=[]", "disturbance.kind=load", "disturbance.start_s=0.1")
RUNGS = ("mil", "sil", "pil")


def planned(rung: str) -> Scenario:
    return scenario_files.load(scenario_files.find("rrr-circle"), (*SHORT, f'loop="{rung}"'))


@cache
def flown(rung: str) -> Log:
    measure = build.Encoders.measure

    def with_nan(encoders: build.Encoders, state: build.State) -> tuple[float, ...]:
        row = list(measure(encoders, state))
        if state.t_s == BAD_S:
            row[JOINT] = math.nan
        return tuple(row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build.Encoders, "measure", with_nan)
        return fly_inline(planned(rung)).logs[0]


def rows(log: Log, stream: str) -> np.ndarray:
    return log.rows[stream][:, 2:]


@pytest.mark.parametrize("rung", RUNGS)
def test_the_torques_are_held_and_the_law_starts_with_a_memory_of_zeros(rung: str) -> None:
    log, scenario = flown(rung), planned(rung)
    commands, sent = rows(log, "command"), rows(log, "sensors")
    assert len(commands) == len(sent) == 300 and np.isfinite(commands).all()
    (bad,) = np.nonzero(~np.isfinite(sent).all(axis=1))[0]
    assert sent[bad, JOINT] != sent[bad, JOINT] and log.column("sensors", "t_s")[bad] == BAD_S
    assert commands[bad].tolist() == commands[bad - 1].tolist()
    fresh, used = (Stepped(law.axes(scenario.aircraft.robot, 0.001), law.gains(scenario)) for _ in range(2))
    for row in sent[:bad]:
        used(row[:3], row[3:])
    apart = {"fresh": 0.0, "used": 0.0}
    for row, command in zip(sent[bad + 1 :], commands[bad + 1 :], strict=True):
        for name, one in (("fresh", fresh), ("used", used)):
            apart[name] = max(apart[name], np.abs(one(row[:3], row[3:]) - command).max())
    assert apart["fresh"] < (1e-2 if rung == "pil" else 2e-3)  # values and torques travel in single precision
    assert apart["used"] > 0.1


def test_all_rungs_say_so_at_the_same_time() -> None:
    said = {rung: flown(rung).rows["board_event"].tolist() for rung in RUNGS}
    assert said["mil"] == said["sil"] == said["pil"]
    assert said["mil"][-1] == [BAD_S, 0.0, Event.IMPLAUSIBLE_SENSORS, JOINT]
    assert log_sha256(flown("mil")) == log_sha256(flown("sil"))
    apart = rows(flown("pil"), "command") - rows(flown("mil"), "command")
    assert np.abs(apart).max() < 1e-2


def test_the_run_fails_a_check_with_time_and_pose() -> None:
    scenario, log = planned("mil"), flown("mil")
    summary = summarise(scenario, log, outcome=COMPLETED)
    assert [check["name"] for check in summary["checks"] if not check["ok"]] == ["implausible_sensors"]
    words = summary["values_rejected"]
    assert words.startswith("The board was sent a measured_2_rad that is NaN or infinite at 0.250 s, with the platform")
    assert "at (50 mm, 1 mm, 0.4 deg)" in words
    assert words in render_report(scenario, log, summary)
