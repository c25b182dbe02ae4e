"""A battery model, discharged by the motor commands, or what a battery monitor reports.

Thrust is proportional to the square of a motor's command and power to its cube, so the current is I = I_idle + (I_hover
- I_idle) * mean(u^3) / u_hover^3 with u_hover^2 the thrust ratio of hover. The voltage falls linearly with the charge,
and by the resistance times the current. Once a monitor has reported (BATTERY_STATUS of the simulator), its values
replace the model's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import Battery


class Pack:
    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._current_A = 0.0
        self._used_mAh = 0.0
        self.measured: Battery | None = None  # by a monitor; None: there is none
        self.charge()

    def charge(self) -> None:
        """Reset to the charge at power-up."""
        lacking = 1.0 - self._parameters.get("SIM_BAT_START") / 100.0
        self._used_mAh = lacking * self._parameters.get("BAT1_CAPACITY")

    def step(self, motors: Sequence[float], dt_s: float) -> None:
        """`motors`: commands 0..1; NaN counts as stopped."""
        if self.measured is not None:
            return
        get = self._parameters.get
        cubes = [u**3 if 0.0 <= u <= 1.0 else float(1.0 < u < math.inf) for u in motors]
        effort = sum(cubes) / len(cubes) if cubes else 0.0
        idle = get("SIM_BAT_IDLE_A")
        self._current_A = idle + max(0.0, get("SIM_BAT_HOVER_A") - idle) * effort / get("MPC_THR_HOVER") ** 1.5
        self._used_mAh = min(get("BAT1_CAPACITY"), self._used_mAh + self._current_A * dt_s / 3.6)

    @property
    def remaining(self) -> float:
        if self.measured is not None:
            return self.measured.remaining
        return max(0.0, 1.0 - self._used_mAh / self._parameters.get("BAT1_CAPACITY"))

    @property
    def state(self) -> Battery:
        if self.measured is not None:
            return self.measured
        get = self._parameters.get
        empty, full = get("BAT1_V_EMPTY"), get("BAT1_V_CHARGED")
        cell_V = empty + (full - empty) * self.remaining
        voltage = get("BAT1_N_CELLS") * cell_V - get("BAT1_R_INTERNAL") * self._current_A
        return Battery(max(0.0, voltage), self._current_A, self.remaining, self._used_mAh)
