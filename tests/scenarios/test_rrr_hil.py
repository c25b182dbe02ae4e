"""The 3-RRR robot on rung hil: the firmware of `aeroloop board run` behind a serial link, flown as a board on a desk.

The emulated UART takes 38 us a byte, and 56 bytes travel in each period of 1 ms: the emulated board is flown slower
than real time. A Discovery's UART is not that slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from emulation import end, fly, serve

if TYPE_CHECKING:
    from conftest import Bench

SHORT = ("--set", "duration_s=0.25", "--set", "synchronisation.evaluate_from_s=0.1")


def test_a_robots_board_is_flown_and_passes_the_checks_of_its_scenario(bench: Bench) -> None:
    board, line = serve(bench, "rrr-circle")
    hil = ("--loop", "hil", "--link", line, "--pace", "0.1x")
    flown = fly(bench, "hil", "fly", "rrr-circle", "--no-report", *SHORT, *hil, code=None)
    # The emulator's clock is the wall's: on a busy machine a period of its 1 ms may take longer.
    assert flown.failed_checks() <= {"overruns"}
    assert (flown.summary["loop"], flown.summary["ended"]) == ("hil", "completed")
    assert flown.metrics["joint_rms_rad"] > 0.0 and flown.names("board")[0] == "STARTED"
    torque = [flown.log.column("command", f"torque_{i}_Nm") for i in (1, 2, 3)]
    assert len(torque[0]) > 220 and np.abs(torque).max() > 0.01
    end(bench, board)
