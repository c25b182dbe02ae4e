"""Motors on a battery: which speeds they reach, and what they take.

    speed setpoint ─▶ ESC: lag, duty ─▶ steady speed at the battery's voltage ─▶ limit of voltage and current ─▶ motion

The motion has motors with a first-order lag, and is not changed: a motor that the battery or the ESC holds back is
given the speed that moves it as far in the step as it can move. The voltage under that load, which limits the motors
and is lowered by them, is solved for in every step. Afterwards the battery is discharged by what the motors did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from aeroloop.actuators.battery import Battery, Cells
from aeroloop.actuators.electric_motor import ElectricMotor, Shaft
from aeroloop.actuators.motors import Motor, RotorEffort, gains
from aeroloop.core import parameter_files
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS

AirTorque = Callable[[Sequence[float], int], Sequence[float]]
"""Speeds of the rotors (rad/s) and length of a step (ns) -> torque of each over the square of its speed (N m s2)."""
FOLDER = "actuators/batteries"
OF_AIRFRAME, NONE = "airframe", "none"


class BatteryFile(Cells, frozen=True):
    """A battery, and the motors on it."""

    motor: Annotated[ElectricMotor | None, note("the motors, of a multirotor")] = None


class BatteryTable(Config, frozen=True):
    """Which battery is flown with, and in which condition."""

    pack: Annotated[
        str,
        note(
            "`airframe`: that of the airframe's file; `none`; `iris`, `aerosonde`; or the path of your own file (.toml)"
        ),
    ] = OF_AIRFRAME
    charge: Annotated[float, meta("-", "state of charge at the start", gt=0, le=1)] = 1.0
    capacity_Ah: Annotated[Annotated[float, Meta(gt=0, le=10000)] | None, meta("Ah", "in place of the file's")] = None
    resistance_ohm: Annotated[
        Annotated[float, Meta(ge=0, le=10)] | None,
        meta("ohm", "in place of the file's, of an old or a cold battery"),
    ] = None


def names() -> list[str]:
    """The batteries included in the project."""
    return parameter_files.names(FOLDER)


def chosen(table: BatteryTable | None, own: BatteryFile | None) -> BatteryFile | None:
    """The battery of a flight; `own`: the airframe's. None: none is simulated."""
    pack = table.pack if table is not None else OF_AIRFRAME
    if pack == NONE:
        return None
    if pack == OF_AIRFRAME:
        if own is None and table is not None:
            raise ConfigError(
                f"battery.pack: the airframe's file has no [battery]; expected a .toml file or one of: "
                f"{', '.join((*names(), NONE))}"
            )
        found = own
    else:
        found, _ = parameter_files.load(pack, FOLDER, BatteryFile, "battery.pack")
    if found is None or table is None:
        return found
    given = {"capacity_Ah": table.capacity_Ah, "resistance_ohm": table.resistance_ohm}
    return msgspec.structs.replace(found, **{key: value for key, value in given.items() if value is not None})


class Rotors(Protocol):
    """What the motors turn; as `models.rotors.Rotors`."""

    @property
    def count(self) -> int: ...
    @property
    def thrust_Ns2(self) -> float: ...
    @property
    def torque_to_thrust_m(self) -> float: ...
    @property
    def inertia_kgm2(self) -> float: ...
    @property
    def density_kg_m3(self) -> float: ...


