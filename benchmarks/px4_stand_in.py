"""What takes PX4's place at a simulator's link: `python -m benchmarks.px4_stand_in PORT WORK_US`.

It answers every HIL_SENSOR in lockstep with equal throttle on four motors, after as much work as PX4 does in a cycle,
and speaks to any simulator: nothing of the bench is in it.
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import suppress

from pymavlink.dialects.v20 import common as mavlink

THROTTLE = 0.76
"""A little more than an Iris needs to hover, so that it climbs."""
ARMED = mavlink.MAV_MODE_FLAG_SAFETY_ARMED | mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
LOCKSTEP = 1  # HIL_ACTUATOR_CONTROLS_FLAGS_LOCKSTEP
HEADER, CHECKSUM = 10, 2  # bytes of a frame besides its payload
CONNECT_S = 60.0


def connected(port: int) -> socket.socket:
    deadline_s = time.monotonic() + CONNECT_S
    while True:
        try:
            line = socket.create_connection(("127.0.0.1", port))
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return line
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)


def main(port: int, work_us: float) -> None:
    line, out = connected(port), mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
    controls = [THROTTLE] * 4 + [0.0] * 12
    beat = mavlink.MAVLink_heartbeat_message(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, 1, 0, 3, 3)
    line.sendall(beat.pack(out))
    waiting = b""
    while chunk := line.recv(65536):
        woken_ns = time.perf_counter_ns()
        waiting += chunk
        while len(waiting) >= HEADER and len(waiting) >= (size := waiting[1] + HEADER + CHECKSUM):
            frame, waiting = waiting[:size], waiting[size:]
            if int.from_bytes(frame[7:10], "little") == mavlink.MAVLINK_MSG_ID_HIL_SENSOR:
                time_usec = int.from_bytes(frame[10:18], "little")
                answer = mavlink.MAVLink_hil_actuator_controls_message(time_usec, controls, ARMED, LOCKSTEP)
                packed = answer.pack(out)
                while time.perf_counter_ns() - woken_ns < work_us * 1000:
                    pass
                line.sendall(packed)
                out.seq = (out.seq + 1) & 0xFF


if __name__ == "__main__":
    with suppress(ConnectionError):  # the simulator has gone: its flight is over
        main(int(sys.argv[1]), float(sys.argv[2]))
