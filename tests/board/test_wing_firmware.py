"""The fixed wing's application on this machine, with sanitizers: every period answered, bad input refused and counted,
the laws those of the host."""

from __future__ import annotations

import math
import random
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from host_build import kept
from wing_words import (
    HEIGHT_M,
    PERIOD_NS,
    WingProcess,
    board_file,
    flight,
    generated,
    goal,
    messages,
    named,
    sensed,
    sensors,
)

from aeroloop.boards.emulated import GrantedBoard, StepPipe
from aeroloop.boards.steps import MOST_GRANTED_BYTES, Boot
from aeroloop.boards.steps import Step as StepPacket
from aeroloop.codegen.images import Generated, build_image, image_sizes
from aeroloop.core.signals import Event, ResetCause
from aeroloop.core.wing_signals import WING_TASKS, PlanStatus, Step
from aeroloop.families.fixedwing import images as wing_images
from aeroloop.families.fixedwing.autopilot import autopilot_of
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.protocols.board import Start
from aeroloop.protocols.handshake import Claim, objection
from aeroloop.protocols.interface import WING
from aeroloop.protocols.wing import PlantEnd
from tools import wing_timing


@pytest.fixture(scope="module", params=["preemptive", "cooperative"])
def any_scheduler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def board() -> Iterator[WingProcess]:
    with WingProcess(board_file()) as process:
        yield process


def test_every_period_is_answered_once_with_its_number(any_scheduler: str) -> None:
    with WingProcess(board_file(any_scheduler)) as board:
        replies = [board.step(sensors(cycle)) for cycle in range(30)]
    for cycle, reply in enumerate(replies):
        ((number, *_, latency_s),) = named(reply.hils, "servos")
        assert number == cycle
        assert 0 < latency_s < PERIOD_NS * 1e-9
        names = [name for name, _ in messages(reply.comm)]
        assert (names.count("estimate"), names.count("guidance")) == (1, 1)
    assert [values for reply in replies for values in named(reply.comm, "event")] == [(Event.STARTED, 0.0)]


def test_where_the_first_fix_finds_it_is_where_the_host_would_put_it() -> None:
    for place in ((0.0, 0.0), (4700.0, 4700.0), (-4700.0, 4700.0), (4700.0, -4700.0), (-4700.0, -4700.0)):
        with WingProcess(board_file()) as board:
            ((x, y, z, *_),) = named(board.step(sensors(0, (*place, HEIGHT_M), vel_W=(0.0, 0.0, 0.0))).comm, "estimate")
        assert (x, y, z) == pytest.approx((*place, HEIGHT_M), abs=0.06), place


def test_without_a_fix_it_holds_the_trim_and_begins_with_the_first_one(board: WingProcess) -> None:
    before = [named(board.step(sensors(cycle, fix=False)).hils, "servos")[0] for cycle in range(3)]
    after = board.step(sensors(3))
    assert len({values[1:5] for values in before}) == 1
    assert before[0][4] == pytest.approx(0.62, abs=0.01)  # throttle of the trim
    assert named(after.comm, "estimate")[0][2] == pytest.approx(HEIGHT_M, abs=0.1)


def test_its_servos_and_guidance_are_those_of_the_host_s_board(board: WingProcess) -> None:
    twin = autopilot_of(wing_images.scenario_of())
    for cycle in range(60):
        data = sensors(cycle)
        reply = board.step(data)
        command, rows = twin.step(sensed(data))
        assert named(reply.hils, "servos")[0][1:5] == pytest.approx(command, abs=2e-3), cycle
        for stream, tolerance in (("estimate", 2e-3), ("guidance", 2e-3)):
            (row,) = (values for name, values in rows if name == stream)
            assert named(reply.comm, stream)[0] == pytest.approx(row, rel=1e-4, abs=tolerance), (cycle, stream)
    assert abs(command[0]) > 0.1  # it turned at all


