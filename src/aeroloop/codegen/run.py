"""Compilers as child processes: a tool that takes too long is ended with everything that it has started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

from aeroloop.core.errors import ConfigError


def run_tool(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, which on a timeout ends only the first process: make and cc would leave the compiler
    running."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        try:
            out, words = process.communicate(timeout=timeout_s)
        except BaseException:  # also Ctrl-C, which does not reach a separate process group
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, words)


def host_compiler() -> str:
    """Its command line; ConfigError if there is none."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise ConfigError("the rung sil needs a C compiler and none was found; install one: apt install gcc libc6-dev")
    return compiler
