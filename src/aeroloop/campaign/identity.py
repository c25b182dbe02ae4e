"""What makes a flight of a campaign the same flight: the hash of its content, and the edition of the code that flew it.

key       first 24 hex digits of SHA-256 over the resolved scenario, its seed and rung, the engine and the edition
edition   the same over the sources of package and firmware, the libraries that compute, the compilers and the emulator
          of the rung, and every file that the scenario names: a control law, an aircraft's folder. Flights of another
          edition are kept, and not counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aeroloop.campaign import toolchain
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan, parts_of
from aeroloop.core.paths import FIRMWARE, PACKAGE

DIGITS = 24
ENGINE = "bench"
SOURCES = ("*.py", "*.toml", "*.xml", "*.c", "*.h")
FIRMWARE_SOURCES = ("*.c", "*.h", "*.cpp", "*.hpp", "*.ld", "*.mk", "Makefile")
LIBRARIES = ("mujoco", "casadi", "numpy", "scipy")
NOT_OF_THE_FLIGHT = ("summary", "view", "pace", "busy_processes")
"""Keys of a scenario without influence on its result."""


def flight_key(plan: Plan, edition: str) -> str:
    files = {name for part in parts_of(plan) for name in part.files().values()}
    table = {key: value for key, value in plan.flat().items() if key not in NOT_OF_THE_FLIGHT}
    content = {"scenario": _without_paths(table, files), "engine": ENGINE, "edition": edition}
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:DIGITS]


def edition_of(plan: Plan) -> str:
    """Of the code and the files that fly a plan."""
    digest = hashlib.sha256(f"{libraries()} {sources()} {toolchain.of_rung(plan.loop)}".encode())
    for part in parts_of(plan):
        for key, name in sorted(part.files().items()):
            digest.update(f"{key}={_hash_of([Path(name)])}\n".encode())
        if "/" in part.kind:  # an aircraft from a folder
            digest.update(_hash_of(_sources(Path(part.kind))).encode())
    return digest.hexdigest()[:DIGITS]


@cache
def libraries() -> str:
    """Those that compute, with their versions."""
    return " ".join(f"{name} {version(name)}" for name in LIBRARIES)


@cache
def sources() -> str:
    """Hash of the package's own sources and of the firmware."""
    own = _hash_of(_sources(PACKAGE), PACKAGE), _hash_of(_sources(FIRMWARE, FIRMWARE_SOURCES), FIRMWARE)
    return hashlib.sha256(" ".join(own).encode()).hexdigest()


def _sources(folder: Path, patterns: Iterable[str] = SOURCES) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.rglob(pattern))


def _hash_of(files: Iterable[Path], root: Path | None = None) -> str:
    digest = hashlib.sha256()
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
        digest.update(f"{file.relative_to(root) if root else ''} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _without_paths(value: Any, files: set[str]) -> Any:
    """Names of files say nothing of their content, which is in the edition."""
    if isinstance(value, dict):
        return {str(key): _without_paths(item, files) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_paths(item, files) for item in value]
    return "file" if isinstance(value, str) and value in files else value