def test_garbage_on_both_lines_is_refused_and_counted_and_the_flight_goes_on(any_scheduler: str) -> None:
    rng = random.Random(6)
    with WingProcess(board_file(any_scheduler)) as board:
        for cycle in range(60):
            noise = [rng.randbytes(rng.randrange(MOST_GRANTED_BYTES - 200)) for _ in range(2)]
            good = b"~" + sensors(cycle)  # a flag ends whatever the noise began
            reply = board.step(noise[0] + good, noise[1])
            assert [values[0] for values in named(reply.hils, "servos")] == [cycle]
        assert reply.refused >= 60


def test_a_frame_that_is_whole_but_says_nothing_possible_is_refused(board: WingProcess) -> None:
    board.step(sensors(0))
    cases = [
        (sensors(1, gyro_z=math.nan), b""),
        (sensors(1, gyro_z=math.inf), b""),
        (sensors(0), b""),  # the number of before: a duplicate
        (goal(1.0, 2.0), b""),  # on the wrong line
        (b"", sensors(1)),
        (b"", goal(math.nan, 0.0)),
        (b"", goal(0.0, 1e9)),
    ]
    for count, (hils, comm) in enumerate(cases, start=1):
        reply = board.step(hils, comm)
        assert (reply.refused, reply.hils) == (count, b"")
    assert [event for event, _ in named(board.step(sensors(1)).comm, "event")] == [Event.IMPLAUSIBLE_SENSORS] * 2


def test_cycles_that_never_came_are_counted_as_missed(board: WingProcess) -> None:
    for cycle in (*range(5), *range(8, 25)):
        reply = board.step(sensors(cycle))
        for values in named(reply.comm, "cpu"):
            assert values[4] == 3
            return
    pytest.fail("no statistics within 20 periods")


def test_a_packet_that_makes_no_sense_makes_the_board_start_anew(board: WingProcess) -> None:
    packet = StepPacket(0, None, link=sensors(0), grant=True).pack()
    for broken in (packet[:6] + b"\x01" + packet[7:], StepPacket(0, None).pack()):  # the second grants it no time
        boot = board.exchange(broken)
        assert isinstance(boot, Boot) and boot.cause is ResetCause.FAULT


def test_it_says_what_it_is_when_it_starts_and_when_it_starts_anew(board: WingProcess) -> None:
    again = board.exchange(StepPacket(0, None, fault="reset", grant=True).pack())
    for boot, cause in ((board.boot, ResetCause.POWER_ON), (again, ResetCause.COMMANDED)):
        assert isinstance(boot, Boot) and boot.cause is cause
        (start,) = PlantEnd().receive(boot.sent)
        assert start == Start(Claim(cause, WING.revision, WING.hash, generated().image_id, 0))
        assert start.claim and objection(WING, start.claim, generated().image_id) is None
    assert named(board.step(sensors(0)).hils, "servos"), "and then it flies"


@pytest.mark.parametrize("ns_a_look", [390_000, 1_600_000, 2_000_000, 5_000_000])
def test_a_period_may_end_inside_any_task(any_scheduler: str, ns_a_look: int) -> None:
    """Ever slower boards, the last one too slow for its routine tasks: no cycle is answered twice, one that is late is
    said to be, and when the line falls silent it catches up."""
    cycles = 40
    with WingProcess(board_file(any_scheduler), ns_a_look) as board:
        replies = [
            board.step(sensors(cycle), goal(3000.0, 0.0) if cycle == 10 else b"") if cycle < cycles else board.step()
            for cycle in range(2 * cycles)
        ]
    assert all(reply.spent_ns >= PERIOD_NS for reply in replies if reply.unfinished)
    servos = named(b"".join(reply.hils for reply in replies), "servos")
    answered = [values[0] for values in servos]
    late_s = [values[-1] for values in servos if values[-1] > PERIOD_NS * 1e-9]
    if ns_a_look == 5_000_000:
        assert answered == sorted(set(answered))
        assert answered[-1] == cycles - 1
        # New sensors wait until those at work are answered; else hardly any would be.
        assert cycles / 4 < len(late_s) == len(answered) < cycles
    else:
        assert answered == list(range(cycles))
        assert late_s == []
    told = named(b"".join(reply.comm for reply in replies), "event")
    overruns_s = [value for code, value in told if code == Event.OVERRUN]
    assert overruns_s == late_s[: len(overruns_s)]
    assert bool(overruns_s) == bool(late_s)