class Power:
    """The battery of a multirotor in flight, with its motors."""

    def __init__(self, file: BatteryFile, electric: ElectricMotor, motor: Motor, rotors: Rotors, charge: float) -> None:
        self.battery = Battery(file, charge)
        self._electric, self._motor, self._rotors = electric, motor, rotors
        self.lever_m = electric.torque_to_thrust_m or rotors.torque_to_thrust_m
        self._torque_Nms2 = self.lever_m * rotors.thrust_Ns2  # in the density of the coefficients
        self.air_torque: AirTorque | None = None
        """Of rotors whose torque depends on the flow; None: it depends on the density alone."""
        self._reference = Shaft.of(electric, self._torque_Nms2)
        self._full_V = self._reference.steady_V(motor.speed_max_rad_s)
        """Voltage at which a full command gives the airframe's top speed."""
        self._shafts = [self._reference] * rotors.count
        self._density = rotors.density_kg_m3
        self._dt_ns = 0
        self._factor = 1.0
        self.reset()

    def reset(self) -> None:
        """The state at the start of the flight."""
        count = self._rotors.count
        self.battery.reset()
        self._escs = [0.0] * count  # speeds that the ESCs have come to ask for
        self._on = [False] * count  # a motor that is commanded to stop coasts without current
        self.motor_A, self.duty = [0.0] * count, [0.0] * count

    def supply(self, fraction: float) -> None:
        """The open-circuit voltage is this fraction of what it should be, by faults and changes."""
        self.battery.factor = fraction

    def top_rad_s(self) -> float:
        """Speed at full command in the air of the coefficients, with all motors at it and the charge of the start."""
        speed, top = self._reference.steady_rad_s, self._motor.speed_max_rad_s

        def power_W(voltage_V: float) -> float:
            return self._rotors.count * self._drawn(self._reference, min(speed(voltage_V), top), 0.0)[1]

        return min(top, speed(self.battery.solve(power_W)))

    def reached(
        self, now_rad_s: Sequence[float], setpoints_rad_s: Sequence[float], dt_ns: int, density_kg_m3: float
    ) -> list[float]:
        """Speed setpoints of the motion's motors; what is not finite or not positive stops a motor."""
        self._set_step(now_rad_s, dt_ns, density_kg_m3)
        setpoints, on = self._through_escs(setpoints_rad_s), self._on

        def targets(voltage_V: float) -> list[float]:
            rotors = zip(self._shafts, now_rad_s, self._steady(setpoints, voltage_V), strict=True)
            return [
                self._held_back(shaft, w, min(speed, shaft.steady_rad_s(voltage_V)), voltage_V)
                for shaft, w, speed in rotors
            ]

        def power_W(voltage_V: float) -> float:
            (up, up_mean), (down, down_mean) = self._gains
            total = 0.0
            for shaft, w, target, turns in zip(self._shafts, now_rad_s, targets(voltage_V), on, strict=True):
                if not turns:
                    continue
                way = target - w
                end, mean = (up, up_mean) if way > 0.0 else (down, down_mean)
                total += self._drawn(shaft, w + mean * way, end * way * NS / dt_ns)[1]
            return total

        return targets(self.battery.solve(power_W))

    def drew(self, effort: RotorEffort, dt_ns: int) -> None:
        """What the motors did in the step."""
        drawn = [
            self._drawn(shaft, w, up) if turns else (0.0, 0.0, 0.0)
            for shaft, w, up, turns in zip(
                self._shafts, effort.speed_rad_s, effort.spin_up_rad_s2, self._on, strict=True
            )
        ]
        battery = self.battery
        battery.discharge(sum(power_W for _, power_W, _ in drawn), dt_ns)
        v = battery.voltage_V
        self.motor_A = [current_A for current_A, _, _ in drawn]
        self.duty = [motor_V / v if v > 0.0 and current_A > 0.0 else 0.0 for current_A, _, motor_V in drawn]

    def setpoint_for(self, rotor: int, speed_rad_s: float) -> float:
        """The speed setpoint that results in this speed, at the present voltage."""
        v = self.battery.voltage_V
        if self._electric.esc == "speed" or v <= 0.0:
            return speed_rad_s
        return self._reference.steady_rad_s(self._shafts[rotor].steady_V(speed_rad_s) / v * self._full_V)

    def _set_step(self, now_rad_s: Sequence[float], dt_ns: int, density_kg_m3: float) -> None:
        if dt_ns != self._dt_ns:
            self._dt_ns, self._gains = dt_ns, gains(self._motor, dt_ns)
            lag_s = self._electric.esc_lag_s
            self._esc_way = -math.expm1(-dt_ns / NS / lag_s) if lag_s else 1.0
        if self.air_torque is not None:
            # The air that drives a rotor takes its current away, and gives none; so does a torque that is NaN.
            torques = (max(0.0, torque) for torque in self.air_torque(now_rad_s, dt_ns))
            self._shafts = [Shaft.of(self._electric, torque) for torque in torques]
        elif density_kg_m3 != self._density and density_kg_m3 >= 0.0:  # not NaN
            self._density = density_kg_m3
            torque = self._torque_Nms2 * density_kg_m3 / self._rotors.density_kg_m3
            self._shafts = [Shaft.of(self._electric, torque)] * self._rotors.count

    def _through_escs(self, setpoints_rad_s: Sequence[float]) -> list[float]:
        top, way, escs = self._motor.speed_max_rad_s, self._esc_way, self._escs
        for index, speed in enumerate(setpoints_rad_s):
            setpoint = min(max(speed, 0.0), top) if math.isfinite(speed) else 0.0
            self._on[index] = setpoint > 0.0
            escs[index] += way * (setpoint - escs[index])
        return escs

    def _steady(self, setpoints_rad_s: Sequence[float], voltage_V: float) -> list[float]:
        """The speeds that the motors would settle at."""
        if self._electric.esc == "speed":
            return list(setpoints_rad_s)
        per_V, top = voltage_V / self._full_V, self._motor.speed_max_rad_s
        reference, rotors = self._reference, zip(self._shafts, setpoints_rad_s, strict=True)
        return [min(top, shaft.steady_rad_s(per_V * reference.steady_V(speed))) for shaft, speed in rotors]

    def _held_back(self, shaft: Shaft, now_rad_s: float, target_rad_s: float, voltage_V: float) -> float:
        """A motor cannot gain more speed than its torque gives."""
        if target_rad_s <= now_rad_s:
            return target_rad_s
        torque = shaft.most_torque_Nm(now_rad_s, voltage_V, self._electric.max_A)
        inertia, up = self._rotors.inertia_kgm2, self._gains[0][0]
        if inertia <= 0.0:
            return target_rad_s
        return min(target_rad_s, now_rad_s + max(0.0, torque) / inertia * self._dt_ns / NS / up)

    def _drawn(self, shaft: Shaft, speed_rad_s: float, spin_up_rad_s2: float) -> tuple[float, float, float]:
        """Current, power and voltage of a motor."""
        if speed_rad_s <= 0.0:
            return 0.0, 0.0, 0.0
        current = shaft.current_A(speed_rad_s, self._rotors.inertia_kgm2 * spin_up_rad_s2)
        volts = shaft.voltage_V(speed_rad_s, current)
        return current, volts * current, volts
