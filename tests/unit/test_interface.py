"""The interface between board and bench: pinned, and refused where it does not fit."""

from __future__ import annotations

import re

import pytest

from aeroloop.core.signals import NS, TASKS, ResetCause
from aeroloop.protocols import interface
from aeroloop.protocols.handshake import Claim, Presence, host_claim, objection

PINNED = {1: 0x0EB2A721}
"""Interface hash by revision. A change of the interface needs a new revision, and a new row here."""

OTHER = interface.HASH ^ 1
MS = NS // 1000


def claim(revision: int = interface.REVISION, hash_: int = interface.HASH, image: int = 7, uptime_ms: int = 0) -> Claim:
    return Claim(ResetCause.POWER_ON, revision, hash_, image, uptime_ms)


def test_a_changed_interface_needs_a_new_revision() -> None:
    assert PINNED[interface.REVISION] == interface.HASH, f"0x{interface.HASH:08x}: raise REVISION and pin the new hash"


def test_every_number_and_size_is_in_the_header() -> None:
    header = interface.c_header()
    defined = dict(re.findall(r"^#define (\w+) (\w+)$", header, re.MULTILINE))
    for message in interface.MESSAGES:
        assert defined[f"{message.name.upper()}_SIZE"] == f"{message.size}u"
        if message.number is not None:
            assert defined[f"MESSAGE_{message.name.upper()}"] == f"{message.number}u"
    assert int(defined["INTERFACE_HASH"].rstrip("u"), 16) == interface.HASH
    assert int(defined["LONGEST_DATA"]) == max(message.size for message in interface.MESSAGES)
    assert [name for name, _ in re.findall(r"X\((\w+), (\d+),", header)] == [task.name for task in TASKS]


def test_messages_are_told_apart_by_number_or_length() -> None:
    for sender in ("board", "plant"):
        ways = [(message.number, message.size) for message in interface.MESSAGES if message.sender == sender]
        assert len(set(ways)) == len(ways)
    to_board = [interface.ANSWER.size, interface.HELLO.size, interface.REFERENCE.size]
    assert len(set(to_board)) == len(to_board), "they share a line, and two of them have no number"


def test_the_same_sources_fly() -> None:
    assert objection(host_claim(0), 0) is None
    assert objection(claim(image=7), 7) is None
    assert objection(claim(image=7), 0) is None


@pytest.mark.parametrize(
    ("refused", "wanted", "says"),
    [
        (claim(revision=interface.REVISION - 1, hash_=OTHER), 0, "the board's image is old: it speaks revision"),
        (claim(revision=interface.REVISION + 1, hash_=OTHER), 0, "this bench is old: it speaks revision"),
        (claim(hash_=OTHER), 0, "its sources were changed"),
        (claim(image=0xABCD), 0x1234, "another law or scenario (it is 0000abcd, this flight needs 00001234)"),
        (claim(image=0), 0x1234, "another law or scenario"),
    ],
)
def test_a_stale_side_is_refused_and_named(refused: Claim, wanted: int, says: str) -> None:
    reason = objection(refused, wanted)
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
    again = [presence.restarted(Claim(3, interface.REVISION, interface.HASH, 0, 0), n * 12_000_000) for n in range(12)]
    assert again.count(True) >= 3
    assert not again[0]
