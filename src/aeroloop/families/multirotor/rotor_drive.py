"""The rotors' drive: a law for their speeds and motors that differ, between the controller's command and the motion.

    command ─▶ speed setpoint ─▶ law ─▶ speed command to the ESC ─▶ faults ─▶ w' = (K_i u - w) / lag_i - load_i
                 tachometer ──────┘

The law runs at the IMU's period on the latest sample of the tachometer. The compiled step has one lag for all motors; a
motor with its own lag gets a command that moves it as far in this step as its own lag would. Without a law the speed
setpoint is the command to the ESC. Aircraft without these tables do not have this stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from aeroloop.actuators.faults import ActuatorFaults, Row
from aeroloop.actuators.motors import Motor, RotorEffort, command_at
from aeroloop.actuators.motors import gains as motor_gains
from aeroloop.actuators.power import Power
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import synchronisation
from aeroloop.control.clipping import nan_shown
from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_gains import Gains
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event, RigidState
from aeroloop.core.stream import Publish
from aeroloop.families.multirotor.motion import MultirotorMotion
from aeroloop.families.multirotor.rotor_tables import Load, MotorsTable
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.sensors.suite import Sample
from aeroloop.sensors.tachometer import TachometerSample

HEADROOM = 2.0
"""Top speed of the motors in the motion, over the airframe's: a motor with gain and lag of its own stays below it."""
STALE_PERIODS = 10
"""Without a tachometer sample for longer, the law stops and the setpoint is the command to the ESC."""
WEIGHTS_EVERY = 5
"""Samples of the law per row of its weights."""


def free_motor(motor: Motor) -> Motor:
    """The motor of the motion behind a drive: its command is proportional to speed."""
    return msgspec.structs.replace(motor, speed_idle_rad_s=0.0, speed_max_rad_s=HEADROOM * motor.speed_max_rad_s)


@dataclass(frozen=True)
class Differing:
    """How the motors of one aircraft differ."""

    motor: Motor
    gain: tuple[float, ...]
    lag: tuple[float, ...]
    loads: tuple[Load, ...] = ()

    @classmethod
    def of(cls, motor: Motor, table: MotorsTable, rotors: int) -> Differing:
        ones = (1.0,) * rotors
        return cls(motor, table.spread.gain or ones, table.spread.lag or ones, table.loads)

    def speed(self, command: float) -> float:
        """Speed that the ESC makes of a command."""
        idle, top = self.motor.speed_idle_rad_s, self.motor.speed_max_rad_s
        return idle + (top - idle) * command if command > 0.0 else 0.0

    def loaded(self, rotor: int, now_rad_s: float, command_rad_s: float, load_rad_s2: float) -> float:
        """The speed to ask for without a load that has the effect of this one."""
        drives = self.gain[rotor] * command_rad_s > now_rad_s
        lag_s = self.motor.lag_up_s if drives else self.motor.lag_down_s
        return command_rad_s - self.lag[rotor] * lag_s * load_rad_s2 / self.gain[rotor]

    def load_rad_s2(self, t_s: float) -> list[float]:
        total = [0.0] * len(self.gain)
        for load in self.loads:
            if t_s >= load.from_s:
                phase = math.tau * load.frequency_hz * (t_s - load.from_s)
                total[load.rotor - 1] += load.deceleration_rad_s2 * (math.sin(phase) if load.frequency_hz else 1.0)
        return total


