"""The interfaces between boards and bench: pinned, and refused where it does not fit."""

from __future__ import annotations

import re

import pytest

from aeroloop.core.signals import NS, ResetCause
from aeroloop.protocols import interface
from aeroloop.protocols.handshake import Claim, Presence, host_claim, objection
from aeroloop.protocols.interface import TILTROTOR, WING, Interface
from aeroloop.protocols.interface_c import c_header

PINNED = {"tiltrotor": {1: 0x0EB2A721}, "wing": {3: 0x52EA8AB4}}
"""Interface hash by revision. A change of the interface needs a new revision, and a new row here."""
TABLES = {"tiltrotor": TILTROTOR, "wing": WING}

OTHER = TILTROTOR.hash ^ 1
MS = NS // 1000


def claim(revision: int = TILTROTOR.revision, hash_: int = TILTROTOR.hash, image: int = 7, uptime_ms: int = 0) -> Claim:
    return Claim(ResetCause.POWER_ON, revision, hash_, image, uptime_ms)


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Interface:
    return TABLES[request.param]


@pytest.mark.parametrize("name", TABLES)
def test_a_changed_interface_needs_a_new_revision(name: str) -> None:
    table = TABLES[name]
    pinned = PINNED[name][table.revision]
    assert pinned == table.hash, f"0x{table.hash:08x}: raise the revision and pin the new hash"


def test_every_number_and_size_is_in_the_header(table: Interface) -> None:
    header = c_header(table)
    defined = dict(re.findall(r"^#define (\w+) (\w+)$", header, re.MULTILINE))
    for message in table.messages:
        assert defined[f"{message.name.upper()}_SIZE"] == f"{message.size}u"
        if message.number is not None:
            assert defined[f"MESSAGE_{message.name.upper()}"] == f"{message.number}u"
    assert int(defined["INTERFACE_HASH"].rstrip("u"), 16) == table.hash
    assert int(defined["LONGEST_DATA"]) == max(message.size for message in table.messages)
    assert [name for name, _ in re.findall(r"X\((\w+), (\d+),", header)] == [task.name for task in table.tasks]


def test_messages_are_told_apart_by_number_or_length(table: Interface) -> None:
    assert interface.START in table.messages
    for sender in ("board", "plant"):
        ways = [(message.number, message.size) for message in table.messages if message.sender == sender]
        assert len(set(ways)) == len(ways)


def test_the_tilt_rotor_s_messages_without_a_number_are_told_apart_by_length() -> None:
    to_board = [interface.ANSWER.size, interface.HELLO.size, interface.REFERENCE.size]
    assert len(set(to_board)) == len(to_board), "they share a line, and two of them have no number"


def test_the_same_sources_fly() -> None:
    assert objection(TILTROTOR, claim(image=7), 7) is None
    assert objection(TILTROTOR, claim(image=7), 0) is None


def test_a_board_of_another_kind_is_refused(table: Interface) -> None:
    for other in TABLES.values():
        assert (objection(table, host_claim(other, 0), 0) is None) == (other is table)


def test_a_start_message_arrives_and_nothing_else_is_one() -> None:
    sent = host_claim(WING, 1234)
    assert Claim.of(sent.data()) == sent
    assert Claim.of(sent.data() + b"\0") is None
    assert Claim.of(interface.BARE_START) is None
    assert Claim.of(interface.GOAL.pack(0, 0.0, 0.0)) is None


@pytest.mark.parametrize(
    ("refused", "wanted", "says"),
    [
        (claim(revision=TILTROTOR.revision - 1, hash_=OTHER), 0, "the board's image is old: it uses revision"),
        (claim(revision=TILTROTOR.revision + 1, hash_=OTHER), 0, "this bench is old: it uses revision"),
        (claim(hash_=OTHER), 0, "its sources were changed"),
        (claim(image=0xABCD), 0x1234, "another law or scenario (it is 0000abcd, this flight needs 00001234)"),
        (claim(image=0), 0x1234, "another law or scenario"),
    ],
)
def test_a_stale_side_is_refused_and_named(refused: Claim, wanted: int, says: str) -> None:
    reason = objection(TILTROTOR, refused, wanted)
    assert reason is not None
    assert says in reason
    assert "aeroloop board flash" in reason


def test_a_start_message_that_is_repeated_is_no_restart() -> None:
    presence = Presence(12 * MS)
    assert not any(presence.restarted(claim(uptime_ms=500 + 12 * k), 12 * k * MS) for k in range(20))


def test_a_start_message_while_the_bench_still_waits_is_no_restart() -> None:
    presence = Presence(12 * MS)
    assert not any(presence.restarted(claim(uptime_ms=500 + 12 * k), 0) for k in range(200))


@pytest.mark.parametrize("uptime_ms", [0, 13, 400])
def test_a_clock_that_went_back_is_a_restart(uptime_ms: int) -> None:
    presence = Presence(12 * MS)
    presence.restarted(claim(uptime_ms=500), 0)
    assert presence.restarted(claim(uptime_ms=uptime_ms), 20 * NS)
    assert not presence.restarted(claim(uptime_ms=uptime_ms + 12), 20 * NS + 12 * MS)


def test_a_cycle_half_a_period_late_is_noticed() -> None:
    presence = Presence(12 * MS)
    times_ms = (0, 12, 24, 41, 59, 83)
    late = [presence.late_s(t * MS) for t in times_ms]
    assert late == [None, None, None, None, 0.018, 0.024]


def test_a_board_that_dies_in_every_cycle_is_noticed() -> None:
    presence = Presence(12_000_000)
    again = [presence.restarted(Claim(3, TILTROTOR.revision, TILTROTOR.hash, 0, 0), n * 12_000_000) for n in range(12)]
    assert again.count(True) >= 3
    assert not again[0]
