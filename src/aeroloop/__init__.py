"""Aeroloop: a hardware-in-the-loop bench for UAV flight controllers.

    run = aeroloop.fly("quad-hover", seed=7)
    run.passed, run.metrics["pos_rms_m"], run.log["truth"]["z_m"]

docs/python-api.md describes every name. Each is imported when it is first used: `import aeroloop` itself is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.4.0.dev0"
"""The only place that says it: the package's metadata are built from here."""

__all__ = [
    "AeroloopError",
    "Bench",
    "Campaign",
    "CheckResult",
    "ConfigError",
    "Figure",
    "FlightLog",
    "LinkError",
    "LiveFlight",
    "Observation",
    "Run",
    "ScenarioInfo",
    "ScenarioPlan",
    "StorageError",
    "StreamTable",
    "Trajectory",
    "__version__",
    "bench",
    "fly",
    "open_campaign",
    "open_run",
    "scenario",
    "scenarios",
    "start",
    "trajectory",
]

if TYPE_CHECKING:
    from aeroloop.analysis.checks import CheckResult
    from aeroloop.api.bench import Bench, Observation, bench
    from aeroloop.api.flying import fly
    from aeroloop.api.live import LiveFlight, start
    from aeroloop.api.run import Figure, Run, open_run
    from aeroloop.api.scenarios import ScenarioInfo, ScenarioPlan, scenario, scenarios
    from aeroloop.api.tables import FlightLog, StreamTable
    from aeroloop.api.trajectories import Trajectory, trajectory
    from aeroloop.campaign.campaigns import Campaign, open_campaign
    from aeroloop.core.errors import AeroloopError, ConfigError, LinkError, StorageError
else:  # a type checker that saw this function would take every name for one of ours
    _MODULES = {
        "aeroloop.analysis.checks": ("CheckResult",),
        "aeroloop.api.bench": ("Bench", "Observation", "bench"),
        "aeroloop.api.flying": ("fly",),
        "aeroloop.api.live": ("LiveFlight", "start"),
        "aeroloop.api.run": ("Figure", "Run", "open_run"),
        "aeroloop.api.scenarios": ("ScenarioInfo", "ScenarioPlan", "scenario", "scenarios"),
        "aeroloop.api.tables": ("FlightLog", "StreamTable"),
        "aeroloop.api.trajectories": ("Trajectory", "trajectory"),
        "aeroloop.campaign.campaigns": ("Campaign", "open_campaign"),
        "aeroloop.core.errors": ("AeroloopError", "ConfigError", "LinkError", "StorageError"),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name):
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'aeroloop' has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
