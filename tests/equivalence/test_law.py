"""One law, three rungs: CasADi's own evaluation, C in double precision, and the firmware's C in single precision.

Tolerances are relative to the largest value of the output. Double: the compiler may order nothing anew, so the last
digits differ by the C library's sine at most. Single: inputs and constants are rounded to 6e-8 and about twenty
products are summed whose parts are larger than their sum. The firmware's C runs on this host here; nothing in it may
be fused or reordered, so that what is left for the board is its own sinf, cosf and atan2f.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.embedded import FLAGS, embedded
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.control import custom, toolkit
from aeroloop.core.frames import Vec
from aeroloop.families.tiltrotor.design import Design, design

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "laws"
DOUBLE, SINGLE = 1e-12, 4e-6
CHAINED_DOUBLE, CHAINED_SINGLE = 1e-11, 1e-5
SAMPLES, STEPS = 200, 1000

Law = Callable[[Vec, Vec, Vec], tuple[Vec, Vec]]


@pytest.fixture(scope="module")
def plan() -> Design:
    return design("cad", "published", 0.012)


def interpreted(function: ca.Function) -> Law:
    run = Evaluator(function)

    def law(*inputs: Vec) -> tuple[Vec, Vec]:
        for place, value in zip(run.inputs, inputs, strict=True):
            place[:] = value
        run()
        return run.outputs[0].copy(), run.outputs[1].copy()

    return law


def single_precision(function: ca.Function, folder: Path) -> Law:
    """The firmware's files, compiled for this host."""
    made = embedded(function)
    (folder / "law.c").write_text(made.c)
    (folder / "law.h").write_text(made.h)
    library = folder / "law.so"
    compiler = shutil.which("cc")
    assert compiler, "this test needs a C compiler: apt install gcc libc6-dev"
    command = [compiler, *FLAGS, "-fPIC", "-shared", "-o", str(library), str(folder / "law.c"), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    run = ctypes.CDLL(str(library)).law_run
    pointer = ctypes.POINTER(ctypes.c_float)

    def law(*inputs: Vec) -> tuple[Vec, Vec]:
        sensors, reference, memory = (np.array(values, np.float32) for values in inputs)
        command = np.zeros(function.numel_out(0), np.float32)
        arrays = (sensors, reference, memory, command, memory)  # the memory in place, as the firmware does it
        run(*(array.ctypes.data_as(pointer) for array in arrays))
        return command.astype(float), memory.astype(float)

    return law


def inputs(rng: np.random.Generator, memory: int) -> tuple[Vec, Vec, Vec]:
    """A flight's worth of disorder: metres and radians of error, any heading, seconds of integral."""
    reference = np.concatenate([rng.normal(0, 5, 3), rng.uniform(-3, 3, 1), rng.normal(0, 2, 3), rng.normal(0, 1, 1)])
    sensors = rng.normal(0, 0.3, 16)
    sensors[:3] += reference[:3]
    sensors[5] = rng.uniform(-3, 3)
    return sensors, reference, rng.normal(0, 0.5, memory)


def apart(one: Vec, other: Vec) -> float:
    return float(np.max(np.abs(one - other)) / max(1.0, np.max(np.abs(other))))


def rungs(function: ca.Function, folder: Path) -> list[tuple[Law, float, float]]:
    """Law, and its tolerances for one step and for a chain of them."""
    return [
        (interpreted(compiled(function, folder)), DOUBLE, CHAINED_DOUBLE),
        (single_precision(function, folder), SINGLE, CHAINED_SINGLE),
    ]


@pytest.mark.parametrize("name", ["dlqr", "dlqr-heading"])
def test_rungs_agree_on_random_inputs(plan: Design, tmp_path: Path, name: str) -> None:
    function = plan.law(name)
    expected = interpreted(function)
    for law, tolerance, _ in rungs(function, tmp_path):
        rng = np.random.default_rng(7)
        for _ in range(SAMPLES):
            given = inputs(rng, function.numel_in(2))
            for got, wanted in zip(law(*given), expected(*given), strict=True):
                assert apart(got, wanted) < tolerance


@pytest.mark.parametrize("name", ["dlqr", "dlqr-heading"])
def test_rungs_agree_over_a_thousand_steps_of_their_own_memory(plan: Design, tmp_path: Path, name: str) -> None:
    function = plan.law(name)
    for law, _, tolerance in rungs(function, tmp_path):
        rng = np.random.default_rng(11)
        expected, memory, own = interpreted(function), np.zeros(8), np.zeros(8)
        for _ in range(STEPS):
            sensors, reference, _ = inputs(rng, 8)
            command, memory = expected(sensors, reference, memory)
            own_command, own = law(sensors, reference, own)
            assert apart(own_command, command) < tolerance
            assert apart(own, memory) < tolerance
        assert np.max(np.abs(memory[:4])) > 0.1  # the integrals have moved


def test_tolerance_sees_a_wrong_gain(plan: Design, tmp_path: Path) -> None:
    """One gain of eighty, off by a thousandth."""
    off = plan.K.copy()
    off[0, 1] *= 1.001
    wrong = replace(plan, K=off).law("dlqr")
    given = inputs(np.random.default_rng(7), 8)
    right, command = interpreted(plan.law("dlqr"))(*given)[0], single_precision(wrong, tmp_path)(*given)[0]
    assert apart(command, right) > SINGLE


def test_memory_may_be_updated_in_place(tmp_path: Path) -> None:
    """A law that turns its memory round writes each element before it has read the other."""
    sensors, reference, memory = toolkit.inputs(memory=2)
    swap = toolkit.function(sensors, reference, memory, sensors[:4], ca.vertcat(memory[1], memory[0]))
    law = single_precision(swap, tmp_path)
    assert law(np.zeros(16), np.zeros(8), np.array([1.0, 2.0]))[1].tolist() == [2.0, 1.0]


def test_the_slow_example_commands_what_the_quick_law_does(plan: Design, tmp_path: Path) -> None:
    """To the bit in single precision: the work changes nothing but the time."""
    (tmp_path / "quick").mkdir()
    slow = single_precision(custom.load(EXAMPLES / "slow.py", plan), tmp_path)
    quick = single_precision(plan.law("dlqr"), tmp_path / "quick")
    rng = np.random.default_rng(3)
    for _ in range(5):
        given = inputs(rng, 8)
        assert [list(row) for row in slow(*given)] == [list(row) for row in quick(*given)]
