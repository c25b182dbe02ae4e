"""Golden values of the synchronisation law: measured values and references, and the commands that they must give."""

from __future__ import annotations

from synchronised_axes import JOINTS, ROTORS

from aeroloop.control.synchronisation_gains import JOINT, ROTOR

Rows = list[tuple[tuple[float, ...], tuple[float, ...]]]

JOINT_REF = (1.0, 2.0, 3.0, 0.5, -0.5, 0.2, 1.0, 0.0, -1.0)
JOINT_RUN: Rows = [(y, JOINT_REF) for y in ((0.99, 2.0, 3.0), (0.9906, 1.9995, 3.0003), (0.9914, 1.9989, 3.0007))]
ROTOR_RUN: Rows = [
    ((780.0, 790.0, 805.0, 800.0), (800.0, 790.0, 810.0, 800.0)),
    ((784.0, 790.0, 806.0, 800.0), (802.0, 790.0, 810.0, 800.0)),
    ((788.0, 790.0, 807.0, 801.0), (804.0, 790.0, 810.0, 800.0)),
]
GOLDEN = {
    "joint": (
        (JOINTS, JOINT, JOINT_RUN),
        {
            0: (1.4359638, -0.2730059, -0.2991809),
            1: (1.2437119, -0.1468734, -0.4650130),
            2: (0.8458392, 0.1807512, -0.7694812),
        },
        (0.3268793, 0.2792257, 0.3292242),
    ),
    "rotor": (
        (ROTORS, ROTOR, ROTOR_RUN),
        {
            0: (823.4484, 781.3780, 809.3956, 791.3780),
            2: (827.6654844, 783.1967449, 808.5273102, 791.5802158),
        },
        (),
    ),
}
