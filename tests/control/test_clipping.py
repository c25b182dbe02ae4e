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


TABLE = ca.interpolant("table", "linear", [[0.0, 1.0, 2.0]], [0.0, 2.0, 3.0])


def of_matrices(x: ca.MX) -> dict[str, ca.MX]:
    """Expressions of (3,) that are limited, by where the limit is."""
    root = ca.Function("root", [each := ca.SX.sym("each", 3)], [clip(ca.sqrt(each), 0.2, 1.0)])
    inner = ca.Function("inner", [y := ca.MX.sym("y", 3)], [2.0 * root(y)])
    return {
        "here": ca.fmin(ca.fmax(ca.sqrt(x), 0.2), 1.0),
        "in a function that is called": inner(x),
        "in a map": root.map(2)(ca.horzcat(x, x + 1.0))[:, 0],
        "of a table": ca.fmin(ca.vertcat(TABLE(x[0]), ca.sqrt(x[1:])), 1.5),
    }


@pytest.mark.parametrize("where", of_matrices(ca.MX(3, 1)))
def test_a_law_of_matrices_is_followed_too(where: str) -> None:
    """Also in functions that it calls; the outputs are those of the law itself, to the bit."""
    x = ca.MX.sym("x", 3)
    law = ca.Function("law", [x], [of_matrices(x)[where], 3.0 * x], ["x"], ["command", "memory_next"])
    watched, shown = with_unclipped(law), nan_shown(law)
    for given in ([0.1, 0.2, 0.3], [0.0, 7.0, 0.5]):
        expected = [value.elements() for value in law(given)]
        assert [value.elements() for value in watched(given)][:2] == expected
        assert [value.elements() for value in shown(given)] == expected
        assert math.isfinite(float(watched(given)[2]))
    hidden = [0.1, -0.2, 0.3]
    assert np.isfinite(np.array(law(hidden)[0])).all(), "the limit hides it"
    assert math.isnan(float(watched(hidden)[2])) and not np.isfinite(np.array(shown(hidden)[0])).any()


def test_what_cannot_be_followed_stays_as_it_is() -> None:
    """Tables within a function of symbols, and the branch of a switch that was not taken."""
    x = ca.MX.sym("x")
    expanded = ca.Function("law", [x], [ca.fmin(TABLE(x), 1.5)], ["x"], ["command"]).expand()
    assert [float(value) for value in with_unclipped(expanded)(0.5)] == [1.0, 0.0]
    switch = ca.Function("law", [x], [ca.if_else(x > 0.0, ca.fmin(ca.log(x), 1.0), 2.0, True)], ["x"], ["command"])
    assert [float(value) for value in with_unclipped(switch)(-0.5)] == [2.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "memory", "state"),
    [
        pytest.param("SX", "fabs(memory)", [-1.0, 1.0], id="behind a limit"),
        pytest.param("SX", "log(memory - 1)", [1.0, 1.0], id="in the memory"),
        pytest.param("MX", "fabs(memory)", [-1.0, 1.0], id="behind a limit, matrices"),
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
