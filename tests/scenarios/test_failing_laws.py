"""A law that returns NaN in flight, behind its limits: on every rung the event names it, no command is NaN, and the
board's answer is that of its family. The fixed wing's are in tests/families/test_wing_law.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.families.tiltrotor.design import board_law
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "laws"


@dataclass(frozen=True)
class Case:
    scenario: str
    example: str
    limited: tuple[str, str]
    """A line of the example, and what it becomes: NaN behind a limit while `ILL` is 1."""
    ill: str
    settings: tuple[str, ...]
    periods: tuple[int, int]
    """Least and most for which it fails."""
    key: str = "control.law_file"


CASES = {
    "tilt-rotor": Case(
        "tiltrotor-spiral",
        "lqr.py",
        (
            "command = ca.DM(design.u_eq) -",
            "command = tk.clip(ca.sqrt(-ILL), -1, 1) + ca.DM(design.u_eq) -",
        ),
        "(ca.fabs(sensors[tk.Y] - 0.5) < 0.05)",
        ("duration_s=0.8",),
        (3, 8),
    ),
    "multirotor": Case(
        "quad-law-hover",
        "quad_lqr.py",
        ("tk.clip(design.command(speeds), 0.001, 1)", "tk.clip(design.command(speeds) + ca.sqrt(-ILL), 0.001, 1)"),
        "(ca.fabs(setpoint[2] - 0.6) < 0.06)",
        ("duration_s=2.6", "ground.takeoff_s=1.5", "ground.climb_m_s=3.0"),
        (5, 25),
    ),
    "helicopter": Case(
        "heli-hover",
        "heli_lqr.py",
        (
            "command = tk.clip(ca.vertcat(pitches, throttle)",
            "command = tk.clip(ca.vertcat(pitches, throttle) + ca.sqrt(-ILL)",
        ),
        "(ca.fabs(design.picked(measured, 'z_m') - 14.6) < 0.01)",
        ("duration_s=0.6",),
        (3, 25),
        "law_file",
    ),
}

LONG = (("multirotor", "sil"), ("multirotor", "pil"))
"""Its estimator takes long to compile; the helicopter's board is the same program."""


def flown(case: Case, rung: str, folder: Path) -> Log:
    good, failing = case.limited
    text = (EXAMPLES / case.example).read_text("utf-8")
    assert text.count(good) == 1
    law = folder / case.example
    law.write_text(text.replace(good, failing.replace("ILL", case.ill)))
    plan = load(find(case.scenario), (f'loop="{rung}"', "checks=[]", f'{case.key}="{law}"', *case.settings))
    flight = fly_inline(plan)
    assert flight.ended == "completed"
    return flight.logs[0]


@pytest.mark.parametrize(
    ("family", "rung"),
    [
        pytest.param(family, rung, marks=pytest.mark.soak if (family, rung) in LONG else ())
        for family in CASES
        for rung in ("mil", "sil", "pil")
    ],
)
def test_a_law_that_fails_in_flight_is_named_and_its_board_stays_safe(family: str, rung: str, tmp_path: Path) -> None:
    case = CASES[family]
    log = flown(case, rung, tmp_path)
    told = log.column("board_event", "code") == Event.LAW_NOT_FINITE
    least, most = case.periods
    assert least <= np.count_nonzero(told) <= most
    names = [name for name in log.columns["command"] if name not in ("t_s", "vehicle")]
    commands = np.stack([log.column("command", name) for name in names], axis=1)
    commands = commands[:, ~np.isnan(commands).all(axis=0)]  # without motors that the aircraft does not have
    assert np.all(np.isfinite(commands))
    at_s = log.column("command", "t_s")
    failed_s = log.column("board_event", "t_s")[told]
    failed = np.flatnonzero(np.abs(at_s[:, None] - failed_s).min(axis=1) < 1e-6)
    assert len(failed) == len(failed_s) and failed[-1] < len(at_s) - 10, "later it flies its law again"
    if family == "tilt-rotor":
        safe = board_law(load(find(case.scenario)))[1].safe_command  # type: ignore[arg-type]
        assert commands[failed] == pytest.approx(np.tile(safe, (len(failed), 1)), abs=1e-5)
    else:
        held = np.all(np.diff(commands[failed[0] - 1 :], axis=0) == 0.0, axis=1)
        assert np.count_nonzero(held) == len(failed), "the last good command, in each of these periods and no other"
