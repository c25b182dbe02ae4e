"""What a companion computer knows of its autopilot, from MAVLink alone: pose at the time of an image, state, clock.

Times are those of the camera's frames in seconds. The autopilot's clock counts from its boot; TIMESYNC gives the
difference. Positions are in the autopilot's local frame, here with axes east, north, up.
"""

from __future__ import annotations

import math

from pymavlink.dialects.v20 import common as dialect

from aeroloop.cameras.pinhole import BodyPose, PoseHistory
from aeroloop.core.frames import Vec3, ned_from_enu
from aeroloop.core.frames import quat_ned_frd_from_enu_flu as quat_enu_flu
from aeroloop.core.signals import NS
from aeroloop.perception.offboard_landing import PX4_OFFBOARD
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, Message

KEPT_S = 2.0
STALE_S = 0.1
"""A pose is extrapolated by at most this much: the newest one is used."""
LEVEL, NOWHERE = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


class AutopilotView:
    def __init__(self, system: int) -> None:
        self._in = MavlinkIn(MavlinkCounters(), system)
        self._attitudes, self._positions = PoseHistory(), PoseHistory()
        self.boot_minus_frames_ns = 0  # the autopilot's clock minus that of the frames
        self._round_trip_ns: int | None = None
        self.vel_W: Vec3 = NOWHERE
        self.pos_W: Vec3 | None = None
        self.pos_s = -math.inf  # its time, on the clock of the frames
        self.landed = dialect.MAV_LANDED_STATE_UNDEFINED
        self.armed = False
        self.custom_mode = 0
        self.attitudes = 0  # messages received
        self.heard = False

    def receive(self, chunk: bytes, now_ns: int) -> list[Message]:
        """The messages, after they were noted; `now_ns`: on the clock of the frames."""
        messages = [frame.message() for frame in self._in.feed(chunk)]
        for message in messages:
            self._note(message, now_ns)
        return messages

    def pose_at(self, t_s: float) -> BodyPose | None:
        """As the autopilot estimates it; None if it is not known."""
        own_s = t_s + self.boot_minus_frames_ns / NS
        if min(self._attitudes.newest_s, self._positions.newest_s) < own_s - STALE_S:
            return None
        return BodyPose(t_s, self._positions.at(own_s).pos_W, self._attitudes.at(own_s).quat_WB)

    @property
    def landing(self) -> bool:
        return bool(self.landed == dialect.MAV_LANDED_STATE_LANDING)

    @property
    def on_ground(self) -> bool:
        return bool(self.landed == dialect.MAV_LANDED_STATE_ON_GROUND)

    @property
    def offboard(self) -> bool:
        """PX4's numbers: the main mode is the third byte."""
        return bool((self.custom_mode >> 16) & 0xFF == PX4_OFFBOARD[0])

    def _note(self, message: Message, now_ns: int) -> None:
        kind = message.get_type()
        if kind == "ATTITUDE_QUATERNION":
            quat = message.q1, message.q2, message.q3, message.q4
            if all(map(math.isfinite, quat)):
                self.attitudes += 1
                self._add(self._attitudes, BodyPose(message.time_boot_ms / 1e3, NOWHERE, quat_enu_flu(quat)))
        elif kind == "LOCAL_POSITION_NED":
            pos_W = ned_from_enu((message.x, message.y, message.z))
            vel_W = ned_from_enu((message.vx, message.vy, message.vz))
            if all(map(math.isfinite, (*pos_W, *vel_W))):
                self.pos_W, self.vel_W = pos_W, vel_W
                self.pos_s = message.time_boot_ms / 1e3 - self.boot_minus_frames_ns / NS
                self._add(self._positions, BodyPose(message.time_boot_ms / 1e3, pos_W, LEVEL))
        elif kind == "EXTENDED_SYS_STATE":
            self.landed = message.landed_state
        elif kind == "HEARTBEAT" and message.autopilot != dialect.MAV_AUTOPILOT_INVALID:
            self.heard = True
            self.armed = bool(message.base_mode & dialect.MAV_MODE_FLAG_SAFETY_ARMED)
            self.custom_mode = message.custom_mode
        elif kind == "TIMESYNC" and message.tc1:
            self._synchronise(message.tc1, message.ts1, now_ns)

    def _add(self, history: PoseHistory, row: BodyPose) -> None:
        history.add(row)
        history.forget(row.t_s - KEPT_S)

    def _synchronise(self, boot_ns: int, asked_ns: int, now_ns: int) -> None:
        """The answer with the shortest round trip counts; its half is the error at most."""
        round_trip_ns = now_ns - asked_ns
        if round_trip_ns >= 0 and (self._round_trip_ns is None or round_trip_ns <= self._round_trip_ns):
            self._round_trip_ns = round_trip_ns
            self.boot_minus_frames_ns = boot_ns - (asked_ns + now_ns) // 2
