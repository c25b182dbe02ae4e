"""The quadrotor's plant at 500 Hz with the sensors of the `thesis` preset: what each stage of a tick costs, and
how many times real time the whole is. The autopilot answers at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from pymavlink.dialects.v20 import common as dialect

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.autopilot_loop import AutopilotLoop, Timing
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import Suite, preset
from aeroloop.signals import NS
from aeroloop.vehicles.quadrotor import airframe
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.dryden import Turbulence
from aeroloop.world.earth import Earth, Home
from aeroloop.world.wind import Wind, WindConfig
from benchmarks.measure import Aim, Outcome, row, take_turns

STEP_NS = NS // 500
AIM = Aim(20.0, at_least=True)


class Answering:
    """The far end of a link: an armed autopilot that keeps its motors at hover, one answer a sample."""

    url = "memory"

    def __init__(self) -> None:
        self._sender = dialect.MAVLink(None, srcSystem=1, srcComponent=1)
        self._t_us = 0
        self._owed = False

    def send(self, data: bytes) -> None:
        self._t_us += STEP_NS // 1000
        self._owed = True

    def poll(self) -> bytes:
        if not self._owed:
            return b""
        self._owed = False
        controls = [0.5] * 4 + [0.0] * 12
        message = dialect.MAVLink_hil_actuator_controls_message(self._t_us, controls, 129, 1)
        wire: bytes = message.pack(self._sender)
        return wire


class Clocked:
    """A stage with a stop watch."""

    def __init__(self, stage: object, spent: dict[str, int], name: str, *methods: str) -> None:
        for method in methods:
            setattr(self, method, _clocked(getattr(stage, method), spent, name))


def _clocked(call: Callable[..., object], spent: dict[str, int], name: str) -> Callable[..., object]:
    def timed(*arguments: object) -> object:
        began_ns = time.perf_counter_ns()
        result = call(*arguments)
        spent[name] = spent.get(name, 0) + time.perf_counter_ns() - began_ns
        return result

    return timed


def run(quick: bool) -> Outcome:
    rounds, ticks = (1, 200) if quick else (7, 5000)
    spent: dict[str, int] = {}
    factors = take_turns({"bare": partial(_factor, ticks, None), "clocked": partial(_factor, ticks, spent)}, rounds)
    outcome = Outcome()
    outcome.rows.append(row("quadrotor at 500 Hz", "times", factors["bare"], "real time", [1.0] * rounds, AIM))
    whole_us = STEP_NS / 1e3 / (sum(factors["clocked"]) / rounds)
    for name, spent_ns in spent.items():
        taken_us = spent_ns / 1e3 / (rounds * ticks)
        outcome.rows.append(row(name, "µs", [taken_us], "a whole tick", [whole_us]))
    outcome.notes.append("stages are measured with a stop watch around each call, which costs some of what it shows")
    return outcome


def _factor(ticks: int, spent: dict[str, int] | None) -> float:
    iris = airframe.load("iris")
    streams = Streams(1)
    stages: dict[str, object] = {
        "motors": Motors(iris.motors, iris.rotors.count),
        "world": airframe.world(iris, STEP_NS / NS),
        "earth": Earth(Home()),
        "atmosphere": Atmosphere(Day()),
        "wind": Wind(WindConfig(turbulence=Turbulence(w20_m_s=7.7)), streams.generator("wind")),
        "sensors": Suite(preset("thesis"), streams),
        "link": Answering(),
    }
    if spent is not None:
        methods = {"world": ("step", "state"), "earth": ("place",), "atmosphere": ("air",), "sensors": ("sample",)}
        for name, stage in stages.items():
            if name != "link":
                stages[name] = Clocked(stage, spent, name, *methods.get(name, ("step",)))
    loop: AutopilotLoop[RotorEffort] = AutopilotLoop(
        **stages,  # type: ignore[arg-type]
        timing=Timing(until=lambda t_ns: None, readable=lambda timeout_s: False),
        rotors=iris.rotors.count,
        step_ns=STEP_NS,
    )
    loop.fly(100 * STEP_NS)
    began_s = time.perf_counter()
    loop.fly((100 + ticks) * STEP_NS)
    return ticks * STEP_NS / NS / (time.perf_counter() - began_s)
