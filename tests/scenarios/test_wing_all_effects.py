"""`fixedwing-truth`: the fixed wing with every effect on at once (docs/how-true.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from quad_runs import fly

from aeroloop.analysis.physics import examined
from aeroloop.core.scenario_files import find, load
from aeroloop.core.wing_signals import PlanStatus
from aeroloop.families.fixedwing.analysis.metrics import metrics
from aeroloop.flight.inline import fly_inline

FIRST_SECONDS = ("duration_s=14", "mission.command_at_s=1", "checks=[]")
"""Past the first plan and the fade-in of turbulence."""


def test_the_first_seconds_have_every_effect() -> None:
    scenario = load(find("fixedwing-truth"), (*FIRST_SECONDS, "log.balance=true"))
    flown = fly_inline(scenario)
    assert flown.ended == "completed"
    log = flown.logs[0]
    found = metrics(log, scenario)
    assert found["energy_J"] > 0.0 and found["battery_charge_end"] < 1.0
    assert found["est_pos_rms_m"] > 0.5, "the position of the GNSS wanders"
    assert np.all(np.std(log.rows["gust_rate"][:, -3:], axis=0) > 0.0)
    assert np.std(log.column("air", "wind_x_m_s")) > 0.0
    assert PlanStatus.FOUND in log.column("plan", "status")
    assert found["altitude_error_max_m"] < 10.0 and found["roll_max_deg"] < 35.0
    (balance,) = examined(log, within=1e-5)  # docs/how-true.md: energy 4.3e-6
    assert balance.ok, balance.findings


@pytest.mark.soak  # short: its first seconds, above
def test_it_passes_its_checks(tmp_path: Path) -> None:
    run = fly(tmp_path, "fixedwing-truth")
    assert run.exit_code == 0, run.said
    assert all(check["ok"] for check in run.summary["checks"])
