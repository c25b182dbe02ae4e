"""Aircraft of this family: files with tables of aerodynamics and engine."""

from __future__ import annotations

from aeroloop.core import parameter_files
from aeroloop.models.tabulated_aircraft import Aircraft

FOLDER = "families/freebody"


def load(name: str) -> Aircraft:
    """An included aircraft by its name, or your own by the path of its file (ending in .toml)."""
    return parameter_files.load(name, FOLDER, Aircraft)[0]
