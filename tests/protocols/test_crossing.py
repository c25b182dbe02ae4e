"""Heartbeats and integrators of several boards, between both ends of a link."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.families.tiltrotor.design import parameter_file
from aeroloop.protocols import interface
from aeroloop.protocols.board import Actuators, BoardEnd, Heartbeat, Integrators, PlantEnd
from aeroloop.protocols.crossing import CrossingBoardEnd, CrossingPlantEnd, memory_hash
from aeroloop.protocols.interface import TILTROTOR, redundant

ROWS = parameter_file().plausible
COMMAND = (9.0, 9.0, 0.0, 0.0)


def ends(count: int = 4) -> tuple[CrossingPlantEnd, CrossingBoardEnd]:
    plant = CrossingPlantEnd(ROWS.command, lambda index: None, COMMAND, count)
    return plant, CrossingBoardEnd(ROWS.sensors, lambda index: None, lambda data: None, count)


def test_messages_of_a_cycle() -> None:
    plant, board = ends()
    board.active = True
    sent = board.request() + board.heartbeat(7, 1, (0.5, 1.0, 2.0, 3.0)) + board.actuators(COMMAND)
    sent += board.integrators(7, (0.25, 1.0, 2.0, 3.0))
    _, beat, command, integrators = plant.receive(sent)
    assert beat == Heartbeat(7, 1, memory_hash((0.5, 1.0, 2.0, 3.0)), active=True)
    assert isinstance(command, Actuators)
    assert integrators == Integrators(7, (0.25, 1.0, 2.0, 3.0))
    assert plant.counters.malformed == 0


def test_a_board_takes_what_it_is_told_to_take() -> None:
    plant, board = ends()
    board.receive(plant.align(3, (1.0, 2.0, 3.0, 4.0), active=False, take=True))
    assert (board.active, board.taken) == (False, (1.0, 2.0, 3.0, 4.0))
    board.receive(plant.align(4, (0.0,) * 4, active=True, take=False))
    assert (board.active, board.taken) == (True, None)
    board.receive(plant.align(5, (float("nan"), 0.0, 0.0, 0.0), active=False, take=True))
    assert (board.active, board.taken) == (True, None)
    assert board.counters.malformed == 0


def test_the_interface_of_one_board_is_unchanged_and_has_none_of_these() -> None:
    assert not {"heartbeat", "integrators", "align"} & {message.name for message in TILTROTOR.messages}
    assert redundant(4).hash not in (TILTROTOR.hash, redundant(5).hash)
    plant = PlantEnd(ROWS.command, lambda index: None, COMMAND)
    _, board = ends()
    assert plant.receive(board.heartbeat(1, 0, (0.0,) * 4)) == []
    assert plant.counters.malformed == 1
    alone = BoardEnd(ROWS.sensors, lambda index: None)
    crossing, _ = ends()
    assert alone.receive(crossing.align(1, (0.0,) * 4, active=True, take=True)) is None
    assert alone.counters.malformed == 1


def test_no_message_to_a_board_has_the_size_of_one_without_a_number() -> None:
    unnumbered = {interface.ANSWER.size, interface.REFERENCE.size}
    sizes = {interface.align_message(count).size for count in range(interface.MOST_ALIGNED + 1)}
    assert not sizes & unnumbered
    assert max(sizes) < interface.ANSWER.size  # for which the board's frames are long enough


def test_the_hash_is_fnv1a() -> None:
    assert memory_hash(()) == 0x811C9DC5
    assert memory_hash(struct.unpack("<f", b"foob")) == 0x3F5076EF  # the published value for "foob"


@settings(derandomize=True, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes) -> None:
    plant, board = ends()
    plant.receive(data)
    board.receive(data)
