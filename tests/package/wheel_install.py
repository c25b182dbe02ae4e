"""A wheel built from a copy of the checkout, and an environment that has nothing but the wheel and what it asks for.

No network: the environment's dependencies are links to those of the running interpreter, and only to those that the
wheel's own metadata name, so that a dependency which pyproject.toml forgets is missed here as it would be by a user.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src", "scenarios", "campaigns", "firmware", "examples")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE")
NOT_SOURCES = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "data")
TIMEOUT_S = 300


@dataclass(frozen=True)
class Environment:
    """An empty folder, and beside it an interpreter with the wheel installed."""

    folder: Path
    python: Path
    variables: dict[str, str]

    @property
    def command(self) -> Path:
        return self.python.with_name("aeroloop")

    @property
    def package(self) -> Path:
        return next(self.python.parents[1].glob("lib/python*/site-packages/aeroloop"))

    def run(self, *words: str | Path, **variables: str) -> str:
        """What a command prints; it must succeed."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env={**self.variables, **variables},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def aeroloop(self, *words: str) -> str:
        return self.run(self.command, *words)


def copied_checkout(folder: Path) -> Path:
    """Builds write beside their sources, so they get a copy."""
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=NOT_SOURCES)
    for name in FILES:
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def built_sdist(checkout: Path, out: Path) -> Path:
    code = f"from setuptools import build_meta; print(build_meta.build_sdist({str(out)!r}))"
    name = _run([sys.executable, "-c", code], cwd=checkout).splitlines()[-1]
    return out / name


def built_wheel(source: Path, out: Path) -> Path:
    _pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(out), str(source))
    return next(out.glob("*.whl"))


def installed(wheel: Path, folder: Path) -> Environment:
    """Names with a space, as users have them."""
    place, here = folder / "my venv", folder / "empty folder"
    venv.create(place, with_pip=False, symlinks=True)
    here.mkdir()
    python = place / "bin" / "python"
    _pip("--python", str(python), "install", "--no-deps", "--no-index", "--no-compile", str(wheel))
    site = next(place.glob("lib/python*/site-packages"))
    dependencies = linked(_closure(_requirements(site)), folder / "dependencies")
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    own = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
    (folder / "home").mkdir()
    return Environment(here, python, {**variables, **own})


def extra(environment: Environment, name: str, folder: Path) -> Path:
    """A folder for PYTHONPATH with what an extra adds."""
    return linked(_closure(_requirements(environment.package.parent, name)), folder)


def linked(names: Iterable[str], folder: Path) -> Path:
    """Links to the packages of distributions, and to their metadata."""
    folder.mkdir()
    for name in names:
        distribution = importlib.metadata.distribution(name)
        for top in {path.parts[0] for path in distribution.files or () if path.parts[0] not in ("..", "__pycache__")}:
            link = folder / top
            if not link.exists():  # several distributions may fill one package
                link.symlink_to(str(distribution.locate_file(top)))
    return folder


def _requirements(site: Path, extra: str = "") -> list[Requirement]:
    (own,) = importlib.metadata.distributions(name="aeroloop", path=[str(site)])
    return _asked(own, {extra})


def _closure(asked: list[Requirement]) -> set[str]:
    """Names of distributions, with those that they ask for in turn."""
    found: dict[str, set[str]] = {}
    while asked:
        requirement = asked.pop()
        extras = {"", *requirement.extras}
        if extras <= found.get(requirement.name, set()):
            continue
        found[requirement.name] = found.get(requirement.name, set()) | extras
        asked += _asked(importlib.metadata.distribution(requirement.name), extras)
    return set(found)


def _asked(distribution: importlib.metadata.Distribution, extras: set[str]) -> list[Requirement]:
    requirements = map(Requirement, distribution.requires or ())
    return [
        each
        for each in requirements
        if each.marker is None or any(each.marker.evaluate({"extra": name}) for name in extras)
    ]


def _pip(*words: str) -> None:
    _run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words], cwd=ROOT.parent)


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
