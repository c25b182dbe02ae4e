"""The CUDA source of a batch compiles, and the packaged check finds equal bits and says so when they differ."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from batch_code import statements

from aeroloop.batch import flights
from aeroloop.batch.loop import Call, Loop, source
from aeroloop.campaign import definition
from aeroloop.codegen import batch, batch_build
from aeroloop.core.errors import ConfigError
from tools import batch_package, batch_philox

GUARD_S = 240
NVCC = batch_build.cuda_compiler()
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine: the CUDA source is not compiled")


def small_plan() -> flights.Plan:
    """A falling mass with noise: every kind of input, little to compile."""
    state, params = ca.SX.sym("state", 2), ca.SX.sym("params", 1)
    table, normals = ca.SX.sym("table", 1), ca.SX.sym("normals", 5)
    pushed = state[1] + 0.01 * (table[0] + ca.sum1(normals) - ca.sin(params[0] * state[0]))
    step = ca.Function(
        "step",
        [state, params, table, normals],
        [ca.vertcat(state[0] + 0.01 * pushed, pushed)],
        ["state", "params", "table", "normals"],
        ["state_next"],
    )
    start = ca.Function("start", [params], [ca.vertcat(params, 0)], ["params"], ["state"])
    finish = ca.Function("finish", [state], [state], ["state"], ["metrics"])
    loop = Loop(start, (Call(step, stream=2),), finish, ("pull",), ("pos_m", "vel_m_s"), 1, 1)
    return flights.Plan(loop, np.linspace(-1, 1, 50).reshape(-1, 1), {"pull": 1.0})


def test_the_warps_of_a_block_meet_once_a_cycle() -> None:
    """The rate of a loop with much code depends on it; the header makes it a barrier for CUDA and nothing elsewhere."""
    text = source(small_plan().loop, batch.CUDA)
    assert text.count("AL_TOGETHER") == 1
    assert re.search(r"cycle < cycles;[^\n]*\{\n\s*AL_TOGETHER\n", text)
    given = dict(re.findall(r"#define AL_TOGETHER( __syncthreads\(\);)?(\n#)", batch_build.header()))
    assert set(given) == {" __syncthreads();", ""}


@needs_nvcc
def test_nvcc_compiles_the_spiral(tmp_path: Path) -> None:
    text = source(flights.plan("tiltrotor-spiral").loop, batch.CUDA)
    built = batch_build.cuda_library(text, tmp_path, ("-Werror", "all-warnings"))
    assert b"aeroloop_batch_run" in built.read_bytes()


@needs_nvcc
@pytest.mark.soak
@pytest.mark.parametrize(
    ("scenario", "spilled"), [("tiltrotor-spiral", 1500), ("quad-air", 3500), ("fixedwing-circle", 200)]
)
def test_registers_and_spills_of_the_kernel(scenario: str, spilled: int, tmp_path: Path) -> None:
    """More spills, bytes of a thread, cost rate. Seen: 1,048, 2,812 and 0, with 255, 255 and 246 registers."""
    (tmp_path / "batch.cu").write_text(source(flights.plan(scenario).loop, batch.CUDA))
    (tmp_path / batch_build.HEADER).write_text(batch_build.header())
    command = ["nvcc", *batch_build.CUDA_FLAGS, f"-arch={batch_build.CUDA_ARCHITECTURE}", "-Xptxas", "-v"]
    done = subprocess.run(
        [*command, "-o", "batch.so", "batch.cu"], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True
    )
    kernel = done.stderr.partition("entry function 'al_kernel'")[2]
    stores, registers = (re.search(words, kernel) for words in (r"(\d+) bytes spill stores", r"Used (\d+) registers"))
    assert stores is not None and registers is not None, done.stderr
    assert int(stores[1]) <= spilled and int(registers[1]) <= 255


def test_without_nvcc_the_message_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_build, "cuda_compiler", lambda: None)
    with pytest.raises(ConfigError, match="nvcc"):
        batch_build.cuda_library("", tmp_path)


@pytest.mark.parametrize(
    ("scenario", "count"), [("tiltrotor-spiral", 2000), ("quad-air", 5000), ("fixedwing-circle", 2000)]
)
def test_the_cuda_source_has_the_statements_of_the_c_source(scenario: str, count: int) -> None:
    """Both targets compute with the same words; only heads and the entry differ."""
    loop = flights.plan(scenario).loop
    lanes = statements(loop, batch.LANES)
    assert lanes == statements(loop, batch.CUDA) and len(lanes) > count


@needs_nvcc
def test_nvcc_compiles_the_check_vectors(tmp_path: Path) -> None:
    built = batch_build.cuda_library(batch_philox.CUDA, tmp_path, ("-Werror", "all-warnings"))
    assert b"aeroloop_philox" in built.read_bytes()


def check(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "check.py", "--cpu-only", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=GUARD_S, check=False, env=None)


ROTORPY = {
    "rotorpy/__init__.py": "",
    "rotorpy/mesh.stl": "solid",
    "rotorpy/vehicles/__init__.py": "",
    "rotorpy/vehicles/crazyflie_params.py": "quad_params = {}",
    "rotorpy/vehicles/multirotor.py": """
