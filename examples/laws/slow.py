"""The built-in LQR, intentionally slow: a board that cannot finish it in a period must report that.

The loop's result reaches the right rotor at a scale that its thrust cannot show; no compiler can detect that.
"""

import casadi as ca

ITERATIONS = 6_000
"""Each takes about 107 instructions of a Cortex-M4: 640,000 in all, where 12 ms at 31.25 MIPS hold 375,000."""
UNSEEN = 1e-12
"""N: less than the last digit of any thrust in single precision."""


def law(design):
    quick = design.law("dlqr")
    sensors, reference = ca.MX.sym("sensors", quick.numel_in(0)), ca.MX.sym("reference", quick.numel_in(1))
    memory = ca.MX.sym("memory", quick.numel_in(2))
    command, memory_next = quick(sensors, reference, memory)
    x = ca.SX.sym("x")
    chaos = x
    for _ in range(25):
        chaos = 3.7 * chaos * (1 - chaos)  # the logistic map, which has no short cut
    work = ca.Function("work", [x], [chaos])
    start = 0.5 + 0.1 * ca.sin(sensors[0])  # within (0, 1), and only known in flight
    useless = work.fold(ITERATIONS)(start)
    command += ca.vertcat(UNSEEN * useless, 0, 0, 0)
    return ca.Function("law", [sensors, reference, memory], [command, memory_next])
