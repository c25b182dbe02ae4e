"""The report's sections of a flight of the tilt-rotor: remarks, the paper's figures and claims, sensors, links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from aeroloop.analysis.delay_margin import DelayMargin, margin_section, predicted
from aeroloop.analysis.generic_sections import signals
from aeroloop.analysis.labels import first_few, times
from aeroloop.analysis.page import NOT_MEASURED, number
from aeroloop.analysis.section import (
    Block,
    Column,
    Facts,
    Figures,
    Note,
    Section,
    Table,
    Text,
    bold,
    code,
    flight_sections,
)
from aeroloop.core.fault_offers import SENSORS
from aeroloop.core.impairment import Impairment
from aeroloop.core.signals import Event, ResetCause
from aeroloop.families.tiltrotor.analysis import link_budget, predictive
from aeroloop.families.tiltrotor.analysis.plots import flight_pictures
from aeroloop.families.tiltrotor.analysis.timing import measured
from aeroloop.families.tiltrotor.design import flight_law, of_scenario
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.ground.config import Spiral
from aeroloop.recording.log import Log
from aeroloop.sensors.state import TiltrotorSensors

# Predictions of the design model for the paper's spiral with the published weights, from an RK4 simulation
# at 4 ms; by how the flight starts and whether the path's velocity is fed forward.
PREDICTED = {
    ("rest", True): {"pos_x_rms_m": 0.021, "pos_y_rms_m": 0.109, "pos_z_rms_m": 0.045, "roll_max_deg": 24.8},
    ("rest", False): {"pos_x_rms_m": 0.17, "pos_y_rms_m": 0.39, "pos_z_rms_m": 0.045, "roll_max_deg": 16.4},
    ("moving", True): {"pos_x_rms_m": 0.0165, "pos_y_rms_m": 0.0470, "pos_z_rms_m": 0.0013, "roll_max_deg": 2.93},
}


def sections(scenario: TiltrotorScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    found = [
        Section("verdict", "", _remarks(log, summary["metrics"])),
        *flight_sections(flight_pictures(log, scenario)),
        margin_section(delay_margin(scenario), diverged=bool(summary["metrics"]["diverged"]), where="hover"),
    ]
    sensors = [name for name in SENSORS if len(log.rows.get(name, ()))]
    if sensors:
        titles = {name: SENSORS[name][0][0].upper() + SENSORS[name][0][1:] for name in sensors}
        pictures = [drawn for name, title in titles.items() for drawn in signals(log, name, title)]
        found.append(Section("sensors", "Sensor readings", [Note(_sent(scenario)), Figures(pictures)]))
    if _flies_the_papers_law(scenario):
        found.append(Section("paper", "Comparison with the paper's claims", _paper(scenario, log, summary["metrics"])))
    if scenario.controller.control.predictive:
        found.append(Section("predictive", "Predictive control", predictive.blocks(scenario, log)))
    if scenario.controller.control.law == "nmpc" and scenario.controller.control.host_only:
        found.append(Section("predictive", "Predictive control", predictive.nonlinear_blocks(scenario, log)))
    if scenario.controller.control.sampled:
        found.append(Section("predictive", "Predictive control", predictive.sampled_blocks(scenario, log)))
    return [
        *found,
        Section("link-budget", "Board link and control period", link_budget.blocks(scenario, summary["links"])),
        Section("links", "", _impairments(scenario)),
    ]


def delay_margin(scenario: TiltrotorScenario) -> DelayMargin | None:
    """Of the law that flew; None of one that has no derivative in hover."""
    control = scenario.controller.control
    if control.host_only:
        return None
    plan = of_scenario(scenario)
    radius = (
        plan.own_delay_radius(flight_law(control, plan))
        if control.law_file or control.predictive
        else plan.delay_radius
    )
    return predicted(scenario, radius, 2 * control.period_s) if radius else None


def _remarks(log: Log, numbers: Mapping[str, Any]) -> list[Block]:
    remarks: list[Block] = []
    lost = numbers.get("board_messages_lost")
    restarts = _restarts(log)
    if restarts:
        told = f" the board restarted in flight {times(len(restarts))}: {first_few(restarts)}."
        remarks.append(Text(bold("Restarts:") + told))
    if lost:
        lack = "they are missing from its events and statistics below"
        remarks.append(Text(f"{number(lost)} messages of the board were lost; {lack}."))
    return remarks


def _sent(scenario: TiltrotorScenario) -> str:
    if scenario.aircraft.sensors.state == "estimated":
        return "The board was sent the state that the navigation filter estimated from these; tilts are measured."
    return "The board was sent the measured state; these sensors were logged in addition."


def _restarts(log: Log) -> list[str]:
    """When the board restarted in flight, and why."""
    causes = {cause.value: cause.name.replace("_", " ").lower() for cause in ResetCause}
    return [
        f"{number(t_s)} s ({causes.get(value, f'cause {value:g}')})"
        for t_s, _, code, value in log.rows["event"].tolist()
        if code == Event.BOARD_RESTARTED
    ]


def _flies_the_papers_law(scenario: TiltrotorScenario) -> bool:
    """Every parameter set and every set of weights is the paper's; the law may be another."""
    control = scenario.controller.control
    return control.law == "dlqr" and not control.law_file


