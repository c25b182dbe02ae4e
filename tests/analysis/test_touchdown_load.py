"""The load of touchdowns is a metric of flights with such events alone, so that others keep their metrics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis import generic
from aeroloop.core.signals import Event


@pytest.mark.parametrize(
    ("events", "metrics"),
    [
        ([], {}),
        ([(Event.GROUND_CONTACT, -0.6)], {}),
        (
            [(Event.GROUND_CONTACT, -0.6), (Event.TOUCHDOWN_LOAD, 5.8), (Event.TOUCHDOWN_LOAD, 2.0)],
            {"touchdown_load_max_g": 5.8},
        ),
    ],
)
def test_the_largest_load_is_a_metric(
    events: list[tuple[Event, float]], metrics: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.array([(1.0, 0.0, code, value) for code, value in events]).reshape(-1, 4)
    names = ("t_s", "vehicle", "code", "value")
    log: Any = SimpleNamespace(rows={"event": rows}, column=lambda stream, name: rows[:, names.index(name)])
    monkeypatch.setattr(generic, "lost_rows", lambda log: 0.0)
    kept = generic.kept(log, SimpleNamespace(lockstep=True))  # type: ignore[arg-type]
    assert kept == {"deadlines_missed": 0.0, "log_lost_rows": 0.0, **metrics}
