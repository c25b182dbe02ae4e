"""The firmware of any board law: it computes what the law says, tells what its kernel measured, and when it is late."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.images import build_image
from aeroloop.control.board_law import BoardLaw, Group, TelemetryRow
from aeroloop.controllers.law.values_board import Board, EmulatedLaw, HostLaw, shape_of
from aeroloop.controllers.law.values_image import LOCKSTEP, check_line, generate
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Event, ResetCause
from aeroloop.protocols import values
from aeroloop.protocols.board import BoardReport, Start
from aeroloop.protocols.handshake import Claim, objection

PERIOD_S = 0.004
SHIFT = 5
INSTRUCTIONS = PERIOD_S * 1e9 / 2**SHIFT


def grouped_law() -> BoardLaw:
    """Two groups: it counts how often each was fresh, and gives a sum that it also tells every second period."""
    measured, fresh, memory = ca.SX.sym("measured", 3), ca.SX.sym("fresh", 2), ca.SX.sym("memory", 2)
    counts = memory + fresh
    command = ca.vertcat(ca.sin(measured[0]) + measured[2], ca.dot(counts, ca.DM([1.0, 100.0])))
    function = ca.Function("grouped", [measured, fresh, memory], [command, counts, command[0]])
    return BoardLaw(function, PERIOD_S, (Group(2), Group(1, rate_hz=50.0)), (TelemetryRow("estimate", 1, every=2),))


def simple_law(command: ca.SX, measured: ca.SX) -> BoardLaw:
    memory = ca.SX.sym("memory", 1)
    return BoardLaw(ca.Function("simple", [measured, memory], [command, memory + 1]), PERIOD_S)


def slow_law(iterations: int) -> BoardLaw:
    x, measured, memory = ca.SX.sym("x"), ca.MX.sym("measured", 1), ca.MX.sym("memory", 1)
    work = ca.Function("work", [x], [3.7 * x * (1 - x)])
    useless = work.fold(iterations)(0.5 + 0.1 * ca.sin(measured))
    return BoardLaw(ca.Function("slow", [measured, memory], [measured + 1e-12 * useless, memory]), PERIOD_S)


@contextmanager
def emulated(law: BoardLaw, folder: Path) -> Iterator[EmulatedLaw]:
    with closing(EmulatedLaw(law, build_image(generate(law), LOCKSTEP), SHIFT, folder)) as board:
        yield board


class Plant:
    """The plant's end of a board that is called."""

    def __init__(self, law: BoardLaw, board: Board) -> None:
        self.end, self._listener, self._board = values.PlantEnd(shape_of(law)), values.BoardEnd(shape_of(law)), board
        self.cycle = -1
        self.heard: list[values.FromBoard] = []

    def period(self, *groups: tuple[float, ...] | None) -> list[values.Command]:
        self.cycle += 1
        return self.send(self.end.values(self.cycle, groups))

    def send(self, frame: bytes) -> list[values.Command]:
        heard = self.end.receive(self._board.step(frame, self._listener.receive(frame)))
        self.heard += heard
        return [message for message in heard if isinstance(message, values.Command)]

    def told(self, stream: str) -> list[tuple[float, ...]]:
        return [message.row for message in self.heard if isinstance(message, BoardReport) and message.stream == stream]


def test_board_and_host_answer_alike(tmp_path: Path) -> None:
    """Single precision is all that parts them, also where groups are left out and frames are damaged."""
    law, draw = grouped_law(), np.random.default_rng(1)
    with emulated(law, tmp_path) as board:
        plants = [Plant(law, board), Plant(law, HostLaw(law, "mil"))]
        for cycle in range(300):
            first = tuple(draw.uniform(-3, 3, 2)) if cycle % 7 else None
            second = (draw.uniform(-3, 3),) if cycle % 5 == 0 else None
            if first is None and second is None:
                continue
            ours, theirs = ([(c.cycle, c.values) for c in plant.period(first, second)] for plant in plants)
            assert len(ours) == 1
            assert ours[0][0] == theirs[0][0] == plants[0].cycle
            assert ours[0][1] == pytest.approx(theirs[0][1], abs=2e-6)
            if cycle % 50 == 0:
                damaged = bytearray(plants[0].end.values(7, ((1.0, 2.0), None)))
                damaged[5] ^= 0x55
                assert [plant.send(bytes(damaged)) for plant in plants] == [[], []]
        rows = [np.array(plant.told("estimate")) for plant in plants]
        assert len(rows[0]) > 100
        np.testing.assert_allclose(rows[0], rows[1], atol=2e-6)
        names = {"cpu", "task"}
        assert {m.stream for m in plants[0].heard if isinstance(m, BoardReport)} >= names
        cpu = dict(zip([name for name, _ in values.CPU.fields[1:]], plants[0].told("cpu")[-1], strict=True))
        assert 0 < cpu["use_pct"] < 20
        assert 0 < cpu["stack_used_B"] < cpu["stack_size_B"]
        assert cpu["overruns"] == 0
        runs = {row[0]: row[-1] for row in plants[0].told("task")}
        assert runs.keys() == {0, 1, 2}
        assert all(count >= 200 for count in runs.values())


