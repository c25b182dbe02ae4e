"""The report's section of the battery and the motors on it, alike for every aircraft that has one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aeroloop.analysis.drawing import GREY, PANEL_IN, Line, Picture, panels, picture
from aeroloop.analysis.page import number
from aeroloop.analysis.power import JOULES_PER_WH, power_metrics, simulated
from aeroloop.analysis.section import Facts, Figures, Section
from aeroloop.analysis.vehicle_log import VehicleLog
from aeroloop.core.power_streams import DUTY
from aeroloop.core.scenario import Scenario
from aeroloop.recording.log import Log


def sections(scenario: Scenario, log: Log) -> list[Section]:
    """Empty without a simulated battery."""
    count = scenario.aircraft.count
    duties = [name for name in log.columns.get("power", ()) if name.startswith(DUTY)]
    aircraft = (VehicleLog(log, number) for number in range(count))
    return [_section(flight, duties, several=count > 1) for flight in aircraft if simulated(flight)]


def _section(flight: VehicleLog, duties: Sequence[str], *, several: bool) -> Section:
    own = f"-{flight.number}" if several else ""  # names of figures are anchors of the page
    motors = sum(bool(np.isfinite(flight.column("power", name)).any()) for name in duties)
    told = power_metrics(flight)
    facts = [
        f"{number(told['energy_Wh'])} Wh",
        f"{number(told['battery_used_Ah'])} Ah used, {number(100 * told['battery_charge_end'])} % left",
        f"at least {number(told['battery_voltage_min_V'])} V",
        f"at most {number(told['current_max_A'])} A",
    ]
    title = f"Power, vehicle {flight.number}" if several else "Power"
    pictures = [_pack(flight, own), _motors(flight, motors, own)]
    return Section(f"power{own}", title, [Facts(facts), Figures(pictures)])


def _pack(flight: VehicleLog, own: str) -> Picture:
    def of(label: str, field: str, per: float = 1.0) -> Line:
        return Line(label, flight.column("power", "t_s"), flight.column("power", field) * per)

    open_V = of("open circuit", "open_V")
    open_V.style.update(color=GREY, linestyle="--")
    lines: dict[str, Sequence[Line]] = {
        "voltage (V)": [of("terminals", "voltage_V"), open_V],
        "current (A)": [of("battery", "current_A")],
        "energy (Wh)": [of("delivered", "energy_J", 1.0 / JOULES_PER_WH)],
        "charge (%)": [of("state of charge", "charge", 100.0)],
    }
    caption = "Terminal voltage below that of the open circuit, current, energy delivered and state of charge."
    return picture(f"power-battery{own}", "Battery", caption, lambda: panels(lines, height_in=4 * PANEL_IN))


def _motors(flight: VehicleLog, motors: int, own: str) -> Picture:
    t_s = flight.column("power", "t_s")

    def of(pattern: str) -> list[Line]:
        return [
            Line(f"motor {i}", t_s, np.asarray(flight.column("power", pattern.format(i)))) for i in range(1, motors + 1)
        ]

    lines: dict[str, Sequence[Line]] = {"current (A)": of("motor_{}_A"), "duty": of("duty_{}")}
    caption = (
        "Current of each motor, which the ESC takes from the battery times its duty; at a duty of 1 it is at its end."
    )
    return picture(f"power-motors{own}", "Motors and ESCs", caption, lambda: panels(lines, height_in=3 * PANEL_IN))
