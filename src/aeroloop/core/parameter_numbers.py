"""Numbers of the virtual Pixhawk's parameters in the stream `parameter_change`, whose rows contain numbers only."""

from __future__ import annotations

from collections.abc import Iterable

LATER = (
    "COM_OBL_RC_ACT",
    "COM_OF_LOSS_T",
    "PLD_BTOUT",
    "PLD_HACC_RAD",
    "PLD_FAPPR_ALT",
    "PLD_SRCH_ALT",
    "PLD_SRCH_TOUT",
    "PLD_MAX_SRCH",
    "AL_PLD_GATE",
)
"""Parameters added later: they come last, so that the numbers in older logs stay valid."""


def by_number(names: Iterable[str]) -> list[str]:
    """The names in the order of their numbers: alphabetical, then those added later."""
    return sorted(names, key=lambda name: (LATER.index(name) + 1 if name in LATER else 0, name))
