"""The page of a log flown again: its numbers with their confidence, scores of both halves, simulated over flown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aeroloop.analysis import page
from aeroloop.analysis.page import Document, number
from aeroloop.analysis.section import Block, Column, Note, Section, Table, Text, grade
from aeroloop.flown import page as compared_page
from aeroloop.flown.comparison import Comparison
from aeroloop.reflight.attitude_loops import acceleration_per_command
from aeroloop.reflight.replay import Number, Replayed

ROLES = {
    "judged": "Scores on the second half, not used by the fit (judged)",
    "fitted": "Scores on the first half, on which the numbers were fitted",
    "flown": "Scores",
}
DRIVEN_BY = {
    "setpoints": "recorded attitude setpoints and throttle; position and velocity are the log's",
    "route": "the flown track as reference of position, velocity and yaw",
    "pulses": "recorded motor commands, open loop, restarted from the log",
}


def render(replayed: Replayed) -> str:
    return page.render(
        Document(
            title=f"{replayed.log.name} flown again",
            heading=f"{replayed.log.name} flown again",
            subtitle=f"{replayed.vehicle}, driven by {DRIVEN_BY[replayed.replay]}",
            style="soft",
            verdict=Section("verdict", "", [Text(words) for words in summary(replayed)]),
            sections=list(sections(replayed)),
        )
    )


def summary(replayed: Replayed) -> Iterator[str]:
    segment = replayed.whole.segment
    yield (
        f"Flown again from {segment.start_s:.1f} to {segment.end_s:.1f} s of {replayed.log.name}, driven by "
        f"{DRIVEN_BY[replayed.replay]}; {replayed.loops}."
    )
    if replayed.numbers:
        middle_s = replayed.halves[0].comparison.segment.end_s
        yield f"Fitted on the first half (to {middle_s:.1f} s), judged on the second."
    judged = [each for each in replayed.judged.comparison.signals if not each.remark]
    if judged:
        yield (
            f"r on the {'second half' if replayed.numbers else 'flight'}: "
            f"{', '.join(f'{each.quantity.name} {each.score.r:.3f}' for each in judged)}."
        )
    still = [each.quantity.name for each in replayed.judged.comparison.signals if each.remark]
    if still:
        yield f"Not judgeable, since the flown signal hardly moves: {', '.join(still)}."
    for first, second, correlation in replayed.entangled:
        yield f"{first} and {second} can hardly be separated (correlation {correlation:.2f}): trust their sum more."
    yield from replayed.remarks


def sections(replayed: Replayed) -> Iterator[Section]:
    if replayed.numbers:
        yield _numbers(replayed)
    for half in reversed(replayed.halves):
        yield _scores(half.comparison, half.role)
    for section in compared_page.sections(replayed.whole, paper=replayed.replay == "route"):
        if section.key != "scores":
            yield section


def _scores(comparison: Comparison, role: str) -> Section:
    found = next(each for each in compared_page.sections(comparison, paper=False) if each.key == "scores")
    return replace(found, key=f"scores-{role}", title=ROLES[role])


def _numbers(replayed: Replayed) -> Section:
    columns = (
        Column("Number", "name"),
        Column("Fitted"),
        Column("Standard error"),
        Column("Airframe file"),
        Column("Unit", "text"),
        Column("Fitted by", "text"),
        Column("", "text"),
    )
    rows = [_row(each) for each in replayed.numbers]
    per_command = acceleration_per_command(replayed.airframe, replayed.plant.inertia_kgm2)
    blocks: list[Block] = [
        Table(columns, rows),
        Text(
            "Angular acceleration per unit command (a mixer of 0.5): "
            + ", ".join(f"{axis} {value:.0f} rad/s2" for axis, value in zip("xyz", per_command, strict=True))
            + "."
        ),
        Note(
            "One standard error, from the Jacobian of the weighted residuals with scores summed in blocks of 0.5 s. "
            "Mass and inertia hold for the rotors' coefficients of the airframe file: a log determines only their "
            "ratios. The lag of spinning down keeps its ratio to that of spinning up. Trim and setpoint_delay are of "
            "this flight and are not written into the airframe file."
        ),
    ]
    return Section("numbers", "Numbers of the aircraft", blocks)


def _row(each: Number) -> tuple[str, ...]:
    fitted = each.fitted
    relative = f" ({100 * fitted.relative_std:.2g} %)" if fitted.unknown.relative else ""
    word = grade("passed", "determined") if fitted.determined else grade("failed", "not determined: file's kept")
    return (
        fitted.name,
        number(fitted.value),
        f"{fitted.std:.2g}{relative}",
        number(fitted.before),
        fitted.unknown.unit,
        each.by,
        "of this flight" if fitted.unknown.nuisance else word,
    )