def test_cycles_that_are_late_or_left_out_are_missed_and_the_worst_latency_is_told(any_scheduler: str) -> None:
    """A slow board that is asked for two cycles of eight: the second of them has to wait."""
    with WingProcess(board_file(any_scheduler), 4_000_000) as board:
        replies = [board.step(sensors(cycle)) if cycle % 8 < 2 else board.step() for cycle in range(180)]
    at, (cpu,) = next((at, named(reply.comm, "cpu")) for at, reply in enumerate(replies) if named(reply.comm, "cpu"))
    servos = named(b"".join(reply.hils for reply in replies[: at + 1]), "servos")

    def missed(answered: list[tuple[float, ...]]) -> float:
        late = sum(latency_s > PERIOD_NS * 1e-9 for *_, latency_s in answered)
        assert late > 10
        return answered[-1][0] + 1 - len(answered) + late

    assert cpu[4] in {missed(servos[:-few]) for few in (1, 2, 3)}  # it was looked at a little before it was told
    assert cpu[5] == max(latency_s for *_, latency_s in servos)


def test_a_path_is_taken_up_without_a_jump(board: WingProcess) -> None:
    """From the circle onto the transient and on: the point that is followed moves on by what path following moves it,
    though each path counts its own arc length."""
    flown = flight(board.step)
    flown.fly(5)
    flown.fly(760, goal=True)
    rows = flown.told["guidance"][5:]
    assert rows[-1][1] == 2.0  # the number of the path
    for before, after in pairwise(rows):
        assert math.dist(before[3:5], after[3:5]) < 1.6


def planned(board: WingProcess) -> wing_timing.Rows:
    """What it told until a plan and the path to it are known."""
    flown = flight(board.step)
    flown.fly(5)
    flown.fly(115, goal=True)
    return flown.told


def test_a_goal_makes_a_plan_whose_cells_and_path_are_told(any_scheduler: str) -> None:
    with WingProcess(board_file(any_scheduler)) as board:
        told = planned(board)
    steps = [Step(int(values[0])) for values in told["step"]]
    assert steps == [Step.LOITER, Step.PLAN, Step.LEAVE]
    (plan,) = told["plan"]
    assert PlanStatus(int(plan[1])) is PlanStatus.FOUND
    assert [values[1] for values in told["cell"]] == list(range(int(plan[11])))
    assert plan[11] > plan[12] > 2  # cells on the way, and fine ones
    assert told["path"][0][:2] == (0.0, 0.0)
    assert plan[10] > 0  # execution time


def test_a_goal_that_is_repeated_under_its_number_counts_once(board: WingProcess) -> None:
    flown = flight(board.step)
    flown.fly(5)
    flown.fly(115, goal=True)
    before = flown.period().refused
    flown.period(goal(*flown.places.start_m))
    assert flown.period().refused == before + 1
    assert len(flown.told["plan"]) == 1
    assert [values[0] for values in flown.told["step"]].count(Step.PLAN) == 1


def periods_until_planned(scheduler: str, *numbers: int) -> tuple[int, wing_timing.Rows]:
    """Of a slow board that is sent these goals in turn, all of them the same place."""
    with WingProcess(board_file(scheduler), 40_000 if scheduler == "cooperative" else 1_500_000) as board:
        flown = flight(board.step)
        flown.fly(5)
        for number in numbers:
            flown.period(goal(*flown.places.goal_m, number))
        while "plan" not in flown.told and flown.cycle < 600:
            flown.period()
        return flown.cycle, flown.told


def test_a_new_goal_does_not_wait_for_the_search_of_the_one_before(any_scheduler: str) -> None:
    alone, _ = periods_until_planned(any_scheduler, 1)
    second, told = periods_until_planned(any_scheduler, 1, 2)
    assert alone > 20
    assert second <= alone + 2
    assert [values[:2] for values in told["plan"]] == [(1.0, PlanStatus.FOUND)]


def test_it_finds_the_host_s_cells(board: WingProcess) -> None:
    told = planned(board)
    (plan,) = told["plan"]
    host = planner_of(wing_images.scenario_of()).plan((plan[3], plan[4]), (plan[5], plan[6]))
    assert [values[2:] for values in told["cell"]] == [tuple(map(float, cell)) for cell in host.cells]
    assert (plan[7], plan[8], plan[9]) == (host.leaves, host.expanded, host.cost)


