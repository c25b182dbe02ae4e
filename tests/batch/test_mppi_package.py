"""The packaged rollouts compile as CUDA, and their check finds equal bits and says so when they differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aeroloop.batch.sampling_build import built
from aeroloop.batch.sampling_source import sampling_source
from aeroloop.codegen import batch, batch_build
from aeroloop.core.scenario_files import find
from aeroloop.families.tiltrotor import mppi_law
from aeroloop.families.tiltrotor.design import design
from aeroloop.families.tiltrotor.scenario import load_tiltrotor
from tools import mppi_package

GUARD_S = 600
NVCC = batch_build.cuda_compiler()
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine: the CUDA source is not compiled")
CHECK = ("check.py", "--cpu-only", "--no-times", "--no-flight")


@needs_nvcc
def test_nvcc_compiles_the_rollouts(tmp_path: Path) -> None:
    scenario = load_tiltrotor(find("tiltrotor-spiral-mppi"))
    regulator = mppi_law.regulator(design("cad", "published", 0.012), scenario)
    assert b"aeroloop_sampling_cycle" in built(mppi_law.loop(scenario, regulator), "gpu", cache=tmp_path).read_bytes()


def test_cuda_and_c_weigh_by_the_same_words() -> None:
    """Only what launches the work differs."""
    scenario = load_tiltrotor(find("tiltrotor-spiral-mppi"))
    regulator = mppi_law.regulator(design("cad", "published", 0.012), scenario)
    loop = mppi_law.loop(scenario, regulator)
    common = []
    for dialect in (batch.LANES, batch.CUDA):
        text = sampling_source(loop, dialect)
        common.append(text[text.index("#define AL_GROUP") : text.index("#define AL_GROUPS")])
    assert common[0] == common[1]
    assert "al_exp" in common[0] and "al_joined" in common[0]


@pytest.mark.soak
def test_the_package_runs_without_this_project(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    mppi_package.write(folder, load_tiltrotor(find("tiltrotor-spiral-mppi")))

    def checked() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-S", "-c", _ONLY_NUMPY, *CHECK]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=GUARD_S, check=False)

    done = checked()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 of 300 cycles equal" in done.stdout
    # One rollout's weight in the last bit of one source: the check must see it.
    text = (folder / "check.py").read_text()
    changed = text.replace('"-DAL_LANES=8"]', '"-DAL_LANES=8", "-DAL_COST_MAX=9e3f"]')
    assert changed != text
    (folder / "check.py").write_text(changed)
    source = (folder / "rollouts.c").read_text()
    guarded = "#ifndef AL_COST_MAX\n#define AL_COST_MAX 1e30f\n#endif"
    (folder / "rollouts.c").write_text(source.replace("#define AL_COST_MAX 1e30f", guarded))
    assert checked().returncode == 1


_ONLY_NUMPY = f"""
import sys, runpy
sys.path[:0] = [{str(Path(pytest.__file__).resolve().parents[1])!r}]
sys.modules.update(casadi=None, msgspec=None, mujoco=None)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
