"""The strict peer is satisfied by a sound flight and says what is wrong with each unsound one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pygeomag import GeoMag

from aeroloop.core.frames import Vec3, body_from_euler_rates, quat_from_euler
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.protocols.mavlink_hil import (
    ActuatorEnd,
    Actuators,
    BarometerSample,
    HilFix,
    HilSample,
    HilTruth,
    heartbeat,
    hil_gps,
    hil_sensor,
    hil_state_quaternion,
)
from aeroloop.protocols.px4_lockstep import Px4Lockstep
from peers.px4_peer import Expected, Px4Peer, armed_from

LAT_DEG, LON_DEG, ALT_M = 47.397742, 8.545594, 488.0
TAKE_OFF_S, CLIMB_S, END_S = 4.0, 6.0, 11.0
PEAK_W = (6.0, 8.0, 10.0)
EARTH_M = 6.371e6

Break = Callable[[Any], Any]
"""Changes a message on its way to the peer; None loses it."""


def climb(t_s: float) -> tuple[Vec3, Vec3, Vec3]:
    """Position, velocity and acceleration of a climb that begins and ends at rest."""
    s = min(1.0, max(0.0, (t_s - TAKE_OFF_S) / CLIMB_S))
    way = s**3 * (10 - 15 * s + 6 * s * s)
    speed = 30 * s * s * (1 - s) ** 2 / CLIMB_S
    change = 60 * s * (1 - s) * (1 - 2 * s) / CLIMB_S**2
    pos, vel, acc = (tuple(k * p for p in PEAK_W) for k in (way, speed, change))
    return pos, vel, acc  # type: ignore[return-value]


def attitude(t_s: float) -> tuple[Vec3, Vec3]:
    """Euler angles and their rates: level on the ground, nodding and turning in the air."""
    t = max(0.0, t_s - TAKE_OFF_S)
    angles = (0.2 * (1 - math.cos(t)), 0.15 * (1 - math.cos(1.3 * t)), 0.7 + 0.4 * (t - math.sin(t)))
    return angles, (0.2 * math.sin(t), 0.15 * 1.3 * math.sin(1.3 * t), 0.4 * (1 - math.cos(t)))


def matrix_WB(roll: float, pitch: float, yaw: float) -> Any:
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def isa(alt_m: float) -> BarometerSample:
    temperature_K = 288.15 - 0.0065 * alt_m
    return BarometerSample(101325 * (temperature_K / 288.15) ** 5.25588, alt_m, temperature_K)


def place(pos_W: Vec3) -> tuple[float, float]:
    east_m_per_rad = EARTH_M * math.cos(math.radians(LAT_DEG))
    return LAT_DEG + math.degrees(pos_W[1] / EARTH_M), LON_DEG + math.degrees(pos_W[0] / east_m_per_rad)


def flight(
    rate_Hz: int, hitl: bool = False, gnss_latency_s: float = 0.0, gnss_noise: float = 1.0
) -> Iterator[tuple[int, list[Any]]]:
    """Simulated time in us and the messages of each step: a sound simulator's."""
    noise = np.random.default_rng(7)
    f = GeoMag().calculate(LAT_DEG, LON_DEG, ALT_M / 1000, 2026.0)
    field_W_T = np.array([f.y, f.x, -f.z]) * 1e-9
    slow, gnss = rate_Hz // 50, rate_Hz // 10
    for step in range(1, int(END_S * rate_Hz)):
        t_ns = step * 1_000_000_000 // rate_Hz
        t_s = t_ns * 1e-9
        pos, vel, acc = climb(t_s)
        angles, turning = attitude(t_s)
        R_WB = matrix_WB(*angles)
        accel_B = R_WB.T @ np.array([acc[0], acc[1], acc[2] + 9.81]) + noise.normal(0, 0.05, 3)
        rate_B = np.array(body_from_euler_rates(*angles[:2], *turning)) + noise.normal(0, 0.005, 3)
        field_B_T = R_WB.T @ field_W_T + noise.normal(0, 3e-7, 3)
        air = isa(ALT_M + pos[2] + noise.normal(0, 0.15))
        new_slow = step % slow == 0
        messages = [
            hil_sensor(
                HilSample(
                    t_ns,
                    tuple(accel_B.tolist()),
                    tuple(rate_B.tolist()),
                    tuple(field_B_T.tolist()) if new_slow else None,
                    air if new_slow else None,
                )
            )
        ]
        if step % gnss == 0 and t_s > 3:
            pos, vel, _ = climb(t_s - gnss_latency_s)
            shaken = tuple((np.array(vel) + noise.normal(0, 0.05 * gnss_noise, 3)).tolist())
            alt_m = ALT_M + pos[2] + noise.normal(0, 0.2 * gnss_noise)
            messages.append(hil_gps(HilFix(t_ns, *place(pos), alt_m, shaken, 0.3, 0.4, 10)))
        if hitl:
            if step % rate_Hz == 1:
                messages.append(heartbeat())
        elif step % slow == 0:
            truth = HilTruth(
                t_ns, quat_from_euler(*angles), (0, 0, 0), *place(pos), ALT_M + pos[2], vel, (0, 0, 0), 0, 0
            )
            messages.append(hil_state_quaternion(truth, hitl=False))
        yield t_ns // 1000, messages