class SpeedLaw:
    """The law with its memory. A measured value that is NaN holds the last command and starts the law afresh.

    So does a law that has gone wrong inside; its limits do not hide that, the command then is not finite.
    """

    def __init__(
        self, axes: Axes, gains: Gains, coupling: synchronisation.Coupling, run: Callable[..., Evaluator]
    ) -> None:
        self._law = run(nan_shown(synchronisation.law(axes, coupling)))
        self._beta, self._coupling = gains.beta, coupling
        self._matrix = synchronisation.coupling_matrix(axes.count, coupling)
        self._y, self._ref, self._memory, given = self._law.inputs
        self._u, self._next, self._rho, _, self._weights = self._law.outputs
        given[:] = gains
        self.failed: int | None = None  # rotor for which the law has just returned NaN or infinity, from 0
        self.period_ns = round(axes.period_s * NS)

    def reset(self) -> None:
        self._memory[:] = 0.0

    def __call__(self, measured: Sequence[float], setpoints: Sequence[float], last: list[float]) -> list[float]:
        self.failed = None
        if not all(map(math.isfinite, measured)):
            self.reset()
            return last
        self._y[:], self._ref[:] = measured, setpoints
        self._law()
        self._memory[:] = self._next
        commands: list[float] = self._u.tolist()
        self.failed = next((rotor for rotor, speed in enumerate(commands) if not math.isfinite(speed)), None)
        if self.failed is not None:
            self.reset()
            return last
        return commands

    @property
    def surface(self) -> list[float]:
        values: list[float] = (self._rho + self._beta * (self._matrix @ self._rho)).tolist()
        return values

    @property
    def weights(self) -> list[float]:
        values: list[float] = self._weights.tolist()
        return values


@dataclass(frozen=True)
class Wiring:
    """What lies between the command and the motion."""

    differing: Differing
    law: SpeedLaw | None
    faults: ActuatorFaults  # they act behind the law
    period_ns: int  # of the law, and of the rows without one
    power: Power | None = None  # battery of the motors


