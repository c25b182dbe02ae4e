"""How much of a control period the board link takes: the paper's budget of 132 bytes, 1.2 ms and 10 % of 12 ms.

The answer with the sensors is the longest message of a cycle. At worst every byte of data and checksum is escaped: it
doubles, and two flags enclose it. A byte takes ten bits on the wire; the paper counts eight, and no flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from aeroloop.analysis.page import NOT_MEASURED, number
from aeroloop.analysis.section import Block, Column, Note, Table
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.links import url
from aeroloop.protocols.interface import ANSWER

BITS_PER_BYTE = 10  # start bit, 8 data bits, stop bit
CHECKSUM_BYTES, FLAG_BYTES = 2, 2
ESCAPED_BYTES = 2 * (ANSWER.size + CHECKSUM_BYTES)
LONGEST_BYTES = ESCAPED_BYTES + FLAG_BYTES
COLUMNS = (Column("", "name"), Column("Bytes"), Column("Time (ms)"), Column("Of the period (%)"))
PAPER = ("The paper: longest answer, 8 bits a byte", "132", "1.2", "10")


class Budget(NamedTuple):
    """Of a frame on the wire."""

    time_s: float
    period_pct: float


def budget(frame_bytes: float, baud: int, period_s: float) -> Budget:
    time_s = frame_bytes * BITS_PER_BYTE / baud
    return Budget(time_s, 100 * time_s / period_s)


def baud_of(scenario: TiltrotorScenario) -> tuple[int, str]:
    """Baud rate towards the board, and where it is from."""
    link = scenario.link
    if link.to_board.baud:
        return int(link.to_board.baud), "of link.to_board.baud"
    if link.url.startswith("serial://"):
        return url.parse(link.url).baud, "of the serial port"
    return url.DEFAULT_BAUD, "of the paper: this link has no baud rate"


def blocks(scenario: TiltrotorScenario, links: Mapping[str, Mapping[str, int] | None]) -> list[Block]:
    """The budget, worst and in this flight; `links` is that part of summary.json."""
    baud, source = baud_of(scenario)
    period_s = scenario.controller.control.period_s
    sent = links.get("link") or {}
    frames = sent.get("frames_out", 0)
    rows = [
        PAPER,
        _row("Longest answer, every byte escaped", LONGEST_BYTES, baud, period_s),
        _row("This flight, mean frame to the board", sent["bytes_out"] / frames, baud, period_s)
        if frames
        else ("This flight, mean frame to the board", *(NOT_MEASURED,) * 3),
    ]
    return [Table(COLUMNS, rows), Note(f"{baud} baud, {source}; ten bits a byte, period {period_s * 1e3:g} ms.")]


def _row(name: str, frame_bytes: float, baud: int, period_s: float) -> tuple[str, str, str, str]:
    wire = budget(frame_bytes, baud, period_s)
    return (
        name,
        number(frame_bytes, digits=3),
        number(wire.time_s, scale=1e3, digits=3),
        number(wire.period_pct, digits=3),
    )
