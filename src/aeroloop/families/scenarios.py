"""Scenario files: found by name, read, checked, and made the struct of the aircraft that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.core.config import apply_overrides, convert, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario, TiltrotorScenario
from aeroloop.families.fixedwing.scenario import FixedWingScenario, WingAboard
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.sensors.aboard import Aboard, fitted_out

SCENARIO_DIRS = (Path("scenarios"), Path(__file__).resolve().parents[3] / "scenarios")

KINDS: dict[str, type[Scenario]] = {
    "tiltrotor": TiltrotorScenario,
    "quadrotor": QuadrotorScenario,
    "fixedwing": FixedWingScenario,
}
"""By `vehicle.kind`; a scenario that does not say flies the tilt-rotor."""
ABOARD: dict[str, Aboard] = {"quadrotor": Aboard(), "fixedwing": WingAboard()}
"""Of those whose sensors are a preset's: what they have where a scenario is silent."""


def find(name: str) -> Path:
    """The file of a scenario given by name or by path."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ConfigError(f"{name}: no such scenario file")
        return path
    for folder in SCENARIO_DIRS:
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    known = ", ".join(path.stem for path in available()) or "none"
    raise ConfigError(f"unknown scenario {name!r}; expected a .toml file or one of: {known}")


def available() -> list[Path]:
    """The scenarios that can be flown by name, each once."""
    found: dict[str, Path] = {}
    for folder in SCENARIO_DIRS:
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return [found[stem] for stem in sorted(found)]


def load(path: Path, overrides: tuple[str, ...] = ()) -> Scenario:
    """Read and validate a scenario; `overrides` are `key.path=value` strings with TOML values. File names in a scenario
    are relative to it, those in `overrides` to the folder where they were typed."""
    table = read_toml(path)
    source = str(path)
    if overrides:
        apply_overrides(table, overrides)
        source = f"{path} with {' '.join(overrides)}"
    scenario = of_table(table, source)
    typed = tuple(override.partition("=")[0] for override in overrides)
    here = {key: name for key, name in scenario.files().items() if f"{key}.".startswith(tuple(f"{t}." for t in typed))}
    return scenario.with_files({key: str(Path.cwd() / name) for key, name in here.items()}).anchored(
        path.resolve().parent
    )


def of_table(table: dict[str, Any], source: str) -> Scenario:
    """The struct that a table stands for."""
    vehicle = table.get("vehicle", {})
    kind = vehicle.get("kind", "tiltrotor") if isinstance(vehicle, dict) else "tiltrotor"
    if kind not in KINDS:
        raise ConfigError(f"{source}: vehicle.kind: unknown {kind!r}, expected one of: {', '.join(KINDS)}")
    if kind in ABOARD:
        try:
            table = fitted_out(table, ABOARD[kind])
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None
    return convert(table, KINDS[kind], source)


def load_tiltrotor(path: Path, overrides: tuple[str, ...] = ()) -> TiltrotorScenario:
    """For those who can do nothing with another aircraft."""
    scenario = load(path, overrides)
    if not isinstance(scenario, TiltrotorScenario):
        raise ConfigError(f"{path}: expected a scenario of the tilt-rotor, which has a board with our firmware")
    return scenario
