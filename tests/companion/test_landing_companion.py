"""The landing companion with drawn images and a made-up autopilot: where it says the pad is, and what it sends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pad_images import DOWN, SIZE, View, drawn
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.cameras.pinhole import BodyPose, camera_pose
from aeroloop.companion.autopilot_view import AutopilotView
from aeroloop.companion.landing import LandingCompanion
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.companion import Landing, Pad
from aeroloop.core.frames import Vec3, ned_from_enu, quat_from_euler, quat_ned_frd_from_enu_flu, rotation_rows
from aeroloop.core.signals import NS
from aeroloop.protocols.frames import Coding, Frame
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, Message

pytest.importorskip("cv2")
CAMERA = Camera(name="down")
T_NS = 5 * NS


def companion(**landing: str) -> LandingCompanion:
    return LandingCompanion(CAMERA, Landing(**landing), scale=1.0, moving=False, system=1, one_clock=True)


def told(made: LandingCompanion | AutopilotView, body: BodyPose, boot_ns: int) -> None:
    """The autopilot's telemetry at a time: 20 ms before and after, moving at 1 m/s east."""
    sender = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
    quat = list(quat_ned_frd_from_enu_flu(body.quat_WB))
    chunk = b""
    for late_ms in (-20, 20):
        t_ms = boot_ns // 1_000_000 + late_ms
        x, y, z = body.pos_W
        north, east, down = ned_from_enu((x + 1e-3 * late_ms, y, z))
        chunk += mavlink.MAVLink_attitude_quaternion_message(t_ms, *quat, 0.0, 0.0, 0.0).pack(sender)
        chunk += mavlink.MAVLink_local_position_ned_message(t_ms, north, east, down, 0.0, 1.0, 0.0).pack(sender)
    made.receive(chunk, boot_ns)


def seen_from(body: BodyPose, pad_W: Vec3, yaw: float, t_ns: int = T_NS, seed: int = 1) -> Frame:
    camera = camera_pose(body, fitted(CAMERA))
    rot_WP = np.array(rotation_rows(quat_from_euler(0.0, 0.0, yaw)))
    view = View(camera.R_WC.T @ rot_WP, camera.R_WC.T @ (np.array(pad_W) - camera.pos_W))
    grey = drawn(view, np.random.default_rng(seed))
    rgb = np.repeat(grey[..., None], 3, axis=2)
    intrinsics = (DOWN.fx, DOWN.fy, DOWN.cx, DOWN.cy)
    return Frame(0, Coding.RAW, 1, t_ns, SIZE, intrinsics, rgb=rgb.tobytes())


def sent(made: LandingCompanion) -> list[Message]:
    parser = MavlinkIn(MavlinkCounters())
    return [frame.message() for frame in parser.feed(made.step(T_NS))]


def targets(made: LandingCompanion) -> list[Message]:
    return [message for message in sent(made) if message.get_type() == "LANDING_TARGET"]


@settings(max_examples=12, deadline=None)
@given(
    st.floats(0.5, 6.0),
    st.floats(-0.2, 0.2),
    st.floats(-0.2, 0.2),
    st.floats(-math.pi, math.pi),
    st.floats(-math.pi, math.pi),
)
def test_the_pad_is_where_it_is_in_the_autopilots_frame(
    height_m: float, roll: float, pitch: float, yaw: float, pad_yaw: float
) -> None:
    """Its yaw and that of the aircraft make no difference; the pose is that of the image's time."""
    body = BodyPose(T_NS / NS, (12.0, -7.0, height_m + 3.0), quat_from_euler(roll, pitch, yaw))
    optical = camera_pose(body, fitted(CAMERA)).R_WC[:, 2]
    along = np.array(body.pos_W) + optical * height_m / -optical[2]
    pad_W = (float(along[0]), float(along[1]), 3.0)
    made = companion()
    told(made, body, T_NS)
    look = made.look(seen_from(body, pad_W, pad_yaw))
    assert look.accepted
    assert math.dist(look.pad_W[:2], pad_W[:2]) < 0.004 + 0.004 * height_m
    assert abs(look.pad_W[2] - 3.0) < 0.02 + 0.02 * height_m
    (target,) = targets(made)
    assert (target.frame, target.position_valid) == (mavlink.MAV_FRAME_LOCAL_NED, 1)
    assert target.time_usec == T_NS // 1000
    assert math.dist((target.x, target.y, target.z), ned_from_enu(look.pad_W)) < 1e-4
    assert target.type == mavlink.LANDING_TARGET_TYPE_VISION_FIDUCIAL
    assert abs(target.distance - look.distance_m) < 1e-5


