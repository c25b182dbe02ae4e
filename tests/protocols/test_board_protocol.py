"""The board protocol: bytes as the paper has them, and one accepted message per cycle at each end."""

from __future__ import annotations

import math
import random
import struct
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.signals import Command, Sensors
from aeroloop.families.tiltrotor.design import Plausible
from aeroloop.protocols import interface
from aeroloop.protocols.board import (
    HELLO_FRAME,
    Actuators,
    BoardEnd,
    BoardReport,
    MissingReports,
    PlantEnd,
    Request,
    Start,
)
from aeroloop.protocols.framing import Counters, encode
from aeroloop.protocols.handshake import Claim

GOLDEN = Path(__file__).parents[1] / "golden"


SENSOR_BOUNDS = Plausible((-200.0,) * 16, (200.0,) * 16, (400.0,) * 16)
COMMAND_BOUNDS = Plausible((-10.0,) * 4, (10.0,) * 4, (20.0,) * 4)
SENSORS: Sensors = (
    *(2.0, -0.5, 10.25, 0.125, -0.01171875, 3.125, 0.01171875, 0.248046875),
    *(3.96875, -3.953125, 0.0, -1.5, 0.25, -0.0078125, 40.5, -119.0),
)
COMMAND: Command = (3.96875, 3.953125, -0.248046875, 0.0634765625)
CLAIM = Claim(cause=1, revision=1, interface=0x7E7D0102, image=0xDEADBEEF, uptime_ms=1234)
NOT_BELIEVABLE = (math.nan, math.inf, -math.inf, 10.5, -1e30)


def golden(name: str) -> bytes:
    lines = (GOLDEN / f"{name}.hex").read_text(encoding="ascii").splitlines()
    return bytes.fromhex(" ".join(line for line in lines if not line.startswith("#")))


def plant_end() -> tuple[PlantEnd, list[int]]:
    suspects: list[int] = []
    return PlantEnd(COMMAND_BOUNDS, suspects.append), suspects


def board_end() -> tuple[BoardEnd, list[int]]:
    suspects: list[int] = []
    return BoardEnd(SENSOR_BOUNDS, suspects.append), suspects


def actuators(command: Command = COMMAND) -> bytes:
    return encode(struct.pack("<B4f", 3, *command))


def answer(sensors: Sensors = SENSORS) -> bytes:
    return encode(struct.pack("<16f", *sensors))


REQUEST = encode(b"\x02")


def test_golden_bytes_of_the_board() -> None:
    board, _ = board_end()
    assert board.start(CLAIM) == golden("start")
    assert board.request() == golden("request")
    assert board.actuators(COMMAND) == golden("actuators")
    sent = sum(len(golden(name)) for name in ("start", "request", "actuators"))
    assert board.counters == Counters(frames_out=3, bytes_out=sent)


def test_golden_bytes_of_the_plant() -> None:
    plant, _ = plant_end()
    assert plant.answer(SENSORS) == golden("answer")
    assert plant.counters == Counters(frames_out=1, bytes_out=len(golden("answer")))


def test_the_plant_reads_the_golden_bytes() -> None:
    plant, suspects = plant_end()
    stream = golden("start_bare") + golden("start") + golden("request") + golden("actuators")
    assert plant.receive(stream) == [Start(None), Start(CLAIM), Request(), Actuators(COMMAND)]
    assert plant.counters == Counters(frames_in=4, bytes_in=len(stream))
    assert suspects == []


def test_the_board_reads_the_golden_bytes() -> None:
    board, suspects = board_end()
    board.request()
    assert board.receive(golden("answer")) == SENSORS
    assert suspects == []


def test_an_answer_that_is_all_flags_is_read() -> None:
    """Every byte of its data escaped: the paper's worst case, but for the checksum."""
    wide = Plausible((-1e39,) * 16, (1e39,) * 16, (1e39,) * 16)
    board = BoardEnd(wide, lambda index: None)
    board.request()
    frame = encode(b"\x7e" * 64)
    assert len(frame) >= 2 + 2 * 64 + 2
    received = [board.receive(frame[at : at + 1]) for at in range(len(frame))]
    assert received[-1] == struct.unpack("<16f", b"\x7e" * 64)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_chunks_do_not_matter(size: int) -> None:
    plant, _ = plant_end()
    stream = REQUEST + actuators() + REQUEST + actuators()
    messages = [m for at in range(0, len(stream), size) for m in plant.receive(stream[at : at + size])]
    assert messages == [Request(), Actuators(COMMAND)] * 2


