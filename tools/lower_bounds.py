"""Whether the lower bounds in pyproject.toml hold: `python -m tools.lower_bounds FOLDER [pytest arguments]`.

Makes an environment in FOLDER with the lowest version that each range allows, of the base install and the extras that
flights use, and runs a set of tests there: the wheel's own, which fly, and those nearest to the libraries.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("dash", "export", "joystick", "logs", "octree", "video", "vision")
"""All but those for other machines (`cluster`, `gpu`) and for work on Aeroloop itself."""
TOOLS = (
    *("ambiance", "foxglove-schemas-protobuf", "hypothesis", "mcap-protobuf-support", "pytest", "pytest-xdist"),
    "setuptools",
)
"""Further requirements of the tests, from requirements.lock."""
TESTS = tuple(
    f"tests/{name}"
    for name in (
        "package",
        "campaign",
        "recording",
        "flight/test_export.py",
        "flown",
        "video",
        "perception",
        "realtime",
        "codegen",
        "cli",
        "links",
        "ground",
        "dashboard",
        "analysis",
        "world",
    )
)


def lowest(requirements: Iterable[str]) -> list[str]:
    """Constraints: the lower bound of each range as an exact version."""
    return [f"{each.name}=={_lower_bound(each)}" for each in map(Requirement, requirements)]


def _lower_bound(requirement: Requirement) -> str:
    bounds = [each.version for each in requirement.specifier if each.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"{requirement}: expected one lower bound, such as {requirement.name}>=1.2")
    return bounds[0]


def ranges() -> list[str]:
    """Of the base install and the extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [*project["dependencies"], *(each for extra in EXTRAS for each in project["optional-dependencies"][extra])]


def locked(names: Iterable[str]) -> list[str]:
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    return [line for line in lines if line.partition("==")[0] in names]


def main(folder: Path, arguments: list[str]) -> int:
    place, constraints = folder / "venv", folder / "constraints.txt"
    venv.create(place, with_pip=True, clear=True)
    constraints.write_text("\n".join(lowest(ranges())) + "\n", encoding="utf-8")
    python = str(place / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "-c", str(constraints)]
    subprocess.run([*pip, *locked(TOOLS), "-e", f"{ROOT}[{','.join(EXTRAS)}]"], check=True)
    print(constraints.read_text("utf-8"), end="", flush=True)
    return subprocess.run([python, "-m", "pytest", "-q", *(arguments or TESTS)], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m tools.lower_bounds FOLDER [pytest arguments]")
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
