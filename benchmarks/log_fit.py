"""Processor time of `aeroloop replay --fit` on 40 s of a log, with recorded commands and with setpoints alone."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from aeroloop.api.scenarios import named, overrides_of
from aeroloop.flight.inline import fly_inline
from aeroloop.flown.own_run import from_log
from aeroloop.flown.record import FlightRecord
from aeroloop.reflight.replay import Options, replay
from benchmarks.measure import Aim, Outcome, row, take_turns

FROM_S, TO_S, QUICK_TO_S = 10.0, 50.0, 21.0
AIM = Aim(0.5, at_least=False)  # 20 s for 40 s


def run(quick: bool) -> Outcome:
    to_s, rounds = (QUICK_TO_S, 1) if quick else (TO_S, 5)
    plan = named("quad-manual").changed(overrides_of({"duration_s": to_s + 1.0})).plan
    log = from_log(fly_inline(plan).logs[0], Path("flight.mcap"))
    bare = {name: signal for name, signal in log.signals.items() if not name.startswith(("motor", "pulse"))}
    logs = {"commands and setpoints": log, "setpoints alone": replace(log, signals=bare)}
    contestants = {f"fit by {by}": partial(_taken_s, each, to_s) for by, each in logs.items()}
    if quick:
        contestants = dict([*contestants.items()][:1])
    else:
        for contestant in contestants.values():
            contestant()  # the rollout is compiled once and kept
    taken = take_turns(contestants, rounds)
    length_s = [to_s - FROM_S] * rounds
    outcome = Outcome([row(what, "s", values, "length of the log", length_s, AIM) for what, values in taken.items()])
    outcome.notes.append(
        "processor time of one core; the fit sees the first half, the whole is flown again and scored; no page is drawn"
    )
    return outcome


def _taken_s(log: FlightRecord, to_s: float) -> float:
    begun_s = time.process_time()
    replay(log, "iris", Options(fit=True, from_s=FROM_S, to_s=to_s))
    return time.process_time() - begun_s
