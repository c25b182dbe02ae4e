"""What limits hide: fmin and fmax return their other argument for NaN, so a clipped command is finite although the
calculation before it has failed.

The output `unclipped` is the sum of all values that a function passes to fmin and fmax: NaN or infinite if one of them
is.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

UNCLIPPED = "unclipped"
LIMITS = (ca.OP_FMIN, ca.OP_FMAX)


def with_unclipped(function: ca.Function) -> ca.Function:
    """The same function with one more output (1,). Its other outputs are the same to the bit.

    A function whose expressions cannot be read, one with look-up tables, has a zero there.
    """
    plain = _expanded(function)
    if plain is not None:
        return _followed(plain)
    symbols = [ca.MX.sym(function.name_in(i), function.sparsity_in(i)) for i in range(function.n_in())]
    return _named(function, symbols, [*function.call(symbols), ca.densify(ca.MX(1, 1))])


def _expanded(function: ca.Function) -> ca.Function | None:
    """As operations on single numbers; None if there are others in it."""
    try:
        plain = function.expand()
    except RuntimeError:
        return None
    calls = any(plain.instruction_id(k) == ca.OP_CALL for k in range(plain.n_instructions()))
    return None if calls else plain


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
                    added.add(value.element_hash())
                    total += value
    return _named(function, symbols, [*outputs, ca.densify(total)])


def _named(function: ca.Function, symbols: list[Any], outputs: list[Any]) -> ca.Function:
    return ca.Function(function.name(), symbols, outputs, function.name_in(), [*function.name_out(), UNCLIPPED])
