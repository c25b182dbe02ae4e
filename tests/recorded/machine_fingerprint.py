"""What hashes of flights depend on besides our code: libraries, compilers, emulator, the processor's arithmetic."""

from __future__ import annotations

import hashlib
import math
import platform
import shlex
import shutil
import subprocess
from functools import cache
from importlib.metadata import version

import numpy as np


@cache
def fingerprint() -> dict[str, str]:
    return {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "libc": " ".join(platform.libc_ver()),
        **{name: version(name) for name in ("casadi", "mujoco", "numpy", "scipy", "pymap3d", "pygeomag")},
        "arithmetic": _arithmetic(),
        "compiler": _host_compiler(),
        "cross_compiler": _first_line("arm-none-eabi-gcc", "-dumpfullversion"),
        "emulator": _first_line("qemu-system-arm", "--version"),
    }


def _arithmetic() -> str:
    """Of what libm and numpy's kernels give here: both choose their code by the processor that they find."""
    x = np.linspace(-7.0, 7.0, 1001)
    libm = [f(v) for v in x for f in (math.sin, math.cos, math.tan, math.atan, math.exp, math.tanh)]
    libm += [math.pow(abs(v) + 0.1, 1.37) for v in x]
    rng = np.random.default_rng(1)
    a = rng.standard_normal((40, 40))
    kernels = [np.sin(x), np.exp(x), np.hypot(x, 3.0 * x), a @ a, np.linalg.inv(a), rng.standard_normal(100)]
    parts = [np.array(libm), *(np.ravel(k) for k in kernels)]
    return hashlib.sha256(np.concatenate(parts).astype("<f8").tobytes()).hexdigest()[:16]


def _host_compiler() -> str:
    """Of the compiler that laws are compiled with: gcc's version alone, another one's with its name."""
    from aeroloop.codegen.run import host_compiler  # only here: revisions without it are flown too
    from aeroloop.core.errors import ConfigError

    try:
        compiler = shlex.split(host_compiler())
    except ConfigError:
        return "none"
    return _first_line(*compiler, "-dumpfullversion") or _first_line(*compiler, "--version")


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "none"
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0].strip()
