"""A PX4 SITL for planes in tests of the whole bench: `Px4PlanePeer` on PX4's links.

TCP   to the bench: HIL_SENSOR in, HIL_ACTUATOR_CONTROLS out, in lockstep
UDP   to a ground station's port: heartbeat, attitude, positions and state out; commands and parameters in
"""

from __future__ import annotations

import math
import socket
import threading
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from peers.px4_plane import EARTH_M, Px4PlanePeer
from peers.px4_standin import GUARD_S, connect

SERVICE_US = 20_000
BEAT_US = 500_000
AUTO, TAKEOFF, LOITER = 4, 2, 3
"""PX4's main mode and two of its sub modes."""


class PlaneStandIn(threading.Thread):
    def __init__(self, port: int, telemetry_port: int) -> None:
        super().__init__(daemon=True)
        self.peer = Px4PlanePeer()
        self.heard: list[tuple[float, int]] = []  # simulated time and number of each command
        self.parameters = {"MIS_TAKEOFF_ALT": 30.0}
        self._port, self._ground = port, ("127.0.0.1", telemetry_port)
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.setblocking(False)
        self._in, self._out = mavlink.MAVLink(None), mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
        self._in.robust_parsing = True
        self._served_us = self._beat_us = 0

    def run(self) -> None:
        with connect(self._port) as line:
            line.sendall(self.peer.connect())
            try:
                while chunk := line.recv(65536):
                    line.sendall(self.peer.receive(chunk))
                    self._serve()
            except OSError:
                pass

    def stop(self) -> list[str]:
        """Its complaints."""
        self.join(GUARD_S)
        self._udp.close()
        return self.peer.finish()

    def _serve(self) -> None:
        if self.peer.time_usec < self._served_us:
            return
        self._served_us = self.peer.time_usec + SERVICE_US
        out = b"".join(map(self._packed, self._answers()))
        if self.peer.time_usec >= self._beat_us:
            self._beat_us = self.peer.time_usec + BEAT_US
            out += b"".join(map(self._packed, self._state()))
        out += b"".join(map(self._packed, self._estimate()))
        self._udp.sendto(out, self._ground)

    def _answers(self) -> list[Any]:
        answers = []
        while True:
            try:
                datagram = self._udp.recv(65536)
            except OSError:
                return answers
            for message in self._in.parse_buffer(datagram) or ():
                if message.get_type() == "COMMAND_LONG":
                    answers.append(mavlink.MAVLink_command_ack_message(message.command, self._obey(message)))
                elif message.get_type() == "PARAM_SET":
                    self.parameters[message.param_id] = message.param_value
                    known = message.param_id.encode(), message.param_value, message.param_type
                    answers.append(mavlink.MAVLink_param_value_message(*known, 1, 0))

    def _obey(self, message: Any) -> int:
        self.heard.append((self.peer.time_usec / 1e6, message.command))
        done = True
        if message.command == mavlink.MAV_CMD_COMPONENT_ARM_DISARM:
            done = self.peer.arm()
        elif message.command == mavlink.MAV_CMD_NAV_TAKEOFF:
            done = self.peer.take_off(self.parameters["MIS_TAKEOFF_ALT"])
        return int(mavlink.MAV_RESULT_ACCEPTED if done else mavlink.MAV_RESULT_TEMPORARILY_REJECTED)

    def _state(self) -> list[Any]:
        peer, flying = self.peer, self.peer.pilot.height_m > 3.0
        mode = AUTO << 16 | (TAKEOFF if peer.pilot.taking_off else LOITER) << 24
        base = 1 | (128 if peer.armed else 0)
        kinds = mavlink.MAV_TYPE_FIXED_WING, mavlink.MAV_AUTOPILOT_PX4
        return [
            mavlink.MAVLink_heartbeat_message(*kinds, base, mode, mavlink.MAV_STATE_ACTIVE, 3),
            mavlink.MAVLink_extended_sys_state_message(0, 2 if flying else 1),
        ]

    def _estimate(self) -> list[Any]:
        pilot, boot_ms = self.peer.pilot, self.peer.time_usec // 1000
        if not pilot.ready:
            return []
        half = pilot.roll / 2, pilot.pitch / 2, pilot.yaw / 2
        (cr, cp, cy), (sr, sp, sy) = map(math.cos, half), map(math.sin, half)
        quat = (
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        )
        # A fix is old when it comes: an estimate says where the aircraft is now.
        moved_m = pilot.ground_vel_N[:2] * pilot.age_s(self.peer.time_usec)
        north, east = pilot.place_m + moved_m
        lat_deg = pilot.lat_deg + math.degrees(moved_m[0] / EARTH_M)
        lon_deg = pilot.lon_deg + math.degrees(moved_m[1] / EARTH_M / math.cos(math.radians(pilot.lat_deg)))
        lat, lon = round(lat_deg * 1e7), round(lon_deg * 1e7)
        alt_mm, above_mm = round(pilot.alt_m * 1e3), round(pilot.height_m * 1e3)
        moving = [round(100 * v) for v in pilot.ground_vel_N]
        return [
            mavlink.MAVLink_attitude_quaternion_message(boot_ms, *quat, *pilot.rate),
            mavlink.MAVLink_global_position_int_message(boot_ms, lat, lon, alt_mm, above_mm, *moving, 65535),
            mavlink.MAVLink_local_position_ned_message(boot_ms, north, east, -pilot.height_m, *pilot.ground_vel_N),
        ]

    def _packed(self, message: Any) -> bytes:
        wire: bytes = message.pack(self._out)
        self._out.seq = (self._out.seq + 1) & 0xFF
        return wire