class Simulator:
    """Our end, as thin as can be: lockstep, and a fault on the way out."""

    def __init__(self, peer: Px4Peer, broken: Break) -> None:
        self.peer = peer
        self.lockstep = Px4Lockstep()
        self.counters = MavlinkCounters()
        self.commands: list[Actuators] = []
        self._out = MavlinkOut(self.counters, 1, 200)
        self._in = MavlinkIn(self.counters, system=1)
        self._actuators = ActuatorEnd(frozenset(range(4)))
        self._broken = broken

    def pack(self, messages: list[Any]) -> bytes:
        whole = (self._broken(m) for m in messages)
        return b"".join(self._out.pack(m) for m in whole if m is not None)

    def read(self, answer: bytes) -> None:
        for frame in self._in.feed(answer):
            if command := self._actuators.accept(frame):
                self.commands.append(command)
                self.lockstep.answered(command.time_usec, command.lockstep)

    def fly(self, rate_Hz: int) -> None:
        self.read(self.peer.connect())
        for t_us, messages in flight(rate_Hz):
            chunk = self.pack(messages)
            waits = self.lockstep.sent(t_us)
            self.read(self.peer.receive(chunk))
            assert not waits or not self.lockstep.waiting, f"deadlock at {t_us} us"


def sitl_peer(**settings: Any) -> Px4Peer:
    return Px4Peer(command=armed_from(int(TAKE_OFF_S * 1e6)), home_deg=(LAT_DEG, LON_DEG), **settings)


def fly(broken: Break = lambda m: m, rate_Hz: int = 250, **settings: Any) -> Simulator:
    """A whole flight; the fault does not stop our end, so that the peer sees all of it."""
    simulator = Simulator(sitl_peer(expected=Expected(sensor_Hz=rate_Hz), **settings), broken)
    simulator.fly(rate_Hz)
    simulator.peer.finish()
    return simulator


def edit(kind: str, **changes: Callable[[Any], Any]) -> Break:
    """Changes fields of one kind of message; groups that carry no new sample stay as they are."""

    def apply(message: Any) -> Any:
        if message.get_type() == kind:
            for name, change in changes.items():
                setattr(message, name, change(message))
        return message

    return apply


@pytest.mark.parametrize("rate_Hz", [250, 500, 1000])
def test_a_sound_flight_satisfies_it_without_deadlock(rate_Hz: int) -> None:
    simulator = fly(rate_Hz=rate_Hz)
    peer = simulator.peer
    assert peer.complaints == []
    assert peer.samples == int(END_S * rate_Hz) - 1
    assert simulator.lockstep.locked
    assert simulator.lockstep.ratio == rate_Hz // 250
    assert abs(peer.answers - peer.samples / (rate_Hz / 250)) < 20
    assert not simulator.commands[0].armed
    assert simulator.commands[0].controls == (0.0,) * 16
    assert simulator.commands[-1].armed
    assert simulator.commands[-1].controls[:5] == (pytest.approx(0.6),) * 4 + (0.0,)
    assert simulator.counters.lost == simulator.counters.skipped_bytes == 0


