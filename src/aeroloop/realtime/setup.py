"""Real-time set-up of a process in one place; refused permissions are reported."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from typing import Any

PLANT_PRIORITY = 50
BOARD_PRIORITY = 40

NEVER = 2**31 - 1
"""Collections of the middle generation before one of all objects."""

_MCL_CURRENT_AND_FUTURE = 1 | 2
_PR_SET_PDEATHSIG, _PR_SET_TIMERSLACK = 1, 29


def enter_realtime(priority: int) -> list[str]:
    """No garbage collector, memory locked, SCHED_FIFO, exact timers. Returns one sentence per refused setting."""
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
    """Exclude the objects built for the flight from garbage collection: they live as long as the flight."""
    gc.collect()
    gc.freeze()


def without_long_collections() -> None:
    """Avoid full garbage collections, which would stop a process that forwards messages for a large part of a second.

    Young objects are still collected: that is fast, and frees the reference cycles of libraries. The caller keeps its
    own long-lived structures free of cycles.
    """
    enter_lockstep()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)


def share_core(draw: int) -> None:
    """Pin this process to one core, the same for equal draws.

    In lockstep plant and board alternate and never run at once: on one core a turn needs no wake-up of another core.
    """
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[draw % len(cores)]})


def die_with_parent(signal_number: int) -> None:
    """Make the kernel send this signal when the parent ends, so that no process is left behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def end(process: subprocess.Popen[Any], patience_s: float) -> None:
    """Terminate the process, and kill it if it does not end."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
