"""A control law from a user's file: a Python file with `law(design)` that returns a CasADi function.

    tilt-rotor   (sensors (16,), reference (8,), memory (n,)) -> (command (4,), memory (n,))
    multirotor   (state (13,), setpoint (11,), memory (n,)) -> (command of each rotor, memory (n,))
    fixed wing   (estimate (15,), setpoint (3,), memory (n,)) -> (command (4,), memory (n,))
    any other    (measured, memory (n,)) -> (command, memory (n,)), see `control/flown_law.py`

The memory is zero at the start. Any error in the file becomes one sentence that names file, line and what was expected.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca

from aeroloop.control.clipping import nan_shown
from aeroloop.control.toolkit import INPUTS, OUTPUTS
from aeroloop.core import trust
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import COMMAND_COUNT, REFERENCE_COUNT, SENSOR_COUNT
from aeroloop.core.user_code import place, reason


@dataclass(frozen=True)
class Shape:
    """Inputs and outputs of a kind of law; the memory follows the inputs, and follows the command."""

    inputs: Mapping[str, int]
    commands: int
    name: str = "law"  # of the function, and so of its C

    @property
    def names(self) -> tuple[str, ...]:
        """Of the inputs."""
        return (*self.inputs, MEMORY)

    @property
    def words(self) -> str:
        return (
            f"inputs {', '.join(f'({size})' for size in self.inputs.values())}, (n) and outputs ({self.commands}), (n)"
        )


MEMORY = INPUTS[-1]
TILTROTOR = Shape({"sensors": SENSOR_COUNT, "reference": REFERENCE_COUNT}, COMMAND_COUNT)

BECOMES_C = ("SXFunction", "MXFunction", "Map", "MapSum", "Switch", "LinearInterpolant", "BSplineInterpolant")
"""CasADi's kinds of functions that become C without an extra library; solvers, callbacks and externals do not."""


def load(path: Path, design: object, shape: Shape = TILTROTOR, key: str = "control.law_file") -> ca.Function:
    """The law of a file that a scenario names by this key, with the names and shape of the built-in ones."""
    trust.check(path, key)
    code = _compile(path)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    # Output of the file goes to its author; standard output is reserved for the verdict.
    with redirect_stdout(sys.stderr):
        _guarded(path, exec, code, module.__dict__)
        build = getattr(module, "law", None)
        if not callable(build):
            raise ConfigError(f"{path}: expected a function law(design) that returns a casadi.Function, found none")
        made = _guarded(path, build, design)
        if not isinstance(made, ca.Function):
            raise ConfigError(f"{path}: law(design) must return a casadi.Function, not {type(made).__name__}")
        _check(path, made, shape)
        law: ca.Function = _guarded(path, _normalised, made, shape)
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
    """Run the author's code; its exceptions are reported with their line, without a traceback."""
    try:
        return call(*args)
    except (Exception, SystemExit) as error:
        where = place(error, lambda frame: frame.f_code.co_filename == str(path)) or str(path)
        raise ConfigError(f"{where}: {reason(error)}") from None


def _check(path: Path, law: ca.Function, shape: Shape) -> None:
    inputs = [law.size_in(i) for i in range(law.n_in())]
    outputs = [law.size_out(i) for i in range(law.n_out())]
    given = f"inputs {_sizes(inputs)} and outputs {_sizes(outputs)}"
    if len(inputs) != len(shape.names) or len(outputs) != len(OUTPUTS):
        raise ConfigError(f"{path}: expected a law with {shape.words}, not {given}")
    expected = {**shape.inputs, OUTPUTS[0]: shape.commands}
    sizes = dict(zip((*shape.names, *OUTPUTS), (*inputs, *outputs), strict=True))
    for name, (rows, columns) in sizes.items():
        wanted = expected.get(name, sizes["memory"][0] if sizes["memory"][1] == 1 else 0)
        empty = wanted == 0 and rows * columns == 0
        if (rows, columns) != (wanted, 1) and not empty:
            raise ConfigError(f"{path}: {name} is {rows}x{columns}; expected a law with {shape.words}, not {given}")
    if law.has_free():
        raise ConfigError(
            f"{path}: the law uses {', '.join(law.get_free())}, which is none of its inputs; "
            f"expected {', '.join(shape.names)} and numbers alone"
        )
    for part in (law, *law.find_functions()):
        if part.class_name() not in BECOMES_C:
            raise ConfigError(
                f"{path}: the law calls {part.name()!r} ({part.class_name()}), which cannot become C for a board; "
                "expected expressions, maps and look-up tables"
            )


def _sizes(shapes: list[tuple[int, int]]) -> str:
    return ", ".join(f"({rows})" if columns == 1 else f"({rows}x{columns})" for rows, columns in shapes) or "none"


def _normalised(law: ca.Function, shape: Shape) -> ca.Function:
    """With standard names and dense; a law without memory has one zero, since C has no empty arrays. Its limits hide no
    NaN: every rung rejects a command that is not finite."""
    kind: Any = ca.SX if law.is_a("SXFunction") else ca.MX
    last = len(shape.inputs)
    size = law.numel_in(last)
    symbols = [kind.sym(name, law.numel_in(i) or 1) for i, name in enumerate(shape.names)]
    command, memory = law(*symbols[:last], symbols[last] if size else kind(law.sparsity_in(last)))
    outputs = [ca.densify(command), ca.densify(memory) if size else symbols[last]]
    return nan_shown(ca.Function(shape.name, symbols, outputs, list(shape.names), list(OUTPUTS)))
