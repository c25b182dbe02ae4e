"""The sensors of an aircraft as a scenario gives them: a preset, and what is different from it."""

from __future__ import annotations

from typing import Annotated, Any

from aeroloop.core.config import note
from aeroloop.core.errors import ConfigError
from aeroloop.sensors.schedule import Fault, Name
from aeroloop.sensors.suite import NAMES, SensorSet, preset_table, presets


class Aboard(SensorSet, frozen=True):
    """The sensors: a preset, and what is different from it."""

    preset: Annotated[str, note("`ideal`, `px4`, `thesis` or `consumer`; the tables below change single values")] = (
        "px4"
    )
    fitted: Annotated[tuple[Name, ...], note("which of the preset's sensors the aircraft has")] = (
        "imu",
        "magnetometer",
        "barometer",
        "gnss",
    )
    faults: Annotated[tuple[Fault, ...], note("sensors that fail on purpose")] = ()

    @property
    def flown(self) -> SensorSet:
        """The sensors that are fitted."""
        return SensorSet(**{name: getattr(self, name) for name in self.fitted})


def fitted_out(table: dict[str, Any], usual: Aboard | None = None) -> dict[str, Any]:
    """A scenario's table with its sensors in full: the preset's, changed where the scenario says so.

    `usual` says what the aircraft has where the scenario is silent.
    """
    usual = usual or Aboard()
    given = table.get("sensors", {})
    if not isinstance(given, dict):
        return table  # the struct says what is wrong with it
    preset = str(given.get("preset", usual.preset))
    if preset not in presets():
        raise ConfigError(f"sensors.preset: unknown {preset!r}, expected one of: {', '.join(presets())}")
    chosen = preset_table(preset)
    fitted = given.get("fitted", usual.fitted)
    sensors = dict(given)
    for name in NAMES:
        own = given.get(name, {})
        if name in fitted and not isinstance(own, dict):
            continue
        if name in fitted and (name in chosen or own):
            sensors[name] = _merged(chosen.get(name, {}), own)
        elif name in fitted:
            raise ConfigError(f"sensors.fitted: the preset {preset} has no {name}; give its table sensors.{name}")
        elif own and isinstance(own, dict) and "rate_hz" not in own:
            raise ConfigError(
                f"sensors.{name}: the aircraft has none, so this changes nothing; name it in sensors.fitted"
            )
    return {**table, "sensors": sensors}


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        merged[key] = (
            _merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        )
    return merged
