"""Control cycles of the firmware on the emulated board alone: no plant, no log; an answer and a reference a cycle."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

from aeroloop.boards.emulated import EmulatedBoard, StepPipe
from aeroloop.codegen.images import build_image
from aeroloop.core.paths import runtime_dir
from aeroloop.core.scenario_files import find
from aeroloop.core.signals import NS, WATCHDOG_PERIODS, Reference
from aeroloop.families.tiltrotor import images
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, load_tiltrotor
from aeroloop.protocols.framing import encode
from aeroloop.protocols.interface import ANSWER
from aeroloop.protocols.reference import encode_reference
from benchmarks.measure import Outcome, row, take_turns

SHIFTS = {"31.25 million instructions a second": 5, "125 million instructions a second": 3}


def run(quick: bool) -> Outcome:
    rounds, cycles = (1, 100) if quick else (7, 5000)
    scenario = load_tiltrotor(find("tiltrotor-spiral"))
    image = build_image(images.generate(scenario), images.LOCKSTEP)
    contestants = {name: partial(_factor, scenario, image, shift, cycles) for name, shift in SHIFTS.items()}
    factors = take_turns(contestants, rounds)
    outcome = Outcome()
    for name in SHIFTS:
        outcome.rows.append(row(name, "times", factors[name], "real time", [1.0] * rounds))
    return outcome


def _factor(scenario: TiltrotorScenario, image: Path, shift: int, cycles: int) -> float:
    """Simulated seconds a second."""
    period_ns = round(scenario.controller.control.period_s * NS)
    answer = encode(ANSWER.pack(*(0.0,) * 16))
    with tempfile.TemporaryDirectory(dir=runtime_dir()) as folder:
        pipe = StepPipe(image, shift, Path(folder))
        try:
            board = EmulatedBoard(pipe, period_ns, WATCHDOG_PERIODS, ())
            began_s = time.perf_counter()
            for cycle in range(cycles):
                t_ns = cycle * period_ns
                reference = Reference(t_ns // 1_000_000, (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0), 0.0)
                done = board.step(t_ns, encode_reference(reference), t_ns, answer)
                if not done.answered:
                    raise RuntimeError(f"no command in cycle {cycle}")
            took_s = time.perf_counter() - began_s
        finally:
            pipe.close()
    return cycles * period_ns / NS / took_s