def test_a_law_that_is_too_slow_answers_late_and_says_so(tmp_path: Path) -> None:
    """1.5 periods of work each time: an answer in two of three periods, each to values of before, no restart."""
    quick = slow_law(1000)
    (tmp_path / "quick").mkdir()
    with emulated(quick, tmp_path / "quick") as board:
        plant = Plant(quick, board)
        assert len(plant.period((1.0,))) == 1
        taken_s = next(m for m in plant.heard if isinstance(m, values.Command)).latency_s
    iterations = round(1000 * 1.5 * PERIOD_S / taken_s)
    (tmp_path / "slow").mkdir()
    law = slow_law(iterations)
    with emulated(law, tmp_path / "slow") as board:
        plant = Plant(law, board)
        answers = [plant.period((float(cycle),)) for cycle in range(300)]
        got = [command for commands in answers for command in commands]
        assert 160 <= len(got) <= 220
        assert all(command.values[0] == pytest.approx(command.cycle) for command in got)
        assert all(PERIOD_S < command.latency_s < 3 * PERIOD_S for command in got)
        overruns = [row for row in plant.told("board_event") if row[0] == Event.OVERRUN]
        assert len(overruns) == pytest.approx(len(got), abs=2)
        assert plant.told("cpu")[-1][4] > 100
        assert not [m for m in plant.heard if isinstance(m, Start)]


def test_what_is_not_finite_is_not_flown(tmp_path: Path) -> None:
    measured = ca.SX.sym("measured", 1)
    law = simple_law(ca.sqrt(measured), measured)
    with emulated(law, tmp_path) as board:
        for plant in (Plant(law, board), Plant(law, HostLaw(law, "mil"))):
            answers = [plant.period((value,))[0].values[0] for value in (4.0, -1.0, 9.0)]
            assert answers == pytest.approx([2.0, 2.0, 3.0])
            assert [row[0] for row in plant.told("board_event")] == [Event.STARTED, Event.LAW_NOT_FINITE]


def test_a_law_that_restarts_holds_its_command_and_forgets_what_it_had(tmp_path: Path) -> None:
    """Whichever group has the NaN: its values of before stay, and so do those of the other groups."""
    law = replace(grouped_law(), restarts=True)
    samples = [((1.0, 2.0), (3.0,)), ((2.0, math.nan), None), (None, (0.5,)), (None, (math.inf,)), ((0.0, 0.0), (0.0,))]
    first = math.sin(1.0) + 3.0
    with emulated(law, tmp_path) as board:
        for plant in (Plant(law, board), Plant(law, HostLaw(law, "mil"))):
            answers = [plant.period(*groups)[0] for groups in samples]
            assert [command.cycle for command in answers] == [0, 1, 2, 3, 4]
            expected = [
                (first, 101.0),
                (first, 101.0),
                (math.sin(1.0) + 0.5, 100.0),
                (math.sin(1.0) + 0.5, 100.0),
                (0.0, 101.0),
            ]
            for command, values_expected in zip(answers, expected, strict=True):
                assert command.values == pytest.approx(values_expected, abs=2e-6)
            assert [row for row in plant.told("board_event") if row[0] != Event.STARTED] == [
                (Event.IMPLAUSIBLE_SENSORS, 1.0),
                (Event.IMPLAUSIBLE_SENSORS, 2.0),
            ]


def test_a_board_of_another_law_is_refused(tmp_path: Path) -> None:
    measured = ca.SX.sym("measured", 1)
    law, other = simple_law(2 * measured, measured), simple_law(3 * measured, measured)
    with emulated(law, tmp_path) as board:
        (start,) = values.PlantEnd(shape_of(law)).receive(board.start(0))
        assert isinstance(start, Start)
        claim = start.claim
        assert isinstance(claim, Claim)
        assert claim.cause == ResetCause.POWER_ON
        assert objection(values.INTERFACE, claim, generate(law).image_id) is None
        assert "another law or scenario" in str(objection(values.INTERFACE, claim, generate(other).image_id))


def test_the_discovery_build_has_no_warnings() -> None:
    assert build_image(generate(grouped_law()), "values-uart-discovery").with_suffix(".bin").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("count", "commands", "says"), [(61, 1, "61 values and 1 commands"), (1, 29, "at most 60 and 28")]
)
def test_more_than_a_frame_holds_is_refused(count: int, commands: int, says: str) -> None:
    measured = ca.SX.sym("measured", count)
    with pytest.raises(ConfigError, match=says):
        generate(simple_law(ca.repmat(measured[0], commands, 1), measured))


def test_what_the_emulated_line_cannot_carry_is_refused_with_the_sum() -> None:
    measured = ca.SX.sym("measured", 20)
    with pytest.raises(ConfigError, match=r"88 bytes in a control period of 4 ms.*84 % of the period"):
        check_line(simple_law(measured[0], measured))
    check_line(grouped_law())
