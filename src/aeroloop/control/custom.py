"""A control law from a user's file: a Python file with `law(design)` that returns a CasADi function.

    (sensors (16,), reference (8,), memory (n,)) -> (command (4,), memory (n,))

The memory is zero at the start. Whatever is wrong with the file becomes one sentence that names file, line and need.
"""

from __future__ import annotations

import sys
import types
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import casadi as ca

from aeroloop.control.toolkit import INPUTS, OUTPUTS
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import COMMAND_COUNT, REFERENCE_COUNT, SENSOR_COUNT

SHAPE = f"inputs ({SENSOR_COUNT}), ({REFERENCE_COUNT}), (n) and outputs ({COMMAND_COUNT}), (n)"

BECOMES_C = ("SXFunction", "MXFunction", "Map", "MapSum", "Switch", "LinearInterpolant", "BSplineInterpolant")
"""CasADi's kinds of functions that turn into C without a library beside it; solvers, callbacks and externals do not."""


def load(path: Path, design: object) -> ca.Function:
    """The law of a file, named and shaped like the built-in ones."""
    code = _compile(path)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    # What the file prints is for its author; standard output belongs to the verdict.
    with redirect_stdout(sys.stderr):
        _guarded(path, exec, code, module.__dict__)
        build = getattr(module, "law", None)
        if not callable(build):
            raise ConfigError(f"{path}: expected a function law(design) that returns a casadi.Function, found none")
        made = _guarded(path, build, design)
        if not isinstance(made, ca.Function):
            raise ConfigError(f"{path}: law(design) must return a casadi.Function, not {type(made).__name__}")
        _check(path, made)
        law: ca.Function = _guarded(path, _normalised, made)
        return law


def _compile(path: Path) -> types.CodeType:
    try:
        return compile(path.read_text(encoding="utf-8"), str(path), "exec")
    except OSError as error:
        raise ConfigError(f"{path}: the control law cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise ConfigError(f"{path}{where}: not valid Python: {error.msg}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not valid Python: {error}") from None


def _guarded(path: Path, call: Any, *args: Any) -> Any:
    """Run the author's code; what it raises is told with its line, without a traceback."""
    try:
        return call(*args)
    except (Exception, SystemExit) as error:
        lines = [line for name, line in _places(error) if name == str(path)]
        where = f", line {lines[-1]}" if lines else ""
        raise ConfigError(f"{path}{where}: {type(error).__name__}: {_sentence(error)}") from None


def _places(error: BaseException) -> list[tuple[str, int]]:
    places, at = [], error.__traceback__
    while at:
        places.append((at.tb_frame.f_code.co_filename, at.tb_lineno))
        at = at.tb_next
    return places


def _sentence(error: BaseException) -> str:
    """CasADi puts the places in its own source before what went wrong: `.../x.cpp:12: what`."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = next((i for i in reversed(range(len(lines))) if lines[i].startswith(".../")), 0)
    told = " ".join(lines[first:])
    return told.partition(": ")[2] if told.startswith(".../") else told


def _check(path: Path, law: ca.Function) -> None:
    inputs = [law.size_in(i) for i in range(law.n_in())]
    outputs = [law.size_out(i) for i in range(law.n_out())]
    given = f"inputs {_sizes(inputs)} and outputs {_sizes(outputs)}"
    if len(inputs) != len(INPUTS) or len(outputs) != len(OUTPUTS):
        raise ConfigError(f"{path}: expected a law with {SHAPE}, not {given}")
    expected = {"sensors": SENSOR_COUNT, "reference": REFERENCE_COUNT, "command": COMMAND_COUNT}
    sizes = dict(zip((*INPUTS, *OUTPUTS), (*inputs, *outputs), strict=True))
    for name, (rows, columns) in sizes.items():
        wanted = expected.get(name, sizes["memory"][0] if sizes["memory"][1] == 1 else 0)
        empty = wanted == 0 and rows * columns == 0
        if (rows, columns) != (wanted, 1) and not empty:
            raise ConfigError(f"{path}: {name} is {rows}x{columns}; expected a law with {SHAPE}, not {given}")
    if law.has_free():
        raise ConfigError(
            f"{path}: the law uses {', '.join(law.get_free())}, which is none of its inputs; "
            f"expected sensors, reference, memory and numbers alone"
        )
    for part in (law, *law.find_functions()):
        if part.class_name() not in BECOMES_C:
            raise ConfigError(
                f"{path}: the law calls {part.name()!r} ({part.class_name()}), which cannot become C for a board; "
                "expected expressions, maps and look-up tables"
            )


def _sizes(shapes: list[tuple[int, int]]) -> str:
    return ", ".join(f"({rows})" if columns == 1 else f"({rows}x{columns})" for rows, columns in shapes) or "none"


def _normalised(law: ca.Function) -> ca.Function:
    """Under the standard names and dense; a law without a memory carries one zero, since C has no empty arrays."""
    kind: Any = ca.SX if law.is_a("SXFunction") else ca.MX
    size = law.numel_in(2)
    symbols = [kind.sym(name, law.numel_in(i) or 1) for i, name in enumerate(INPUTS)]
    command, memory = law(*symbols[:2], symbols[2] if size else kind(law.sparsity_in(2)))
    outputs = [ca.densify(command), ca.densify(memory) if size else symbols[2]]
    return ca.Function("law", symbols, outputs, list(INPUTS), list(OUTPUTS))
