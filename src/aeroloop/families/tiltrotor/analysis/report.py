"""The report of a flight of the tilt-rotor: verdict, the paper's claims and figures, the board."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.analysis import page
from aeroloop.analysis.board import clock_words
from aeroloop.analysis.board_plots import Source, board_pictures
from aeroloop.analysis.page import NOT_MEASURED, number
from aeroloop.core.scenario import Impairment
from aeroloop.core.signals import TASKS, Event, ResetCause
from aeroloop.families.tiltrotor.analysis.plots import DelayMargin, delay_margin_picture, flight_pictures
from aeroloop.families.tiltrotor.analysis.timing import MEASURED, measured
from aeroloop.families.tiltrotor.design import design
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.ground.config import Spiral
from aeroloop.protocols.board_fields import COUNTER_NAMES
from aeroloop.recording.log import Log
from aeroloop.sensors.state import StateNoise

# Predictions of the design model for the paper's spiral with the published weights, from an RK4 simulation
# at 4 ms; by how the flight starts and whether the path's velocity is fed forward.
PREDICTED = {
    ("rest", True): {"pos_x_rms_m": 0.021, "pos_y_rms_m": 0.109, "pos_z_rms_m": 0.045, "roll_max_deg": 24.8},
    ("rest", False): {"pos_x_rms_m": 0.17, "pos_y_rms_m": 0.39, "pos_z_rms_m": 0.045, "roll_max_deg": 16.4},
    ("moving", True): {"pos_x_rms_m": 0.0165, "pos_y_rms_m": 0.0470, "pos_z_rms_m": 0.0013, "roll_max_deg": 2.93},
}


BOARD = Source("board_cpu", "board_task", TASKS)
DELAY_STEPS = 73
TEMPLATES = Path(__file__).parent


def render_flight(scenario: TiltrotorScenario, log: Log, summary: Mapping[str, Any]) -> str:
    """With the delay margin of the built-in gain: of a law from a file nothing is known but how it flew."""
    known = not scenario.controller.control.law_file
    return render(scenario, log, summary, delay_margin=_delay_margin(scenario) if known else None)


def _delay_margin(scenario: TiltrotorScenario) -> DelayMargin:
    plan = design(
        scenario.aircraft.vehicle.parameters, scenario.controller.control.weights, scenario.controller.control.period_s
    )
    delays_s = [2 * scenario.controller.control.period_s * i / (DELAY_STEPS - 1) for i in range(DELAY_STEPS)]
    return DelayMargin(
        delays_s=delays_s,
        radius=[plan.delay_radius(delay_s) for delay_s in delays_s],
        margin_s=plan.delay_margin_s(),
        flight_delay_s=scenario.link.to_board.delay_s + scenario.link.to_plant.delay_s,
    )


def render(
    scenario: TiltrotorScenario, log: Log, summary: Mapping[str, Any], *, delay_margin: DelayMargin | None = None
) -> str:
    """The page as text; equal input gives equal text. `summary` is what summary.json holds."""
    diverged = bool(summary["metrics"]["diverged"])
    verdict_class, verdict = page.verdict(summary["exit_code"])
    board = summary.get("board")  # None, or left out by a version that knew no board's statistics
    return page.render(
        "report.html.j2",
        TEMPLATES,
        scenario=scenario,
        several=False,
        summary=summary,
        verdict=verdict,
        verdict_class=verdict_class,
        overruns=summary["metrics"].get("overruns"),
        restarts=_restarts(log),
        claims=_claims(scenario, log, summary),
        predictions=_predictions(scenario, summary["metrics"]),
        spiral=_flies_the_papers_spiral(scenario),
        timing={name: summary["timing"][name] for name in MEASURED},
        board=board,
        clock=clock_words(board) if board else "",
        tasks={task.name: task for task in TASKS},
        board_pictures=board_pictures(log, BOARD) if board else [],
        counters=COUNTER_NAMES,
        impairments=_impairments(scenario),
        pictures=flight_pictures(log, scenario),
        delay_margin=delay_margin_picture(delay_margin, diverged=diverged) if delay_margin else None,
    )


def _restarts(log: Log) -> list[str]:
    """When the board started anew in flight, and why."""
    causes = {cause.value: cause.name.replace("_", " ").lower() for cause in ResetCause}
    return [
        f"{number(t_s)} s ({causes.get(value, f'cause {value:g}')})"
        for t_s, code, value in log.rows["plant_event"].tolist()
        if code == Event.BOARD_RESTARTED
    ]


def _flies_the_papers_spiral(scenario: TiltrotorScenario) -> bool:
    return scenario.controller.ground.source == "base-station" and scenario.controller.ground.trajectory == Spiral()


def _claims(scenario: TiltrotorScenario, log: Log, summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What, what the paper says of it, and this flight's number."""
    numbers = summary["metrics"]
    rms = ", ".join(number(numbers[f"pos_{axis}_rms_m"], digits=3) for axis in "xyz")
    return [
        ("Tracking", "“tracked properly the trajectory”", f"RMS error (x, y, z): {rms} m"),
        (
            "Yaw",
            "“remained close to the origin”",
            f"largest |yaw| {number(numbers['yaw_max_deg'], digits=3)} deg",
        ),
        (
            "Control inputs",
            "“properly generated without saturation”",
            f"{number(numbers['saturated_steps'])} steps at a limit; thrust "
            f"{number(numbers['thrust_min_N'])} to {number(numbers['thrust_max_N'])} N",
        ),
        ("Sampling time", "12 ms", f"{scenario.controller.control.period_s * 1e3:g} ms"),
        (
            "Period between requests",
            "most around 12 ms, “a small volume of data concentrated around 13 ms”",
            _period_claim(scenario, log),
        ),
    ]


