"""Real-time set-up of a process, all in one place; what is not permitted is said, not hidden."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from typing import Any

PLANT_PRIORITY = 50
BOARD_PRIORITY = 40

_MCL_CURRENT_AND_FUTURE = 1 | 2
_PR_SET_PDEATHSIG, _PR_SET_TIMERSLACK = 1, 29


def enter_realtime(priority: int) -> list[str]:
    """No garbage collector, memory locked, SCHED_FIFO, exact timers. Returns one sentence per thing refused."""
    enter_lockstep()
    gc.disable()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    refused = []
    if libc.mlockall(_MCL_CURRENT_AND_FUTURE) != 0:
        refused.append(f"memory is not locked ({os.strerror(ctypes.get_errno())}); see `aeroloop doctor`")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        refused.append(f"no real-time priority ({error.strerror}); see `aeroloop doctor`")
    return refused


def enter_lockstep() -> None:
    """What was built for the flight lives as long as it does: the garbage collector need not search it again."""
    gc.collect()
    gc.freeze()


def share_core(draw: int) -> None:
    """Put this process on one core, the same for equal draws.

    In lockstep plant and board take turns and never run at once: on one core a turn costs no wake-up of another.
    """
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[draw % len(cores)]})


def die_with_parent(signal_number: int) -> None:
    """Ask the kernel to send this signal when the parent dies, so that no process is left behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def end(process: subprocess.Popen[Any], patience_s: float) -> None:
    """Ask it to end, and see to it when it does not."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