def test_a_second_actuator_message_in_a_cycle_is_ignored_and_counted() -> None:
    plant, _ = plant_end()
    other = (1.0, 2.0, 3.0, 4.0)
    assert plant.receive(REQUEST + actuators() + actuators(other)) == [Request(), Actuators(COMMAND)]
    assert plant.receive(actuators(other)) == []
    assert (plant.counters.duplicates, plant.counters.lost, plant.counters.late) == (2, 0, 0)
    assert plant.receive(REQUEST + actuators(other)) == [Request(), Actuators(other)]


def test_actuators_before_any_request_are_ignored() -> None:
    plant, _ = plant_end()
    assert plant.receive(actuators()) == []
    assert plant.counters.duplicates == 1


def test_a_second_answer_in_a_cycle_is_ignored_and_counted() -> None:
    board, _ = board_end()
    other = tuple(float(i) for i in range(16))
    assert board.receive(answer()) is None
    board.request()
    assert board.receive(answer() + answer(other)) == SENSORS
    assert board.receive(answer(other)) is None
    assert (board.counters.duplicates, board.counters.lost, board.counters.late) == (3, 0, 0)
    board.request()
    assert board.receive(answer(other)) == other


def test_a_lost_message_is_counted_when_the_next_cycle_begins() -> None:
    plant, _ = plant_end()
    plant.receive(REQUEST)
    assert plant.counters.lost == 0
    plant.receive(REQUEST)
    assert plant.counters.lost == 1
    board, _ = board_end()
    for _ in range(4):
        board.request()
    assert board.counters.lost == 3


def test_a_message_one_cycle_late_is_counted_as_late_and_no_longer_as_lost() -> None:
    """Without cycle numbers the first of the two is taken; the count is right all the same."""
    plant, _ = plant_end()
    accepted = plant.receive(REQUEST + REQUEST + actuators() + actuators())
    assert [type(message) for message in accepted] == [Request, Request, Actuators]
    assert (plant.counters.lost, plant.counters.late, plant.counters.duplicates) == (0, 1, 0)
    board, _ = board_end()
    board.request()
    board.request()
    assert board.receive(answer()) == SENSORS
    assert board.receive(answer()) is None
    assert (board.counters.lost, board.counters.late, board.counters.duplicates) == (0, 1, 0)


def test_a_duplicate_long_after_a_loss_is_a_duplicate_and_the_loss_stays_counted() -> None:
    """Else a link that loses and duplicates would look like one that does neither."""
    plant, _ = plant_end()
    plant.receive(REQUEST)
    for _ in range(50):
        plant.receive(REQUEST + actuators())
    plant.receive(actuators())
    assert (plant.counters.lost, plant.counters.late, plant.counters.duplicates) == (1, 0, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\x04",
        b"\xff",
        b"\x01\x00",
        b"\x02\x02",
        b"\x03",
        struct.pack("<B3f", 3, 1.0, 1.0, 1.0),
        struct.pack("<B4f", 2, *COMMAND),
        struct.pack("<4f", *COMMAND),
        struct.pack("<B4fB", 3, *COMMAND, 0),
        bytes(44),  # longer than any message to the plant
    ],
)
def test_the_plant_counts_wrong_lengths_and_unknown_numbers_as_malformed(data: bytes) -> None:
    plant, _ = plant_end()
    assert plant.receive(REQUEST + encode(data)) == [Request()]
    assert plant.counters.malformed == 1
    assert plant.receive(actuators()) == [Actuators(COMMAND)]


@pytest.mark.parametrize("data", [b"\x02", struct.pack("<15f", *SENSORS[1:]), struct.pack("<17f", 0.0, *SENSORS)])
def test_the_board_counts_wrong_lengths_as_malformed(data: bytes) -> None:
    board, _ = board_end()
    board.request()
    assert board.receive(encode(data)) is None
    assert board.counters.malformed == 1
    assert board.receive(answer()) == SENSORS


