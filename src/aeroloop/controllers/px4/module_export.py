"""Writes a control law as an external PX4 module: C from the CasADi function, fixed sources around it, build files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aeroloop.codegen.embedded import embedded
from aeroloop.controllers.law.guided_design import Design
from aeroloop.controllers.px4 import module_texts
from aeroloop.controllers.px4.module_law import module_law
from aeroloop.controllers.px4.module_texts import AIRFRAME_NUMBER, NAME, Described
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import FIRMWARE
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import family, offered

SOURCES = FIRMWARE / "px4"
FIXED = ("AeroloopLaw.cpp", "AeroloopLaw.hpp", "FlightRows.cpp", "FlightRows.hpp")
LEAST_HZ, MOST_HZ = 50.0, 2000.0
CASCADE = "Aeroloop's cascade"


def described(scenario: Scenario[Any, Any], law_file: Path | None, rate_hz: float) -> Described:
    """The law for the aircraft of a scenario; ConfigError if there is none."""
    if not family(scenario.kind).airframe:
        raise ConfigError(
            f"{scenario.name}: a PX4 module flies a multirotor, not a {scenario.kind}; expected a scenario such as "
            "quad-px4"
        )
    if not LEAST_HZ <= rate_hz <= MOST_HZ:
        raise ConfigError(f"--rate {rate_hz:g}: expected {LEAST_HZ:g} to {MOST_HZ:g} Hz")
    design = Design(offered(scenario.kind, "airframe", scenario), 1.0 / rate_hz)
    aircraft = Path(scenario.flat()["vehicle"].get("airframe", scenario.kind)).stem.lower()
    return Described(
        law=module_law(design, law_file),
        frame=design.frame,
        period_s=design.period_s,
        aircraft=re.sub(r"[^a-z0-9]+", "_", aircraft).strip("_") or "own",
        law_name=law_file.name if law_file else CASCADE,
    )


def files(exported: Described) -> Mapping[str, str]:
    """Every file of the module by its path."""
    made = embedded(exported.law.function)
    module, airframe = f"src/modules/{NAME}", f"airframes/{AIRFRAME_NUMBER}_{exported.model}"
    return {
        "README.md": module_texts.readme(exported),
        "src/CMakeLists.txt": module_texts.module_list(),
        f"{module}/CMakeLists.txt": module_texts.cmake(),
        f"{module}/module.yaml": module_texts.parameters(exported.law.gains),
        f"{module}/law.c": made.c,
        f"{module}/law.h": made.h,
        f"{module}/law_px4.h": module_texts.law_header(exported),
        **{f"{module}/{name}": _fixed(name) for name in FIXED},
        airframe: module_texts.airframe(exported),
        f"{airframe}.post": module_texts.airframe_post(),
        "boards/extras.txt": module_texts.extras(),
    }


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """ConfigError if the folder has files already, or cannot be written."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"--out {folder}: expected a new or an empty folder; nothing is overwritten")
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--out {folder}: cannot be written: {error.strerror}") from None


def _fixed(name: str) -> str:
    try:
        return (SOURCES / name).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{SOURCES / name}: {error.strerror}; install Aeroloop again") from None
