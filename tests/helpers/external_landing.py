"""A short landing on the pad with a companion outside of the flight; its GNSS has a bias."""

from __future__ import annotations

from pathlib import Path

from aeroloop.api.flying import choose
from aeroloop.api.scenarios import named
from aeroloop.core.scenario import Scenario

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "companion.py"
MISSED_M = 1.1
SHORT = (
    "duration_s=40.0",
    "checks=[]",
    "cameras[0].size_px=[320, 240]",
    "cameras[0].rate_hz=10.0",
    "cameras[0].start_s=0.0",
    "world.wind.steady_W=[0, 0, 0]",
    "world.wind.turbulence.w20_m_s=0",
    "pilot.waypoints=[{pos_m=[0, 0, 4]}]",
    'pilot.commands=[{at_s=4, do="arm"}, {at_s=4.5, do="mission"}]',
    f'faults=[{{target="gnss", kind="bias", channel="position", value=[0, {MISSED_M}, 0.01], from_s=7}}]',
)


def landing(url: str, *changes: str, pace: str | None = None) -> Scenario:
    plan = choose(named("quad-landing").changed((*SHORT, *changes)), companion=url, pace=pace).plan
    assert isinstance(plan, Scenario)
    return plan
