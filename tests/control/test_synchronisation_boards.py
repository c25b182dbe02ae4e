"""The synchronisation law on the emulated Cortex-M4: golden values, a longer run against double precision, and how long
the processor takes for it. The clock counts instructions, so times repeat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from synchronisation_golden import GOLDEN
from synchronised_axes import Stepped
from test_synchronisation_precision import joint_run, rotor_run

from aeroloop.boards.config import Processor
from aeroloop.codegen.images import build_image
from aeroloop.control import synchronisation
from aeroloop.control.board_law import BoardLaw
from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_gains import Gains
from aeroloop.controllers.law.values_board import EmulatedLaw, shape_of
from aeroloop.controllers.law.values_image import LOCKSTEP, generate
from aeroloop.core.frames import Vec
from aeroloop.protocols import values
from aeroloop.protocols.board import BoardReport

MOST = {"joint": 1e-2, "rotor": 0.1}
"""Largest difference in single precision: N m, rad/s."""
RUNS = {"joint": (joint_run, 1100), "rotor": (rotor_run, 300)}
LAW_TASK = 2


def board_law(axes: Axes, gains: Gains) -> BoardLaw:
    n = axes.count
    given, memory = ca.SX.sym("given", n + axes.references), ca.SX.sym("memory", axes.memory)
    u, after, *_ = synchronisation.law(axes)(given[:n], given[n:], memory, ca.DM(gains))
    return BoardLaw(ca.Function(f"law_{n}", [given, memory], [u, after]), axes.period_s)


class Fed:
    """The board, fed with values over its protocol."""

    def __init__(self, board: EmulatedLaw, law: BoardLaw) -> None:
        self._board, self._plant, self._cycle = board, values.PlantEnd(shape_of(law)), -1
        self.tasks: list[tuple[float, ...]] = []

    def __call__(self, y: Vec, ref: Vec) -> Vec:
        self._cycle += 1
        heard = self._plant.receive(self._board.step(self._plant.values(self._cycle, [[*y, *ref]]), ()))
        self.tasks += [m.row for m in heard if isinstance(m, BoardReport) and m.stream == "task"]
        (command,) = (m for m in heard if isinstance(m, values.Command))
        return np.array(command.values)


@contextmanager
def emulated(axes: Axes, gains: Gains, folder: Path) -> Iterator[Fed]:
    law = board_law(axes, gains)
    with closing(EmulatedLaw(law, build_image(generate(law), LOCKSTEP), Processor().shift, folder)) as board:
        yield Fed(board, law)


@pytest.mark.parametrize("plant", GOLDEN)
def test_golden_values_and_a_run_on_the_emulated_board(plant: str, tmp_path: Path) -> None:
    (axes, gains, rows), golden, _ = GOLDEN[plant]
    (tmp_path / "golden").mkdir()
    with emulated(axes, gains, tmp_path / "golden") as board:
        for sample, (y, ref) in enumerate(rows):
            u = board(np.array(y), np.array(ref))
            if sample in golden:
                assert np.abs(u - golden[sample]).max() < MOST[plant]
    (tmp_path / "run").mkdir()
    run, count = RUNS[plant]
    double = Stepped(axes, gains)
    with emulated(axes, gains, tmp_path / "run") as board:
        apart = [np.abs(board(*sent) - double(*sent)).max() for sent in (run(i * axes.period_s) for i in range(count))]
        assert 0.0 < max(apart) < MOST[plant]
        if plant == "joint":  # it ran for a second, after which the kernel reports
            (exec_s,) = {row[1] for row in board.tasks if row[0] == LAW_TASK}
            assert 1.0e-4 < exec_s < 2.0e-4