class RotorDrive:
    """Motion of a vehicle whose motors differ, with a law for their speeds or without."""

    def __init__(
        self,
        motion: MultirotorMotion,
        moved: Callable[[Sequence[float], int], RotorEffort],
        wiring: Wiring,
        publish: Mapping[str, Publish],
    ) -> None:
        """`moved` is the motion's step, with noise or without."""
        self._motion, self._moved = motion, moved
        self._differing, self._law = wiring.differing, wiring.law
        self._faults, self._period_ns, self._power = wiring.faults, wiring.period_ns, wiring.power
        differing = wiring.differing
        rotors = len(differing.gain)
        self._t_ns = self._due_ns = 0
        self._dt_ns = 0
        self._usual = 1.0, 1.0
        self._own: list[tuple[float, float]] = []
        self._command_rad_s = [0.0] * rotors
        self._measured: tuple[float, ...] = (0.0,) * rotors
        self._measured_ns = 0
        self._absent = (math.nan,) * (MOST_ROTORS - rotors)
        self._rows, self._weight_rows = publish["rotor_law"], publish["rotor_weights"]
        self._events = publish["event"]
        self._count = 0
        self._per_command = 1.0 / (HEADROOM * differing.motor.speed_max_rad_s)
        self.state: Callable[[int], RigidState] = motion.state

    def restart(self) -> None:
        """The aircraft is back at its start, with its rotors stopped."""
        if self._law is not None:
            self._law.reset()
        self._command_rad_s = [0.0] * len(self._command_rad_s)

    def take(self, samples: Iterable[Sample]) -> None:
        """What the tachometer delivered; speeds that are NaN or infinite are logged as an event."""
        for sample in samples:
            if isinstance(sample, TachometerSample):
                self._measured, self._measured_ns = sample.speed_rad_s, sample.ready_ns
                if self._law is not None and not all(map(math.isfinite, sample.speed_rad_s)):
                    bad = [math.isfinite(speed) for speed in sample.speed_rad_s].index(False)
                    self._events(sample.ready_ns / NS, Event.IMPLAUSIBLE_SENSORS, bad)

    def drive(self, command: Row, dt_ns: int) -> RotorEffort:
        if self._t_ns >= self._due_ns:
            self._due_ns = self._t_ns - self._t_ns % self._period_ns + self._period_ns
            self._decide(command)
        commands = [command_at(self._differing.motor, speed) for speed in self._command_rad_s]
        if self._faults.active:
            commands = list(self._faults.applied(tuple(commands), dt_ns))
        if dt_ns != self._dt_ns:
            self._set_step(dt_ns)
        loads = self._differing.load_rad_s2(self._t_ns / NS) if self._differing.loads else None
        speeds = [self._differing.speed(value) for value in commands]
        if self._power is not None:
            speeds = self._given(self._power, speeds, dt_ns)
        moved = []
        for rotor, (w, speed) in enumerate(zip(self._motion.speed_rad_s, speeds, strict=True)):
            gain = self._differing.gain[rotor]
            own = self._own[rotor][gain * speed <= w]  # the lag of a motor that drives, or that is driven by the rotor
            if loads is not None and loads[rotor]:
                speed = self._differing.loaded(rotor, w, speed, loads[rotor])
            way = gain * speed - w
            moved.append(max(0.0, w + own / self._usual[way <= 0.0] * way) * self._per_command)
        self._t_ns += dt_ns
        effort = self._moved(moved, dt_ns)
        if self._power is not None:
            self._power.drew(effort, dt_ns)
        return effort

    def _given(self, power: Power, command_rad_s: list[float], dt_ns: int) -> list[float]:
        """The speeds to ask for with what the battery allows; limits assume the airframe's lags."""
        gain, motion = self._differing.gain, self._motion
        turned = [factor * speed for factor, speed in zip(gain, command_rad_s, strict=True)]
        reached = power.reached(motion.speed_rad_s, turned, dt_ns, motion.air.density_kg_m3)
        return [speed / factor for factor, speed in zip(gain, reached, strict=True)]

    def _decide(self, command: Row) -> None:
        """Once in a period: the speeds to ask of the ESC."""
        speed = self._differing.speed
        setpoints = [speed(value) if math.isfinite(value) else 0.0 for value in command]
        law = self._law
        if law is None:
            self._command_rad_s = setpoints
        elif not any(setpoints) or self._t_ns - self._measured_ns > STALE_PERIODS * self._period_ns:
            law.reset()
            self._command_rad_s = setpoints
        else:
            self._command_rad_s = law(self._measured, setpoints, self._command_rad_s)
            if law.failed is not None:
                self._events(self._t_ns / NS, Event.LAW_NOT_FINITE, law.failed)
        self._log(setpoints)

    def _log(self, setpoints: list[float]) -> None:
        t_s, absent, law = self._t_ns / NS, self._absent, self._law
        errors = [r - w for r, w in zip(setpoints, self._motion.speed_rad_s, strict=True)]
        sync = synchronisation.synchronisation_error(errors)
        unknown = (math.nan,) * len(errors)
        on = law if law is not None and law.failed is None and any(setpoints) else None
        rows = (setpoints, self._command_rad_s, errors, sync, on.surface if on is not None else unknown)
        self._rows(t_s, *(value for row in rows for value in (*row, *absent)))
        if on is not None and self._count % WEIGHTS_EVERY == 0:
            weights, n = on.weights, len(errors)
            self._weight_rows(t_s, *(v for j in range(3) for v in (*weights[n * j : n * (j + 1)], *absent)))
        self._count += 1

    def _set_step(self, dt_ns: int) -> None:
        """Fraction of its way that a motor covers in a step by its own lag, and by the airframe's, up and down."""
        self._dt_ns = dt_ns
        motor = self._differing.motor
        (up, _), (down, _) = motor_gains(motor, dt_ns)
        self._usual = up, down
        self._own = []
        for factor in self._differing.lag:
            own = msgspec.structs.replace(motor, lag_up_s=factor * motor.lag_up_s, lag_down_s=factor * motor.lag_down_s)
            (own_up, _), (own_down, _) = motor_gains(own, dt_ns)
            self._own.append((own_up, own_down))


class FaultsBehindLaw(ActuatorFaults):
    """Switches the faults that the drive applies; the vehicle applies none before the law."""

    def __init__(self, faults: ActuatorFaults) -> None:
        super().__init__(())
        self._behind = faults

    def switch(self, switch: Switch, command: Row) -> Switched:
        return self._behind.switch(switch, command)
