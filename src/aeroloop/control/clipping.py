"""What limits hide: fmin and fmax return their other argument for NaN, so a clipped command is a number although the
calculation before it has failed.

The output `unclipped` is the sum of all values that a function passes to fmin and fmax: NaN if one of them is. Infinity
is no failure there: its limit is the right answer. (Infinities of both signs in one step have the sum NaN.)
"""

from __future__ import annotations

from typing import Any

import casadi as ca

UNCLIPPED = "unclipped"
LIMITS = (ca.OP_FMIN, ca.OP_FMAX)
LARGEST = 1e30
"""Larger values are none of a command; a number of single precision, too."""


def with_unclipped(function: ca.Function) -> ca.Function:
    """The same function with one more output (1,). Its other outputs are the same to the bit.

    A function of matrices (MX) calculates what it limits once more. Not followed are the branches of its switches, of
    which one is evaluated, and a function of symbols (SX) that calls look-up tables.
    """
    if _of_symbols(function):
        return _followed(function)
    symbols = [ca.MX.sym(function.name_in(i), function.sparsity_in(i)) for i in range(function.n_in())]
    limited = _limited(function)
    total = ca.MX(1, 1) if limited is None else limited.call(symbols)[0]
    return _named(function, symbols, [*function.call(symbols), ca.densify(total)])


def nan_shown(law: ca.Function) -> ca.Function:
    """A law (..., memory) -> (command, memory, ...) whose command is not finite if a value that it limits, or its
    memory, is NaN. Otherwise its outputs are the same to the bit: the command is divided by 1."""
    watched = with_unclipped(law)
    kind: Any = ca.SX if watched.is_a("SXFunction") else ca.MX
    symbols = [kind.sym(law.name_in(i), law.sparsity_in(i)) for i in range(law.n_in())]
    command, memory, *others, hidden = watched.call(symbols)
    total = hidden + ca.sum1(memory)
    number = ca.logic_or(total <= 0, total >= 0)
    return ca.Function(law.name(), symbols, [command / number, memory, *others], law.name_in(), law.name_out())


def within(value: Any, low: float, high: float) -> Any:
    """Limited like `toolkit.clip`, but a value that is NaN or infinite remains not finite: the result is divided by 1,
    or by 0."""
    return ca.fmin(ca.fmax(value, low), high) / (ca.fabs(value) <= LARGEST)


def _of_symbols(function: ca.Function) -> bool:
    if not function.is_a("SXFunction"):
        return False
    return all(function.instruction_id(k) != ca.OP_CALL for k in range(function.n_instructions()))


def _limited(function: ca.Function) -> ca.Function | None:
    """The sum of the values that a function limits, of its inputs; None if it limits none, or cannot be followed."""
    if function.is_a("MXFunction"):
        return _limited_matrices(function)
    if any(each.class_name() == "Switch" for each in (function, *function.find_functions())):
        return None  # what the other branch would have limited is no failure
    if not function.is_a("SXFunction"):
        try:
            function = function.expand()  # a map
        except RuntimeError:
            return None
    if not _of_symbols(function):
        return None
    watched = _followed(function)
    symbols = watched.sx_in()
    total = watched.call(symbols)[-1]
    return None if total.is_constant() else ca.Function(f"{function.name()}_limited", symbols, [total])


def _limited_matrices(function: ca.Function) -> ca.Function | None:
    """The expressions that it passes to limits, and the same of the functions that it calls."""
    total, found = ca.MX(1, 1), False
    for k in range(function.n_instructions()):
        operation, node = int(function.instruction_id(k)), function.instruction_MX(k)
        values = [node.dep(i) for i in range(node.n_dep())] if operation in (*LIMITS, ca.OP_CALL) else []
        if operation == ca.OP_CALL:
            called = _limited(node.which_function())
            values = [] if called is None else called.call(values)
        for value in values:
            if not value.is_constant():
                total, found = total + ca.sum1(ca.vec(value)), True
    return ca.Function(f"{function.name()}_limited", function.mx_in(), [ca.densify(total)]) if found else None


def _followed(function: ca.Function) -> ca.Function:
    """Carries out the instructions of a function of symbols (SX) with symbols, and adds up what is limited."""
    symbols = [ca.SX.sym(function.name_in(i), function.sparsity_in(i)) for i in range(function.n_in())]
    outputs = [ca.SX(function.sparsity_out(i)) for i in range(function.n_out())]
    work: list[Any] = [ca.SX(0)] * int(function.sz_w())
    total, added = ca.SX(0), set()
    for k in range(function.n_instructions()):
        operation = int(function.instruction_id(k))
        takes, gives = function.instruction_input(k), function.instruction_output(k)
        if operation == ca.OP_CONST:
            work[gives[0]] = ca.SX(function.instruction_constant(k))
        elif operation == ca.OP_INPUT:
            work[gives[0]] = symbols[takes[0]].nz[takes[1]]
        elif operation == ca.OP_OUTPUT:
            outputs[gives[0]].nz[gives[1]] = work[takes[0]]
        else:
            values = [work[i] for i in takes]
            work[gives[0]] = ca.SX.unary(operation, *values) if len(values) == 1 else ca.SX.binary(operation, *values)
            for value in values if operation in LIMITS else ():
                if not value.is_constant() and value.element_hash() not in added:
                    added.add(value.element_hash())  # `total` keeps the element, so that no other gets its hash
                    total += value
    return _named(function, symbols, [*outputs, ca.densify(total)])


def _named(function: ca.Function, symbols: list[Any], outputs: list[Any]) -> ca.Function:
    return ca.Function(function.name(), symbols, outputs, function.name_in(), [*function.name_out(), UNCLIPPED])