def test_it_replans_in_flight_as_the_host_s_board_does() -> None:
    """From the node that lies ahead, with the heading there, and with what was flown held against the way back."""
    twin = autopilot_of(wing_images.scenario_of())
    plans: list[tuple[float, ...]] = []
    with WingProcess(board_file()) as board:

        def step(hils: bytes, comm: bytes) -> wing_timing.Reply:
            _, rows = twin.step(sensed(hils), [flown.places.goal_m] if comm else [])
            plans.extend(values for name, values in rows if name == "plan")
            return board.step(hils, comm)

        flown = flight(step)
        flown.fly(5)
        flown.fly(4500, goal=True)
    told = flown.told["plan"]
    assert len(told) == len(plans) > 8
    for mine, its in zip(told, plans, strict=True):
        assert mine[:2] == its[:2]
        assert mine[3:7] == pytest.approx(its[3:7], abs=0.1)  # from where to where
        assert mine[7:10] == its[7:10], "leaves, states taken up, cost"
        assert mine[11:] == its[11:]


def test_statistics_add_up(board: WingProcess) -> None:
    rows: list[tuple[float, ...]] = []
    cpu: list[tuple[float, ...]] = []
    for cycle in range(85):
        reply = board.step(sensors(cycle))
        cpu += named(reply.comm, "cpu")
        rows += named(reply.comm, "task")
    assert len(cpu) == 4
    last = rows[-len(WING_TASKS) :]
    assert [values[0] for values in last] == list(range(len(WING_TASKS)))
    assert sum(share for _, _, share, *_ in last) == pytest.approx(100.0, abs=0.01)
    assert sum(exec_s for _, exec_s, *_ in last) / 0.05 == pytest.approx(cpu[-1][0] / 100, rel=1e-3)
    runs = {WING_TASKS[int(number)].name: count for number, *_, count in last}
    assert {runs[name] for name in ("hils_tx", "hils_rx", "esti_atti", "esti_nav", "cntr", "pfol", "comm_tx")} == {20}
    assert {runs[name] for name in ("pplan", "pgen", "comm_rx", "comm_proc")} == {0}


def test_the_images_fit_the_memory_of_the_paper_s_board() -> None:
    for image in (wing_images.PREEMPTIVE, wing_images.COOPERATIVE):
        flash, ram = image_sizes(build_image(generated(), image))
        assert flash + ram <= wing_images.MOST_BYTES
        assert ram <= wing_images.MOST_RAM_BYTES


@pytest.mark.soak  # short: tests/features refuses a stale board, tests/protocols another interface
def test_a_board_of_another_interface_is_refused_in_one_sentence(tmp_path: Path) -> None:
    made, hash_ = generated(), f"0x{WING.hash:08x}u"
    header = made.files["interface.h"]
    assert header.count(hash_) == 1
    stale = Generated({**made.files, "interface.h": header.replace(hash_, f"0x{WING.hash ^ 1:08x}u")}, made.image_id)
    board = GrantedBoard(StepPipe(build_image(stale, wing_images.PREEMPTIVE), 5, tmp_path), PERIOD_NS)
    try:
        (start,) = PlantEnd().receive(board.start)
    finally:
        board.close()
    assert isinstance(start, Start) and start.claim
    reason = objection(WING, start.claim, made.image_id)
    assert reason and "differ in its content" in reason and "aeroloop board run SCENARIO" in reason


def test_the_interface_header_compiles_and_has_every_task() -> None:
    checks = "\n".join(
        f'_Static_assert(TASK_{task.name.upper()} == {index}, "{task.name}");' for index, task in enumerate(WING_TASKS)
    )

    def make(place: Path) -> None:
        (place / "interface.h").write_text(generated().files["interface.h"])
        (place / "a.c").write_text(f'#include "interface.h"\n{checks}\n')
        subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "a.c"], cwd=place, check=True)

    kept("wing-header", [checks.encode(), generated().files["interface.h"].encode()], make)
