"""Lowers a CasADi function to single assignments and writes them as C for lanes, CUDA, or plain double precision.

The operations are chosen so that every target rounds equally (`batch_runtime.h`): a product with one use goes into its
sum as a fused operation, a division by a constant becomes a product, a divisor used more than once is inverted once.
Everything else stays as CasADi orders it, after its elimination of common subexpressions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from aeroloop.codegen.single import LARGEST, SMALLEST_NORMAL
from aeroloop.core.errors import ConfigError

_BINARY = {ca.OP_ADD: "add", ca.OP_SUB: "sub", ca.OP_MUL: "mul", ca.OP_DIV: "div"}
_BINARY |= {ca.OP_FMIN: "min", ca.OP_FMAX: "max", ca.OP_ATAN2: "atan2"}
_COMPARED = {ca.OP_LT: "lt", ca.OP_LE: "le", ca.OP_EQ: "eq", ca.OP_NE: "ne"}
_LOGIC = {ca.OP_AND: "and", ca.OP_OR: "or", ca.OP_NOT: "not"}
_UNARY = {ca.OP_NEG: "neg", ca.OP_SQRT: "sqrt", ca.OP_FABS: "abs", ca.OP_FLOOR: "floor"}
_UNARY |= {ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_EXPM1: "expm1"}
_TRUTHS = {*_COMPARED.values(), *_LOGIC.values()}


@dataclass(frozen=True, slots=True)
class Statement:
    """One assignment: `operation` of earlier statements, by number; an input has (argument, element) in `at`."""

    operation: str
    takes: tuple[int, ...] = ()
    at: tuple[int, int] = (0, 0)
    constant: float = 0.0

    @property
    def is_truth(self) -> bool:
        return self.operation in _TRUTHS


@dataclass(frozen=True)
class Program:
    """The statements of a function, and which of them is each element of each output."""

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    statements: tuple[Statement, ...]
    results: tuple[tuple[int, int, int], ...]  # (output, element, statement)

    def count(self, operation: str) -> int:
        return sum(statement.operation == operation for statement in self.statements)


def lowered(function: ca.Function) -> Program:
    """ConfigError for an operation or a constant that cannot be computed equally everywhere."""
    lowering = _Lowering(_simplified(function))
    statements, results = _fused(*_with_inverses(lowering.statements, lowering.results))
    named = lowering.function
    return Program(
        named.name(),
        tuple((named.name_in(i), int(named.numel_in(i))) for i in range(named.n_in())),
        tuple((named.name_out(i), int(named.numel_out(i))) for i in range(named.n_out())),
        tuple(statements),
        tuple(results),
    )


def _simplified(function: ca.Function) -> ca.Function:
    symbols = [ca.SX.sym(function.name_in(i), function.sparsity_in(i)) for i in range(function.n_in())]
    outputs = ca.cse([ca.densify(output) for output in function.call(symbols)])
    return ca.Function(function.name(), symbols, outputs, function.name_in(), function.name_out())


class _Lowering:
    """Walks the instructions of a function of symbols; work cells become numbered statements."""

    def __init__(self, function: ca.Function) -> None:
        self.function = function
        self.statements: list[Statement] = []
        self.results: list[tuple[int, int, int]] = []
        self._known: dict[Statement, int] = {}
        cells: dict[int, int] = {}
        for k in range(function.n_instructions()):
            operation = int(function.instruction_id(k))
            takes, gives = function.instruction_input(k), function.instruction_output(k)
            if operation == ca.OP_OUTPUT:
                self.results.append((int(gives[0]), int(gives[1]), cells[int(takes[0])]))
                continue
            if operation == ca.OP_CONST:
                number = self._constant(float(function.instruction_constant(k)))
            elif operation == ca.OP_INPUT:
                number = self._add(Statement("input", at=(int(takes[0]), int(takes[1]))))
            else:
                number = self._operation(operation, tuple(cells[int(i)] for i in takes))
            cells[int(gives[0])] = number

    def _add(self, statement: Statement) -> int:
        if statement not in self._known:
            self._known[statement] = len(self.statements)
            self.statements.append(statement)
        return self._known[statement]

    def _constant(self, value: float) -> int:
        if not math.isfinite(value) or (value != 0 and not SMALLEST_NORMAL <= abs(value) <= LARGEST):
            raise ConfigError(
                f"{self.function.name()}: the constant {value:g} is no normal number in single precision; expected 0 "
                f"or a magnitude from {SMALLEST_NORMAL:g} to {LARGEST:g}"
            )
        return self._add(Statement("const", constant=value))

    def _operation(self, operation: int, takes: tuple[int, ...]) -> int:
        if operation == ca.OP_ASSIGN:
            return takes[0]
        if operation == ca.OP_SQ:
            return self._add(Statement("mul", (takes[0], takes[0])))
        if operation == ca.OP_TWICE:
            return self._add(Statement("mul", (takes[0], self._constant(2.0))))
        if operation == ca.OP_INV:
            return self._quotient(self._constant(1.0), takes[0])
        if operation == ca.OP_DIV:
            return self._quotient(*takes)
        if operation == ca.OP_TAN:
            return self._quotient(*(self._add(Statement(name, takes)) for name in ("sin", "cos")))
        if operation in (ca.OP_ASIN, ca.OP_ACOS):
            one = self._constant(1.0)
            product = (self._add(Statement(name, (one, takes[0]))) for name in ("sub", "add"))
            root = self._add(Statement("sqrt", (self._add(Statement("mul", tuple(product))),)))
            pair = (takes[0], root) if operation == ca.OP_ASIN else (root, takes[0])
            return self._add(Statement("atan2", pair))
        if operation == ca.OP_TANH:
            # t / (t + 2) with t = exp(2 x) - 1: without a difference of near numbers, and finite for every x.
            two = self._constant(2.0)
            t = self._add(Statement("expm1", (self._add(Statement("mul", (takes[0], two))),)))
            return self._add(Statement("div", (t, self._add(Statement("add", (t, two))))))
        if operation == ca.OP_ATAN:
            return self._add(Statement("atan2", (takes[0], self._constant(1.0))))
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            return self._power(*takes)
        if operation == ca.OP_IF_ELSE_ZERO:
            return self._add(Statement("where", (self._truth(takes[0]), takes[1])))
        if operation in _LOGIC:
            return self._add(Statement(_LOGIC[operation], tuple(map(self._truth, takes))))
        for table in (_BINARY, _COMPARED, _UNARY):
            if operation in table:
                return self._add(Statement(table[operation], takes))
        raise ConfigError(f"{self.function.name()}: operation {operation} of CasADi is not known in a batch")

    def _quotient(self, above: int, below: int) -> int:
        divisor = self.statements[below]
        if divisor.operation == "const":
            return self._add(Statement("mul", (above, self._constant(1 / divisor.constant))))
        return self._add(Statement("div", (above, below)))

    def _power(self, base: int, exponent: int) -> int:
        """Products for a small whole exponent, a root for one half; else exp(y log x), for a base above zero."""
        known = self.statements[exponent]
        if known.operation == "const" and known.constant == 0.5:
            return self._add(Statement("sqrt", (base,)))
        if known.operation == "const" and known.constant in range(1, 9):
            power = base
            for _ in range(int(known.constant) - 1):
                power = self._add(Statement("mul", (power, base)))
            return power
        logarithm = self._add(Statement("log", (base,)))
        return self._add(Statement("exp", (self._add(Statement("mul", (exponent, logarithm))),)))

    def _truth(self, number: int) -> int:
        if self.statements[number].is_truth:
            return number
        return self._add(Statement("ne", (number, self._constant(0.0))))


_Results = list[tuple[int, int, int]]


def _with_inverses(statements: Sequence[Statement], results: _Results) -> tuple[list[Statement], _Results]:
    """A divisor of several quotients is inverted where it first divides."""
    divided = Counter(s.takes[1] for s in statements if s.operation == "div")
    out: list[Statement] = []
    renumbered: list[int] = []
    inverse: dict[int, int] = {}
    one: int | None = None
    for statement in statements:
        takes = tuple(renumbered[i] for i in statement.takes)
        if statement.operation == "div" and divided[statement.takes[1]] > 1:
            if takes[1] not in inverse:
                if one is None:
                    one = len(out)
                    out.append(Statement("const", constant=1.0))
                inverse[takes[1]] = len(out)
                out.append(Statement("div", (one, takes[1])))
            statement = Statement("mul", (takes[0], inverse[takes[1]]))
        else:
            statement = Statement(statement.operation, takes, statement.at, statement.constant)
        renumbered.append(len(out))
        out.append(statement)
    return out, [(output, element, renumbered[number]) for output, element, number in results]


def _fused(statements: Sequence[Statement], results: _Results) -> tuple[list[Statement], _Results]:
    """Products with one use, a sum or a difference, become `fma`, `fms` (a b - c) or `fnma` (c - a b)."""
    uses = Counter(i for s in statements for i in s.takes)
    uses.update(number for _, _, number in results)
    out = list(statements)
    dropped: set[int] = set()

    def product(number: int) -> tuple[int, ...] | None:
        alone = uses[number] == 1 and statements[number].operation == "mul" and number not in dropped
        return statements[number].takes if alone else None

    for k, statement in enumerate(statements):
        if statement.operation not in ("add", "sub"):
            continue
        left, right = statement.takes
        first, second = product(left), product(right)
        if first is not None:
            dropped.add(left)
            out[k] = Statement("fma" if statement.operation == "add" else "fms", (*first, right))
        elif second is not None:
            dropped.add(right)
            out[k] = Statement("fma" if statement.operation == "add" else "fnma", (*second, left))
    kept = [k for k in range(len(out)) if k not in dropped]
    number_of = {k: i for i, k in enumerate(kept)}
    moved = [
        Statement(s.operation, tuple(number_of[i] for i in s.takes), s.at, s.constant)
        for s in map(out.__getitem__, kept)
    ]
    return moved, [(output, element, number_of[number]) for output, element, number in results]


@dataclass(frozen=True)
class Dialect:
    """One target of the emitter."""

    name: str
    single: bool
    linkage: str

    def constant(self, value: float) -> str:
        return f"{np.float32(value):.8e}f" if self.single else f"{value:.17e}"


LANES = Dialect("lanes", single=True, linkage="static __attribute__((noinline))")
CUDA = Dialect("cuda", single=True, linkage="static __device__ __forceinline__")
DOUBLE = Dialect("double", single=False, linkage="static __attribute__((noinline))")

_FORMS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "fma": "al_fma({0}, {1}, {2})",
    "fms": "al_fma({0}, {1}, -{2})",
    "fnma": "al_fma(-{0}, {1}, {2})",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "not": "~{0}",
}


def c_function(program: Program, dialect: Dialect, uniform: frozenset[str] = frozenset()) -> str:
    """`void name(inputs, outputs)` over all lanes of a block; an input in `uniform` is one number for all of them.

    An output may lie where an input lies: everything is read before anything is written. A result that is the same
    element of an input with the output's name is not written at all: that part of a state does not change.
    """
    is_single_input = {i for i, (name, _) in enumerate(program.inputs) if name in uniform}
    written = [result for result in program.results if not _unchanged(program, *result)]
    used = {number for _, _, number in written}.union(*(statement.takes for statement in program.statements))
    before: list[str] = []
    body: list[str] = []
    for number, statement in enumerate(program.statements):
        if number not in used:
            continue
        kind = "al_mask" if statement.is_truth else "al_real"
        if statement.operation == "const":
            before.append(f"  const al_real v{number} = {dialect.constant(statement.constant)};")
        elif statement.operation == "input" and statement.at[0] in is_single_input:
            before.append(f"  const al_real v{number} = {program.inputs[statement.at[0]][0]}[{statement.at[1]}];")
        else:
            body.append(f"    const {kind} v{number} = {_expression(program, statement)};")
    for output, element, number in written:
        body.append(f"    AL_AT({program.outputs[output][0]}, {element}) = {_real(program, number)};")
    return "\n".join([_head(program, dialect), *before, "  AL_EACH_LANE {", *body, "  }", "}", ""])


def _unchanged(program: Program, output: int, element: int, number: int) -> bool:
    source = program.statements[number]
    is_input = source.operation == "input" and source.at[1] == element
    return is_input and f"{program.inputs[source.at[0]][0]}_next" == program.outputs[output][0]


def _head(program: Program, dialect: Dialect) -> str:
    takes = [f"const al_real *{name}" for name, _ in program.inputs]
    gives = [f"al_real *{name}" for name, _ in program.outputs]
    return f"{dialect.linkage} void {program.name}({', '.join(takes + gives)}) {{"


def _real(program: Program, number: int) -> str:
    return f"al_truth(v{number})" if program.statements[number].is_truth else f"v{number}"


def _expression(program: Program, statement: Statement) -> str:
    operation = statement.operation
    if operation == "input":
        return f"AL_AT({program.inputs[statement.at[0]][0]}, {statement.at[1]})"
    if operation == "where":
        return f"al_where(v{statement.takes[0]}, {_real(program, statement.takes[1])})"
    if operation in _LOGIC.values():
        return _FORMS[operation].format(*(f"v{i}" for i in statement.takes))
    takes = [_real(program, i) for i in statement.takes]
    if operation in _FORMS:
        return _FORMS[operation].format(*takes)
    return f"al_{operation}({', '.join(takes)})"
