"""What the report says of a pose board: soft minus hard samples beside table A3, and what rebuilding them cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Note, Section, Table, Text
from aeroloop.analysis.statistics import largest, mean, rms
from aeroloop.controllers.pose.driver_table import DRIVERS, PART_UNITS, PARTS
from aeroloop.controllers.pose.metrics import CORE_HZ, COST_STEPS, cost_cycles, differences, percentile
from aeroloop.controllers.pose.parameters import NAMES as PARAMETER_NAMES
from aeroloop.controllers.pose.parameters import Answer
from aeroloop.controllers.pose.table_a3 import TABLE, Errors, nearest
from aeroloop.controllers.pose.tables import PoseScenario
from aeroloop.protocols.pose_sets import highest_rate_hz, set_bytes
from aeroloop.recording.log import Log

TESLA_TO_NT = 1e9


def sections(scenario: PoseScenario, log: Log, _summary: Mapping[str, Any]) -> list[Section]:
    return [
        Section("pose", "Soft sensors", _sensors(scenario, log)),
        *([Section("pose-cost", "Cost of soft sensors", _cost(scenario, log))] if len(log.rows["pose_cost"]) else ()),
    ]


def _sensors(scenario: PoseScenario, log: Log) -> list[Block]:
    pose = scenario.controller.pose
    rate, baud = nearest(pose.rate_hz, pose.baud)
    published = _published(scenario, TABLE[rate, baud])
    rows = []
    for part, (name, unit) in enumerate(zip(PARTS, PART_UNITS, strict=True)):
        error = differences(log, part)
        scale, shown = (TESLA_TO_NT, "nT") if unit == "T" else (1.0, unit)
        driver = DRIVERS[min(part, len(DRIVERS) - 1)].name
        rows.append(
            (
                f"{name} ({shown})",
                "soft" if driver in pose.soft else "hard",
                *(
                    number(value, scale)
                    for value in (rms(error), percentile(np.abs(error), 99), largest(np.abs(error)))
                ),
                published.get(name, "–"),
            )
        )
    columns = [Column("Sensor", "name"), Column("In use", "text"), Column("RMS"), Column("99 %"), Column("Largest")]
    load = pose.rate_hz / highest_rate_hz(pose.kinds, pose.baud)
    blocks: list[Block] = [
        Text(
            f"Sets of {set_bytes(pose.kinds)} bytes at {pose.rate_hz:g} Hz over {pose.baud} baud ({load:.0%} of the "
            f"line), reconstruction {pose.reconstruction!r}. {_state(log)}"
        ),
        Table([*columns, Column(f"Table A3, {rate} Hz @ {baud}")], rows),
        Note(
            "Soft minus hard, in the air, over all axes. Table A3 is another, fast manoeuvre (tilt to 43 deg) without "
            "noise, RMS over three axes. Hard is the ordinary sensor message with its noise and delay: the emulator "
            "has no IMU chip. A soft sample is as old as its packets took."
        ),
    ]
    if answers := _answers(log):
        blocks.append(Text("Parameters: " + "; ".join(answers) + "."))
    return blocks


def _published(scenario: PoseScenario, errors: Errors) -> dict[str, str]:
    """What table A3 says of the same reconstruction; noise by nobody."""
    pose = scenario.controller.pose
    packets = pose.packets
    if pose.reconstruction == "paper":
        accelerometer = errors.tilt
    elif "force" in packets:
        accelerometer = errors.force
    else:
        accelerometer = errors.velocity if "velocity" in packets else errors.position_filtered
    found = {
        "accelerometer": number(accelerometer),
        "gyro": number(errors.rates if "rates" in packets else errors.attitude_rates),
    }
    return found if pose.reconstruction == "paper" else {**found, "magnetometer": number(errors.field)}


def _state(log: Log) -> str:
    rows = log.rows["pose_state"]
    if not len(rows):
        return "The board reported nothing of its soft drivers."
    names = log.columns["pose_state"]
    last = dict(zip(names, rows[-1], strict=True))
    return (
        f"SENS_SOFT {last['sens_soft']:.0f}, SENS_SOFT_NOISE {last['sens_soft_noise']:.0f}, at the end "
        f"{last['sets']:.0f} sets complete, {last['lost']:.0f} lost, {last['bad_checksums']:.0f} bad checksums."
    )


def _answers(log: Log) -> list[str]:
    words = {Answer.SET: "set to", Answer.ARMED: "refused while armed:", Answer.RANGE: "refused, out of range:"}
    names = dict(enumerate(PARAMETER_NAMES))
    return [
        f"{names.get(int(number_), 'unknown parameter')} {words[Answer(int(answer))]} {requested:g} at {t_s:.2f} s"
        for t_s, _, number_, requested, _, answer in log.rows["pose_parameter"].tolist()
    ]


def _cost(scenario: PoseScenario, log: Log) -> list[Block]:
    cycles = cost_cycles(scenario, log)
    period = CORE_HZ * scenario.controller.control.period_s
    named = {name: cycles[:, index] for index, name in enumerate(COST_STEPS)}
    named["all"] = cycles.sum(axis=1)
    rows = [
        (
            name,
            *(f"{value:.0f}" for value in (np.min(own), mean(own), largest(own), percentile(own, 99))),
            f"{100 * mean(own) / period:.3f}",
            f"{100 * largest(own) / period:.3f}",
        )
        for name, own in named.items()
    ]
    titles = ("Smallest", "Mean", "Largest", "99 %", "Mean, % of the period", "Largest, % of the period")
    return [
        Table([Column("Step", "name"), *map(Column, titles)], rows),
        Note(
            "Cycles for a set: packets decoded, position in metres, then each class rebuilt and handed over. The "
            "emulated processor has one cycle for each instruction; per cent are of a control period at "
            f"{CORE_HZ / 1e6:.0f} MHz. Silicon takes more: flash waits, divisions and branches cost further cycles."
        ),
    ]
