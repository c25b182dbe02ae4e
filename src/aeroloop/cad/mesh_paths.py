"""Where a mesh named by a file lies: within one folder, whichever way the file writes it.

`model://NAME/...` and `package://NAME/...` name a folder that only the author's tools know: the rest of the path is
tried in the file's own folder and in the permitted one, then the path with NAME in the permitted one.
"""

from __future__ import annotations

from pathlib import Path

from aeroloop.core.errors import ConfigError

SCHEMES = ("model://", "package://")
LONGEST = 1024


def located(uri: str, beside: Path, allowed: Path, source: str, otherwise: str = "") -> Path:
    """The file that `uri` names, relative to the folder `beside`; ConfigError if it is outside `allowed`, with what to
    do otherwise."""
    text = uri.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ConfigError(f"{source}: mesh {text[:60]!r}: not the name of a file")
    scheme = next((scheme for scheme in SCHEMES if text.startswith(scheme)), "")
    if scheme:
        _, _, rest = text.removeprefix(scheme).partition("/")
        candidates = [beside / rest, allowed / rest, allowed / text.removeprefix(scheme)]
    elif "://" in text and not text.startswith("file://"):
        raise ConfigError(f"{source}: mesh {text}: expected a file beside it, model:// or package://")
    else:
        candidates = [beside / text.removeprefix("file://")]
    try:
        root = allowed.resolve()
        real = [path.resolve() for path in candidates]
        within = [path for path in real if path.is_relative_to(root)]
        found = next((path for path in within if path.is_file()), within[0] if within else None)
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, a loop of links
        raise ConfigError(f"{source}: mesh {text[:60]!r}: not the name of a file") from None
    if found is None:
        raise ConfigError(
            f"{source}: mesh {text}: lies outside {allowed}, and is not read; "
            f"{otherwise or 'expected a file in that folder or below'}"
        )
    return found
