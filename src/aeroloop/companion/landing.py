"""The companion that lands on the pad: a frame in, MAVLink out.

    image ─▶ detector ─▶ pad in the autopilot's local frame ─▶ filter ─▶ LANDING_TARGET, or offboard setpoints

The pad's place is computed with the autopilot's own position and attitude at the time of the image: its drift then
cancels, since pad and aircraft are in the same wrong frame.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np
from pymavlink.dialects.v20 import common as dialect

from aeroloop.cameras.pinhole import BodyPose, camera_pose
from aeroloop.companion.autopilot_view import AutopilotView
from aeroloop.core.camera import Camera, CameraModel, fitted
from aeroloop.core.companion import Landing
from aeroloop.core.frames import Vec3, frd_from_flu, ned_from_enu
from aeroloop.core.signals import NS
from aeroloop.perception import offboard_landing as offboard
from aeroloop.perception.landing_filter import MOVING, FilterSettings, PadEstimate, update
from aeroloop.perception.landing_states import LandingSettings, State
from aeroloop.perception.opencv import opencv
from aeroloop.perception.pad import BOARD_M, Array, Image
from aeroloop.perception.pad_detector import Lens, Outcome, PadDetector, Sighting
from aeroloop.protocols.frames import Coding, Frame
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkOut, Message

RATE_HZ = 50
GROUPS = (dialect.MAV_DATA_STREAM_EXTRA1, dialect.MAV_DATA_STREAM_POSITION)
"""Attitude and position. Requested by REQUEST_DATA_STREAM, which takes command from nobody at a router; PX4 sends both
on its onboard link by itself."""
LEAST_ATTITUDES_HZ = 30.0
"""Fewer, and the rates are requested again."""
SECOND_NS = NS
STATES = tuple(State)


class Look(NamedTuple):
    """One frame, as the stream `landing` has it."""

    t_s: float
    number: int
    outcome: Outcome
    markers: int
    residual_px: float
    pad_W: Vec3  # as seen, in the autopilot's local frame
    estimate_W: Vec3  # filtered
    innovation_m: float
    accepted: bool
    distance_m: float  # from camera to pad
    landing: bool
    state: int
    sighting: Sighting
    own_W: Vec3  # the aircraft at the time of the image, in the autopilot's local frame


UNKNOWN: Vec3 = (math.nan, math.nan, math.nan)


class LandingCompanion:
    def __init__(
        self, camera: Camera, landing: Landing, *, scale: float, moving: bool, system: int, one_clock: bool
    ) -> None:
        """`one_clock`: the autopilot's clock is that of the frames, as in lockstep."""
        self._model: CameraModel = fitted(camera)
        self._landing, self._system, self._one_clock = landing, system, one_clock
        self._scale = scale
        self._detector: PadDetector | None = None  # made with the calibration of the first frame
        self.autopilot = AutopilotView(system)
        self._filter: FilterSettings = MOVING if moving else FilterSettings()
        self.estimate: PadEstimate | None = None
        self._out = MavlinkOut(MavlinkCounters(), system, dialect.MAV_COMP_ID_ONBOARD_COMPUTER)
        self._queue: list[Message] = []
        self._second_ns = -SECOND_NS
        self._attitudes = 0
        self._offboard = offboard.OffboardSettings(
            without=landing.without, rest_height_m=landing.rest_height_m, landing=_states(self._model)
        )
        self._flight: offboard.Flight | None = None  # landing by offboard setpoints
        self._seen: deque[bool] = deque(maxlen=self._offboard.landing.frames_of)
        self._sent_us = -1
        self.sent = 0  # landing targets

    def receive(self, chunk: bytes, now_ns: int) -> list[Message]:
        return self.autopilot.receive(chunk, now_ns)

    def step(self, now_ns: int, sent_ns: int | None = None) -> bytes:
        """What is to be sent, on the clock of the frames; `sent_ns`: when it will be, if later."""
        if self._landing.by == "companion":
            self._fly((now_ns if sent_ns is None else sent_ns) / NS)
        if now_ns - self._second_ns >= SECOND_NS:
            self._second_ns = now_ns
            self._each_second(now_ns)
        messages, self._queue = self._queue, []
        return b"".join(map(self._out.pack, messages))

    def look(self, frame: Frame) -> Look:
        """Find the pad in a frame, and queue what follows from it."""
        sighting = self._sight(frame)
        t_s = frame.t_ns / NS
        pose_W, pose = self.autopilot.pose_at(t_s), sighting.pose
        seen_W, accepted, innovation_m = UNKNOWN, False, math.nan
        if pose is not None and pose_W is not None:
            camera = camera_pose(pose_W, self._model)
            seen_W = _vec3(camera.pos_W + camera.R_WC @ pose.pos_C)
            height_m = float(camera.pos_W[2]) - seen_W[2]
            self.estimate, accepted, innovation_m = update(self.estimate, t_s, seen_W, height_m, self._filter)
            if accepted and self._landing.by == "autopilot":
                self._target(frame.t_ns, pose.pos_C)
        self._seen.append(accepted)
        return Look(
            t_s,
            frame.number,
            sighting.outcome,
            len(sighting.corners_px),
            math.nan if pose is None else pose.residual_px,
            seen_W,
            UNKNOWN if self.estimate is None else self.estimate.at(t_s),
            innovation_m,
            accepted,
            math.nan if pose is None else float(np.linalg.norm(pose.pos_C)),
            self.autopilot.landing or self.state >= 0,
            self.state,
            sighting,
            UNKNOWN if pose_W is None else pose_W.pos_W,
        )

    @property
    def state(self) -> int:
        """Number of the state of a landing by offboard setpoints; -1: the autopilot flies."""
        flight = self._flight
        if flight is None or flight.phase is not offboard.Phase.FLY:
            return -1
        return STATES.index(flight.memory.state)

    def _fly(self, t_s: float) -> None:
        """Take over when the autopilot begins to land, once a landing."""
        autopilot = self.autopilot
        if autopilot.on_ground and not autopilot.armed:
            self._flight = None
        if autopilot.pos_W is None:
            return
        own = offboard.Own(
            autopilot.pos_s, autopilot.pos_W, autopilot.vel_W, autopilot.armed, autopilot.offboard, autopilot.on_ground
        )
        if self._flight is None:
            if not (autopilot.landing and autopilot.armed):
                return
            expected_W = own.pos_W[:2] if self.estimate is None else self.estimate.at(t_s)[:2]
            self._flight = offboard.begin(t_s, own, expected_W, self._ground_z(own.pos_W))
        self._flight, setpoint, request = offboard.step(
            self._flight, t_s, own, self.estimate, tuple(self._seen), self._offboard
        )
        if setpoint is not None:
            boot_s = t_s + autopilot.boot_minus_frames_ns / NS
            self._queue.append(offboard.position_target(boot_s, setpoint, self._system))
        if request is not None:
            self._queue.append(offboard.command(request, self._system))

    def _ground_z(self, pos_W: Vec3) -> float:
        """The local frame begins on the ground; the pad's height is better where it is known."""
        return min(pos_W[2], 0.0) if self.estimate is None else self.estimate.z_W

    def _sight(self, frame: Frame) -> Sighting:
        if self._detector is None:
            self._detector = PadDetector(Lens(*frame.intrinsics_px, frame.distortion), scale=self._scale)
        return self._detector.look(grey(frame))

    def _target(self, t_ns: int, pos_C: Array) -> None:
        """LANDING_TARGET; its times rise."""
        time_us = (t_ns + self.autopilot.boot_minus_frames_ns) // 1000
        if self.estimate is None or time_us <= max(0, self._sent_us):
            return
        if self._landing.frame == "local_ned":
            frame, (x, y, z) = dialect.MAV_FRAME_LOCAL_NED, ned_from_enu(self.estimate.at(t_ns / NS))
        else:
            frame = dialect.MAV_FRAME_BODY_FRD
            x, y, z = frd_from_flu(in_body(self._model, pos_C))
        right, down, forward = (float(value) for value in pos_C)
        distance_m = float(np.linalg.norm(pos_C))
        size_rad = 2.0 * math.atan2(BOARD_M * self._scale / 2.0, distance_m)
        if not all(map(math.isfinite, (x, y, z, distance_m))):
            return
        angles = math.atan2(right, forward), math.atan2(down, forward)
        fiducial = dialect.LANDING_TARGET_TYPE_VISION_FIDUCIAL
        level = [1.0, 0.0, 0.0, 0.0]
        self._queue.append(
            dialect.MAVLink_landing_target_message(
                time_us, 0, frame, *angles, distance_m, size_rad, size_rad, x, y, z, level, fiducial, 1
            )
        )
        self._sent_us = time_us
        self.sent += 1

    def _each_second(self, now_ns: int) -> None:
        onboard, invalid = dialect.MAV_TYPE_ONBOARD_CONTROLLER, dialect.MAV_AUTOPILOT_INVALID
        self._queue.append(dialect.MAVLink_heartbeat_message(onboard, invalid, 0, 0, dialect.MAV_STATE_ACTIVE, 3))
        if not self._one_clock:
            self._queue.append(dialect.MAVLink_timesync_message(0, now_ns))
        received, self._attitudes = self.autopilot.attitudes - self._attitudes, self.autopilot.attitudes
        if received < LEAST_ATTITUDES_HZ:
            self._queue += [
                dialect.MAVLink_request_data_stream_message(self._system, 1, group, RATE_HZ, 1) for group in GROUPS
            ]


def _states(camera: CameraModel) -> LandingSettings:
    return LandingSettings(fov_rad=math.radians(camera.fovy_deg))


def grey(frame: Frame) -> Image:
    """The image of a frame in grey levels; raw frames and JPEG."""
    cv2 = opencv()
    width, height = frame.size_px
    if frame.coding == Coding.RAW:
        rgb = np.frombuffer(frame.rgb, np.uint8).reshape(height, width, 3)
        return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY))
    return np.asarray(cv2.imdecode(np.frombuffer(frame.rgb, np.uint8), cv2.IMREAD_GRAYSCALE))


def in_body(model: CameraModel, pos_C: Array) -> Vec3:
    """From the aircraft's origin to the pad, in the body's axes (forward, left, up)."""
    own = camera_pose(BodyPose(0.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)), model)
    return _vec3(own.pos_W + own.R_WC @ pos_C)


def _vec3(values: Array) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z
