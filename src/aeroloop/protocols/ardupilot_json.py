"""ArduPilot's JSON interface to an external simulator: servo packets in, one line of JSON out; no I/O.

    servo packet   u16 magic, u16 frame_rate, u32 frame_count, u16 pwm[16 or 32]; little-endian, no padding
    answer         newline, compact JSON, newline

ArduPilot finds a key of the answer by its first text match and reads what follows it with a fixed format: a blank after
a colon, `velocity_wind` before `velocity` or a missing key is not read. Such answers stay in its buffer of 65000 bytes
until it reads none at all, and a NaN ends it. So there is one writer with one format, and it checks its numbers.

Inside: SI, ENU, FLU. On the wire: NED, FRD.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import NamedTuple

from aeroloop.core.frames import Quat, Vec3, ned_from_enu, quat_ned_frd_from_enu_flu

PORT = 9002
PORT_STEP = 10
"""Instance n of ArduPilot sends to port 9002 + 10 n."""
LEAST_RATIO = 1.8
"""It does not arm while it gets fewer answers than this for each cycle of its main loop."""
LONGEST_STEP_NS = 50_000_000
"""Between two timestamps: its own clock advances by whatever the difference is."""
RANGES = 6

_HEAD = struct.Struct("<HHI")
_PACKETS = {
    _HEAD.size + 2 * channels: (magic, struct.Struct(f"<HHI{channels}H"))
    for magic, channels in ((18458, 16), (29569, 32))
}
LARGEST_B = max(_PACKETS)

_VECTOR = "[%.9g,%.9g,%.9g]"
_REQUIRED = (
    '\n{"timestamp":%.9f,"imu":{"gyro":' + _VECTOR + ',"accel_body":' + _VECTOR + '},"position":' + _VECTOR
    + ',"quaternion":[%.9g,%.9g,%.9g,%.9g],"velocity":' + _VECTOR
)  # fmt: skip
_AIR = ',"airspeed":%.9g,"velocity_wind":' + _VECTOR
_END = "}\n"


class ServoPacket(NamedTuple):
    """What ArduPilot sends in each of its frames."""

    frame_rate: int  # Hz that it wishes for
    frame_count: int  # rises by one for each accepted answer
    pwm: tuple[int, ...]  # us, 16 or 32 channels; 0 for no pulse


@dataclass(slots=True)
class ServoCounters:
    packets: int = 0
    wrong_size: int = 0
    wrong_magic: int = 0


class ServoIn:
    """Reads servo packets; what is none of them is counted and ignored."""

    def __init__(self) -> None:
        self.counters = ServoCounters()

    def read(self, datagram: bytes) -> ServoPacket | None:
        kind = _PACKETS.get(len(datagram))
        if kind is None:
            self.counters.wrong_size += 1
            return None
        magic, layout = kind
        found, rate, count, *pwm = layout.unpack(datagram)
        if found != magic:
            self.counters.wrong_magic += 1
            return None
        self.counters.packets += 1
        return ServoPacket(rate, count, tuple(pwm))


class AnswerState(NamedTuple):
    """What an answer tells; ENU and FLU."""

    t_ns: int
    rate_B: Vec3  # rad/s, of the IMU
    accel_B: Vec3  # m/s2, specific force of the IMU
    pos_W: Vec3  # m from home
    quat_WB: Quat
    vel_W: Vec3  # m/s
    wind_W: Vec3 = (0.0, 0.0, 0.0)
    airspeed_m_s: float | None = None  # None: ArduPilot takes the speed over ground, whatever the wind
    ranges_m: tuple[float, ...] = ()  # of range finders 1..6


def answer(state: AnswerState) -> bytes:
    """The datagram; ValueError for a state that would end ArduPilot or that it would not read."""
    t_ns, rate_B, accel_B, pos_W, quat_WB, vel_W, wind_W, airspeed_m_s, ranges_m = state
    p, q, r = rate_B
    ax, ay, az = accel_B
    position, velocity = ned_from_enu(pos_W), ned_from_enu(vel_W)
    numbers: tuple[float, ...] = (
        p, -q, -r, ax, -ay, -az, *position, *quat_ned_frd_from_enu_flu(quat_WB), *velocity,
    )  # fmt: skip
    text = _REQUIRED
    if airspeed_m_s is not None:
        text += _AIR
        numbers = (*numbers, airspeed_m_s, *ned_from_enu(wind_W))
    if ranges_m:
        if len(ranges_m) > RANGES:
            raise ValueError(f"ArduPilot reads {RANGES} range finders, not {len(ranges_m)}")
        text += "".join(f',"rng_{number}":%.9g' for number in range(1, len(ranges_m) + 1))
        numbers += ranges_m
    if not math.isfinite(sum(numbers)) and not all(map(math.isfinite, numbers)):
        raise ValueError(f"NaN or infinity in an answer, which would end ArduPilot: {state}")
    if t_ns < 0:
        raise ValueError(f"ArduPilot's clock starts at 0; timestamp {t_ns} ns")
    return (text % (t_ns / 1e9, *numbers) + _END).encode("ascii")
