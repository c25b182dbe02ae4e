"""Generates C in single precision for the firmware from a CasADi law, the same to the byte on every machine.

CasADi writes double constants and calls double functions, which a Cortex-M4 computes in slow software. Here each
constant is rounded and written with nine digits and an `f` (nine digits identify one single-precision number), and sin
becomes sinf: the result depends on no compiler, header or flag.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import casadi as ca
import numpy as np

from aeroloop.codegen.single import LARGEST, SMALLEST
from aeroloop.core.errors import ConfigError

FLAGS = (
    "-std=c11",
    "-O2",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wdouble-promotion",
    "-Wno-unused-parameter",  # every function of CasADi's takes work arrays, needed or not
)
"""Compiler flags of the generated C; no fused operations, so that host and board round equally."""

TARGET_FLAGS = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
"""The Cortex-M4 of the STM32F4, with its single-precision unit."""

_FUNCTIONS = (
    "acos|acosh|asin|asinh|atan|atan2|atanh|ceil|copysign|cos|cosh|erf|exp|expm1|fabs|floor|fmax|fmin|fmod|hypot|"
    "ldexp|log|log10|log1p|pow|remainder|round|sin|sinh|sqrt|tan|tanh|trunc"
)
_TOKEN = re.compile(
    r"(?P<prose>/\*.*?\*/|\"[^\"]*\")"
    r"|(?<![\w.])(?P<constant>(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)(?![\w.])"
    rf"|\b(?P<function>{_FUNCTIONS})(?= ?\()",
    re.DOTALL,
)


@dataclass(frozen=True)
class EmbeddedC:
    """The two files of a generated law."""

    c: str
    h: str


def content_hash(*texts: str) -> int:
    """A 32-bit hash of some texts: the identity of an image or an interface."""
    digest = hashlib.sha256()
    for text in texts:
        content = text.encode()
        digest.update(len(content).to_bytes(8, "little") + content)
    return int.from_bytes(digest.digest()[:4], "big")


def embedded(function: ca.Function, prefix: str = "law") -> EmbeddedC:
    """`prefix.c` and `prefix.h` of a law (sensors, reference, memory) -> (command, memory_next)."""
    shapes = [function.sparsity_in(i) for i in range(function.n_in())]
    shapes += [function.sparsity_out(i) for i in range(function.n_out())]
    if not all(shape.is_dense() for shape in shapes):
        raise ValueError(f"{function}: the call has no room for sparse inputs or outputs; densify them")
    generator = ca.CodeGenerator(
        prefix, {"with_header": False, "casadi_real": "float", "casadi_int": "int", "main": False, "mex": False}
    )
    generator.add(function)
    text = _single_precision(str(generator.dump()), function.name())
    return EmbeddedC(c=text.rstrip() + "\n\n" + _call(function, prefix), h=_header(function, prefix))


def _single_precision(text: str, name: str) -> str:
    def single(match: re.Match[str]) -> str:
        if match["constant"]:
            return _constant(match["constant"], name)
        return f"{match['function']}f" if match["function"] else match.group()

    return _TOKEN.sub(single, text)


def _constant(text: str, name: str) -> str:
    with np.errstate(over="ignore", under="ignore"):
        value = np.float32(text)
    if not np.isfinite(value) or (value == 0 and float(text) != 0):
        raise ConfigError(
            f"{name}: the constant {float(text):g} does not fit single precision; "
            f"expected a magnitude from {SMALLEST:g} to {LARGEST:g}"
        )
    return f"{value:.8e}f"


def _sizes(function: ca.Function, prefix: str) -> list[tuple[str, int]]:
    """Macro and number of elements, of the inputs and of the command."""
    names = [(function.name_in(i), function.numel_in(i)) for i in range(function.n_in())]
    names.append((function.name_out(0), function.numel_out(0)))
    return [(f"{prefix}_{name}".upper(), size) for name, size in names]


def _signature(function: ca.Function, prefix: str) -> str:
    takes = ", ".join(f"const float *{function.name_in(i)}" for i in range(function.n_in()))
    gives = ", ".join(f"float *{function.name_out(i)}" for i in range(function.n_out()))
    return f"void {prefix}_run({takes}, {gives})"


def _names(function: ca.Function) -> str:
    """The interface in one line, for readers and for its hash."""
    takes = ", ".join(f"{function.name_in(i)}[{function.numel_in(i)}]" for i in range(function.n_in()))
    gives = ", ".join(f"{function.name_out(i)}[{function.numel_out(i)}]" for i in range(function.n_out()))
    return f"({takes}) -> ({gives})"


def _header(function: ca.Function, prefix: str) -> str:
    guard = f"{prefix}_H".upper()
    interface = _names(function)
    macros = "\n".join(f"#define {macro} {size}" for macro, size in _sizes(function, prefix))
    return f"""\
/* Generated from a CasADi function: do not edit. Single precision; the caller keeps the memory, zero at the start. */
#ifndef {guard}
#define {guard}

{macros}
#define {prefix.upper()}_INTERFACE "{interface}"
#define {prefix.upper()}_INTERFACE_HASH 0x{content_hash(interface):08x}u

/* Not reentrant: its work arrays are static. Outputs may lie where inputs lie. */
{_signature(function, prefix)};

#endif
"""


def _call(function: ca.Function, prefix: str) -> str:
    """C that hides CasADi's pointer and work arrays; it writes some outputs before it has read every input."""
    sizes = {"arg": function.sz_arg(), "res": function.sz_res(), "iw": function.sz_iw(), "w": function.sz_w()}
    arrays = {name: max(size, 1) for name, size in sizes.items()}  # C has no empty arrays
    outputs = [(function.name_out(i), function.numel_out(i)) for i in range(function.n_out())]
    lines = [f'#include "{prefix}.h"', "", "#include <string.h>", "", _signature(function, prefix) + " {"]
    lines += [
        f"  static const float *arg[{arrays['arg']}];",
        f"  static float *res[{arrays['res']}];",
        f"  static int iw[{arrays['iw']}];",
        f"  static float w[{arrays['w']}];",
        *(f"  static float {name}_out[{size}];" for name, size in outputs),
    ]
    lines += [f"  arg[{i}] = {function.name_in(i)};" for i in range(function.n_in())]
    lines += [f"  res[{i}] = {name}_out;" for i, (name, _) in enumerate(outputs)]
    lines += [f"  {function.name()}(arg, res, iw, w, 0);"]
    lines += [f"  memcpy({name}, {name}_out, sizeof {name}_out);" for name, _ in outputs]
    return "\n".join([*lines, "}", ""])
