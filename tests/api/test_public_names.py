"""What `import aeroloop` offers: cheap to import, and typed for those who use it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import aeroloop

ROOT = Path(__file__).resolve().parents[2]

USED = """
    import aeroloop
    from typing import assert_type
    import numpy as np
    from numpy.typing import NDArray

    run = aeroloop.fly("quad-hover", seed=7, set={"world.wind.steady_W": [3, 0, 0]}, loop="sil", progress=True)
    assert_type(run, aeroloop.Run)
    assert_type(run.passed, bool)
    assert_type(run.metrics["x"], float)
    assert_type(run.checks[0].limit, str)
    assert_type(run.log["truth"], aeroloop.StreamTable)
    assert_type(run.log["truth"].t_s, NDArray[np.float64])
    assert_type(run.log["truth"]["z_m"], NDArray[np.float64])
    assert_type(run.figures["trajectory"].svg, str)
    assert_type(run.parts["wing"], aeroloop.Run)
    assert_type(aeroloop.open_run("x"), aeroloop.Run)
    assert_type(aeroloop.scenario("quad-hover").set({"seed": 2}), aeroloop.ScenarioPlan)
    assert_type(aeroloop.scenarios()[0].name, str)
    with aeroloop.bench("quad-hover") as b:
        seen = b.reset(seed=3)
        assert_type(seen, aeroloop.Observation)
        assert_type(seen.truth.pos_W, tuple[float, float, float])
        seen = b.step({"command_1": 0.5})
        seen = b.step([0.5] * 4)
    try:
        pass
    except (aeroloop.ConfigError, aeroloop.LinkError) as error:
        assert_type(error.exit_code, int)
"""
MISUSED = """
    import aeroloop

    aeroloop.flyy("quad-hover")
    aeroloop.fly("quad-hover", sed=3)
    aeroloop.fly("quad-hover").pased
    aeroloop.bench("quad-hover").step("full power").truth.pos
"""


def mypy(path: Path, code: str) -> subprocess.CompletedProcess[str]:
    path.write_text(dedent(code))
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--strict", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_type_checker_sees_the_types_from_outside(tmp_path: Path) -> None:
    used = mypy(tmp_path / "used.py", USED)
    assert used.returncode == 0, used.stdout + used.stderr
    misused = mypy(tmp_path / "misused.py", MISUSED)
    lines = [line.split(": ")[0].rpartition(":")[2] for line in misused.stdout.splitlines() if ": error: " in line]
    assert misused.returncode == 1 and {*lines} == {"4", "5", "6", "7"}, misused.stdout


def test_importing_costs_nothing_until_it_is_used() -> None:
    code = (
        "import sys, aeroloop; dir(aeroloop); aeroloop.__version__;"
        "print(*[name for name in sys.modules if name.startswith('aeroloop.') or name in "
        "('numpy', 'casadi', 'mujoco', 'msgspec', 'rich', 'typer')])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == []


UNDESCRIBED = {
    "Campaign": {"about", "definition", "edition", "limit_s", "plan_of", "planned", "remark", "replayed", "tasks"}
}
"""What `aeroloop campaign` uses."""


def test_every_argument_and_member_is_described() -> None:
    page = (ROOT / "docs/python-api.md").read_text()
    headings = "\n".join(re.findall(r"^### .*", page, re.MULTILINE))
    described = set(re.findall(r"\w+", page))
    for name in aeroloop.__all__:
        thing = getattr(aeroloop, name)
        if inspect.isfunction(thing) and name != "start":  # which has those of `fly`
            (arguments,) = re.findall(rf"`aeroloop\.{name}\(([^)]*)\)`", headings)
            assert set(re.findall(r"\w+", arguments)) == set(inspect.signature(thing).parameters), name
        elif inspect.isclass(thing) and not issubclass(thing, Exception):
            own = {each for base in thing.__mro__ if base.__module__.startswith("aeroloop.") for each in vars(base)}
            public = {each for each in own if not each.startswith("_")} - UNDESCRIBED.get(name, set())
            assert public <= described, name


def test_every_public_name_is_there_and_is_described() -> None:
    described = re.findall(r"\w+", (ROOT / "docs/python-api.md").read_text())
    for name in aeroloop.__all__:
        thing = getattr(aeroloop, name)
        assert name in dir(aeroloop)
        assert name == "__version__" or (name in described and thing.__doc__)
    with pytest.raises(AttributeError, match="no attribute 'flyy'"):
        _ = aeroloop.flyy  # type: ignore[attr-defined]
