"""Checks the mechanics of a run from its log; ConfigError says what the log lacks."""

from __future__ import annotations

from pathlib import Path

from aeroloop.analysis.physics import Examined, examined, has_balance
from aeroloop.core import trust
from aeroloop.core.balance_streams import NAME
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import parts_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.flight.results import LOG, SCENARIO
from aeroloop.recording.log import Log, part_of, read

KEY = "log.balance"


def check_run(run: Path, within: float | None = None) -> dict[str, list[Examined]]:
    """`run`: a folder written by a flight, or a log. The aircraft of each part; the name of a single one is empty.
    `within`: a relative limit in place of those of the balances."""
    path = run / LOG if run.is_dir() else run
    if not path.is_file():
        raise ConfigError(f"{run}: expected a folder that `aeroloop fly` made, or a log such as {LOG}")
    return check_log(read(path), run, within)


def check_log(log: Log, run: Path, within: float | None = None) -> dict[str, list[Examined]]:
    """`run` is where the log is from, for messages."""
    prefixes = [name.removesuffix(NAME) for name in log.rows if name == NAME or name.endswith(f"/{NAME}")]
    parts = {prefix: part_of(log, prefix) for prefix in prefixes}
    found = {prefix.rstrip("/"): examined(part, within) for prefix, part in parts.items() if has_balance(part)}
    if not found:
        raise ConfigError(_lacking(run))
    aircraft = [each for part in found.values() for each in part]
    if not any(each.findings for each in aircraft):
        raise ConfigError(
            f"{run}: nothing to check: ground, stand or catapult held the aircraft in all "
            f"{sum(each.steps for each in aircraft)} steps; expected a flight that takes off"
        )
    return found


def _lacking(run: Path) -> str:
    scenario = run / SCENARIO if run.is_dir() else run.with_name(SCENARIO)
    if not scenario.is_file():
        return f"{run}: its log has no stream {NAME}; expected a flight with `{KEY} = true`"
    trust.consent_to_own(scenario.parent)
    able = [part for part in parts_of(load_plan(scenario)) if part.family.balance]
    if not able:
        return f"{run}: its family logs no {NAME}; expected an aircraft whose family's row names one"
    return f"{run}: its log has no stream {NAME}; fly it again with `aeroloop fly {scenario} --set {KEY}=true`"
