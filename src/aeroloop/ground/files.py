"""Reads small text files from users: whole files, but only if regular and of a limited size."""

from __future__ import annotations

from pathlib import Path

from aeroloop.core.errors import ConfigError


def read_text(path: Path, *, max_bytes: int) -> str:
    """The text of a file with `\\n` line ends, without a byte order mark; ConfigError if it cannot be read."""
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path}: expected a regular file")
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise ConfigError(f"{path}: expected at most {max_bytes} bytes, not {size}")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected UTF-8 text") from None
