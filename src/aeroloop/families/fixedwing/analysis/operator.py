"""User commands of a flight, from its log: what was commanded, what the board answered, and what then held."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Note, Section, Table
from aeroloop.analysis.statistics import Array, largest
from aeroloop.core.operator import COMMANDS
from aeroloop.core.wing_signals import ANSWER_WORDS, BoardParameter, UserAnswer, UserCommand
from aeroloop.families.fixedwing.operating import console
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.recording.log import Log

COLUMNS = (
    Column("Sent at (s)"),
    Column("Command", "name"),
    Column("Value", "text"),
    Column("Answer", "text"),
    Column("In force then", "text"),
    Column("Latency (s)"),
)
LATENCY_NOTE = (
    "Latency is simulated time from the first sending of the command to its answer at the ground. A board with a task "
    "for telemetry answers in the control period after the command's."
)


def commands(log: Log, scenario: FixedWingScenario) -> list[dict[str, Any]]:
    """In the order of sending; entries of `[[operator]]` with their answers."""
    specs = console(scenario).parameters
    rows, answers = _rows(log, "user_command"), _rows(log, "user_answer")
    found = []
    for row in rows:
        # Numbers repeat after 256 commands: the first answer since is meant.
        answer = next((a for a in answers if a["number"] == row["number"] and a["t_s"] >= row["t_s"]), None)
        command = int(row["command"])
        name = COMMANDS[command - 1] if command in set(UserCommand) else f"command {command}"
        spec = specs[int(row["parameter"])] if command == UserCommand.SET else None
        told = UserAnswer(int(answer["answer"])) if answer is not None else None
        found.append(
            {
                "at_s": row["t_s"],
                "command": name,
                **({"position_m": [row["x"], row["y"]]} if command == UserCommand.GOAL else {}),
                **({"parameter": spec.name, "value": row["x"]} if spec is not None else {}),
                "answer": told.name if told is not None else None,
                "words": ANSWER_WORDS[told] if told is not None else "the flight ended before an answer",
                "applied": _applied(answer, spec is not None),
                "latency_s": answer["latency_s"] if answer is not None else None,
            }
        )
    return found


def _applied(answer: dict[str, float] | None, of_value: bool) -> float | list[float] | None:
    """The value, or the goal, that held after the answer."""
    if answer is None or answer["answer"] == UserAnswer.NO_ANSWER:
        return None
    return answer["x"] if of_value else [answer["x"], answer["y"]]


def metrics(log: Log) -> dict[str, float]:
    answers = [row["answer"] for row in _rows(log, "user_answer")]
    latencies = np.array([row["latency_s"] for row in _rows(log, "user_answer")])
    silent = sum(answer == UserAnswer.NO_ANSWER for answer in answers)
    sent = len(_rows(log, "user_command"))
    accepted = sum(answer == UserAnswer.ACCEPTED for answer in answers)
    return {
        "commands": float(sent),
        "commands_refused": float(len(answers) - accepted - silent),
        "commands_unanswered": float(sent - len(answers) + silent),
        "command_latency_max_s": largest(latencies) if latencies.size else math.nan,
    }


def setpoint_at(log: Log, parameter: BoardParameter, default: float, t_s: Array) -> Array:
    """A parameter's value on the board at each time."""
    rows = [row for row in _rows(log, "parameter") if row["parameter"] == parameter]
    values = np.array([default, *(row["value"] for row in rows)])
    since_s = np.array([row["t_s"] for row in rows])
    return np.asarray(values[np.searchsorted(since_s, t_s, side="right")])


def sections(log: Log, scenario: FixedWingScenario) -> list[Section]:
    told = commands(log, scenario)
    if not told:
        return []
    blocks: list[Block] = [Table(COLUMNS, [_cells(each) for each in told]), Note(LATENCY_NOTE)]
    return [Section("operator", "User commands", blocks)]


def _cells(told: dict[str, Any]) -> tuple[str, ...]:
    value = told.get("position_m")
    if value is None and "parameter" in told:
        value = told["value"]
    name = f"{told['parameter']} = " if "parameter" in told else ""
    latency_s = told["latency_s"]
    return (
        number(told["at_s"], digits=6),
        told["command"],
        f"{name}{_words(value)}",
        told["words"],
        f"{name}{_words(told['applied'])}" if name else f"goal {_words(told['applied'])}",
        number(latency_s) if latency_s is not None else "–",
    )


def _words(value: float | list[float] | None) -> str:
    if value is None:
        return "–"
    return ", ".join(f"{part:.5g}" for part in (value if isinstance(value, list) else [value]))


def _rows(log: Log, stream: str) -> list[dict[str, float]]:
    """None of a log from before there were user commands."""
    if stream not in log.rows:
        return []
    return [dict(zip(log.columns[stream], row, strict=True)) for row in log.rows[stream].tolist()]
