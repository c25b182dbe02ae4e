"""Locations of files: shipped data, sockets and locks of running flights, and compiled laws.

Scenarios, campaigns, firmware sources and examples are at the top of a checkout; `setup.py` copies them into
`aeroloop/data` of a wheel. This module selects which of the two is read.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aeroloop.core.errors import ConfigError

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = PACKAGE / "data"
"""Only a wheel has this folder."""
FROM_WHEEL = SHIPPED.is_dir()
SHARED = SHIPPED if FROM_WHEEL else PACKAGE.parents[1]
SCENARIOS, FIRMWARE, EXAMPLES, CAMPAIGNS = (
    SHARED / name for name in ("scenarios", "firmware", "examples", "campaigns")
)

LONGEST_RUNTIME_DIR = 30
"""Socket paths are limited to 107 bytes, and a flight's topics add 75 to this path, those of a fleet's tenth part
77."""


def runtime_dir() -> Path:
    """A folder that only this user can access, for sockets, ptys and locks of running flights."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base) / "aeroloop" if base else Path(f"/tmp/aeroloop-{os.getuid()}")
    if len(os.fsencode(folder)) > LONGEST_RUNTIME_DIR:
        folder = Path(f"/tmp/aeroloop-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made, and flights keep their sockets there: {error.strerror}") from None
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise ConfigError(f"{folder}: expected a folder of mode 700 that belongs to you; remove it and try again")
    return folder


@contextmanager
def process_folder(kind: str) -> Iterator[Path]:
    """A folder of this process in the runtime folder, removed with the context. Those that killed processes left are
    removed before."""
    base = runtime_dir()
    for path in base.glob(f"{kind}-*-*"):
        try:
            os.kill(int(path.name.split("-")[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(path, ignore_errors=True)
        except (OSError, ValueError):  # another user's, or not ours
            continue
    with tempfile.TemporaryDirectory(dir=base, prefix=f"{kind}-{os.getpid()}-") as name:
        yield Path(name)


def process_folder_of(kind: str, pid: int) -> Path | None:
    """The folder of a process, also after it was killed."""
    return next(iter(runtime_dir().glob(f"{kind}-{pid}-*")), None)


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "aeroloop"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made, and compiled laws are kept there: {error.strerror}") from None
    return folder
