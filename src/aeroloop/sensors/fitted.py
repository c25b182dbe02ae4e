"""The sensors of an aircraft in a scenario: a preset and its changes."""

from __future__ import annotations

from typing import Annotated, Any

from aeroloop.core.config import note
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import PlannedFault
from aeroloop.sensors.schedule import Fault, Name
from aeroloop.sensors.suite import NAMES, SensorSet, preset_table, presets


class FittedSensors(SensorSet, frozen=True):
    """The sensors: a preset and its changes."""

    preset: Annotated[
        str, note("a set of sensors (docs/sensors.md#presets); the tables below change single values")
    ] = "px4"
    fitted: Annotated[tuple[Name, ...], note("which of the preset's sensors the aircraft has")] = (
        "imu",
        "magnetometer",
        "barometer",
        "gnss",
    )
    faults: Annotated[tuple[Fault, ...], note("planned sensor faults; newer files use `[[faults]]`")] = ()

    @property
    def flown(self) -> SensorSet:
        """The sensors that are fitted."""
        return SensorSet(**{name: getattr(self, name) for name in self.fitted})

    @property
    def planned(self) -> dict[str, PlannedFault]:
        """The faults in this table, by their keys."""
        own = {f"sensors.faults[{index}]": fault.planned for index, fault in enumerate(self.faults)}
        spans = self.gnss.lost_s if self.gnss is not None else ()
        lost = {
            f"sensors.gnss.lost_s[{index}]": PlannedFault(target="gnss", kind="no_fix", from_s=start_s, to_s=end_s)
            for index, (start_s, end_s) in enumerate(spans)
        }
        return {**own, **lost}


def fitted_out(
    table: dict[str, Any], usual: FittedSensors | None = None, *, without: tuple[Name, ...] = ("tachometer",)
) -> dict[str, Any]:
    """A scenario's table with all sensor values: the preset's with the scenario's changes.

    `usual` are the aircraft's sensors if the scenario names none; it cannot have those of `without`.
    """
    usual = usual or FittedSensors()
    given = table.get("sensors", {})
    if not isinstance(given, dict):
        return table  # the struct reports the error
    preset = str(given.get("preset", usual.preset))
    if preset not in presets():
        raise ConfigError(f"sensors.preset: unknown {preset!r}, expected one of: {', '.join(presets())}")
    chosen = preset_table(preset)
    fitted = given.get("fitted", usual.fitted)
    if not isinstance(fitted, list | tuple):
        return table  # again
    for lacking in without:
        if lacking in fitted:
            raise ConfigError(f"sensors.fitted: this aircraft cannot have a {lacking}")
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
            raise ConfigError(f"sensors.{name}: the aircraft has none, so this has no effect; add it to sensors.fitted")
    return {**table, "sensors": sensors}


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        merged[key] = (
            _merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        )
    return merged
