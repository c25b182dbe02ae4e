"""The 3-RRR robot on rung hil: the firmware of `aeroloop board run` behind a serial link, flown as a board on a desk.

The emulated UART takes 38 us a byte, and 56 bytes travel in each period of 1 ms: the emulated board is flown slower
than real time. A Discovery's UART is not that slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from emulation import end, fly, serve

from aeroloop.control.synchronisation_gains import JOINT
from aeroloop.core.signals import Event, ResetCause
from aeroloop.families.rrr import law
from aeroloop.families.rrr.robot import Robot
from helpers.synchronised_axes import Stepped

if TYPE_CHECKING:
    from conftest import Bench

ATTEMPTS = 10
SHORT = ("--set", "duration_s=0.25", "--set", "synchronisation.evaluate_from_s=0.1")


def test_a_robots_board_is_flown_and_passes_the_checks_of_its_scenario(bench: Bench) -> None:
    board, line = serve(bench, "rrr-circle")
    hil = ("--loop", "hil", "--link", line, "--pace", "0.1x")
    # The emulator's clock is the wall's, so that a host which stalls for 4 ms is a hung task to its watchdog. Then, and
    # only then, it is flown again. A period of 1 ms may take longer.
    for attempt in range(ATTEMPTS):
        flown = fly(bench, f"hil{attempt}", "fly", "rrr-circle", "--no-report", *SHORT, *hil, code=None)
        restarts = [value for name, _, value in flown.said("plant") if name == Event.BOARD_RESTARTED.name]
        if set(restarts) != {ResetCause.WATCHDOG}:
            break
    assert flown.failed_checks() <= {"overruns"}
    assert (flown.summary["loop"], flown.summary["ended"]) == ("hil", "completed")
    assert flown.metrics["joint_rms_rad"] > 0.0 and flown.names("board")[0] == "STARTED"
    torques, sent = flown.log.rows["command"][:, 2:], flown.log.rows["sensors"][:, 2:]
    assert len(torques) > 220 and np.abs(torques).max() > 0.02
    double = Stepped(law.axes(Robot(), 0.001), JOINT)
    wanted = np.array([double(row[:3], row[3:]) for row in sent])
    for torque, t_s in zip(torques, flown.log.column("command", "t_s"), strict=True):
        near = np.abs(flown.log.column("sensors", "t_s") - t_s) < 0.004  # the link is not in lockstep
        assert np.abs(wanted[near] - torque).max(axis=1).min() < 5e-3
    end(bench, board)
