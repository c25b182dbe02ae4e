"""Compilers as child processes: a tool that takes too long is ended with everything that it has started."""

from __future__ import annotations

import os
import signal
import subprocess


def run_tool(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, which on a timeout ends the first process alone: make and cc leave the compiler running."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        try:
            out, words = process.communicate(timeout=timeout_s)
        except BaseException:  # also Ctrl-C, which a group of its own does not hear
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, words)
