"""A host board in wall time: a law that needs more processor time than a period has overrun it."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import pytest

from aeroloop.controllers.law.request_shell import Shell, TimedLaw
from aeroloop.core.signals import Event, Reference

PERIOD_NS = 12_000_000


@pytest.mark.parametrize(("worked_ns", "said"), [(PERIOD_NS, []), (PERIOD_NS + 1, [(7, Event.OVERRUN, 0.012000001)])])
def test_an_overrun_is_said_with_the_time_it_took(worked_ns: int, said: list[tuple[int, Event, float]]) -> None:
    heard: list[tuple[int, Event, float]] = []
    shell = SimpleNamespace(law=SimpleNamespace(worked_ns=worked_ns), _say=lambda *event: heard.append(event))
    Shell.note_work(shell, 7, PERIOD_NS)  # type: ignore[arg-type]
    assert heard == said


def test_processor_time_of_the_law_is_measured() -> None:
    sensors, reference, memory = ca.SX.sym("s", 16), ca.SX.sym("r", 8), ca.SX.sym("m", 1)
    x = memory
    for _ in range(2000):
        x = ca.sin(x)
    timed = TimedLaw(ca.Function("law", [sensors, reference, memory], [ca.vertcat(x, x, x, x), x]), "mil")
    timed((0.0,) * 16, Reference(0, (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0), 0.0))
    assert timed.worked_ns > 0