class Multirotor:
    initial_state = {"x": [0.0, 0.0, 0.0]}
    def __init__(self, params): pass
    def step(self, state, command, step_s): return state
""",
    "rotorpy/controllers/__init__.py": "",
    "rotorpy/controllers/quadrotor_control.py": """
class SE3Control:
    def __init__(self, params): pass
    def update(self, time_s, state, flat): return {}
""",
}


def test_a_packaged_batch_checks_itself_beside_its_peers(tmp_path: Path) -> None:
    """With a stand-in for RotorPy, and no crazyflow."""
    (tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(tmp_path / "wheels/rotorpy-0-py3-none-any.whl", "w") as wheel:
        for name, text in ROTORPY.items():
            wheel.writestr(name, text)
    folder = tmp_path / "package"
    batch_package.write(folder, small_plan())
    batch_package.unpack_peers(folder, tmp_path / "wheels")
    assert not (folder / "peers/rotorpy/mesh.stl").exists()
    assert json.loads((folder / "plan.json").read_text())["steps"] == 50
    done = check(folder, "--peers", "--campaign", "100")
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "Philox, gcc: check vectors equal",
        "1000 of 1000 flights equal",
        "crazyflow, processor, 1,024 drones: not here",
        "campaign: 100 flights of 20 s",
    ):
        assert words in done.stdout
    assert re.search(r"  16 lanes, 1 thread: .* of scalar double C\n", done.stdout)
    assert re.search(r"  RotorPy, over processor time: .* of scalar double C; .* of 16 lanes, 1 thread", done.stdout)


def test_a_difference_in_one_flight_or_number_fails_the_check(tmp_path: Path) -> None:
    batch_package.write(tmp_path, small_plan())
    text = (tmp_path / "batch.c").read_text()
    spoilt = "\n#if AL_LANES == 1\n  if (flights > 7) metrics[7] += 0.5f;\n#endif\n  *seconds ="
    (tmp_path / "batch.c").write_text(text.replace("  *seconds =", spoilt))
    done = check(tmp_path)
    assert done.returncode == 1
    assert "999 of 1000 flights equal" in done.stdout and "pos_m: 1 differ, most in flight 7" in done.stdout
    (tmp_path / "batch.c").write_text(text)
    drawn = (tmp_path / "philox.c").read_text()
    (tmp_path / "philox.c").write_text(drawn.replace("AL_PHILOX_ROUNDS", "AL_PHILOX_ROUND(0u)"))
    done = check(tmp_path)
    assert done.returncode == 1 and "Philox, gcc: check vectors DIFFER" in done.stdout


def test_a_campaign_file_gives_the_draws_of_a_package() -> None:
    made = batch_package.draws(definition.read("tiltrotor-mass").definition.parameter)
    assert made == [
        ("vehicle.scale.mass", "normal", 1.0, 0.01, 0.9, 1.1),
        ("vehicle.scale.thrust_right", "uniform", 0.985, 1.0, 0.985, 1.0),
        ("link.to_plant.delay_s", "uniform", 0.0, 0.008, 0.0, 0.008),
    ]