def _period_claim(scenario: TiltrotorScenario, log: Log) -> str:
    if scenario.lockstep:
        return "lockstep: the host's speed, not comparable"
    periods_ms = measured(log, "period_s") * scenario.speed * 1e3
    if not periods_ms.size:
        return NOT_MEASURED
    shares = [
        100 * float((abs(periods_ms - center_ms) <= 0.5).mean())
        for center_ms in (scenario.controller.control.period_s * 1e3, scenario.controller.control.period_s * 1e3 + 1)
    ]
    nominal = f"{scenario.controller.control.period_s * 1e3:g}"
    scaled = "" if scenario.speed == 1 else f" (wall time times {scenario.speed:g})"
    return f"{shares[0]:.1f} % within 0.5 ms of {nominal} ms, {shares[1]:.1f} % around 1 ms later{scaled}"


def _predictions(scenario: TiltrotorScenario, numbers: Mapping[str, Any]) -> list[tuple[str, float, float | None]]:
    """Metric, predicted and measured; empty where the prediction is for another flight."""
    undisturbed = (
        scenario.link.to_plant == scenario.link.to_board == Impairment() and scenario.aircraft.sensors == StateNoise()
    )
    whole = (numbers["flown_s"] or 0.0) >= Spiral().period_s - scenario.controller.control.period_s
    if not (
        _flies_the_papers_spiral(scenario)
        and scenario.controller.control.weights == "published"
        and undisturbed
        and whole
    ):
        return []
    predicted = PREDICTED.get((scenario.aircraft.world.start, scenario.controller.ground.velocity_feedforward), {})
    return [(name, value, numbers[name]) for name, value in predicted.items()]


def _impairments(scenario: TiltrotorScenario) -> list[tuple[str, str]]:
    directions = {
        "board to plant": scenario.link.to_plant,
        "plant to board": scenario.link.to_board,
        "ground to board": scenario.controller.ground.impair,
    }
    return [(name, _changed(impairment)) for name, impairment in directions.items() if impairment.active]


def _changed(impairment: Impairment) -> str:
    nothing = msgspec.structs.asdict(Impairment())
    changed = {key: value for key, value in msgspec.structs.asdict(impairment).items() if value != nothing[key]}
    return ", ".join(f"{key} = {value:g}" for key, value in changed.items())
