"""Scenario tables of our own boards: control law, board behaviour and emulation."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.signals import NS


class Control(Config, frozen=True):
    """The control law and its design."""

    law: Annotated[
        Literal["dlqr", "dlqr-heading"],
        note(
            "discrete LQR with integral action; `dlqr` is the paper's, for yaw near 0, `dlqr-heading` flies any heading"
        ),
    ] = "dlqr"
    law_file: Annotated[
        str,
        note(
            "Python file with your own law, which is executed, relative to the scenario file; empty for `law`; "
            "`--law` overrides"
        ),
    ] = ""
    weights: Annotated[str, note("weight set in the vehicle's `params.toml`")] = "published"
    period_s: Annotated[float, meta("s", "control period of the board", gt=0, le=1)] = 0.012


class Board(Config, frozen=True):
    """Behaviour of the board when sensors or references are missing."""

    sensor_hold_s: Annotated[
        float, meta("s", "without sensors, hold the last command this long, then send the safe command", ge=0, le=10)
    ] = 0.06
    reference_timeout_s: Annotated[
        float, meta("s", "report missing references after this time; the last reference is held", gt=0, le=60)
    ] = 0.5
    safe_thrust_ratio: Annotated[
        float, meta("-", "safe command: this fraction of the hover thrust, no tilt torque", ge=0, le=1)
    ] = 0.9


class Fault(Config, frozen=True):
    """A fault injected into the emulated board."""

    at_s: Annotated[float, meta("s", "simulated time of the fault", ge=0, le=86400)]
    kind: Annotated[
        Literal["hang", "reset"],
        note("`hang`: the control task never returns, until the watchdog resets the board; `reset`: the reset button"),
    ]


class Emulator(Config, frozen=True):
    """The emulated board of rung `pil`."""

    shift: Annotated[
        int, meta("-", "an instruction takes 2^shift ns: 5 is 31.25 million a second, 3 is 125 million", ge=0, le=10)
    ] = 5
    timed: Annotated[
        bool,
        note(
            "in lockstep, delay the board's messages by the execution time of its instructions; otherwise that "
            "used only if it is longer than the control period"
        ),
    ] = False
    faults: Annotated[tuple[Fault, ...], note("injected faults")] = ()


class InnerLoops(Config, frozen=True):
    """The inner loops of the onboard computer."""

    law_file: Annotated[
        str,
        note(
            "Python file with your own inner loops, which is executed, relative to the scenario file; empty for the "
            "built-in ones; `--law` overrides"
        ),
    ] = ""


class Computer(Config, frozen=True):
    """The slow onboard computer."""

    period_s: Annotated[float, meta("s", "control period", ge=0.01, le=0.2)] = 0.05
    scheduler: Annotated[
        Literal["preemptive", "cooperative"],
        note("`preemptive`: planning gets all time that the other tasks leave; `cooperative`: a slice each period"),
    ] = "preemptive"
    slice_s: Annotated[float, meta("s", "the cooperative scheduler's slice for planning", gt=0, le=0.2)] = 0.010
    piece_s: Annotated[float, meta("s", "rungs mil and sil: execution time of one piece of planning", ge=0, le=1)] = (
        6e-5
    )
    routine_s: Annotated[
        float, meta("s", "rungs mil and sil: execution time of all other tasks in a control period", ge=0, le=0.2)
    ] = 6e-4

    @property
    def pieces_each_period(self) -> int | None:
        """Pieces of planning done in a control period; None: no limit."""
        if self.piece_s == 0.0:
            return None
        idle_s = self.period_s - self.routine_s
        time_s = idle_s if self.scheduler == "preemptive" else min(self.slice_s, idle_s)
        return max(1, math.floor(time_s / self.piece_s + 1e-9))

    @property
    def piece_ns(self) -> int:
        """Execution time of one piece where the other tasks take no time: as many then fill a period, or a slice."""
        whole_s = self.period_s if self.scheduler == "preemptive" else self.slice_s
        pieces = self.pieces_each_period
        return 0 if pieces is None else math.ceil(whole_s * NS / pieces)


class Processor(Config, frozen=True):
    """The emulated processor of rung `pil`."""

    shift: Annotated[
        int, meta("-", "an instruction takes 2^shift ns: 5 is 31.25 million a second, 3 is 125 million", ge=0, le=10)
    ] = 5