def test_ardupilot_gets_it_relative_to_the_body() -> None:
    made = companion(frame="body_frd")
    body = BodyPose(T_NS / NS, (0.0, 0.0, 2.02), quat_from_euler(0.0, 0.0, math.pi / 2))  # nose to the north
    told(made, body, T_NS)
    assert made.look(seen_from(body, (0.3, 0.2, 0.0), 0.0)).accepted
    (target,) = targets(made)
    assert target.frame == mavlink.MAV_FRAME_BODY_FRD
    assert math.dist((target.x, target.y, target.z), (0.2, 0.3, 2.02)) < 0.01  # forward, right, down


def test_nothing_is_sent_without_the_pad_or_without_the_autopilots_pose() -> None:
    made = companion()
    body = BodyPose(T_NS / NS, (0.0, 0.0, 2.0), quat_from_euler(0.0, 0.0, 0.0))
    frame = seen_from(body, (0.0, 0.0, 0.0), 0.0)
    assert not made.look(frame).accepted  # no telemetry yet
    told(made, body, T_NS - NS)
    assert not made.look(frame).accepted  # telemetry of a second ago
    told(made, body, T_NS)
    assert not made.look(seen_from(body, (30.0, 0.0, 0.0), 0.0)).accepted
    assert not targets(made)


def test_times_never_go_back_and_nothing_is_nan() -> None:
    made = companion()
    body = BodyPose(T_NS / NS, (0.0, 0.0, 2.0), quat_from_euler(0.0, 0.0, 0.0))
    told(made, body, T_NS)
    for t_ns in (T_NS, T_NS, T_NS - 10_000_000, T_NS + 10_000_000):
        made.look(seen_from(body, (0.0, 0.0, 0.0), 0.0, t_ns))
    found = targets(made)
    assert [target.time_usec for target in found] == [T_NS // 1000, T_NS // 1000 + 10_000]
    assert all(math.isfinite(value) for target in found for value in (target.x, target.y, target.z, target.distance))


def test_it_says_that_it_lives_and_asks_for_what_it_needs_until_it_gets_it() -> None:
    made = companion()
    kinds = [message.get_type() for message in sent(made)]
    assert kinds == ["HEARTBEAT", "REQUEST_DATA_STREAM", "REQUEST_DATA_STREAM"]
    assert not made.step(T_NS + NS // 2)
    body = BodyPose(0.0, (0.0, 0.0, 2.0), quat_from_euler(0.0, 0.0, 0.0))
    for number in range(20):
        told(made, body, T_NS + number * 50_000_000)
    parser = MavlinkIn(MavlinkCounters())
    assert [frame.message().get_type() for frame in parser.feed(made.step(T_NS + NS))] == ["HEARTBEAT"]


def test_the_autopilots_clock_is_found_by_timesync() -> None:
    ahead_ns = 123 * NS
    view = AutopilotView(1)
    sender = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
    for asked_ns, one_way_ns in ((NS, 40_000_000), (2 * NS, 1_000_000), (3 * NS, 30_000_000)):
        answer = mavlink.MAVLink_timesync_message(asked_ns + one_way_ns + ahead_ns, asked_ns).pack(sender)
        view.receive(answer, asked_ns + 2 * one_way_ns)
    assert view.boot_minus_frames_ns == ahead_ns
    body = BodyPose(T_NS / NS, (1.0, 2.0, 3.0), quat_from_euler(0.1, 0.2, 0.3))
    told(view, body, T_NS + ahead_ns)
    found = view.pose_at(T_NS / NS)
    assert found is not None
    assert np.allclose(found.pos_W, body.pos_W, atol=1e-5)
    assert np.allclose(np.abs(np.dot(found.quat_WB, body.quat_WB)), 1.0, atol=1e-6)


def test_a_pad_drives_a_circle() -> None:
    pad = Pad(pos_m=(1.0, 2.0), heading_deg=90.0, speed_m_s=0.5, turn_deg_s=20.0)
    radius_m = 0.5 / math.radians(20.0)
    for t_s in (0.0, 1.0, 4.5, 18.0):
        x, y, yaw = pad.at(t_s)
        assert math.isclose(math.hypot(x - (1.0 - radius_m), y - 2.0), radius_m, rel_tol=1e-9)
        assert math.isclose(yaw, math.radians(20.0 * t_s))
    assert np.allclose(pad.at(18.0)[:2], pad.at(0.0)[:2], atol=1e-9)
    straight = Pad(pos_m=(1.0, 2.0), heading_deg=90.0, speed_m_s=0.5).at(2.0)
    assert np.allclose(straight, (1.0, 3.0, 0.0))
