"""The synchronisation law as the firmware's C in single precision: golden values and a run of three seconds."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from synchronised_axes import JOINTS, ROTORS, Stepped

from aeroloop.codegen.embedded import FLAGS, embedded
from aeroloop.control import synchronisation
from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_gains import JOINT, ROTOR, Gains
from aeroloop.core.frames import Vec

FLOATS = ctypes.POINTER(ctypes.c_float)


class Single:
    """The law's C for this host, with its memory."""

    def __init__(self, axes: Axes, gains: Gains, folder: Path) -> None:
        made, compiler = embedded(synchronisation.law(axes)), shutil.which("cc")
        assert compiler, "this test needs a C compiler: apt install gcc libc6-dev"
        (folder / "law.c").write_text(made.c)
        (folder / "law.h").write_text(made.h)
        command = [compiler, *FLAGS, "-fPIC", "-shared", "-o", str(folder / "law.so"), str(folder / "law.c"), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        self._law = ctypes.CDLL(str(folder / "law.so"))
        n = axes.count
        sizes = (n, axes.references, axes.memory, len(gains), n, axes.memory, n, n, 3 * n)
        self._rows = [np.zeros(size, np.float32) for size in sizes]
        self._rows[3][:] = gains

    def __call__(self, y: Vec, ref: Vec) -> Vec:
        self._rows[0][:], self._rows[1][:] = y, ref
        self._law.law_run(*(row.ctypes.data_as(FLOATS) for row in self._rows))
        self._rows[2][:] = self._rows[5]
        return self._rows[4].astype(float)


def joint_run(t: float) -> tuple[Vec, Vec]:
    """A circle of the joints with errors of a loaded axis."""
    phase = math.pi * t + np.array([0.0, 2.0, 4.0])
    r, rate, accel = 0.3 * np.sin(phase), 0.3 * math.pi * np.cos(phase), -0.3 * math.pi**2 * np.sin(phase)
    return r - 0.003 * np.sin(6.0 * math.pi * t) * np.array([1.0, 0.2, -0.3]), np.array([*r, *rate, *accel])


def rotor_run(t: float) -> tuple[Vec, Vec]:
    r = 790.0 + 20.0 * np.sin(0.6 * t + np.arange(4))
    return r - 20.0 * np.sin(4.0 * math.pi * t) * np.array([0.1, 0.2, -0.2, 1.0]), r


@pytest.mark.parametrize(
    ("axes", "gains", "run", "most"),
    [(JOINTS, JOINT, joint_run, 1e-2), (ROTORS, ROTOR, rotor_run, 0.1)],
    ids=["joint", "rotor"],
)
def test_single_precision_stays_close_to_double(
    tmp_path: Path, axes: Axes, gains: Gains, run: object, most: float
) -> None:
    assert callable(run)
    single, double = Single(axes, gains, tmp_path), Stepped(axes, gains)
    apart = [np.abs(single(y, ref) - double(y, ref)).max() for y, ref in (run(i * axes.period_s) for i in range(3000))]
    assert max(apart) < most