def _flies_the_papers_spiral(scenario: TiltrotorScenario) -> bool:
    return scenario.controller.ground.source == "base-station" and scenario.controller.ground.trajectory == Spiral()


def _paper(scenario: TiltrotorScenario, log: Log, numbers: Mapping[str, Any]) -> list[Block]:
    columns = (Column("", "name"), Column("Paper", "text"), Column("This flight", "text"))
    blocks: list[Block] = [Table(columns, _claims(scenario, log, numbers))]
    if not _flies_the_papers_spiral(scenario):
        blocks.append(Note("The paper flew its spiral; this flight follows another trajectory."))
    predictions = _predictions(scenario, numbers)
    if predictions:
        feedforward = "on" if scenario.controller.ground.velocity_feedforward else "off"
        start = "with the path's velocity" if scenario.aircraft.world.start == "moving" else "from a hover"
        about = (
            "The paper gives no tracking numbers. The next table is the design model's own prediction for the spiral "
            f"with velocity feed-forward {feedforward}, started {start}, ideal sensors and no added delay."
        )
        columns = (Column("Metric", "name"), Column("Design model predicts"), Column("This flight"))
        blocks += [Note(about), Table(columns, predictions)]
    return blocks


def _claims(scenario: TiltrotorScenario, log: Log, numbers: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Quantity, the paper's value, and this flight's number."""
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


def _predictions(scenario: TiltrotorScenario, numbers: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Metric, predicted and measured; empty where the prediction is for another flight."""
    undisturbed = (
        scenario.link.to_plant == scenario.link.to_board == Impairment()
        and scenario.aircraft.sensors == TiltrotorSensors()
        and not scenario.aircraft.world.has_drag
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
    return [(code(name), number(value), number(numbers[name])) for name, value in predicted.items()]


def _impairments(scenario: TiltrotorScenario) -> list[Block]:
    directions = {
        "board to plant": scenario.link.to_plant,
        "plant to board": scenario.link.to_board,
        "ground to board": scenario.controller.ground.impair,
    }
    active = [f"{name}: " + code(_changed(each)) for name, each in directions.items() if each.active]
    if not active:
        return [Note("No link impairments were configured.")]
    return [Text("Configured link impairments:"), Facts(active)]


def _changed(impairment: Impairment) -> str:
    nothing = msgspec.structs.asdict(Impairment())
    changed = {key: value for key, value in msgspec.structs.asdict(impairment).items() if value != nothing[key]}
    return ", ".join(f"{key} = {value:g}" for key, value in changed.items())
