"""What limits hide is seen beside them, and nothing else changes."""

from __future__ import annotations

import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.single import Single
from aeroloop.control import custom
from aeroloop.control.clipping import UNCLIPPED, nan_shown, with_unclipped
from aeroloop.control.toolkit import clip

SHAPE = custom.Shape({"state": 2, "setpoint": 1}, 1)
OWN = """
import casadi as ca

def law(design):
    state, setpoint, memory = (ca.{kind}.sym(name, size) for name, size in (("s", 2), ("r", 1), ("m", 1)))
    command = ca.fmin(ca.fmax(ca.sqrt(state[0]) / state[1], -1), 1)
    return ca.Function("law", [state, setpoint, memory], [command, ca.{memory}])
"""


def clipped_root() -> ca.Function:
    x, y = ca.SX.sym("x"), ca.SX.sym("y", 2)
    root = clip(ca.sqrt(x), 0.2, 1.0)
    return ca.Function("law", [x, y], [root, ca.vertcat(y[0] + root, 3)], ["x", "y"], ["command", "memory_next"])


def test_a_nan_that_a_limit_drops_is_in_the_sum() -> None:
    law, watched = clipped_root(), with_unclipped(clipped_root())
    assert float(law(-1.0, [0, 0])[0]) == pytest.approx(0.2), "the limit hides it"
    assert math.isnan(float(watched(-1.0, [0, 0])[2]))
    assert not math.isnan(float(watched(0.25, [0, 0])[2]))
    assert not math.isnan(float(watched(math.inf, [0, 0])[2])), "its limit is the right answer"


def test_the_other_outputs_and_names_are_the_same() -> None:
    law, watched, shown = clipped_root(), with_unclipped(clipped_root()), nan_shown(clipped_root())
    assert watched.name_in() == law.name_in()
    assert watched.name_out() == [*law.name_out(), UNCLIPPED]
    assert (shown.name(), shown.name_in(), shown.name_out()) == (law.name(), law.name_in(), law.name_out())
    for x in (0.0, 0.1, 0.5, 7.0):
        expected = [value.elements() for value in law(x, [0.3, 0.4])]
        assert [value.elements() for value in watched(x, [0.3, 0.4])][:2] == expected
        assert [value.elements() for value in shown(x, [0.3, 0.4])] == expected


def test_in_single_precision_too() -> None:
    """Operation by operation, as the generated C computes it."""
    run = Single(with_unclipped(clipped_root()))
    assert np.isnan(run(np.float32([-1.0]), np.float32([0, 0]))[2][0])
    assert np.isfinite(run(np.float32([4.0]), np.float32([0, 0]))[2][0])
    shown = Single(nan_shown(clipped_root()))
    assert not np.isfinite(shown(np.float32([-1.0]), np.float32([0, 0]))[0][0])
    assert shown(np.float32([4.0]), np.float32([0, 0]))[0][0] == 1.0


def test_functions_that_cannot_be_followed_stay_as_they_are() -> None:
    x = ca.MX.sym("x")
    table = ca.interpolant("table", "linear", [[0.0, 1.0, 2.0]], [0.0, 2.0, 3.0])
    law = ca.Function("law", [x], [ca.fmin(table(x), 1.5)], ["x"], ["command"])
    for function in (law, law.expand()):
        assert [float(value) for value in with_unclipped(function)(0.5)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "memory", "state"),
    [
        pytest.param("SX", "fabs(memory)", [-1.0, 1.0], id="behind a limit"),
        pytest.param("SX", "log(memory - 1)", [1.0, 1.0], id="in the memory"),
        pytest.param("MX", "log(memory - 1)", [1.0, 1.0], id="in the memory, matrices"),
    ],
)
def test_a_law_of_a_file_cannot_hide_a_nan(kind: str, memory: str, state: list[float], tmp_path: Path) -> None:
    """Every rung rejects a command that is not finite: this is all that a board must look at."""
    path = tmp_path / "law.py"
    path.write_text(OWN.format(kind=kind, memory=memory))
    law = custom.load(path, None, SHAPE)
    assert not math.isfinite(float(law(state, 0, 0)[0]))
    assert float(law([0.25, 1.0], 0, 2)[0]) == 0.5
    assert float(law([1.0, 0.0], 0, 2)[0]) == 1.0, "a division by zero has a limit"
