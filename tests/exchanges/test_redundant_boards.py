"""Flights with several boards: the failure of one costs nothing that can be measured, and every flight repeats."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from aeroloop.analysis.track import ANGLES, POSITION
from aeroloop.core.config import apply_overrides
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.redundancy import BY_VOTE, Verdict
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load
from aeroloop.core.signals import Event
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight
from aeroloop.recording.log import Log, log_sha256, read

AT_S = 0.3
LATE_M = 1e-4
"""A command that is `wait_s` late once, with 2 mm of noise: 0.05 mm, in proportion to `wait_s`."""
LATE_RAD = 2e-4
"""The same: 0.008 deg; 0.1 deg is allowed."""
NOISE_M, NOISE_RAD = {"late": 1e-3}, {"late": 1.7e-3}
"""A board that asks at other times draws other noise."""


def scenario(mode: str, boards: int, fault: str = "", *changes: str, loop: str = "mil", faults: str = "") -> Scenario:
    table: dict[str, object] = {
        "name": "several",
        "duration_s": 1.1,
        "loop": loop,
        "world": {"start": "moving"},
        "sensors": {"pos_std_m": 0.002},
        "ground": {"trajectory": {"kind": "spiral"}},
        "redundancy": {"mode": mode, "boards": boards},
    }
    planned = faults or (f"{{{fault}, from_s={AT_S}}}" if fault else "")
    apply_overrides(table, (f"faults=[{planned}]", *changes))
    return load(Path("several.toml"), given=table)


@cache
def flown(mode: str, boards: int, fault: str = "", *changes: str, loop: str = "mil", faults: str = "") -> Log:
    flight = fly_inline(scenario(mode, boards, fault, *changes, loop=loop, faults=faults))
    assert flight.ended == "completed"
    return flight.logs[0]


def events(log: Log) -> list[tuple[Event, int]]:
    rows = zip(log.column("event", "code"), log.column("event", "value"), strict=True)
    return [(Event(int(code)), int(value)) for code, value in rows if code >= Event.BOARD_SELECTED]


def apart(one: Log, other: Log, columns: tuple[str, ...]) -> float:
    return float(max(np.max(np.abs(one.column("truth", name) - other.column("truth", name))) for name in columns))


def apart_m(one: Log, other: Log) -> float:
    return apart(one, other, POSITION)


def apart_rad(one: Log, other: Log) -> float:
    return apart(one, other, ANGLES)


SILENT = {
    "dead": 'target="board.1", kind="dead"',
    "hang": 'target="board.1", kind="hang"',
    "reset": 'target="board.1", kind="reset"',
    "slow": 'target="board.1", kind="slow", value=0.02',
    "babbling": 'target="board.1", kind="babbling"',
    "nan": 'target="board.1", kind="nan"',
    "lost": 'target="to_plant", channel="board.1", kind="loss", value=1.0',
    "late": 'target="to_plant", channel="board.1", kind="delay_s", value=0.02',
    "deaf": 'target="to_board", channel="board.1", kind="loss", value=1.0',
}


ON_PIL = ("hang",)
"""On the firmware; the others `make soak`."""


def with_firmware(faults: Iterable[str]) -> list[ParameterSet]:
    """Each on mil, and on pil."""
    every = [pytest.param(fault, "mil") for fault in faults]
    return every + [pytest.param(fault, "pil", marks=() if fault in ON_PIL else pytest.mark.soak) for fault in faults]


@pytest.mark.parametrize(("fault", "loop"), with_firmware(SILENT))
def test_the_other_board_takes_over_without_a_trace(fault: str, loop: str) -> None:
    log, calm = flown("standby", 2, SILENT[fault], loop=loop), flown("standby", 2, loop=loop)
    assert events(log)[:2] == [(Event.BOARD_OUT, 1), (Event.BOARD_SELECTED, 2)]
    assert np.max(log.column("redundancy", "held_cycles")) == 0
    assert apart_m(log, calm) < NOISE_M.get(fault, LATE_M)
    assert apart_rad(log, calm) < NOISE_RAD.get(fault, LATE_RAD)
    assert log.column("redundancy", "active")[-1] == 1


def test_cold_integrators_would_be_seen() -> None:
    """What alignment is for: a board that restarts has none, and the one that flies fails after it has returned."""
    faults = '{target="board.2", kind="reset", from_s=0.8}, {target="board.1", kind="dead", from_s=1.0}'
    wind = "world.wind.steady_W=[6.0, 4.0, 0.0]"
    soon = "redundancy.return_cycles=5"
    jumps = {}
    for align in ("true", "false"):
        log = flown("standby", 2, "", wind, soon, f"redundancy.align={align}", faults=faults)
        calm = flown("standby", 2, "", wind, f"redundancy.align={align}")
        assert log.column("redundancy", "active")[-1] == 1
        at = int(np.searchsorted(log.column("command", "t_s"), 1.0)) + 1
        thrusts = [
            np.abs(log.column("command", n) - calm.column("command", n)) for n in ("thrust_right_N", "thrust_left_N")
        ]
        jumps[align] = float(np.max(thrusts, axis=0)[at])
    assert jumps["true"] < 1e-4
    assert jumps["false"] > 10 * jumps["true"]


@pytest.mark.parametrize(
    "fault",
    [
        'target="board.1", kind="bias", value=1.0, channel="thrust_left_N"',
        'target="board.1", kind="reference_bias", value=0.5',
    ],
)
def test_three_boards_outvote_a_liar_and_two_only_notice_it(fault: str) -> None:
    log = flown("vote", 3, fault)
    assert events(log) == [(Event.BOARD_OUT, 1)]
    assert apart_m(log, flown("vote", 3)) < 1e-5
    assert set(log.column("redundancy", "active")) == {BY_VOTE}
    assert log.column("redundancy", "board_1")[-1] == Verdict.OUTVOTED
    two = flown("standby", 2, fault)
    assert events(two) == [(Event.BOARDS_DISAGREE, 1)]
    assert set(two.column("redundancy", "active")) == {0.0}


def test_a_board_that_restarts_is_aligned_and_returns() -> None:
    log = flown("vote", 3, SILENT["reset"])
    assert events(log) == [(Event.BOARD_OUT, 1), (Event.BOARD_IN, 1)]
    assert Event.BOARD_RESTARTED in log.column("event", "code")


def test_own_sensors_have_their_own_noise_and_a_dead_board_does_not_change_the_others() -> None:
    own = flown("standby", 2, "", 'redundancy.sensors="own"')
    assert not np.array_equal(own.column("sensors", "x_m"), own.column("sensors_2", "x_m"))
    dead = flown("standby", 2, SILENT["dead"], 'redundancy.sensors="own"')
    count = len(dead.rows["sensors_2"])
    assert np.array_equal(dead.column("sensors_2", "x_m")[: count // 4], own.column("sensors_2", "x_m")[: count // 4])
    noise = [
        log.column("sensors_2", "x_m")
        - np.interp(log.column("sensors_2", "t_s"), log.column("truth", "t_s"), log.column("truth", "x_m"))
        for log in (own, dead)
    ]
    assert np.allclose(noise[0], noise[1], atol=1e-6)
    shared = flown("standby", 2)
    assert np.array_equal(shared.column("sensors", "x_m"), shared.column("sensors_2", "x_m"))


def test_a_board_with_another_interface_is_refused_by_name() -> None:
    with pytest.raises(LinkError, match=r"^board\.2: the board's image is old"):
        fly_inline(scenario("standby", 2, faults='{target="board.2", kind="wrong_image", from_s=0.0}'))


def test_every_board_lost_holds_the_last_command_and_time_goes_on() -> None:
    faults = ", ".join(f'{{target="board.{n}", kind="dead", from_s=0.8}}' for n in (1, 2))
    log = flown("standby", 2, faults=faults)
    assert (Event.NO_BOARD, 1) in events(log)
    assert log.column("redundancy", "held_cycles")[-1] >= 20
    assert log.column("truth", "t_s")[-1] == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (("redundancy.boards=4",), "redundancy.boards"),
        (("redundancy.band=[1.0, 2.0]",), "redundancy.band: expected one number, or 4; not 2"),
        (("redundancy.band=[0.0]",), "band: expected numbers above zero"),
        (("link.url=tcp://127.0.0.1:5000",), "link.url: 2 boards need a link each"),
        (("loop=hil", "pace=real"), "redundancy: a physical board has one link"),
        (('faults=[{target="board.3", kind="dead", from_s=1.0}]',), "no fault of board.3 can be switched"),
        (('faults=[{target="board.1", kind="dead", from_s=1.0, to_s=2.0}]',), "to_s: a board's dead has no end"),
        (('faults=[{target="to_plant", channel="board.3", kind="loss", value=1.0, from_s=1.0}]',), "to_plant has no"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(changes: tuple[str, ...], said: str) -> None:
    from aeroloop.core.fault_offers import check_planned

    with pytest.raises(ConfigError, match=said.replace("[", r"\[")):
        check_planned(scenario("standby", 2, "", *changes))


COLUMNS = ("t_s", "active", "reason", "board_1", "board_2", "board_3", "held_cycles")
LIARS = {
    "stuck": 'target="board.1", kind="stuck"',
    "bias": 'target="board.1", kind="bias", value=1.0',
    "sensor": 'target="board.1", kind="sensor_bias", value=0.2',
    "reference": 'target="board.1", kind="reference_bias", value=0.5',
}
EVERY = {**SILENT, **LIARS}
QUICK = (("vote", 3, "slow"), ("standby", 2, "hang"))


def of_each_group(quick: Iterable[tuple[str, int, str]]) -> list[ParameterSet]:
    """Every failure of two boards in standby and three that vote; those that are not quick are for `make soak`. A stuck
    command of the board that flies is left out: two boards cannot tell which is wrong, and that flight is lost."""
    cases = [(mode, boards, fault) for mode, boards in (("standby", 2), ("vote", 3)) for fault in EVERY]
    cases.remove(("standby", 2, "stuck"))
    return [pytest.param(*case, marks=() if case in quick else pytest.mark.soak) for case in cases]


@pytest.mark.parametrize(("mode", "boards", "fault"), of_each_group(QUICK))
def test_firmware_and_model_choose_the_same_board_in_the_same_cycle(mode: str, boards: int, fault: str) -> None:
    model, firmware = (flown(mode, boards, EVERY[fault], loop=loop) for loop in ("mil", "pil"))
    for column in COLUMNS:
        assert np.array_equal(model.column("redundancy", column), firmware.column("redundancy", column)), column
    assert events(model) == events(firmware)
    assert apart_m(model, firmware) < 1e-5


@pytest.mark.parametrize(("mode", "boards", "fault"), of_each_group([("standby", 2, "reset")]))
def test_flights_repeat_to_the_hash(mode: str, boards: int, fault: str) -> None:
    first, again = (fly_inline(scenario(mode, boards, EVERY[fault])).logs[0] for _ in range(2))
    assert log_sha256(first) == log_sha256(again)


@pytest.mark.parametrize(
    ("mode", "boards", "fault", "loop"),
    [
        ("vote", 3, "dead", "mil"),
        pytest.param("standby", 2, "dead", "mil", marks=pytest.mark.soak),
        pytest.param("standby", 2, "hang", "pil", marks=pytest.mark.soak),
        pytest.param("vote", 3, "reference", "pil", marks=pytest.mark.soak),
    ],
)
def test_flights_repeat_inline_and_with_processes(
    mode: str, boards: int, fault: str, loop: str, tmp_path: Path
) -> None:
    with Flight(scenario(mode, boards, EVERY[fault], loop=loop), tmp_path) as flight:
        outcome = flight.fly(lambda _: None)
    assert outcome.error is None
    log, again = read(tmp_path / LOG), flown(mode, boards, EVERY[fault], loop=loop)
    assert log_sha256(log) == log_sha256(again)
