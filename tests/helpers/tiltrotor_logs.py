"""Logs of the tilt-rotor made here, for summaries and reports."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
from stream_tables import TILTROTOR
from tiltrotor_scenarios import tiltrotor

from aeroloop.core.errors import EXIT_OK
from aeroloop.core.scenario import Check
from aeroloop.core.signals import TASKS, Event
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.recording.log import Log

FLOWN = {"ended": "the whole flight was flown", "wall_s": 2.0, "exit_code": EXIT_OK, "error": None}


def a_scenario(**changes: Any) -> TiltrotorScenario:
    checks = (Check(metric="pos_x_rms_m", below=0.2), Check(metric="saturated_steps", equals=0.0))
    return tiltrotor(**{"name": "spiral", "duration_s": 20.0, "checks": checks, **changes})


def a_log(*, diverged: bool = False, truncated: bool = False) -> Log:
    """Twenty seconds that look like a flight, 0.1 m off in x, with one late period."""
    t_s, cycle_s = np.arange(0, 20.002, 0.004), np.arange(0, 20.002, 0.012)
    log = Log.empty(STREAMS)
    rows = log.rows
    for name, times_s in {
        "truth": t_s,
        "effort": t_s,
        "pace": t_s,
        "setpoint": cycle_s,
        "cycle": cycle_s,
    }.items():
        rows[name] = np.zeros((len(times_s), len(TILTROTOR[name].fields)))
        rows[name][:, 0] = times_s
    rows["truth"][:, 2] = np.sin(t_s) + 0.1
    rows["setpoint"][:, 2] = np.sin(cycle_s)
    rows["effort"][:, 2:4] = 10.3
    rows["pace"][2500, 2] = 0.007
    rows["cycle"][:, 2] = 0.012
    rows["cycle"][50, 2] = 0.0131
    rows["link"] = np.array([[t_s, 0.0, *np.arange(1.0, 11.0) * t_s] for t_s in (0.0, 10.0)])
    rows["board_event"] = np.array([[0.012, 0, Event.STARTED, 0.0], [5.0, 0, Event.SENSORS_LOST, 416.0]])
    if diverged:
        rows["event"] = np.array([[3.0, 0, Event.DIVERGED, 201.0]])
    return replace(log, truncated=truncated)


def a_busy_board(log: Log, *, period_s: float = 0.012, seed: int = 1) -> Log:
    """Statistics as a board makes them: every task's time since the sample before, once a second of 20."""
    rng = np.random.default_rng(seed)
    spent_s = rng.uniform(0.001, 0.05, (20, len(TASKS)))
    use_pct = 100 * spent_s.sum(axis=1)
    ones, times_s = np.ones(20), np.arange(1.0, 21.0)
    log.rows["cpu"] = np.stack(
        [times_s, 0 * ones, use_pct, 140 * ones, 900 * ones, 4096 * ones, 0 * ones, 0.003 * ones, times_s], axis=1
    )
    log.rows["task"] = np.array(
        [
            [t_s, 0, task, of_sample[task] * period_s, 100 * of_sample[task] / of_sample.sum(), 0.002, 83.0]
            for t_s, of_sample in zip(times_s, spent_s, strict=True)
            for task in range(len(TASKS))
        ]
    )
    return log


class Page(HTMLParser):
    """What the tests ask of the page: its ids, what it fetches, its text, and that tags are balanced."""

    VOID = frozenset({"meta"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
