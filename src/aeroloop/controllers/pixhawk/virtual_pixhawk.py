"""The virtual Pixhawk: estimator, flight logic, control law and MAVLink services put together. Bytes in, bytes out.

    HIL_SENSOR, HIL_GPS ─▶ estimator ─▶ flight logic ─▶ control law ─▶ HIL_ACTUATOR_CONTROLS
                                            ▲
                        ground stations ◀───┴── services

It uses only its sensors. Its clock is the time of HIL_SENSOR; on a link that may lose or delay these it has its own
clock, and only the estimator uses the time of each sample.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping

from aeroloop.control.cascade import GAINS, SETPOINT
from aeroloop.controllers.pixhawk import flight_law
from aeroloop.controllers.pixhawk.autopilot import PixhawkAutopilot
from aeroloop.controllers.pixhawk.flight_law import Airframe
from aeroloop.controllers.pixhawk.parameters import TABLE, Parameters, Row
from aeroloop.controllers.pixhawk.rotor_watch import RotorWatch
from aeroloop.controllers.pixhawk.services import Services
from aeroloop.controllers.pixhawk.telemetry import STREAMS, Readings
from aeroloop.controllers.pixhawk.types import Battery, SensorHealth, Severity, Status
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, NavEstimate, Setpoint
from aeroloop.estimation.config import NavigationConfig
from aeroloop.estimation.error_state import Runner
from aeroloop.estimation.navigation import Navigation
from aeroloop.exchanges.mavlink_hil import SIMULATOR_COMPONENT
from aeroloop.protocols.hil_autopilot import ActuatorsOut, SensorEnd, greeting
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn
from aeroloop.protocols.mavlink_hil import BarometerSample, HilFix, HilSample

SYSTEM, COMPONENT = 1, 1
"""System ID of the first; the following autopilots have the following IDs."""
FRESH_NS = (("imu", NS // 5), ("magnetometer", NS), ("barometer", NS), ("fix", 2 * NS))
"""A sensor is healthy while its last valid sample is younger than this; in the order of SensorHealth."""
FIX_3D = 3
LOGIC_PERIOD_NS = NS // 100
"""The flight logic need not run with every sample: its setpoint changes slowly."""
_pack_setpoint = struct.Struct(f"{SETPOINT}d").pack_into
_unpack_attitude = struct.Struct("4d").unpack


def parameters(changes: Mapping[str, float]) -> Parameters:
    """The parameters of the flight logic and the gains of the law, from the scenario."""
    known = {row.name for row in TABLE}
    gains = [
        Row(gain.name, gain.default, gain.minimum, gain.maximum, "float", gain.unit, gain.meaning)
        for gain in GAINS
        if gain.name not in known
    ]
    store = Parameters((*TABLE, *gains))
    for name, value in changes.items():
        if name not in store:
            raise ConfigError(f"autopilot.parameters: unknown parameter {name}; docs/parameters.md lists them")
        refusal = store.set(name, value)
        if refusal:
            raise ConfigError(f"autopilot.parameters.{name}: {refusal.reason}")
    return store


class VirtualPixhawk:
    """One autopilot of one multirotor."""

    def __init__(
        self,
        airframe: Airframe,
        store: Parameters,
        *,
        number: int,
        period_s: float,
        runner: Runner,
        field_at: Callable[[float, float, float], Vec3],
        lockstep: bool,
        ground_links: int,
    ) -> None:
        self.parameters = store
        self.counters = MavlinkCounters()
        self.sensors = SensorEnd()
        self.navigation = Navigation(NavigationConfig(), runner, field_at)
        self.logic = PixhawkAutopilot(store, airframe.rest_height_m)
        self.services = Services(self.logic, store, self._read, system=SYSTEM + number, links=ground_links)
        self._law = runner(flight_law.on_state(airframe, period_s))
        self._law.share(0, self.navigation.state)
        _, self._setpoint_input, self._learnt, self._gains, *lost = self._law.inputs
        self._watch: RotorWatch | None = None
        if lost:
            (self._lost,) = lost  # number of a failed rotor, as input of the law
            self._watch = RotorWatch(flight_law.frame(airframe), airframe.motors, period_s)
        self._commands, self._attitude = (array.data for array in self._law.outputs[:2])
        self._unclipped = self._law.outputs[3]
        self._unpack_commands = struct.Struct(f"{airframe.rotors.count}d").unpack
        self._learns, self._has_learnt = self._learnt.data, self._law.outputs[2].data
        self._packed_setpoint: Setpoint | None = None  # the setpoint packed there
        self._stopped = (0.0,) * airframe.rotors.count
        self._lockstep = lockstep
        self._in = MavlinkIn(self.counters)
        self._out = ActuatorsOut(self.counters, SYSTEM + number, COMPONENT)
        self._motors = self._stopped
        self._changes = -1  # of the parameters in the law's gains
        self._setpoint: Setpoint | None = None
        self._well: list[bool] = []
        self._sensor_health = SensorHealth()
        self.decided_ns = 0  # time of the last step of the flight logic
        self._accel_B: Vec3 | None = None
        self._rate_B: Vec3 | None = None
        self._field_B_T: Vec3 | None = None
        self._barometer: BarometerSample | None = None
        self._fix: HilFix | None = None
        self.attitude: tuple[float, ...] | None = None  # setpoint of the inner loop: roll, pitch, yaw, thrust ratio
        self.law_not_finite = 0
        self.dead_rotor = 0  # its number from 1; 0: none
        self.fixes = 0  # number received
        self.t_ns = 0
        self._answers: list[bytes] = []  # to be sent, in order
        self._others: Callable[[Frame], None] | None = None  # handler of messages that are not the simulator's

    @property
    def status(self) -> Status:
        return self.logic.status

    @property
    def estimate(self) -> NavEstimate | None:
        return self.navigation.estimate

    def telemetry_hz(self, message: int) -> float:
        """The default rate of a message to ground stations."""
        return next((row.rate_Hz for row in STREAMS if row.msg_id == message), 0.0)

    def first_messages(self) -> bytes:
        """An autopilot sends first: the simulator waits for it."""
        return b"".join(map(self._out.pack, greeting()))

    def serve_on_hil_link(self, link: int, others: Callable[[Frame], None]) -> Callable[[bytes], None]:
        """A ground link shares the HIL link: one numbering for both, and `others` gets what is not the simulator's.
        Returns how to send there: after the answers so far."""
        self.services.links[link].number_by(self._out)
        self._others = others
        self._in.gaps_of = SIMULATOR_COMPONENT  # of ground stations not every message comes here
        return self._answers.append

    def receive(self, chunk: bytes, step: Callable[[int], None]) -> bytes:
        """Handle the simulator's messages; returns the answers. `step` is called with the time of each sample."""
        answers = self._answers
        for frame in self._in.feed(chunk):
            sample = self.sensors.sample(frame)
            if sample is not None:
                self._take(sample)
                answers.append(self.run(sample.t_ns))
                step(sample.t_ns)
                continue
            self._take_slow(frame)
        joined = b"".join(answers)
        answers.clear()
        return joined

    def take(self, chunk: bytes) -> int:
        """Handle the simulator's messages, for an autopilot with its own clock: the estimator uses them; returns the
        number of samples."""
        samples = 0
        for frame in self._in.feed(chunk):
            sample = self.sensors.sample(frame)
            if sample is not None:
                samples += 1
                self._take(sample)
                continue
            self._take_slow(frame)
        return samples

    def run(self, t_ns: int) -> bytes:
        """Flight logic and control law at this time; returns the actuators."""
        self.t_ns = t_ns
        if t_ns - self.decided_ns >= LOGIC_PERIOD_NS:
            self._decide(t_ns)
        setpoint = self._setpoint
        if setpoint is None:
            if self._packed_setpoint is not None:
                self._motors, self.attitude, self._packed_setpoint = self._stopped, None, None
                self._learnt[:] = 0.0  # the law's integrators belong to the flight that has ended
                if self._watch is not None:
                    self._watch.forget()
        elif self.navigation.aligned:  # without an estimate the last command is held until the flight logic gives up
            self._control(setpoint)
        return self._out.actuators(t_ns, self._motors, armed=setpoint is not None, lockstep=self._lockstep)

    def _decide(self, t_ns: int) -> None:
        dt_s = (t_ns - self.decided_ns) / NS
        self.decided_ns = t_ns
        navigation = self.navigation
        self._setpoint = self.logic.step(
            t_ns, navigation.estimate, navigation.origin, self._health(t_ns), self._motors, dt_s
        )

    def _take(self, sample: HilSample) -> None:
        t_ns, accel_B, rate_B, field_B_T, barometer, _ = sample
        if rate_B is not None and accel_B is not None:
            self._rate_B, self._accel_B = rate_B, accel_B
            self.navigation.imu(t_ns, rate_B, accel_B)
        if field_B_T is not None:
            self._field_B_T = field_B_T
            self.navigation.magnetometer(t_ns, field_B_T)
        if barometer is not None:
            self._barometer = barometer
            self.navigation.barometer(t_ns, barometer.altitude_m)

    def _take_slow(self, frame: Frame) -> None:
        """A message that is no HIL_SENSOR."""
        fix = self.sensors.fix(frame)
        if fix is not None:
            self._take_fix(fix)
        elif frame.component != SIMULATOR_COMPONENT:
            if self._others is not None:
                self._others(frame)
        elif (battery := self.sensors.battery(frame)) is not None:
            volts, amperes, used_mAh = battery.voltage_V, battery.current_A, battery.used_Ah * 1000
            self.logic.measure_battery(Battery(volts, amperes, battery.remaining, used_mAh))

    def _take_fix(self, fix: HilFix) -> None:
        self._fix = fix
        self.fixes += 1
        self.navigation.gnss(
            fix.t_ns, fix.lat_deg, fix.lon_deg, fix.alt_m, fix.vel_W, fix.eph_m, fix.epv_m, fix.fix_type >= FIX_3D
        )

    def _control(self, setpoint: Setpoint) -> None:
        if self.parameters.changes != self._changes:
            self._changes = self.parameters.changes
            self._gains[:] = [self.parameters.get(gain.name) for gain in GAINS]
        if setpoint is not self._packed_setpoint:
            self._packed_setpoint = setpoint
            _pack_setpoint(self._setpoint_input.data, 0, *setpoint.row())
        if self._watch is not None:
            self._look_at_rotors(self._watch)
        self._law.run()
        motors = self._unpack_commands(self._commands)
        if not math.isfinite(sum(motors)) or math.isnan(self._unclipped[0]):
            self.law_not_finite += 1  # the last command is held, and the law's memory is reset
            self._learnt[:] = 0.0
            return
        self._motors = motors
        self.attitude = _unpack_attitude(self._attitude)
        self._learns[:] = self._has_learnt

    def _look_at_rotors(self, watch: RotorWatch) -> None:
        """Continue without a failed rotor; later deviations are attributed to it."""
        if self._rate_B is None or self._accel_B is None or self.dead_rotor:
            return
        dead = watch.step(self._rate_B, self._accel_B, self._motors)
        if dead is not None and self.logic.airborne:
            self.dead_rotor = dead + 1
            self._lost[:] = self.dead_rotor
            self.logic.send_text(Severity.CRITICAL, f"Rotor {self.dead_rotor} has failed: flying without it")

    def _health(self, t_ns: int) -> SensorHealth:
        heard_ns, never_ns = self.navigation.heard_ns.get, -3600 * NS
        well = [t_ns - heard_ns(name, never_ns) < fresh_ns for name, fresh_ns in FRESH_NS]
        if well != self._well:
            self._well, self._sensor_health = well, SensorHealth(*well)
        return self._sensor_health

    def _read(self) -> Readings:
        setpoint = self.attitude
        return Readings(
            accel_B=self._accel_B,
            rate_B=self._rate_B,
            field_B_T=self._field_B_T,
            barometer=self._barometer,
            fix=self._fix,
            motors=self._motors,
            attitude=(setpoint[0], setpoint[1], setpoint[2], setpoint[3]) if setpoint else None,
        )