@pytest.mark.parametrize("value", NOT_BELIEVABLE)
@pytest.mark.parametrize("index", range(4))
def test_an_absurd_command_is_refused_and_named_and_a_good_one_still_taken(value: float, index: int) -> None:
    plant, suspects = plant_end()
    absurd = (*COMMAND[:index], value, *COMMAND[index + 1 :])
    assert plant.receive(REQUEST + actuators(absurd)) == [Request()]
    assert plant.counters.implausible == 1
    assert suspects == [index]
    assert plant.receive(actuators()) == [Actuators(COMMAND)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 201.0, -1e30])
@pytest.mark.parametrize("index", [0, 7, 15])
def test_an_absurd_answer_is_refused_and_named_and_a_good_one_still_taken(value: float, index: int) -> None:
    board, suspects = board_end()
    board.request()
    assert board.receive(answer((*SENSORS[:index], value, *SENSORS[index + 1 :]))) is None
    assert board.counters.implausible == 1
    assert suspects == [index]
    assert board.receive(answer()) == SENSORS


@pytest.mark.parametrize("missed", [0, 2])
def test_both_ends_allow_a_step_for_each_cycle_since_the_last_accepted_message(missed: int) -> None:
    def tight(width: int) -> Plausible:
        return Plausible((-100.0,) * width, (100.0,) * width, (1.0,) * width)

    plant = PlantEnd(tight(4), lambda index: None)
    plant.receive(REQUEST + actuators((0.0,) * 4) + REQUEST * (missed + 1))
    assert plant.receive(actuators((missed + 1.5,) * 4)) == []
    assert plant.receive(actuators((missed + 1.0,) * 4)) == [Actuators((missed + 1.0,) * 4)]
    board = BoardEnd(tight(16), lambda index: None)
    board.request()
    board.receive(answer((0.0,) * 16))
    for _ in range(missed + 1):
        board.request()
    assert board.receive(answer((missed + 1.5,) * 16)) is None
    assert board.receive(answer((missed + 1.0,) * 16)) == (missed + 1.0,) * 16


def test_a_bad_checksum_is_never_acted_on() -> None:
    plant, _ = plant_end()
    frame = bytearray(actuators())
    frame[2] ^= 1
    assert plant.receive(REQUEST + bytes(frame)) == [Request()]
    assert plant.counters.bad_checksums == 1
    board, _ = board_end()
    board.request()
    frame = bytearray(answer())
    frame[10] ^= 1
    assert board.receive(bytes(frame)) is None
    assert board.counters.bad_checksums == 1


@dataclass
class Model:
    """What an end should have counted; late and duplicate are one kind here, since only their sum is certain."""

    due: bool = False
    missed: int = 0
    surplus: int = 0
    implausible: int = 0
    accepted: int = 0

    def begin(self) -> None:
        self.missed += self.due
        self.due = True

    def message(self, good: bool) -> bool:
        taken = self.due and good
        self.surplus += not self.due
        self.implausible += self.due and not good
        self.accepted += taken
        self.due = self.due and not good
        return taken

    def agrees_with(self, counters: Counters) -> None:
        assert min(astuple(counters)) >= 0
        assert counters.lost + counters.late == self.missed
        assert counters.duplicates + counters.late == self.surplus
        assert counters.implausible == self.implausible


steps = st.lists(st.sampled_from(["begin", "good", "good", "absurd", "start", "noise", "torn"]), max_size=80)


@given(steps, st.integers(0, 1000))
def test_the_plant_takes_and_counts_like_the_model(script: list[str], seed: int) -> None:
    source, model = random.Random(seed), Model()
    plant, suspects = plant_end()
    for what in script:
        if what == "begin":
            model.begin()
            assert plant.receive(REQUEST) == [Request()]
        elif what == "good":
            command = tuple(source.randrange(-40, 41) / 4 for _ in range(4))
            taken = [Actuators(command)] if model.message(True) else []
            assert plant.receive(actuators(command)) == taken
        elif what == "absurd":
            model.message(False)
            assert plant.receive(actuators((0.0, source.choice(NOT_BELIEVABLE), 0.0, 0.0))) == []
        elif what == "start":
            assert plant.receive(encode(b"\x01")) == [Start(None)]
        elif what == "noise":
            assert plant.receive(b"\x55" * source.randrange(3, 300) + b"\x7e") == []
        else:
            assert plant.receive(actuators()[: source.randrange(2, 20)] + b"\x7e") == []
        model.agrees_with(plant.counters)
    assert len(suspects) == model.implausible


