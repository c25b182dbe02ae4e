"""Tables that every flight reads at a place of its own."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.batch.engine import Engine
from aeroloop.batch.loop import Call, Lookup, Loop

TABLE = (10.0, 11.0, 12.0, 20.0, 21.0, 22.0)


@pytest.mark.parametrize("target", ["lanes", "double"])
def test_a_place_outside_is_the_nearest_one(target: str, tmp_path: Path) -> None:
    state, params = ca.SX.sym("state", 3), ca.SX.sym("params", 1)
    start = ca.Function("start", [params], [ca.vertcat(params, 0, 0)], ["params"], ["state"])
    keep = ca.Function("keep", [state], [state], ["state"], ["state_next"])
    finish = ca.Function("finish", [state], [state[1:]], ["state"], ["metrics"])
    loop = Loop(start, (Lookup(TABLE, 0, 1, (0, 3)), Call(keep)), finish, ("place",), ("here", "above"), 1, 1)
    places = np.array([0.0, 1.0, 2.0, -5.0, 7.0, np.nan, 1e30]).reshape(-1, 1)
    made = Engine(loop, target, cache=tmp_path).fly(places, np.zeros((1, 1)), np.zeros(7)).metrics  # type: ignore[arg-type]
    assert made["here"].tolist() == [10, 11, 12, 10, 12, 10, 12]
    assert made["above"].tolist() == [20, 21, 22, 20, 22, 20, 22]