def test_an_ordinary_receiver_does_not_upset_it() -> None:
    """Fixes that are late without saying so and three times as noisy."""
    peer = sitl_peer()
    simulator = Simulator(peer, lambda m: m)
    for _, messages in flight(250, gnss_latency_s=0.15, gnss_noise=3.0):
        peer.receive(simulator.pack(messages))
    assert peer.finish() == []


def test_it_begins_like_px4_and_answers_nothing_at_first() -> None:
    peer = sitl_peer(silent_samples=13)
    frames = MavlinkIn(MavlinkCounters()).feed(peer.connect())
    assert sorted(f.message().get_type() for f in frames) == ["COMMAND_LONG", "HEARTBEAT"]
    simulator = Simulator(peer, lambda m: m)
    answers = [
        peer.receive(simulator.pack(messages)) for _, messages in zip(range(20), flight_messages(), strict=False)
    ]
    assert [bool(a) for a in answers] == [False] * 13 + [True] * 7


def flight_messages() -> Iterator[list[Any]]:
    return (messages for _, messages in flight(250))


def test_a_sound_hitl_flight_satisfies_it() -> None:
    peer = Px4Peer(hitl=True, command=armed_from(int(TAKE_OFF_S * 1e6)))
    simulator = Simulator(peer, lambda m: m)
    for t_us, messages in flight(250, hitl=True):
        simulator.read(peer.receive(simulator.pack(messages), now_us=7_000_000_000 + t_us))
    assert peer.finish() == []
    assert len(simulator.commands) == pytest.approx(200 * END_S, abs=2)
    assert not any(command.lockstep for command in simulator.commands)


def test_ground_truth_in_hitl_is_refused() -> None:
    peer = Px4Peer(hitl=True)
    simulator = Simulator(peer, lambda m: m)
    for t_us, messages in zip(range(4000, 100_000, 4000), flight_messages(), strict=False):
        peer.receive(simulator.pack(messages), now_us=t_us)
    assert [c for c in peer.complaints if "HIL_STATE_QUATERNION" in c]


def at(t_s: float, change: Callable[[Any], Any]) -> Break:
    return lambda m: change(m) if hasattr(m, "time_usec") and m.time_usec >= t_s * 1e6 else m


def shift(us: int) -> Callable[[Any], Any]:
    def apply(message: Any) -> Any:
        message.time_usec += us
        return message

    return apply


def drop(kind: str, keep: Callable[[Any], bool] = lambda m: False) -> Break:
    return lambda m: m if m.get_type() != kind or keep(m) else None


def constant(kind: str, **values: float) -> Break:
    return edit(kind, **{name: (lambda m, value=value: value) for name, value in values.items()})


def flipped(*names: str) -> Break:
    """FLU where FRD is due."""
    return edit("HIL_SENSOR", **{name: (lambda m, name=name: -getattr(m, name)) for name in names})


def scaled(kind: str, factor: float, *names: str) -> Break:
    as_integer = kind == "HIL_GPS"

    def times(message: Any, name: str) -> float:
        value = getattr(message, name) * factor
        return round(value) if as_integer else value

    return edit(kind, **{name: (lambda m, name=name: times(m, name)) for name in names})


def pushed(acceleration_m_s2: float, from_s: float) -> Break:
    """GNSS claims a climb that the accelerometer does not feel; its own position goes along."""

    def apply(message: Any) -> Any:
        t = message.time_usec * 1e-6 - from_s
        if t > 0:
            message.vd -= round(acceleration_m_s2 * t * 100)
            message.alt += round(acceleration_m_s2 * t * t / 2 * 1000)
        return message

    return lambda m: apply(m) if m.get_type() == "HIL_GPS" else m


def mask(change: Callable[[int], int]) -> Break:
    return edit("HIL_SENSOR", fields_updated=lambda m: change(m.fields_updated))


def with_baro(change: Callable[[Any], Any]) -> Break:
    return lambda m: change(m) if m.get_type() == "HIL_SENSOR" and m.fields_updated & 0x200 else m