@given(steps)
def test_the_board_takes_and_counts_like_the_model(script: list[str]) -> None:
    model = Model()
    board, suspects = board_end()
    for number, what in enumerate(script):
        if what == "begin":
            model.begin()
            board.request()
        elif what in ("good", "absurd"):
            sensors = (float(number), *SENSORS[1:15], 0.0 if what == "good" else math.nan)
            taken = sensors if model.message(what == "good") else None
            assert board.receive(answer(sensors)) == taken
        else:
            assert board.receive(b"\x7e\x7d" * 3 + b"\x7e") is None
        model.agrees_with(board.counters)
    assert len(suspects) == model.implausible


EVENT = interface.EVENT


def test_what_the_board_tells_of_itself_becomes_rows_of_streams() -> None:
    plant, _ = plant_end()
    told = [
        (
            interface.CPU.pack(0, 2.5, 1000.0, 504, 16384, 3, 0.25, 1500),
            BoardReport("cpu", (2.5, 1e3, 504, 16384, 3, 0.25, 1.5)),
        ),
        (interface.TASK.pack(1, 3, 0.5, 25.0, 0.75, 84), BoardReport("task", (3, 0.5, 25.0, 0.75, 84))),
        (interface.COUNTERS.pack(2, 0, *range(10)), BoardReport("board_link", tuple(range(10)))),
        (interface.COUNTERS.pack(3, 1, *range(10)), BoardReport("reference_link", tuple(range(10)))),
        (EVENT.pack(4, 13, 0.5), BoardReport("board_event", (13, 0.5))),
    ]
    for data, message in told:
        assert plant.receive(encode(data)) == [message]
    assert plant.counters.malformed == 0


def test_a_gap_in_what_the_board_tells_is_counted_and_a_new_board_counts_anew() -> None:
    plant, _ = plant_end()
    plant.receive(encode(EVENT.pack(254, 1, 0.0)))
    assert plant.receive(encode(EVENT.pack(255, 1, 0.0))) == [BoardReport("board_event", (1, 0.0))]
    assert plant.receive(encode(EVENT.pack(2, 1, 0.0))) == [MissingReports(2), BoardReport("board_event", (1, 0.0))]
    plant.new_board()
    assert plant.receive(encode(EVENT.pack(0, 1, 0.0))) == [BoardReport("board_event", (1, 0.0))]


def test_what_the_board_tells_twice_or_out_of_order_is_not_lost() -> None:
    plant, _ = plant_end()
    first, second, third = (encode(EVENT.pack(number, 1, float(number))) for number in (255, 0, 1))
    assert plant.receive(first + first) == [BoardReport("board_event", (1, 255.0))]
    assert plant.counters.duplicates == 1
    assert plant.receive(third) == [MissingReports(1), BoardReport("board_event", (1, 1.0))]
    assert plant.receive(second) == [BoardReport("board_event", (1, 0.0))]
    assert plant.counters.late == 1
    assert plant.receive(encode(EVENT.pack(2, 1, 2.0))) == [BoardReport("board_event", (1, 2.0))]


@pytest.mark.parametrize(
    "data",
    [
        EVENT.pack(0, 1, math.nan),
        EVENT.pack(0, 0, 1.0),
        EVENT.pack(0, 200, 1.0),
        interface.TASK.pack(0, 6, 0.0, 0.0, 0.0, 0),
        interface.TASK.pack(0, 0, math.inf, 0.0, 0.0, 0),
        interface.COUNTERS.pack(0, 2, *[0] * 10),
        interface.CPU.pack(0, math.nan, 0.0, 0, 0, 0, 0.0, 0),
    ],
)
def test_what_cannot_be_is_malformed(data: bytes) -> None:
    plant, _ = plant_end()
    assert plant.receive(encode(data)) == []
    assert plant.counters.malformed == 1


def test_hello_is_counted_and_read() -> None:
    plant, _ = plant_end()
    board, _ = board_end()
    assert plant.hello() == HELLO_FRAME
    assert plant.counters == Counters(frames_out=1, bytes_out=len(HELLO_FRAME))
    assert board.receive(HELLO_FRAME) is None
    assert not board.refused
    assert board.counters.malformed == 0
