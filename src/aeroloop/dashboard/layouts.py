"""Chart layouts saved by a user: small JSON files in the configuration folder of the dashboard's user."""

from __future__ import annotations

import os
import re
from pathlib import Path

from aeroloop.core.errors import ConfigError
from aeroloop.dashboard.charts import LARGEST_LAYOUT_B, Layout, layout_of

MOST_LAYOUTS = 100
SUFFIX = ".json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._()-]{0,39}", re.ASCII)


class Layouts:
    """Named files in one folder, which is created with the first."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = config_folder() / "charts" if folder is None else folder

    def names(self) -> list[str]:
        try:
            found = [path.stem for path in self.folder.iterdir() if path.suffix == SUFFIX and path.is_file()]
        except OSError:
            return []
        return sorted(name for name in found if _NAME.fullmatch(name))[:MOST_LAYOUTS]

    def load(self, name: str) -> Layout:
        path = self._path(name)
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST_LAYOUT_B + 1)
        except OSError as error:
            raise ConfigError(f"{path}: the chart layout cannot be read: {error.strerror}") from None
        return layout_of(content.decode(errors="replace"), str(path))

    def save(self, name: str, layout: Layout) -> None:
        path = self._path(name)
        names = self.names()
        if name not in names and len(names) >= MOST_LAYOUTS:
            raise ConfigError(f"{self.folder}: holds {MOST_LAYOUTS} chart layouts already; delete one first")
        unfinished = path.with_name(f".{path.name}.part")  # if the disk is full, the previous layout is kept
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(layout.text(), encoding="utf-8")
            unfinished.replace(path)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise ConfigError(f"{path}: the chart layout cannot be saved: {error.strerror}") from None

    def delete(self, name: str) -> None:
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"{path}: the chart layout cannot be deleted: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name[:40]!r}: expected a name of 1 to 40 letters, digits, blanks or characters of . _ ( ) -"
            )
        return self.folder / f"{name}{SUFFIX}"


def config_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "aeroloop"