def higher(by_m_s: float) -> Callable[[Any], Any]:
    """A barometer that climbs on its own."""

    def apply(message: Any) -> Any:
        air = isa(message.pressure_alt + by_m_s * message.time_usec * 1e-6)
        message.abs_pressure, message.pressure_alt = air.pressure_Pa / 100, air.altitude_m
        return message

    return apply


FAULTS: dict[str, tuple[Break, str]] = {
    "clock starts at the epoch": (shift(1_700_000_000_000_000), "not near zero"),
    "clock goes back": (at(5.0, shift(-1_000_000)), "went back"),
    "clock jumps": (at(5.0, shift(500_000)), "jumped by 504000 us"),
    "GNSS ahead of the clock": (edit("HIL_GPS", time_usec=lambda m: m.time_usec + 200_000), "PX4's clock says"),
    "pressure in Pa": (with_baro(scaled("HIL_SENSOR", 100, "abs_pressure")), "is not hPa (Pa?)"),
    "temperature in kelvin": (with_baro(edit("HIL_SENSOR", temperature=lambda m: m.temperature + 273.15)), "kelvin?"),
    "magnetometer in tesla": (scaled("HIL_SENSOR", 1e-4, "xmag", "ymag", "zmag"), "not gauss (tesla?)"),
    "accelerometer in g": (scaled("HIL_SENSOR", 1 / 9.81, "xacc", "yacc", "zacc"), "not about 9.81"),
    "gyro in deg/s": (scaled("HIL_SENSOR", 57.3, "xgyro", "ygyro", "zgyro"), "does not turn as the gyro says"),
    "all in FLU": (flipped("yacc", "zacc", "ygyro", "zgyro", "ymag", "zmag"), "(FLU?)"),
    "gyro in FLU": (flipped("ygyro", "zgyro"), "does not turn as the gyro says"),
    "magnetometer in FLU": (flipped("ymag", "zmag"), "inclination or axes are wrong"),
    "mask with half a group": (mask(lambda bits: bits & ~0x1000), "only part of the barometer's bits"),
    "mask without gyro": (mask(lambda bits: bits & ~0x38), "must be new in every HIL_SENSOR"),
    "mask with unknown bits": (mask(lambda bits: bits | 1 << 20), "mean nothing"),
    "second sensor set": (constant("HIL_SENSOR", id=1), "not 0"),
    "slow sensors in every message": (mask(lambda bits: bits | 0x1C0), "The magnetometer came at 250.0 Hz"),
    "no barometer": (mask(lambda bits: bits & ~0x1A00), "The barometer came at 0.0 Hz"),
    "constant barometer": (
        with_baro(constant("HIL_SENSOR", abs_pressure=955.9, pressure_alt=488.0, temperature=11.8)),
        "The barometer gives constant data",
    ),
    "constant magnetometer": (
        constant("HIL_SENSOR", xmag=0.2, ymag=0.1, zmag=0.43),
        "magnetometer gives constant data",
    ),
    "pressure altitude of another place": (
        with_baro(edit("HIL_SENSOR", pressure_alt=lambda m: m.pressure_alt + 100)),
        " m, but 95",
    ),
    "no GNSS": (drop("HIL_GPS"), "No HIL_GPS ever came"),
    "GNSS at 5 Hz instead of 10": (
        drop("HIL_GPS", lambda m: m.time_usec // 100_000 % 2 == 0),
        "The GNSS came at 5.0 Hz",
    ),
    "half the samples": (
        drop("HIL_SENSOR", lambda m: m.time_usec // 4000 % 2 == 0),
        "The accelerometer came at 125.0 Hz",
    ),
    "GNSS in degrees": (scaled("HIL_GPS", 1e-7, "lat", "lon"), "look like degrees"),
    "GNSS in degE6": (scaled("HIL_GPS", 0.1, "lat", "lon"), "km from home"),
    "GNSS altitude in m": (scaled("HIL_GPS", 1e-3, "alt"), "alt is not mm?"),
    "GNSS velocity in m/s": (scaled("HIL_GPS", 1e-2, "vn", "ve", "vd", "vel"), "position and velocity disagree"),
    "GNSS speed without its parts": (edit("HIL_GPS", vel=lambda m: m.vel + 100), "vn and ve make"),
    "GNSS course in radians": (edit("HIL_GPS", cog=lambda m: 1), "deg from vn and ve"),
    "no 3D fix": (constant("HIL_GPS", fix_type=2), "no 3D fix"),
    "eph in m": (constant("HIL_GPS", eph=0), "not the centimetres"),
    "GNSS east and north exchanged": (
        edit("HIL_GPS", lon=lambda m: round(2 * LON_DEG * 1e7) - m.lon),
        "position and velocity disagree",
    ),
    "GNSS climbs without acceleration": (pushed(2.0, 8.0), "The accelerometer felt"),
    "GNSS moves at rest": (edit("HIL_GPS", vn=lambda m: m.vn + 300), "while the aircraft is at rest"),
    "barometer climbs alone": (with_baro(higher(2.0)), "have drifted apart"),
    "magnetometer of another place": (scaled("HIL_SENSOR", 0.75, "xmag", "ymag", "zmag"), "at this place it should be"),
    "field of the equator": (
        edit("HIL_SENSOR", xmag=lambda m: 0.48 + m.xmag * 0.02, ymag=lambda m: m.ymag * 0.02, zmag=lambda m: 0.0),
        "inclination or axes are wrong",
    ),
    "accelerometer not finite": (
        constant("HIL_SENSOR", xacc=math.nan),
        "accelerometer gives values that are not finite",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_gets_its_complaint(fault: str) -> None:
    broken, words = FAULTS[fault]
    complaints = fly_on(broken)
    assert any(words in c for c in complaints), complaints


def fly_on(broken: Break) -> list[str]:
    """Without our own guards: they would stop some of these faults before the peer sees them."""
    peer = sitl_peer()
    simulator = Simulator(peer, broken)
    for messages in flight_messages():
        peer.receive(simulator.pack(messages))
    return peer.finish()


def test_gnss_before_the_first_sensor_is_out_of_order() -> None:
    peer = sitl_peer()
    simulator = Simulator(peer, lambda m: m)
    peer.receive(simulator.pack([hil_gps(HilFix(4_000_000, LAT_DEG, LON_DEG, ALT_M, (0, 0, 0), 0.3, 0.4, 10))]))
    assert "before the first HIL_SENSOR" in peer.complaints[0]


def test_two_samples_at_once_are_out_of_order_once_locked() -> None:
    peer = sitl_peer()
    simulator = Simulator(peer, lambda m: m)
    steps = flight_messages()
    for _ in range(60):
        peer.receive(simulator.pack(next(steps)))
    assert peer.complaints == []
    peer.receive(simulator.pack(next(steps)) + simulator.pack(next(steps)))
    assert "does not wait" in peer.complaints[0]


@pytest.mark.parametrize("patient", [True, False])
def test_an_answer_held_back_shows_who_waits(patient: bool) -> None:
    peer = sitl_peer(hold_answer_of_sample=30)
    simulator = Simulator(peer, lambda m: m)
    steps = flight_messages()
    while not peer.holding:
        peer.receive(simulator.pack(next(steps)))
    if patient:
        assert peer.release()
    peer.receive(simulator.pack(next(steps)))
    assert bool(peer.complaints) != patient


def test_garbage_and_lost_frames_are_complaints() -> None:
    peer = sitl_peer()
    simulator = Simulator(peer, lambda m: m)
    steps = flight_messages()
    peer.receive(simulator.pack(next(steps)))
    simulator.pack(next(steps))
    peer.receive(simulator.pack(next(steps)))
    assert "frames are missing" in peer.complaints[0]
    peer.receive(b"garbage" + simulator.pack(next(steps)))
    assert "no MAVLink frame" in peer.complaints[-1]


def test_silence_is_a_complaint() -> None:
    assert sitl_peer().finish() == ["0.000 s: No HIL_SENSOR ever came."]


def test_a_sparse_heartbeat_in_hitl_is_a_complaint() -> None:
    peer = Px4Peer(hitl=True)
    simulator = Simulator(peer, drop("HEARTBEAT"))
    for t_us, messages in flight(250, hitl=True):
        peer.receive(simulator.pack(messages), now_us=t_us)
    assert any("No HEARTBEAT" in c for c in peer.finish())
