"""The airframe file of a fit: every number with its unit and where it comes from, fitted ones with their standard
error. It flies as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from aeroloop.core.config import Config, override
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.reflight.replay import Number, Replayed

KEYS = {
    "mass": ("body.mass_kg",),
    "inertia_x": ("body.inertia_kgm2",),
    "inertia_y": ("body.inertia_kgm2",),
    "inertia_z": ("body.inertia_kgm2",),
    "lag": ("motors.lag_up_s", "motors.lag_down_s"),
}
"""Keys of the file that a fitted number changes."""
DIGITS = 6


def toml(replayed: Replayed) -> str:
    airframe = replayed.fitted_airframe
    assert airframe is not None
    lines = [*_heading(replayed)]
    for table, struct in _tables(airframe).items():
        lines += ["", f"[{table}]"]
        for key, (value, unit) in _fields(struct).items():
            lines.append(
                f"{override(key, _rounded(value)).replace('=', ' = ', 1)} # {_source(replayed, f'{table}.{key}', unit)}"
            )
    return "\n".join(lines) + "\n"


def check(file: Path) -> None:
    """ConfigError if the airframe of the file cannot fly."""
    airframes.load(str(file))


def fly_command(replayed: Replayed, file: str) -> str:
    """How to fly it."""
    delay = f" --set link.to_plant.delay_s={replayed.plant.delay_s:.4f}" if replayed.plant.delay_s > 0 else ""
    return f"aeroloop fly quad-hover --set vehicle.airframe={file}{delay}"


def confidence(number: Number) -> str:
    """Value, standard error and what it was fitted by."""
    fitted = number.fitted
    relative = f" ({100 * fitted.relative_std:.2g} %)" if fitted.unknown.relative else ""
    sure = "" if fitted.determined else ", not determined by this log"
    return f"{fitted.value:.4g} +- {fitted.std:.2g} {fitted.unknown.unit}{relative}, by {number.by}{sure}"


def _heading(replayed: Replayed) -> list[str]:
    fitted, judged = (half.comparison.segment for half in (replayed.halves[0], replayed.judged))
    lines = [
        f"# {replayed.vehicle}, fitted to {replayed.log.name} by `aeroloop replay --fit`.",
        f"# Fitted on {fitted.start_s:.1f} to {fitted.end_s:.1f} s of the log, judged on {judged.start_s:.1f} to "
        f"{judged.end_s:.1f} s:",
    ]
    for each in replayed.judged.comparison.signals:
        remark = f" ({each.remark})" if each.remark else ""
        lines.append(f"#   {each.quantity.name}: r {each.score.r:.4f}, NRMSE {each.score.nrmse:.3f}{remark}")
    lines.append("# Numbers with one standard error (from the Jacobian of the residuals, in blocks of 0.5 s):")
    lines += [f"#   {number.fitted.name}: {confidence(number)}" for number in replayed.numbers]
    lines.append("# Mass and inertia hold for the rotors' coefficients below: a log determines only their ratios.")
    if replayed.fitted_airframe is not None and replayed.fitted_airframe.drawn:
        lines.append(
            "# Its shape ([[drawn]]) is left out: copy those tables, and the meshes they name, from the original."
        )
    return [*lines, f"# Fly it: {fly_command(replayed, 'THIS_FILE')}"]


def _tables(airframe: Airframe) -> dict[str, Config]:
    """Without its drawn shape, whose meshes are files beside the original."""
    fields = ((name, getattr(airframe, name)) for name in airframe.__struct_fields__)
    return {name: table for name, table in fields if isinstance(table, Config)}


def _fields(struct: Config) -> dict[str, tuple[Any, str]]:
    """Value and unit by key; those at their defaults, such as an empty list, are left out."""
    hints = {field.name: field for field in msgspec.structs.fields(type(struct))}
    found = {}
    for name, field in hints.items():
        value = getattr(struct, name)
        if field.required or value != field.default:
            found[name] = (value, _unit(field.type))
    return found


def _unit(kind: Any) -> str:
    for note in get_args(kind):
        if isinstance(note, msgspec.Meta) and note.extra:
            return str(note.extra.get("unit", "-"))
    return "-"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _source(replayed: Replayed, key: str, unit: str) -> str:
    of_key = [n for n in replayed.numbers if key in KEYS.get(n.fitted.name, ()) and n.fitted.determined]
    if not of_key:
        return f"{unit}, {replayed.vehicle}"
    errors = ", ".join(f"{100 * n.fitted.relative_std:.2g} %" for n in of_key)
    return f"{unit}, fitted to {replayed.log.name} by {of_key[0].by}; standard error {errors}"


def as_table(replayed: Replayed) -> Mapping[str, Any]:
    """The fitted airframe as plain tables."""
    airframe = replayed.fitted_airframe
    return {} if airframe is None else dict(msgspec.to_builtins(airframe))
