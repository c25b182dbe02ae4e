"""Generated C: single precision throughout, the same to the byte in every process, and compiled once."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen import host, images
from aeroloop.codegen.embedded import FLAGS, TARGET_FLAGS, EmbeddedC, content_hash, embedded
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import custom, toolkit
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.families.tiltrotor.design import Design, design

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "laws"
GENERATE = """
from aeroloop.codegen.embedded import embedded
from aeroloop.families.tiltrotor.design import design
made = embedded(design("cad", "published", 0.012).law("dlqr-heading"))
print(made.c + made.h)
"""


@pytest.fixture(scope="module")
def plan() -> Design:
    return design("cad", "published", 0.012)


def law_with(expression: ca.SX, x: ca.SX) -> ca.Function:
    """A law whose command is this expression of its first sensor, four times."""
    sensors, reference, memory = toolkit.inputs(memory=1)
    value = ca.substitute(expression, x, sensors[0])
    return toolkit.function(sensors, reference, memory, ca.vertcat(value, value, value, value), memory)


def cross_compile(made: EmbeddedC, folder: Path) -> str:
    """Names in the object file, of a law compiled for the Cortex-M4 with every warning an error."""
    compiler, names = shutil.which("arm-none-eabi-gcc"), shutil.which("arm-none-eabi-nm")
    assert compiler, "this test needs the cross compiler: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi"
    assert names
    (folder / "law.c").write_text(made.c)
    (folder / "law.h").write_text(made.h)
    built = [compiler, *FLAGS, *TARGET_FLAGS, "-c", "-o", str(folder / "law.o"), str(folder / "law.c")]
    done = subprocess.run(built, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run([names, str(folder / "law.o")], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["dlqr", "dlqr-heading", "slow.py", "lqr.py"])
def test_no_double_reaches_the_board(plan: Design, tmp_path: Path, name: str) -> None:
    function = custom.load(EXAMPLES / name, plan) if name.endswith(".py") else plan.law(name)
    names = cross_compile(embedded(function), tmp_path)
    assert "T law_run" in names
    assert "__aeabi_d" not in names and "__aeabi_f2d" not in names


FUNCTIONS = re.findall(
    r"\w+",
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log sqrt fabs floor ceil erf log1p expm1 sign",
)


def test_every_function_is_the_single_precision_one(tmp_path: Path) -> None:
    x = ca.SX.sym("x")
    parts = [getattr(ca, name)(x) for name in FUNCTIONS]
    parts += [ca.atan2(x, 2.5), ca.fmin(x, 0.1), ca.fmax(x, 3), ca.fmod(x, 0.7), x**2.5, ca.hypot(x, 0.3)]
    parts += [ca.copysign(x, 1 - x), ca.if_else(x > 0.2, x, 1e-7), ca.remainder(x, 0.4)]
    names = cross_compile(embedded(law_with(sum(parts), x)), tmp_path)
    called = re.findall(r"U (\w+)", names)
    assert "sinf" in called and "powf" in called
    assert [name for name in called if name in (*FUNCTIONS, "pow", "atan2", "fmin") or "aeabi_" in name] == []


def test_a_double_would_be_seen(tmp_path: Path) -> None:
    made = embedded(law_with(ca.sin(x := ca.SX.sym("x")), x))
    names = cross_compile(EmbeddedC(made.c.replace("sinf(", "sin("), made.h), tmp_path)
    assert "U sin\n" in names and "__aeabi_f2d" in names
    made = embedded(law_with(x * 0.1, x))
    with pytest.raises(AssertionError, match="double-promotion"):
        cross_compile(EmbeddedC(made.c.replace("a0=(a0*a1)", "a0=(0.1*a1)"), made.h), tmp_path)


def test_same_text_in_every_process() -> None:
    texts = []
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", GENERATE], env=env, capture_output=True, text=True, check=True)
        texts.append(done.stdout)
    assert "law_run" in texts[0]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "value", [0.1, 1 / 3, 1e-12, 16777217.0, 1.2345678901234567e30, -5.0917918270297429e-04, 1e-45]
)
def test_a_constant_is_the_nearest_single(value: float) -> None:
    x = ca.SX.sym("x")
    written = re.findall(r"a\d=(-?[\d.e+-]+)f;", embedded(law_with(x * value, x)).c)
    assert [np.float32(text) for text in written] == [np.float32(value)]


@pytest.mark.parametrize("value", [1e39, 1e-50])
def test_a_constant_out_of_range_is_refused(value: float) -> None:
    x = ca.SX.sym("x")
    with pytest.raises(ConfigError, match=re.escape(f"{value:g}") + ".*single precision"):
        embedded(law_with(x * value, x))


def test_header_carries_names_sizes_and_the_interface(plan: Design) -> None:
    header = embedded(plan.law("dlqr")).h
    sizes = dict(re.findall(r"#define (LAW_\w+) (\d+)\n", header))
    assert sizes == {"LAW_SENSORS": "16", "LAW_REFERENCE": "8", "LAW_MEMORY": "8", "LAW_COMMAND": "4"}
    interface = "(sensors[16], reference[8], memory[8]) -> (command[4], memory_next[8])"
    assert f'LAW_INTERFACE "{interface}"' in header
    assert f"LAW_INTERFACE_HASH 0x{content_hash(interface):08x}u" in header


def test_content_hash_tells_texts_apart() -> None:
    assert content_hash("a", "b") == content_hash("a", "b") < 2**32
    assert len({content_hash(*texts) for texts in [("a", "b"), ("ab",), ("b", "a"), ("a", "b", "")]}) == 4


def test_sparse_outputs_are_refused() -> None:
    sensors, reference, memory = toolkit.inputs(memory=2)
    with pytest.raises(ValueError, match="densify"):
        embedded(toolkit.function(sensors, reference, memory, ca.SX(4, 1), memory))


def test_compiled_once_then_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Design) -> None:
    first = host.compiled(plan.law("dlqr"), tmp_path)
    monkeypatch.setattr(host, "_compile", lambda *_: pytest.fail("compiled again"))
    again = host.compiled(plan.law("dlqr"), tmp_path)
    given = (np.ones(16), np.zeros(8), np.zeros(8))
    assert np.array_equal(first(*given)[0].full(), again(*given)[0].full())


def test_evaluators_can_read_one_array() -> None:
    x = ca.SX.sym("x", 2)
    twice, squared = Evaluator(ca.Function("twice", [x], [2 * x])), Evaluator(ca.Function("squared", [x], [x * x]))
    squared.share(0, twice.inputs[0])
    twice.inputs[0][:] = 3.0, 5.0
    twice()
    squared()
    assert [*twice.outputs[0], *squared.outputs[0]] == [6.0, 10.0, 9.0, 25.0]
    assert squared.inputs[0] is twice.inputs[0]


def test_evaluator_works_in_the_callers_arrays(plan: Design) -> None:
    law = plan.law("dlqr")
    run = Evaluator(law)
    places = [array.ctypes.data for array in (*run.inputs, *run.outputs)]
    for thrust in (0.0, 1.0):
        run.inputs[0][2] = thrust
        run()
        assert np.array_equal(run.outputs[0], law(*run.inputs)[0].full().ravel())
    assert [array.ctypes.data for array in (*run.inputs, *run.outputs)] == places


SLOW_COMPILER = """\
#!/bin/sh
case "$*" in *.c*) ;; *) echo slow; exit 0 ;; esac
sleep 1000 &
echo $! > "{said}"
wait
"""


def ended(pid: int) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 10.0)[0])
    finally:
        os.close(process)


@pytest.mark.parametrize("what", ["law", "image"])
def test_a_compiler_that_takes_too_long_is_ended_with_all_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Design, what: str
) -> None:
    said, compiler = tmp_path / "child.pid", tmp_path / "bin" / images.COMPILER
    compiler.parent.mkdir()
    compiler.write_text(SLOW_COMPILER.format(said=said))
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for timeout_s in (1.0, 4.0, 16.0, 64.0):  # until the child is there, however busy the machine is
        monkeypatch.setattr(host, "COMPILE_TIMEOUT_S", timeout_s)
        monkeypatch.setattr(images, "BUILD_TIMEOUT_S", timeout_s)
        with pytest.raises(AeroloopError, match="timed out"):
            if what == "law":
                host.compiled(plan.law("dlqr"), tmp_path)
            else:
                images.build_image(images.Generated({}, 0), "preemption-qemu")
        if said.exists() and said.read_text().strip():
            break
    child = int(said.read_text())
    try:
        assert ended(child)
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
